//! Starts one program with exactly the environment, folder and descriptors it was given, in its own process group.

use super::socket::Descriptors;
use super::words::{Stage, Start};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Its process number, or at what the system refused and why.
pub fn start(start: &Start, ends: Descriptors) -> Result<i32, (Stage, i32)> {
    let Ok([stdin, stdout, stderr]) = <[_; 3]>::try_from(ends) else {
        return Err((Stage::Descriptors, Errno::MFILE.raw_os_error()));
    };
    let os = OsStr::from_bytes;
    #[allow(clippy::disallowed_methods, reason = "this is the place that starts programs")]
    let mut command = Command::new(os(&start.program));
    command
        .args(start.args.iter().map(|arg| os(arg)))
        .env_clear()
        .envs(start.env.iter().map(|(name, value)| (os(name), os(value))))
        .current_dir(os(&start.cwd))
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr))
        .process_group(0);
    match command.spawn() {
        Ok(child) => Ok(child.id() as i32),
        Err(fault) => Err(reason(start, &fault)),
    }
}

/// The system gives one number for several causes: look which it was.
fn reason(start: &Start, fault: &io::Error) -> (Stage, i32) {
    let errno = fault.raw_os_error().unwrap_or_else(|| Errno::INVAL.raw_os_error());
    let number = |fault: &io::Error| fault.raw_os_error().unwrap_or(errno);
    match std::fs::metadata(Path::new(OsStr::from_bytes(&start.cwd))) {
        Err(fault) => return (Stage::Cwd, number(&fault)),
        Ok(cwd) if !cwd.is_dir() => return (Stage::Cwd, Errno::NOTDIR.raw_os_error()),
        Ok(_) => {}
    }
    let stage = match Errno::from_raw_os_error(errno) {
        Errno::NOENT | Errno::ACCESS if Path::new(OsStr::from_bytes(&start.program)).is_file() => {
            if errno == Errno::NOENT.raw_os_error() { Stage::Interpreter } else { Stage::Program }
        }
        Errno::NOENT | Errno::ACCESS | Errno::NOEXEC | Errno::NOTDIR | Errno::LOOP | Errno::ISDIR => Stage::Program,
        Errno::NAMETOOLONG | Errno::TXTBSY | Errno::PERM => Stage::Program,
        _ => Stage::Process,
    };
    (stage, errno)
}

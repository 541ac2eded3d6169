//! Carries out the ladder's steps on this system: the lock, the service manager, the detached hub.

use super::ladder::{self, Event, Facts, Ladder, Step};
use crate::system::{self, pause};
use hub::config::Places;
use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// How long a hub may take to become ready.
const PATIENCE: Duration = Duration::from_secs(15);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// A connection to a hub.
#[cfg(unix)]
pub type Stream = std::os::unix::net::UnixStream;
/// A connection to a hub.
#[cfg(windows)]
pub type Stream = named_pipe::Blocking;

/// Connects to the running hub, if there is one.
#[cfg(unix)]
pub fn connect(places: &Places) -> io::Result<Stream> {
    Stream::connect(places.agent_socket())
}

/// Connects to the running hub, if there is one.
#[cfg(windows)]
pub fn connect(places: &Places) -> io::Result<Stream> {
    named_pipe::connect_blocking(&places.agent_socket())
}

/// Connects, starting a hub if none runs. `launched` is when this adapter was started.
///
/// # Errors
/// One line for the host's user.
pub fn reach(places: &Places, launched: SystemTime) -> Result<Stream, String> {
    if let Ok(stream) = connect(places) {
        return Ok(stream);
    }
    places.create().map_err(|error| error.to_string())?;
    let deadline = Instant::now() + PATIENCE;
    let (mut ladder, mut step) = Ladder::new(facts(places, launched));
    // Held until a hub answers, so that nobody else starts a second one meanwhile.
    let mut lock: Option<File> = None;
    let mut found = None;
    loop {
        let event = match step {
            Step::Connect => match connect(places) {
                Ok(stream) => {
                    found = Some(stream);
                    Event::Connected
                }
                Err(_) => Event::Refused,
            },
            Step::Lock => match take_lock(&places.run.join("start.lock"), deadline, places) {
                Ok(Some(file)) => {
                    lock = Some(file);
                    Event::Locked
                }
                Ok(None) => Event::LockBusy,
                Err(error) => Event::Failed(error.to_string()),
            },
            Step::Service => outcome(start_service()),
            Step::Spawn(ref binary) => outcome(spawn(binary, places)),
            Step::Wait => {
                pause(PAUSE);
                Event::Started
            }
            Step::Done => return found.ok_or_else(|| "the connection was lost".into()),
            Step::GiveUp(why) => return Err(why),
        };
        let is_late = Instant::now() > deadline && event != Event::Connected;
        let event = if is_late { Event::TooLate } else { event };
        step = ladder.next(event);
        let _ = &lock;
    }
}

fn outcome(result: io::Result<()>) -> Event {
    match result {
        Ok(()) => Event::Started,
        Err(error) => Event::Failed(error.to_string()),
    }
}

/// The lock, or None where somebody else's hub has become ready while we waited for it.
fn take_lock(path: &Path, deadline: Instant, places: &Places) -> io::Result<Option<File>> {
    let file = system::private_file().create(true).truncate(false).write(true).open(path)?;
    while let Err(error) = file.try_lock() {
        if let TryLockError::Error(error) = error {
            return Err(error);
        }
        if connect(places).is_ok() || Instant::now() > deadline {
            return Ok(None);
        }
        pause(PAUSE);
    }
    Ok(Some(file))
}

fn facts(places: &Places, launched: SystemTime) -> Facts {
    let stopped = std::fs::metadata(places.run.join("stopped")).and_then(|meta| meta.modified());
    let own = std::env::current_exe().ok().filter(|path| path.exists());
    let recorded = recorded(places);
    Facts {
        is_stopped: stopped.is_ok_and(|at| at > launched),
        has_service: service_file(places).exists(),
        binary: ladder::newest(
            own.as_deref().map(|path| (path, env!("CARGO_PKG_VERSION"))),
            recorded.as_ref().map(|(path, version)| (path.as_path(), version.as_str())),
        ),
    }
}

/// What the last hub wrote down of itself.
fn recorded(places: &Places) -> Option<(PathBuf, String)> {
    let text = std::fs::read(places.state.join("hub.json")).ok()?;
    let value: serde_json::Value = serde_json::from_slice(&text).ok()?;
    let path = PathBuf::from(value.get("path")?.as_str()?);
    path.exists().then(|| Some((path, value.get("version")?.as_str()?.to_owned())))?
}

#[cfg(target_os = "macos")]
fn service_file(places: &Places) -> PathBuf {
    places.home.join("Library/LaunchAgents/dev.callgate.hub.plist")
}

#[cfg(not(target_os = "macos"))]
fn service_file(places: &Places) -> PathBuf {
    places.home.join(".config/systemd/user/callgate.service")
}

#[allow(clippy::disallowed_methods, reason = "the ladder is the one place that starts a hub")]
fn program(path: &Path) -> std::process::Command {
    let mut command = std::process::Command::new(path);
    command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    command
}

#[cfg(target_os = "macos")]
fn start_service() -> io::Result<()> {
    let uid = rustix::process::getuid().as_raw();
    // The graphical session first: only there the keychain can ask. Not tested here.
    for domain in ["gui", "user"] {
        let target = format!("{domain}/{uid}/dev.callgate.hub");
        if program(Path::new("/bin/launchctl")).args(["kickstart", &target]).status()?.success() {
            return Ok(());
        }
    }
    Err(io::Error::other("launchctl does not start dev.callgate.hub"))
}

#[cfg(not(target_os = "macos"))]
fn start_service() -> io::Result<()> {
    let status = program(Path::new("systemctl")).args(["--user", "start", "callgate.service"]).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other("systemctl does not start callgate.service")) }
}

/// Starts a hub that outlives us: its own session, no terminal, no folder held, no variables but the minimal ones.
fn spawn(binary: &Path, places: &Places) -> io::Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let family = upstream::environ::Family::HERE;
    let kept = upstream::environ::minimal(std::env::vars_os(), &path, &BTreeMap::new(), family);
    let mut command = program(binary);
    command.args(["serve", "--detached"]).env_clear().envs(kept);
    if let Some(value) = std::env::var_os("CALLGATE_HOME") {
        command.env("CALLGATE_HOME", value);
    }
    command.arg("--config").arg(&places.config);
    system::detach(&mut command, &places.state);
    system::start(&mut command)
}

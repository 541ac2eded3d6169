//! The small file that stands where other systems have the socket: the pipe's name and the number of the process that
//! serves it. The folder it lies in is the user's own, so that only this user can say where the door is.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What a sign says.
pub(crate) struct Said {
    pub name: String,
    pub pid: u32,
}

/// A sign that goes with the door it tells of.
#[derive(Debug)]
pub(crate) struct Sign {
    path: PathBuf,
    text: String,
}

impl Sign {
    /// Puts up a sign for this process; one that a dead hub left is replaced. It appears complete.
    pub fn put(path: &Path, name: &str) -> io::Result<Sign> {
        let text = format!("{name}\n{}\n", std::process::id());
        let fresh = path.with_extension("new");
        let mut file = OpenOptions::new().create(true).truncate(true).write(true).open(&fresh)?;
        file.write_all(text.as_bytes())?;
        drop(file);
        fs::rename(&fresh, path)?;
        Ok(Sign { path: path.into(), text })
    }
}

impl Drop for Sign {
    fn drop(&mut self) {
        // Another hub may have put its own there since.
        if fs::read_to_string(&self.path).is_ok_and(|text| text == self.text) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Reads a sign. `NotFound` where there is none.
pub(crate) fn read(path: &Path) -> io::Result<Said> {
    let text = fs::read_to_string(path)?;
    let mut lines = text.lines();
    let name = lines.next().filter(|name| name.starts_with(r"\\.\pipe\callgate-"));
    let pid = lines.next().and_then(|pid| pid.parse().ok());
    match (name, pid) {
        (Some(name), Some(pid)) => Ok(Said { name: name.to_owned(), pid }),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "it does not name a pipe")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_sign_goes_with_its_door_and_no_other() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("agent.sock");
        assert_eq!(read(&path).err().unwrap().kind(), io::ErrorKind::NotFound);
        let first = Sign::put(&path, r"\\.\pipe\callgate-1").unwrap();
        let second = Sign::put(&path, r"\\.\pipe\callgate-2").unwrap();
        drop(first);
        let said = read(&path).unwrap();
        assert_eq!((said.name.as_str(), said.pid), (r"\\.\pipe\callgate-2", std::process::id()));
        drop(second);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_names_no_pipe_of_ours_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("agent.sock");
        for text in ["", "\\\\.\\pipe\\other\n1\n", "\\\\.\\pipe\\callgate-1\n", "\\\\server\\pipe\\callgate-1\n1\n"] {
            fs::write(&path, text).unwrap();
            assert_eq!(read(&path).err().unwrap().kind(), io::ErrorKind::InvalidData, "{text:?}");
        }
    }
}

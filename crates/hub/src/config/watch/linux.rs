//! Linux: inotify, asked only for the ends of writes. In a home where everything lies in one folder the database is
//! written beside the config, and each of its writes must not wake anybody.

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tokio::net::unix::pipe::Receiver;

/// Whatever may leave another content under a name; never `MODIFY`, which comes with each single write.
const ENDS: WatchFlags = WatchFlags::CLOSE_WRITE
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO);

pub(super) struct Ear {
    /// Read and waited for as a pipe is.
    events: Receiver,
    folders: BTreeMap<PathBuf, i32>,
}

impl Ear {
    pub fn new() -> io::Result<Ear> {
        let events = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        Ok(Ear { events: Receiver::from_owned_fd_unchecked(events)?, folders: BTreeMap::new() })
    }

    pub fn listen(&mut self, folder: &Path) -> io::Result<()> {
        let number = inotify::add_watch(&self.events, folder, ENDS)?;
        self.folders.insert(folder.to_owned(), number);
        Ok(())
    }

    pub fn ignore(&mut self, folder: &Path) {
        if let Some(number) = self.folders.remove(folder) {
            // A folder that is gone is ignored already.
            let _ = inotify::remove_watch(&self.events, number);
        }
    }

    /// Waits for news of one of the names. Given up half way, no news is lost.
    pub async fn heard(&self, names: &[OsString; 2]) {
        loop {
            if self.events.readable().await.is_err() {
                return std::future::pending().await;
            }
            let news = self.events.try_io(|| self.take(names).ok_or_else(|| io::ErrorKind::WouldBlock.into()));
            if news.unwrap_or(false) {
                return;
            }
        }
    }

    /// All news there is: none, or whether one of the names is in it.
    fn take(&self, names: &[OsString; 2]) -> Option<bool> {
        let mut room = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.events, &mut room);
        let mut found = None;
        while let Ok(event) = reader.next() {
            let named = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
            // After an overflow anything may have happened.
            let concerns = event.events().contains(ReadFlags::QUEUE_OVERFLOW)
                || named.is_some_and(|name| names.iter().any(|ours| ours == name));
            found = Some(found.unwrap_or(false) || concerns);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Write;

    #[tokio::test]
    async fn a_file_that_is_written_all_the_time_rings_nobody_and_others_do_not_count() {
        let home = tempfile::tempdir().unwrap();
        let names = ["callgate.jsonc".into(), "dot.jsonc".into()];
        let mut log = std::fs::File::create(home.path().join("callgate.db-wal")).unwrap();
        let mut ear = Ear::new().unwrap();
        ear.listen(home.path()).unwrap();
        for _ in 0..3 {
            log.write_all(b"page").unwrap();
        }
        assert_eq!(ear.take(&names), None);
        drop(log);
        assert_eq!(ear.take(&names), Some(false));
        std::fs::write(home.path().join("dot.jsonc"), "{}").unwrap();
        assert_eq!(ear.take(&names), Some(true));
        ear.ignore(home.path());
        ear.take(&names);
        std::fs::write(home.path().join("dot.jsonc"), "{ }").unwrap();
        assert_eq!(ear.take(&names), None);
    }
}

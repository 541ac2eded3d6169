//! Hears of changed files through inotify. Writing to a file that stays open is not listened to: a database does it all
//! the time, and whoever saves a config closes it.

use super::Names;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tokio::net::unix::pipe;

/// Room for a few dozen events; what does not fit stays with the system.
const ROOM: usize = 4096;
/// An event begins with the watch, the mask, a cookie and the length of the name behind them; four bytes each.
const HEAD: usize = 16;

pub(super) struct Ear {
    /// No pipe, but read like one: the only way to wait for another descriptor that is safe.
    events: pipe::Receiver,
    folders: Vec<(PathBuf, i32)>,
}

impl Ear {
    pub(super) fn new() -> io::Result<Ear> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        Ok(Ear { events: pipe::Receiver::from_owned_fd_unchecked(inotify)?, folders: Vec::new() })
    }

    pub(super) fn listen(&mut self, folder: &Path) -> io::Result<()> {
        let to = WatchFlags::CREATE
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::MOVED_TO
            | WatchFlags::MOVED_FROM
            | WatchFlags::DELETE
            | WatchFlags::ATTRIB;
        let watch = inotify::add_watch(&self.events, folder, to)?;
        self.folders.push((folder.to_owned(), watch));
        Ok(())
    }

    pub(super) fn leave(&mut self, folder: &Path) {
        let events = &self.events;
        self.folders.retain(|(known, watch)| {
            if known == folder {
                // A folder that is gone has taken its watch along.
                let _ = inotify::remove_watch(events, *watch);
            }
            known != folder
        });
    }

    /// Waits until something happened to a file of one of these names. Given up, it loses nothing.
    pub(super) async fn heard(&mut self, names: &Names) {
        loop {
            if self.events.readable().await.is_err() {
                return std::future::pending().await;
            }
            if self.drained(names).0 {
                return;
            }
        }
    }

    /// Takes all events that have come: whether one was about these names, and how many there were.
    fn drained(&self, names: &Names) -> (bool, usize) {
        let mut room = [0; ROOM];
        let (mut ours, mut count) = (false, 0);
        while let Ok(length @ 1..) = self.events.try_read(&mut room) {
            let mut rest = &room[..length];
            while let Some((head, behind)) = rest.split_first_chunk::<HEAD>() {
                let word = |at: usize| u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
                let (name, next) = behind.split_at((word(12) as usize).min(behind.len()));
                let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
                // Where events were lost, one of them may have been ours.
                ours |= ReadFlags::from_bits_retain(word(4)).contains(ReadFlags::QUEUE_OVERFLOW);
                ours |= !name.is_empty() && names.iter().any(|known| known.as_bytes() == name);
                count += 1;
                rest = next;
            }
        }
        (ours, count)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::fs;
    use std::io::Write;

    #[tokio::test]
    async fn a_database_beside_the_config_wakes_nobody() {
        let home = tempfile::tempdir().unwrap();
        let names = ["callgate.jsonc".into(), "dot.jsonc".into()];
        let mut log = fs::File::create(home.path().join("callgate.db-wal")).unwrap();
        let mut ear = Ear::new().unwrap();
        ear.listen(home.path()).unwrap();
        // Only `other` is seen; the count would tell of anything else.
        async fn check(ear: &Ear, names: &Names, expect: (bool, usize)) {
            ear.events.readable().await.unwrap();
            assert_eq!(ear.drained(names), expect);
        }
        for _ in 0..100 {
            log.write_all(b"a row").unwrap();
            log.sync_data().unwrap();
        }
        log.set_len(0).unwrap();
        fs::read(home.path().join("callgate.db-wal")).unwrap();
        fs::write(home.path().join("other"), "").unwrap();
        check(&ear, &names, (false, 2)).await;
        fs::write(home.path().join("dot.jsonc"), "{}").unwrap();
        check(&ear, &names, (true, 2)).await;
        fs::read(home.path().join("dot.jsonc")).unwrap();
        fs::write(home.path().join("other"), "x").unwrap();
        check(&ear, &names, (false, 1)).await;
    }
}

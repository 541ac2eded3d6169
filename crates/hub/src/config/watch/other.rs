//! Hears of changed files through what the system offers besides inotify. Not tested on any of those systems.

use super::Names;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

pub(super) struct Ear {
    watcher: RecommendedWatcher,
    names: Arc<Mutex<Names>>,
    bell: Arc<Notify>,
}

impl Ear {
    pub(super) fn new() -> io::Result<Ear> {
        let names: Arc<Mutex<Names>> = Arc::default();
        let bell = Arc::new(Notify::new());
        let (ring, ours) = (bell.clone(), names.clone());
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| concerns(&event, &ours)) {
                ring.notify_one();
            }
        });
        Ok(Ear { watcher: watcher.map_err(io::Error::other)?, names, bell })
    }

    pub(super) fn listen(&mut self, folder: &Path) -> io::Result<()> {
        self.watcher.watch(folder, RecursiveMode::NonRecursive).map_err(io::Error::other)
    }

    pub(super) fn leave(&mut self, folder: &Path) {
        // A folder that is gone has taken its watch along.
        let _ = self.watcher.unwatch(folder);
    }

    /// Waits until something happened to a file of one of these names. Given up, it loses nothing.
    pub(super) async fn heard(&mut self, names: &Names) {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).clone_from(names);
        self.bell.notified().await;
    }
}

/// By name only: some systems report other spellings of the folder than the one that was asked for.
fn concerns(event: &notify::Event, names: &Mutex<Names>) -> bool {
    if matches!(event.kind, EventKind::Access(_)) {
        return false;
    }
    let names = names.lock().unwrap_or_else(PoisonError::into_inner);
    // Until the names are known anything may be ours.
    let ours = |name: &std::ffi::OsStr| names[0].is_empty() || names.iter().any(|ours| ours == name);
    event.need_rescan() || event.paths.iter().any(|path| path.file_name().is_some_and(ours))
}

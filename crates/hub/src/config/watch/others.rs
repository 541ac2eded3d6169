//! Other systems: what the `notify` crate offers there, from a thread of its own.

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// Names that are kept until somebody asks; with more, anything may have changed.
const MOST: usize = 64;

/// What was heard since it was last asked.
struct News {
    names: Mutex<Option<BTreeSet<OsString>>>,
    bell: Notify,
}

pub(super) struct Ear {
    watcher: RecommendedWatcher,
    news: Arc<News>,
}

impl Ear {
    pub fn new() -> io::Result<Ear> {
        let news = Arc::new(News { names: Mutex::new(Some(BTreeSet::new())), bell: Notify::new() });
        let heard = Arc::clone(&news);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if let Ok(event) = event {
                heard.add(&event);
            }
        });
        Ok(Ear { watcher: watcher.map_err(io::Error::other)?, news })
    }

    pub fn listen(&mut self, folder: &Path) -> io::Result<()> {
        self.watcher.watch(folder, RecursiveMode::NonRecursive).map_err(io::Error::other)
    }

    pub fn ignore(&mut self, folder: &Path) {
        let _ = self.watcher.unwatch(folder);
    }

    /// Waits for news of one of the names. Given up half way, no news is lost.
    pub async fn heard(&self, names: &[OsString; 2]) {
        loop {
            self.news.bell.notified().await;
            if self.news.take(names) {
                return;
            }
        }
    }
}

impl News {
    /// By name only: some systems report other spellings of the folder than the one that was asked for.
    fn add(&self, event: &notify::Event) {
        if matches!(event.kind, EventKind::Access(_)) {
            return;
        }
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if event.need_rescan() || names.as_ref().is_none_or(|names| names.len() >= MOST) {
            *names = None;
        } else if let Some(names) = &mut *names {
            names.extend(event.paths.iter().filter_map(|path| path.file_name()).map(OsString::from));
        }
        self.bell.notify_one();
    }

    fn take(&self, wanted: &[OsString; 2]) -> bool {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let found = names.replace(BTreeSet::new());
        found.is_none_or(|names| wanted.iter().any(|name| names.contains(name)))
    }
}

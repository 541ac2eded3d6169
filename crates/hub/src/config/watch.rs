//! Tells when the config file may have changed. Listens to its folder, since editors replace files by renaming; never
//! reads the file itself. The folder may be that of the database too, whose writes must wake nobody.

#[cfg_attr(target_os = "linux", path = "watch/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "watch/other.rs")]
mod ear;

use super::write::target;
use ear::Ear;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// A change counts when nothing more happened for this long: saving is often several steps.
const QUIET: Duration = Duration::from_millis(100);
/// A file that is written all the time is looked at after this long.
const LONGEST: Duration = Duration::from_secs(2);

/// Names of files, in whichever folder they lie: the config's own, and that of what its link points to.
type Names = [OsString; 2];

/// Why a file cannot be watched. The hub goes on without, `config check` and a restart still read it.
#[derive(Debug, thiserror::Error)]
#[error("cannot watch {}", .folder.display())]
pub struct WatchError {
    /// Which folder.
    pub folder: PathBuf,
    /// Why.
    pub source: io::Error,
}

/// A watched file. Watching ends when this is dropped.
pub struct ConfigWatch {
    file: PathBuf,
    /// Folder and name of what the file's symbolic link points to, or of the file itself.
    target: PathBuf,
    ear: Ear,
    /// Something was heard that nobody has been told yet.
    untold: bool,
}

impl ConfigWatch {
    /// Begins to watch; must be called inside a runtime. The folder must be there, the file need not.
    pub fn new(file: &Path) -> Result<ConfigWatch, WatchError> {
        let target = target(file).unwrap_or_else(|_| file.to_owned());
        let failed = |source| WatchError { folder: folder_of(file).to_owned(), source };
        let mut ear = Ear::new().map_err(failed)?;
        ear.listen(folder_of(file)).map_err(failed)?;
        let mut watch = ConfigWatch { file: file.to_owned(), target, ear, untold: false };
        watch.watch_target();
        Ok(watch)
    }

    /// Waits until the file may have changed and is quiet again. Losing a race in a `select!` loses no change.
    pub async fn changed(&mut self) {
        let names = [name_of(&self.file), name_of(&self.target)];
        if !self.untold {
            self.ear.heard(&names).await;
            self.untold = true;
        }
        let latest = Instant::now() + LONGEST;
        while timeout_at(latest.min(Instant::now() + QUIET), self.ear.heard(&names)).await.is_ok() {}
        self.untold = false;
        let target = target(&self.file).unwrap_or_else(|_| self.file.clone());
        if target != self.target {
            if folder_of(&self.target) != folder_of(&self.file) {
                self.ear.leave(folder_of(&self.target));
            }
            self.target = target;
            self.watch_target();
        }
    }

    /// The folder of the target of a link, besides the link's own. What cannot be watched there is only seen by a reload.
    fn watch_target(&mut self) {
        let folder = folder_of(&self.target);
        if folder != folder_of(&self.file)
            && let Err(error) = self.ear.listen(folder)
        {
            tracing::warn!(folder = %folder.display(), %error, "changes of the config's target are not seen");
        }
    }
}

fn name_of(path: &Path) -> OsString {
    path.file_name().unwrap_or_default().to_owned()
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;
    use std::fs;

    const SOON: Duration = Duration::from_secs(20);

    async fn is_told(watch: &mut ConfigWatch, what: &str) {
        tokio::time::timeout(SOON, watch.changed()).await.expect(what);
    }

    #[tokio::test]
    async fn a_change_is_told_however_it_is_made() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("callgate.jsonc");
        let mut watch = ConfigWatch::new(&file).unwrap();
        fs::write(&file, "{}").unwrap();
        is_told(&mut watch, "creation").await;
        fs::write(&file, "{ }").unwrap();
        is_told(&mut watch, "writing").await;
        let other = home.path().join("other");
        fs::write(&other, "{  }").unwrap();
        fs::rename(&other, &file).unwrap();
        is_told(&mut watch, "replacement").await;
        fs::write(&file, "{}").unwrap();
        is_told(&mut watch, "writing of the replaced file").await;
        fs::remove_file(&file).unwrap();
        is_told(&mut watch, "removal").await;
    }

    #[tokio::test]
    async fn a_change_behind_a_link_is_told_wherever_the_link_points() {
        let home = tempfile::tempdir().unwrap();
        let at = |path: &str| home.path().join(path);
        for folder in ["config", "one", "two"] {
            fs::create_dir(at(folder)).unwrap();
        }
        fs::write(at("one/dot.jsonc"), "{}").unwrap();
        fs::write(at("two/dot.jsonc"), "{}").unwrap();
        let file = at("config/callgate.jsonc");
        std::os::unix::fs::symlink("../one/dot.jsonc", &file).unwrap();
        let mut watch = ConfigWatch::new(&file).unwrap();
        fs::write(at("one/dot.jsonc"), "{ }").unwrap();
        is_told(&mut watch, "writing of the target").await;
        std::os::unix::fs::symlink("../two/dot.jsonc", at("config/new")).unwrap();
        fs::rename(at("config/new"), &file).unwrap();
        is_told(&mut watch, "another target").await;
        fs::write(at("two/dot.jsonc"), "{ }").unwrap();
        is_told(&mut watch, "writing of the other target").await;
    }

    #[tokio::test]
    async fn a_wait_that_is_given_up_loses_nothing() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("callgate.jsonc");
        let mut watch = ConfigWatch::new(&file).unwrap();
        fs::write(&file, "{}").unwrap();
        // Given up while it waits for quiet: after the change was heard, before it was told.
        let given_up = tokio::time::timeout(QUIET / 4, watch.changed()).await;
        assert!(given_up.is_err() && watch.untold);
        is_told(&mut watch, "the change before").await;
    }
}

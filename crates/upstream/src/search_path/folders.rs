//! Which folders may hold a program, and whether a file there may be run. Only looks.

use super::system;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Whether a PATH shows nothing of its user.
pub fn bare(path: &OsStr) -> bool {
    split(path).all(|folder| system::BARE.iter().any(|bare| folder == Path::new(bare)))
}

/// The folders of a PATH; empty and relative entries would be the working folder and are left out.
fn split(path: &OsStr) -> impl Iterator<Item = PathBuf> {
    std::env::split_paths(path).filter(|folder| folder.is_absolute())
}

/// Folders in the order they are looked into.
#[derive(Default)]
pub struct Folders {
    /// Exist, and only their owner or group may write there.
    pub trusted: Vec<PathBuf>,
    /// Anyone may write there.
    pub passed_over: Vec<PathBuf>,
    seen: BTreeSet<PathBuf>,
}

impl Folders {
    /// Of several PATHs, one after the other.
    pub fn of(lists: &[OsString]) -> Folders {
        let mut folders = Folders::default();
        lists.iter().flat_map(|list| split(list)).for_each(|folder| folders.push(folder));
        folders
    }

    fn push(&mut self, folder: PathBuf) {
        let Ok(about) = folder.metadata() else { return };
        if !about.is_dir() || !self.seen.insert(folder.clone()) {
            return;
        }
        let list = if system::is_loose(&about) { &mut self.passed_over } else { &mut self.trusted };
        list.push(folder);
    }

    /// Puts others behind.
    pub fn add(&mut self, others: Folders) {
        others.trusted.into_iter().chain(others.passed_over).for_each(|folder| self.push(folder));
    }

    /// The first file of this name that may be run.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        let files = self.trusted.iter().flat_map(|folder| system::files(&folder.join(name)));
        files.into_iter().find(|file| runnable(file).is_ok())
    }

    /// As a PATH, with one folder before all others if it is not among them.
    pub fn joined(&self, first: Option<PathBuf>) -> OsString {
        let first = first.filter(|first| !self.trusted.contains(first));
        system::joined(first.iter().chain(&self.trusted).map(PathBuf::as_path))
    }
}

/// Why a file is not run.
#[derive(Debug, PartialEq, Eq)]
pub enum Unfit {
    /// There is no file, or it may not be run.
    Missing,
    /// Anyone may change this.
    Writable(PathBuf),
}

/// Whether a file may be run: by us, and it can't be changed or replaced by just anyone, where it really lies.
pub fn runnable(file: &Path) -> Result<(), Unfit> {
    let real = file.canonicalize().map_err(|_| Unfit::Missing)?;
    let about = real.metadata().map_err(|_| Unfit::Missing)?;
    if !about.is_file() || !system::is_program(&real) {
        return Err(Unfit::Missing);
    }
    let folder = real.parent().unwrap_or(Path::new("/"));
    let about_folder = folder.metadata().map_err(|_| Unfit::Missing)?;
    if system::is_loose(&about) {
        return Err(Unfit::Writable(real));
    }
    if system::is_loose(&about_folder) {
        return Err(Unfit::Writable(folder.to_owned()));
    }
    Ok(())
}

/// Where installers put programs without telling a bare PATH.
pub fn well_known(home: &Path) -> Folders {
    let mut folders = Folders::default();
    system::OWN.iter().for_each(|folder| folders.push(home.join(folder)));
    nvm(&home.join(".nvm/versions/node")).into_iter().for_each(|folder| folders.push(folder));
    system::SHARED.iter().for_each(|folder| folders.push(PathBuf::from(folder)));
    folders
}

/// nvm keeps each version apart: the newest first.
fn nvm(versions: &Path) -> Vec<PathBuf> {
    let mut found: Vec<(Vec<u32>, PathBuf)> = std::fs::read_dir(versions)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name();
            let number = name.to_str()?.strip_prefix('v')?.split('.').map(|part| part.parse().ok());
            Some((number.collect::<Option<Vec<u32>>>()?, entry.path().join("bin")))
        })
        .collect();
    found.sort_unstable_by(|one, other| other.cmp(one));
    found.into_iter().map(|(_, folder)| folder).collect()
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn file(path: &Path, mode: u32) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_bare_path_is_known() {
        for (path, expect) in [
            ("", true),
            ("/usr/bin:/bin:/usr/sbin:/sbin", true),
            ("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", true),
            (":relative:.", true),
            ("/usr/bin:/home/u/.cargo/bin", false),
            ("/opt/homebrew/bin:/usr/bin", false),
        ] {
            assert_eq!(bare(OsStr::new(path)), expect, "{path}");
        }
    }

    #[test]
    fn only_absolute_folders_that_not_everyone_writes_to() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        for (folder, mode) in [("open", 0o777), ("sticky", 0o1777), ("good", 0o755), ("group", 0o775)] {
            file(&at(folder).join("tool"), 0o755);
            fs::set_permissions(at(folder), Permissions::from_mode(mode)).unwrap();
        }
        let list = ["", ".", "relative", at("missing").to_str().unwrap()].join(":");
        let rest = ["open", "sticky", "good", "group", "good"].map(|name| at(name).to_str().unwrap().to_owned());
        let folders = Folders::of(&[list.into(), rest.join(":").into()]);
        assert_eq!(folders.trusted, [at("good"), at("group")]);
        assert_eq!(folders.passed_over, [at("open"), at("sticky")]);
        assert_eq!(folders.find("tool"), Some(at("good/tool")));
        assert_eq!(folders.joined(None), OsString::from(format!("{}:{}", at("good").display(), at("group").display())));
        assert!(folders.joined(Some(at("x"))).to_str().unwrap().starts_with(&format!("{}:", at("x").display())));
    }

    #[test]
    fn only_files_that_we_may_run_and_others_may_not_change() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        file(&at("good"), 0o755);
        file(&at("plain"), 0o644);
        file(&at("loose"), 0o757);
        file(&at("open/tool"), 0o755);
        fs::set_permissions(at("open"), Permissions::from_mode(0o1777)).unwrap();
        symlink(at("good"), at("link")).unwrap();
        symlink(at("open/tool"), at("trap")).unwrap();
        symlink(at("nowhere"), at("dangling")).unwrap();
        assert_eq!(runnable(&at("good")), Ok(()));
        assert_eq!(runnable(&at("link")), Ok(()));
        for missing in ["plain", "open", "dangling", "none"] {
            assert_eq!(runnable(&at(missing)), Err(Unfit::Missing), "{missing}");
        }
        assert!(matches!(runnable(&at("loose")), Err(Unfit::Writable(_))));
        assert!(matches!(runnable(&at("trap")), Err(Unfit::Writable(_))));
    }

    #[test]
    fn the_newest_node_comes_first() {
        let home = tempfile::tempdir().unwrap();
        for version in ["v9.1.0", "v22.1.0", "v22.10.0", "system", "v20.20.2"] {
            file(&home.path().join(".nvm/versions/node").join(version).join("bin/npx"), 0o755);
        }
        let found = well_known(home.path()).find("npx").unwrap();
        assert!(found.ends_with("v22.10.0/bin/npx"), "{}", found.display());
    }
}

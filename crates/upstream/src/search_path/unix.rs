//! Linux and macOS: what a program is, who may change it, and where programs usually are.

use rustix::fs::{Access, access};
use std::ffi::OsString;
use std::fs::Metadata;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Write permission for everybody.
const ANYONE: u32 = 0o002;

/// What a launcher without a terminal gives, on any system.
pub const BARE: &[&str] =
    &["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/games", "/usr/local/games"];

/// Where installers put programs, in the user's own folder.
pub const OWN: &[&str] = &[
    ".local/bin",
    ".volta/bin",
    ".local/share/fnm/aliases/default/bin",
    ".fnm/aliases/default/bin",
    "Library/Application Support/fnm/aliases/default/bin",
    ".local/share/mise/shims",
    ".asdf/shims",
    ".nodenv/shims",
    ".pyenv/shims",
    ".cargo/bin",
    ".bun/bin",
    ".deno/bin",
];

/// Where installers put programs for everybody.
pub const SHARED: &[&str] = &[
    "/opt/homebrew/bin",
    "/usr/local/bin",
    "/home/linuxbrew/.linuxbrew/bin",
    "/opt/local/bin",
    "/snap/bin",
    "/usr/bin",
];

/// Whether anyone may change it.
pub fn is_loose(about: &Metadata) -> bool {
    about.mode() & ANYONE != 0
}

/// Whether we may run it.
pub fn is_program(file: &Path) -> bool {
    access(file, Access::EXEC_OK).is_ok()
}

/// The files that may be meant, the first that exists counts.
pub fn files(named: &Path) -> Vec<PathBuf> {
    vec![named.to_owned()]
}

/// Whether a command is a path.
pub fn is_path(command: &str) -> bool {
    command.contains('/')
}

/// As a PATH.
pub fn joined<'a>(folders: impl Iterator<Item = &'a Path>) -> OsString {
    let all: Vec<&[u8]> = folders.map(|folder| folder.as_os_str().as_bytes()).collect();
    OsString::from_vec(all.join(&b':'))
}

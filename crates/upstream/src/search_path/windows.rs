//! Windows: what a program is and where programs usually are. Who may change a program stands in access lists, which
//! are not looked at. Type-checked, not run yet.

use std::ffi::OsString;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

/// A desktop program has the user's whole PATH here: there is nothing to be found out beyond it.
pub const BARE: &[&str] = &[];

/// Where installers put programs, in the user's own folder.
pub const OWN: &[&str] = &[
    r".local\bin",
    r"AppData\Roaming\npm",
    r"AppData\Local\Microsoft\WinGet\Links",
    r"AppData\Local\Volta\bin",
    r"scoop\shims",
    r".cargo\bin",
    r".bun\bin",
    r".deno\bin",
];

/// Where installers put programs for everybody.
pub const SHARED: &[&str] = &[r"C:\Program Files\nodejs", r"C:\ProgramData\chocolatey\bin"];

/// Endings of what can be started, in the order in which the system's own shell looks for them. Others of PATHEXT name
/// scripts for hosts that a server's pipes do not reach.
const ENDINGS: &[&str] = &["com", "exe", "bat", "cmd"];

/// Not known here.
pub fn is_loose(_about: &Metadata) -> bool {
    false
}

/// Whether it can be started, by its name.
pub fn is_program(file: &Path) -> bool {
    let ending = file.extension().map(|ending| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known))
}

/// The files that may be meant, the first that exists counts: `npx` may be `npx.cmd`, never the script for other
/// systems that lies beside it under the bare name.
pub fn files(named: &Path) -> Vec<PathBuf> {
    let with = |ending: &&str| {
        let mut whole = named.as_os_str().to_owned();
        whole.push(".");
        whole.push(ending);
        PathBuf::from(whole)
    };
    let bare = is_program(named).then(|| named.to_owned());
    bare.into_iter().chain(ENDINGS.iter().map(with)).collect()
}

/// Whether a command is a path.
pub fn is_path(command: &str) -> bool {
    command.contains(['/', '\\'])
}

/// As a PATH. A folder whose name cannot stand in one is left out.
pub fn joined<'a>(folders: impl Iterator<Item = &'a Path>) -> OsString {
    let fit = folders.filter(|folder| std::env::join_paths([folder]).is_ok());
    std::env::join_paths(fit).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn npx_is_found_as_a_batch_file() {
        let named = |path: &str| files(Path::new(path));
        let ends = |path: &str| named(path).iter().map(|file| file.display().to_string()).collect::<Vec<_>>();
        assert_eq!(ends(r"C:\n\npx"), [r"C:\n\npx.com", r"C:\n\npx.exe", r"C:\n\npx.bat", r"C:\n\npx.cmd"]);
        assert_eq!(ends(r"C:\n\npx.CMD")[0], r"C:\n\npx.CMD");
        assert!(!is_program(Path::new(r"C:\n\npx")));
        assert!(!is_program(Path::new(r"C:\n\npx.ps1")));
    }
}

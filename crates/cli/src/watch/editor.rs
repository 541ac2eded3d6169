//! Editing arguments in the person's editor: a file that only this user can read, in a folder that only this user can
//! enter, both gone afterwards. What comes back is nothing but text: the hub judges it.

use super::machine::Edited;
use crate::system;
use std::fs::{self, DirBuilder};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Longest edited text, in bytes; the door accepts no more anyway.
const LONGEST: u64 = 1024 * 1024;
/// Begin of the names of the folders, then the process id.
const PREFIX: &str = "edit-";

/// A folder that goes with this.
struct Nest(PathBuf);

impl Drop for Nest {
    fn drop(&mut self) {
        // Editors leave copies beside the file: all of it goes.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Removes what was left by screens that were killed while somebody edited.
pub fn clear(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse().ok());
        if pid.is_some_and(|pid| !system::is_running(pid)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Lets the person edit a text and returns when the editor is left.
pub fn edit(folder: &Path, id: &str, text: &str) -> Edited {
    let words = match command(std::env::var("VISUAL").ok(), std::env::var("EDITOR").ok()) {
        Ok(words) => words,
        Err(why) => return Edited::Failed(why),
    };
    match edited(folder, id, text, &words) {
        Ok(Some(text)) => Edited::Text(text),
        Ok(None) => Edited::Failed(format!("{} ended badly; nothing was sent.", words[0])),
        Err(cause) => Edited::Failed(format!("{} could not be used: {cause}", words[0])),
    }
}

/// The editor and its arguments, split as a shell would.
fn command(visual: Option<String>, editor: Option<String>) -> Result<Vec<String>, String> {
    let named = [visual, editor].into_iter().flatten().find(|text| !text.trim().is_empty());
    let text = named.unwrap_or_else(|| system::EDITOR.to_owned());
    match system::split(&text) {
        Some(words) if !words.is_empty() => Ok(words),
        _ => Err(format!("EDITOR cannot be read: a quote is open in {text}")),
    }
}

#[allow(clippy::disallowed_methods, reason = "the person's own editor, on the person's own terminal")]
fn edited(folder: &Path, id: &str, text: &str, words: &[String]) -> io::Result<Option<String>> {
    let nest = Nest(folder.join(format!("{PREFIX}{}", std::process::id())));
    let _ = fs::remove_dir_all(&nest.0);
    let mut builder = DirBuilder::new();
    system::private_folder(&mut builder).create(&nest.0)?;
    let plain: String = id.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(40).collect();
    let path = nest.0.join(format!("{plain}.json"));
    system::private_file().create_new(true).write(true).open(&path)?.write_all(text.as_bytes())?;
    let status = std::process::Command::new(&words[0]).args(&words[1..]).arg(&path).status()?;
    if !status.success() {
        return Ok(None);
    }
    let mut out = String::new();
    fs::File::open(&path)?.take(LONGEST + 1).read_to_string(&mut out)?;
    if out.len() as u64 > LONGEST {
        return Err(io::Error::other(format!("the text is longer than {LONGEST} bytes")));
    }
    Ok(Some(out))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn editors_are_split_as_a_shell_would() {
        let check = |visual: &str, editor: &str, expect: &[&str]| {
            let found = command(Some(visual.into()), Some(editor.into()));
            assert_eq!(found.unwrap(), expect, "{visual} {editor}");
        };
        check("", "vim", &["vim"]);
        check("code --wait", "vim", &["code", "--wait"]);
        check(" ", "'/opt/my editor/ed' -c \"set ft=json\"", &["/opt/my editor/ed", "-c", "set ft=json"]);
        assert_eq!(command(None, None).unwrap(), ["vi"]);
        assert!(command(None, Some("vim 'open".into())).is_err());
    }

    fn run(folder: &Path, script: &str) -> io::Result<Option<String>> {
        let words = ["sh", "-c", script, "sh"].map(str::to_owned);
        edited(folder, "c1-7/../x", "{}\n", &words)
    }

    #[test]
    fn the_file_is_private_and_goes() {
        let home = tempfile::tempdir().unwrap();
        let out = run(
            home.path(),
            "stat -c '%a' \"$1\" \"$(dirname \"$1\")\" > out; cat out > \"$1\"; rm out; touch \"$1~\"",
        );
        assert_eq!(out.unwrap().unwrap(), "600\n700\n");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
        assert_eq!(run(home.path(), "exit 3").unwrap(), None);
        assert!(run(home.path(), "rm \"$1\"").is_err());
        assert!(run(home.path(), "head -c 1048577 /dev/zero > \"$1\"").is_err());
        assert!(edited(home.path(), "x", "", &["/no/such/editor".into()]).is_err());
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_killed_screen_left_is_cleared() {
        let home = tempfile::tempdir().unwrap();
        for name in ["edit-999999999", &format!("edit-{}", std::process::id()), "edit-x", "other"] {
            fs::create_dir(home.path().join(name)).unwrap();
        }
        clear(home.path());
        let mut left: Vec<_> = fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left.len(), 3);
        assert!(!left.contains(&"edit-999999999".into()));
    }
}

//! Asks the login shell for its PATH. What else its start-up files say, do or leave running is dropped and ended.

use crate::launch::{Child, Launch, Launcher};
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

/// Those that know `-lic` and join PATH with colons in double quotes.
const SHELLS: &[&str] = &["sh", "bash", "zsh", "fish", "dash", "ash", "ksh", "mksh"];
const BEGIN: &str = "__callgate_path_begins__";
const END: &str = "__callgate_path_ends__";
/// More than this before the end of the answer is no answer.
const LONGEST: usize = 1 << 20;

/// The PATH that a terminal of this user would have; or, for people, why it is not known.
pub async fn read(
    launcher: &Launcher,
    shell: PathBuf,
    home: PathBuf,
    env: Vec<(OsString, OsString)>,
    patience: Duration,
) -> Result<OsString, String> {
    let name = shell.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if !shell.is_absolute() || !SHELLS.contains(&name) {
        return Err(format!("SHELL is {:?}, which can't be asked", shell.display().to_string()));
    }
    let what = format!("{} -lic", shell.display());
    let script = format!("printf '%s' {BEGIN} \"$PATH\" {END}");
    let launch = Launch { program: shell, args: vec!["-lic".into(), script.into()], env, cwd: home };
    let answer = async {
        let child = launcher.spawn(launch).await.map_err(|fault| fault.to_string())?;
        listen(child).await.ok_or_else(|| format!("{what} ended without an answer"))
    };
    match tokio::time::timeout(patience, answer).await {
        Ok(answer) => answer,
        Err(_) => Err(format!("{what} did not answer within {} s", patience.as_secs_f32())),
    }
}

/// Reads until the answer is complete. Dropping the handle at the end kills whatever is left of the shell.
async fn listen(child: Child) -> Option<OsString> {
    let Child { stdin, stdout, stderr, tree: _tree, .. } = child;
    // Start-up files that ask a question get no answer, and no one to wait for.
    drop(stdin);
    let mut stdout = pipe::Receiver::from_owned_fd(stdout).ok()?;
    let mut said = Vec::new();
    let hear = async {
        while said.len() < LONGEST && stdout.read_buf(&mut said).await.ok()? > 0 {
            if let Some(path) = answer_in(&said) {
                return Some(path);
            }
        }
        None
    };
    tokio::select! {
        biased;
        path = hear => path,
        () = drain(stderr) => None,
    }
}

/// Complaints must go somewhere, or the shell would be stopped by them. Never ends.
async fn drain(stderr: OwnedFd) {
    if let Ok(mut stderr) = pipe::Receiver::from_owned_fd(stderr) {
        let mut waste = [0; 1024];
        while stderr.read(&mut waste).await.is_ok_and(|count| count > 0) {}
    }
    std::future::pending().await
}

fn answer_in(said: &[u8]) -> Option<OsString> {
    let find = |text: &[u8], word: &str| text.windows(word.len()).rposition(|window| window == word.as_bytes());
    let end = find(said, END)?;
    let begin = find(&said[..end], BEGIN)? + BEGIN.len();
    Some(OsString::from_vec(said[begin..end].to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_variable_is_taken() {
        let said = |text: &str| text.replace('<', BEGIN).replace('>', END);
        for (text, expect) in [
            ("</a:/b>", Some("/a:/b")),
            ("welcome\n</a b/é:/b>bye", Some("/a b/é:/b")),
            ("<>", Some("")),
            ("</a", None),
            ("/a>", None),
            ("", None),
        ] {
            assert_eq!(answer_in(said(text).as_bytes()), expect.map(OsString::from), "{text}");
        }
    }
}

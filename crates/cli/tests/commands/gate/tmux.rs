//! A real terminal in which a test types and looks: tmux with a server of its own.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Longest wait for something to show.
const LONG: Duration = Duration::from_secs(30);

/// A terminal with one command in it.
pub struct Tmux {
    folder: tempfile::TempDir,
}

impl Tmux {
    /// Runs a shell script in a terminal of that size, in an empty environment but for `env`.
    pub fn run(size: (u16, u16), home: &Path, env: &[(&str, &str)], script: &str) -> Tmux {
        let tmux = Tmux { folder: tempfile::tempdir().unwrap() };
        let mut words = vec!["env".to_owned(), "-i".into(), "PATH=/usr/bin:/bin".into(), "LANG=C.UTF-8".into()];
        words.extend(["TZ=UTC".to_owned(), "TERM=screen-256color".into(), format!("HOME={}", home.display())]);
        words.push(format!("CALLGATE_HOME={}", home.display()));
        words.extend(env.iter().map(|(name, value)| format!("{name}={value}")));
        words.extend(["sh".to_owned(), "-c".into(), script.into()]);
        let (width, height) = (size.0.to_string(), size.1.to_string());
        let mut args = vec!["-u", "-f", "/dev/null", "new-session", "-d", "-x", &width, "-y", &height];
        args.extend(words.iter().map(String::as_str));
        tmux.tmux(&args);
        tmux
    }

    fn tmux(&self, args: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.env_remove("TMUX").env("TMUX_TMPDIR", self.folder.path()).env("LANG", "C.UTF-8").args(args);
        let output = command.output().expect("tmux is needed; ./scripts/test installs it");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What shows.
    pub fn seen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// What shows, with its colours: each change of them written the same way, wherever it comes.
    pub fn painted(&self) -> String {
        let painted = self.tmux(&["capture-pane", "-p", "-e"]);
        painted
            .replace("\u{1b}[39m", "")
            .replace("\u{1b}[49m", "")
            .replace("\u{1b}[0;", "\u{1b}[")
            .replace("\u{1b}[0m", "")
    }

    /// Waits until it shows so, and gives what does.
    pub fn until(&self, what: &str, shows: impl Fn(&str) -> bool) -> String {
        self.poll(what, Tmux::seen, shows)
    }

    /// Waits until a text shows.
    pub fn shows(&self, text: &str) -> String {
        self.until(text, |seen| seen.contains(text))
    }

    /// Waits until the call under the cursor can be decided: its keys are bold then.
    pub fn ready(&self) {
        self.poll("keys that decide", Tmux::painted, |painted| painted.contains("\u{1b}[1m a"));
    }

    /// What shows once nothing of it, as `of` gives it, has changed for a while: a screen is not drawn in one moment.
    pub fn still(&self, of: impl Fn(&str) -> String) -> String {
        let began = Instant::now();
        let (mut seen, mut since) = (of(&self.seen()), Instant::now());
        while since.elapsed() < Duration::from_millis(300) {
            let now = of(&self.seen());
            if now != seen {
                (seen, since) = (now, Instant::now());
            }
            assert!(began.elapsed() < LONG, "it never stands still:\n{seen}");
        }
        seen
    }

    fn poll(&self, what: &str, look: impl Fn(&Tmux) -> String, shows: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let seen = look(self);
            if shows(&seen) {
                return seen;
            }
            assert!(began.elapsed() < LONG, "{what} does not show:\n{seen}");
        }
    }

    /// Types keys by tmux's names of them.
    pub fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Types text as it is.
    pub fn types(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
    }

    /// Makes the terminal another size.
    pub fn resize(&self, size: (u16, u16)) {
        self.tmux(&["resize-window", "-x", &size.0.to_string(), "-y", &size.1.to_string()]);
    }

    /// One of tmux's own words about the terminal.
    pub fn word(&self, word: &str) -> String {
        self.tmux(&["display-message", "-p", &format!("#{{{word}}}")]).trim().to_owned()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let mut command = Command::new("tmux");
        command.env_remove("TMUX").env("TMUX_TMPDIR", self.folder.path()).arg("kill-server");
        let _ = command.output();
    }
}

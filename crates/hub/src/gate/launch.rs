//! How a server is launched, as it is held fast and as a person compares it with what the config wants now. Holds no
//! value of a variable: only what tells one value from another.

use crate::config::ServerConfig;
use crate::prepared;
use contract::change::{Change, DiffLine, Raise, Side, Word};
use contract::{Hash, visible};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Variables that make a program, or whatever runs it, load other code (docs/threats.md).
const LOADERS: [&str; 18] = [
    "BASH_ENV",
    "CLASSPATH",
    "DOTNET_STARTUP_HOOKS",
    "ENV",
    "GIT_SSH_COMMAND",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PATH",
    "PERL5LIB",
    "PERL5OPT",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "RUBYLIB",
    "RUBYOPT",
    "_JAVA_OPTIONS",
];

/// How a server is launched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct LaunchText {
    /// Command and arguments, or address; secrets taken out.
    words: Vec<String>,
    /// Its folder, as configured.
    folder: Option<String>,
    /// The file of its variables, as configured.
    file: Option<String>,
    /// By name the keyed hash of the value; empty where the value of a secret may be any.
    variables: BTreeMap<String, String>,
}

impl LaunchText {
    /// Of an entry whose file of variables was read. `keyed` is what stands for a hash wherever it is written down.
    pub(crate) fn of(entry: &ServerConfig, keyed: &dyn Fn(Hash) -> Hash) -> LaunchText {
        let digest = |value: &str| keyed(Hash::of(value.as_bytes())).to_string();
        let mut text = LaunchText { words: prepared::launch_words(entry), ..LaunchText::default() };
        if let Some(program) = entry.launch.program() {
            text.folder = program.cwd.as_ref().map(|cwd| cwd.source().to_owned());
            text.file = program.env_file.as_ref().map(|file| file.source().to_owned());
            let of_file = program.variables.iter().flat_map(|variables| variables.steering());
            let of_file =
                of_file.map(|(name, value)| (name.to_owned(), value.as_deref().map(digest).unwrap_or_default()));
            text.variables = of_file.collect();
            let own = program.env.iter().map(|(name, value)| (name.clone(), digest(value.source())));
            text.variables.extend(own);
        }
        text
    }

    /// What is another than was approved. All of it raises the risk (docs/servers-words.md).
    pub(crate) fn since(&self, approved: &LaunchText) -> Change {
        let mut sentences = Vec::new();
        if self.words != approved.words {
            sentences.push("another program or address is launched under its name".to_owned());
        }
        if self.folder != approved.folder {
            sentences.push("it is started in another folder".to_owned());
        }
        if self.file != approved.file {
            sentences.push("its variables come from another file".to_owned());
        }
        for (name, value) in &self.variables {
            let what = match approved.variables.get(name) {
                None => "is new",
                Some(before) if before != value => "has another value",
                Some(_) => continue,
            };
            let loads = if is_loader(name) { ", which can make other code run in it" } else { "" };
            sentences.push(format!("the variable `{}` {what}{loads}", visible::escape(name)));
        }
        for name in approved.variables.keys().filter(|name| !self.variables.contains_key(*name)) {
            sentences.push(format!("the variable `{}` is gone", visible::escape(name)));
        }
        if sentences.is_empty() {
            sentences.push("a secret in its command line or address, or how it is spoken to, is another".to_owned());
        }
        let raised = sentences.into_iter().map(|sentence| Raise { place: String::new(), sentence }).collect();
        Change { raised, lines: self.lines(approved), ..Change::default() }
    }

    fn lines(&self, approved: &LaunchText) -> Vec<DiffLine> {
        let mut lines = Vec::new();
        let mut put = |place: &str, before: String, now: String| {
            let line = |text: &str, side, changed| DiffLine {
                place: place.to_owned(),
                side,
                words: vec![Word { text: visible::escape(text).into_owned(), changed }],
            };
            match before == now {
                true if now.is_empty() => {}
                true => lines.push(line(&now, Side::Both, false)),
                false => {
                    lines.extend((!before.is_empty()).then(|| line(&before, Side::Approved, true)));
                    lines.extend((!now.is_empty()).then(|| line(&now, Side::Now, true)));
                }
            }
        };
        let names = |text: &LaunchText| text.variables.keys().cloned().collect::<Vec<_>>().join(" ");
        put("", approved.words.join(" "), self.words.join(" "));
        put("/cwd", approved.folder.clone().unwrap_or_default(), self.folder.clone().unwrap_or_default());
        put("/envFile", approved.file.clone().unwrap_or_default(), self.file.clone().unwrap_or_default());
        put("/env", names(approved), names(self));
        lines
    }
}

fn is_loader(name: &str) -> bool {
    name.starts_with("LD_") || name.starts_with("DYLD_") || LOADERS.contains(&name)
}

/// A launch that nobody has approved yet.
#[derive(Clone, Debug)]
pub(crate) struct HeldLaunch {
    /// Identity of what would be launched.
    pub hash: Hash,
    /// How it would be launched.
    pub text: LaunchText,
    /// How it was approved last.
    pub approved: LaunchText,
    /// The server that is launched like this one, which is new.
    pub like: Option<String>,
}

impl HeldLaunch {
    /// What a person has to look at.
    pub(crate) fn change(&self) -> Change {
        let Some(like) = &self.like else { return self.text.since(&self.approved) };
        let like = visible::escape(like);
        let sentence = format!(
            "it is `{like}` under a second name: rules that name `{like}`, and what was approved, denied or said of it, do \
             not hold under this one"
        );
        let raised = vec![Raise { place: String::new(), sentence }];
        Change { raised, lines: self.text.lines(&self.approved), ..Change::default() }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::config::tests::server;

    fn check(before: &str, now: &str, expect: &[&str]) {
        let of = |entry: &str| LaunchText::of(&server(entry), &|hash| hash);
        let text = of(now);
        let kept: LaunchText = serde_json::from_str(&serde_json::to_string(&of(before)).unwrap()).unwrap();
        let raised: Vec<String> = text.since(&kept).raised.into_iter().map(|raise| raise.sentence).collect();
        assert_eq!(raised.len(), expect.len(), "{raised:?}");
        for (raised, expect) in raised.iter().zip(expect) {
            assert!(raised.contains(expect), "{raised} lacks {expect}");
        }
    }

    #[test]
    fn what_is_another_is_named_without_a_value() {
        let plain = r#"{"command": "a", "args": ["b"], "env": {"A": "1"}}"#;
        check(plain, r#"{"command": "a", "args": ["c"], "env": {"A": "1"}}"#, &["another program"]);
        check(plain, r#"{"command": "a", "args": ["b"], "env": {"A": "2"}}"#, &["`A` has another value"]);
        check(plain, r#"{"command": "a", "args": ["b"], "cwd": "/x"}"#, &["another folder", "`A` is gone"]);
        let loaded = r#"{"command": "a", "args": ["b"], "env": {"A": "1", "LD_PRELOAD": "x", "B": "y"}}"#;
        check(plain, loaded, &["`B` is new", "`LD_PRELOAD` is new, which can make other code run"]);
        check(plain, plain, &["a secret in its command line"]);
        let text = LaunchText::of(&server(loaded), &|hash| hash);
        let lines: Vec<String> =
            text.since(&LaunchText::default()).lines.into_iter().map(|it| it.words[0].text.clone()).collect();
        assert_eq!(lines, ["a b", "A B LD_PRELOAD"]);
    }
}

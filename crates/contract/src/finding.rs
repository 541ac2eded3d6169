//! What a person should look at twice in names and definitions: hidden characters, mixed scripts, names that look
//! alike. Only tells; what follows from a finding is decided elsewhere.

use crate::scan::Talk;
use crate::tree::TextFault;
use crate::visible::{self, Hidden};
use rustc_hash::FxHashMap;
use unicode_security::{MixedScript, skeleton};

/// One thing to look at twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// JSON pointer of the text in a definition, or the server's key.
    pub place: String,
    /// What was found.
    pub kind: FindingKind,
}

/// What can be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FindingKind {
    /// Text that does not show.
    Hidden {
        /// Of what kind.
        kind: Hidden,
        /// How many characters of that kind are in the text.
        count: usize,
    },
    /// Letters of several scripts in one name (UTS 39).
    MixedScripts,
    /// Speaks to a model instead of describing a tool.
    Talk {
        /// What it says.
        talk: Talk,
        /// Where it says so, with everything hidden made visible.
        quote: String,
    },
    /// A structure that says something else than the JSON text beside it.
    Differs,
    /// No text that everybody reads in the same way.
    Unreadable(TextFault),
    /// Looks like another server's key: the same letters in another case, or letters that are drawn alike.
    LooksLike(String),
}

impl Finding {
    /// The finding in a sentence, with everything hidden made visible.
    pub fn sentence(&self) -> String {
        let place = visible::escape(&self.place);
        match &self.kind {
            FindingKind::Hidden { kind, count: 1 } => format!("{place} has a {}", kind.as_str()),
            FindingKind::Hidden { kind, count } => format!("{place} has {count} hidden characters: {}", kind.as_str()),
            FindingKind::MixedScripts => format!("{place} mixes letters of several scripts: {}", spelled(&self.place)),
            FindingKind::Talk { talk, quote } => format!("{place} {}: “{quote}”", talk.as_str()),
            FindingKind::Differs => format!("{place} says something else than the JSON text beside it"),
            FindingKind::Unreadable(fault) => format!("it can't be read: {fault}"),
            FindingKind::LooksLike(other) => {
                let other = visible::escape(other);
                let name = self.place.rsplit(": ").next().unwrap_or_default();
                format!("{place} looks like {other}, but is spelled {}", spelled(name))
            }
        }
    }
}

/// Server keys with letters of several scripts, and keys that look alike. In the order of the keys.
pub fn server_keys<'k>(keys: impl IntoIterator<Item = &'k str>) -> Vec<Finding> {
    let keys: Vec<(&str, String)> =
        keys.into_iter().map(|key| (key, skeleton(&key.to_lowercase()).collect::<String>())).collect();
    let mut findings = Vec::new();
    for (place, (key, looks)) in keys.iter().enumerate() {
        let mut found = |kind| findings.push(Finding { place: (*key).to_owned(), kind });
        hidden_kinds(key).into_iter().for_each(|(kind, count)| found(FindingKind::Hidden { kind, count }));
        if !key.is_single_script() {
            found(FindingKind::MixedScripts);
        }
        let alike = keys[..place].iter().find(|(other, other_looks)| other != key && other_looks == looks);
        if let Some((other, _)) = alike {
            found(FindingKind::LooksLike((*other).to_owned()));
        }
    }
    findings
}

/// Tools whose names look like a tool of another server and are spelled otherwise: letters that are drawn alike, or in
/// another case. Given as server key and the server's own name for the tool; a server's own tools may be alike.
pub fn look_alikes<'n>(tools: impl IntoIterator<Item = (&'n str, &'n str)>) -> Vec<Finding> {
    let mut known: FxHashMap<String, Vec<(&str, &str)>> = FxHashMap::default();
    let mut findings = Vec::new();
    for (server, name) in tools {
        let alike = known.entry(skeleton(&name.to_lowercase()).collect()).or_default();
        let other = alike.iter().rev().find(|(owner, other)| *owner != server && *other != name);
        if let Some((owner, other)) = other {
            let kind = FindingKind::LooksLike(format!("{owner}: {other}"));
            findings.push(Finding { place: format!("{server}: {name}"), kind });
        }
        alike.push((server, name));
    }
    findings
}

pub(crate) fn hidden_kinds(text: &str) -> Vec<(Hidden, usize)> {
    let mut kinds: Vec<(Hidden, usize)> = Vec::new();
    for (at, c, kind) in visible::hidden_at(text) {
        if is_needed(text, at, c) {
            continue;
        }
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += 1,
            None => kinds.push((kind, 1)),
        }
    }
    kinds
}

/// Whether a script needs the character where it stands: joiners between letters of Indic and Arabic scripts, direction
/// marks beside letters that are written from right to left.
fn is_needed(text: &str, at: usize, c: char) -> bool {
    let before = text[..at].chars().next_back().unwrap_or(' ');
    let after = text[at + c.len_utf8()..].chars().next().unwrap_or(' ');
    let joins = |c: char| matches!(c, '\u{600}'..='\u{DFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{FB50}'..='\u{FDFF}');
    let is_right_to_left =
        |c: char| matches!(c, '\u{590}'..='\u{8FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFC}');
    match c {
        '\u{200C}' | '\u{200D}' => joins(before) && joins(after),
        '\u{200E}' | '\u{200F}' | '\u{61C}' => {
            // Not far from it: brackets and foreign names may stand between.
            let near = |mut side: Box<dyn Iterator<Item = char> + '_>| side.by_ref().take(16).any(is_right_to_left);
            near(Box::new(text[..at].chars().rev())) || near(Box::new(text[at + c.len_utf8()..].chars()))
        }
        _ => false,
    }
}

/// A name with its foreign letters as code points.
fn spelled(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_graphic() { c.to_string() } else { format!("\\u{{{:X}}}", u32::from(c)) };
    name.chars().map(letter).collect()
}

//! What a person should look at twice in names and definitions: hidden characters, mixed scripts, names that look
//! alike. Only tells; what follows from a finding is decided elsewhere.

use crate::tree::{Kind, TextFault, Tree, Value, push_segment};
use crate::visible::{self, Hidden};
use unicode_security::{MixedScript, skeleton};

/// Most findings of one definition.
const MAX_FINDINGS: usize = 100;

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
            FindingKind::Unreadable(fault) => format!("it can't be read: {fault}"),
            FindingKind::LooksLike(other) => {
                let other = visible::escape(other);
                format!("{place} looks like {other}, but is spelled {}", spelled(&self.place))
            }
        }
    }
}

/// Hidden text anywhere in a definition, keys included.
///
/// # Errors
/// Where the text is not unambiguous JSON.
pub fn hidden_text(definition: &[u8]) -> Result<Vec<Finding>, TextFault> {
    let tree = Tree::read(definition)?;
    let mut findings = Vec::new();
    walk(tree.root(), &mut String::new(), &mut findings);
    Ok(findings)
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

/// As deep as a text may be nested, which is bounded.
fn walk(value: Value<'_>, path: &mut String, findings: &mut Vec<Finding>) {
    let length = path.len();
    match value.kind() {
        Kind::String => add(&value.string().unwrap_or_default(), path, findings),
        Kind::Array => {
            for (place, element) in value.elements().enumerate() {
                push_segment(path, &place.to_string());
                walk(element, path, findings);
                path.truncate(length);
            }
        }
        Kind::Object => {
            for (key, value) in value.members() {
                let key = key.string().unwrap_or_default();
                push_segment(path, &key);
                add(&key, path, findings);
                walk(value, path, findings);
                path.truncate(length);
            }
        }
        Kind::Null | Kind::True | Kind::False | Kind::Number => {}
    }
}

fn add(text: &str, path: &str, findings: &mut Vec<Finding>) {
    for (kind, count) in hidden_kinds(text) {
        if findings.len() < MAX_FINDINGS {
            findings.push(Finding { place: path.to_owned(), kind: FindingKind::Hidden { kind, count } });
        }
    }
}

fn hidden_kinds(text: &str) -> Vec<(Hidden, usize)> {
    let mut kinds: Vec<(Hidden, usize)> = Vec::new();
    for (_, kind) in visible::hidden(text) {
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += 1,
            None => kinds.push((kind, 1)),
        }
    }
    kinds
}

/// A name with its foreign letters as code points.
fn spelled(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_graphic() { c.to_string() } else { format!("\\u{{{:X}}}", u32::from(c)) };
    name.chars().map(letter).collect()
}

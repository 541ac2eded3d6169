//! Finds what speaks to the model instead of describing a tool: hidden text, instructions, files of secrets, talk about
//! other tools (docs/servers-words.md). A signal that asks for a person's look, never a proof of harm or of its absence.

mod classes;
mod files;
mod forms;
mod index;
mod lexicon;
mod rules;
mod signs;
mod tongues;
mod words;

use crate::finding::{self, Finding, FindingKind};
use crate::tree::{self, Tree, Value, push_segment};
use crate::visible;
use signs::{Place, Weighed};
use std::collections::HashSet;
use std::ops::Range;

/// Most findings of one definition.
const MAX_FINDINGS: usize = 100;
/// Longer words may be encoded text.
const MAX_WORD: usize = 24;
/// Longest quotation in a finding, in characters.
const MAX_QUOTE: usize = 160;

/// What is scanned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// One entry of a `tools` array.
    Tool,
    /// One entry of a `prompts` array.
    Prompt,
    /// One entry of a `resources` array.
    Resource,
    /// One entry of a `resourceTemplates` array.
    Template,
    /// A server's `instructions`, as a JSON string.
    #[default]
    Instructions,
}

/// What a text says to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Talk {
    /// Sets other instructions aside.
    Override,
    /// Wants the person not to know.
    Secrecy,
    /// Wants the person not to be asked.
    Approval,
    /// Wants a file of secrets.
    SecretFile,
    /// Wants something sent where it does not belong.
    Exfiltration,
    /// Tells how another tool is to be used.
    OtherTool,
    /// Has a command run.
    Command,
    /// An argument whose name asks for a secret.
    ArgumentName,
    /// Marks that models are controlled with, or that hide text when it is shown.
    Markup,
    /// Text in an encoding that people can't read.
    Encoded,
    /// Text behind a long empty space.
    OutOfSight,
    /// Words with letters of another script that look like Latin ones.
    Disguise,
}

impl Talk {
    /// What it is, to be read after the place.
    pub const fn as_str(self) -> &'static str {
        match self {
            Talk::Override => "sets other instructions aside",
            Talk::Secrecy => "wants something kept from the person",
            Talk::Approval => "speaks against asking the person",
            Talk::SecretFile => "wants a file of secrets",
            Talk::Exfiltration => "wants something sent where it does not belong",
            Talk::OtherTool => "tells how other tools are to be used",
            Talk::Command => "has a command run",
            Talk::ArgumentName => "asks for a secret by an argument's name",
            Talk::Markup => "holds marks that control models or hide text",
            Talk::Encoded => "holds text in an encoding that people can't read",
            Talk::OutOfSight => "holds text behind a long empty space",
            Talk::Disguise => "holds words with letters that only look like Latin ones",
        }
    }
}

/// Everything in a definition that a person should look at before a model reads it. Empty = clean.
pub fn scan(definition: &[u8], kind: Kind) -> Vec<Finding> {
    let tree = match Tree::read(definition) {
        Ok(tree) => tree,
        Err(fault) => return vec![Finding { place: String::new(), kind: FindingKind::Unreadable(fault) }],
    };
    let mut scan = Scan { kind, own: own_names(&tree), ..Scan::default() };
    scan.walk(tree.root(), Within::Text);
    scan.findings
}

/// The same of a result; `files` are the values that are not looked into.
pub(crate) fn scan_answer(result: Value<'_>, files: &HashSet<u32>) -> Vec<Finding> {
    let mut scan = Scan { files: Some(files.clone()), ..Scan::default() };
    scan.walk(result, Within::Text);
    scan.findings
}

/// Everything in a text by itself that a person should look at.
pub fn scan_text(text: &str) -> Vec<Finding> {
    let mut scan = Scan::default();
    scan.text(text);
    scan.findings
}

/// Hands the place of every sentence of a text to `each`.
pub(crate) fn sentences(text: &str, mut each: impl FnMut(Range<usize>)) {
    words::sentences(text, &HashSet::new(), |sentence| each(sentence.span.clone()));
}

/// What the members of an object are named by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Text,
    /// Arguments.
    Arguments,
}

/// The names that a definition gives: its own, its arguments' and those of their values.
fn own_names(tree: &Tree<'_>) -> HashSet<String> {
    let strings = |value: Value<'_>| value.elements().filter_map(|value| Some(value.string()?.into_owned())).collect();
    let mut own = HashSet::new();
    for object in tree.all().filter(|value| value.kind() == tree::Kind::Object) {
        for (key, value) in object.members() {
            match &*key.string().unwrap_or_default() {
                "name" => own.extend(value.string().map(|name| name.into_owned())),
                "properties" => own.extend(value.members().filter_map(|(key, _)| Some(key.string()?.into_owned()))),
                "enum" => own.extend::<Vec<String>>(strings(value)),
                _ => {}
            }
        }
    }
    own
}

/// What belongs where a text stands.
fn place_of(path: &str) -> Place {
    const VALUES: [&str; 9] = ["enum", "const", "default", "examples", "example", "title", "src", "name", "pattern"];
    let mut segments = path.rsplit('/').filter(|segment| !segment.bytes().all(|byte| byte.is_ascii_digit()));
    let is_value = segments.next().is_some_and(|last| VALUES.contains(&last));
    if is_value || ["/_meta/", "/annotations/", "/icons/"].iter().any(|part| path.contains(part)) {
        return Place::Value;
    }
    if path.starts_with("/outputSchema/") { Place::Output } else { Place::Prose }
}

#[derive(Default)]
struct Scan {
    kind: Kind,
    own: HashSet<String>,
    /// Of a result: the values that are not looked into. Results are long, and weak signs add up in them.
    files: Option<HashSet<u32>>,
    path: String,
    findings: Vec<Finding>,
}

impl Scan {
    /// As deep as a text may be nested, which is bounded.
    fn walk(&mut self, value: Value<'_>, within: Within) {
        let length = self.path.len();
        match value.kind() {
            tree::Kind::String if self.files.as_ref().is_some_and(|files| files.contains(&value.at)) => {}
            tree::Kind::String => self.text(&value.string().unwrap_or_default()),
            tree::Kind::Array => {
                for (place, element) in value.elements().enumerate() {
                    push_segment(&mut self.path, &place.to_string());
                    self.walk(element, Within::Text);
                    self.path.truncate(length);
                }
            }
            tree::Kind::Object => {
                for (key, member) in value.members() {
                    let key = key.string().unwrap_or_default();
                    push_segment(&mut self.path, &key);
                    self.key(&key, within);
                    let names_arguments = key == "properties" && member.kind() == tree::Kind::Object;
                    self.walk(member, if names_arguments { Within::Arguments } else { Within::Text });
                    self.path.truncate(length);
                }
            }
            _ => {}
        }
    }

    fn key(&mut self, key: &str, within: Within) {
        self.hidden(key);
        if within == Within::Arguments && forms::asks_for_secret(key) {
            self.add(Talk::ArgumentName, key);
        }
        // A key with spaces in it is a text.
        if key.contains(' ') {
            self.words(key, Place::Value);
        }
    }

    fn text(&mut self, text: &str) {
        // One word, as most values of keywords are, says nothing.
        if text.len() < MAX_WORD && text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return;
        }
        let place = place_of(&self.path);
        self.hidden(text);
        self.words(text, place);
        for (talk, quote) in forms::judge(text) {
            self.add(talk, quote);
        }
        if let Some(inner) = forms::encoded(text) {
            // What is written beside it in the clear hides nothing.
            if !text.contains(inner.trim()) {
                self.add(Talk::Encoded, &inner);
            }
            self.words(&inner, Place::Value);
        }
        for said in forms::addresses(text) {
            self.words(&said, Place::Value);
        }
        if self.path.contains("/icons/")
            && let Some(part) = forms::active(text)
        {
            self.add(Talk::Markup, &part);
        }
        if self.kind == Kind::Prompt && self.path.ends_with("/name") && forms::asks_for_secret(text) {
            self.add(Talk::ArgumentName, text);
        }
    }

    fn hidden(&mut self, text: &str) {
        for (kind, count) in finding::hidden_kinds(text) {
            self.push(FindingKind::Hidden { kind, count });
        }
    }

    fn words(&mut self, text: &str, place: Place) {
        let mut said: Vec<(Talk, Range<usize>)> = Vec::new();
        let mut weighed = Weighed::default();
        words::sentences(text, &self.own, |sentence| {
            if let Some(talk) = rules::judge(sentence) {
                said.push((talk, sentence.span.clone()));
            }
            weighed.add(sentence, place);
        });
        if said.is_empty() && self.files.is_none() {
            said.extend(weighed.enough());
        }
        for (talk, span) in said {
            self.add(talk, &text[span]);
        }
    }

    fn add(&mut self, talk: Talk, quote: &str) {
        let quote = visible::escape(quote);
        let quote = match quote.char_indices().nth(MAX_QUOTE) {
            Some((at, _)) => format!("{}…", &quote[..at]),
            None => quote.into_owned(),
        };
        self.push(FindingKind::Talk { talk, quote });
    }

    fn push(&mut self, kind: FindingKind) {
        let finding = Finding { place: self.path.clone(), kind };
        if self.findings.len() < MAX_FINDINGS && !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }
}

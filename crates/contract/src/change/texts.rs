//! What the texts of a definition say now that no approved version said: an address, a path, the name of a tool, an
//! instruction, another script. Looked for in every string, wherever it stands.

use super::walk::Part;
use crate::scan::sentences;
use crate::tree::{Kind, Tree, Value, push_segment};
use std::collections::HashSet;

/// Words that make a sentence an instruction wherever they stand in it.
const ORDERS: [&str; 12] = [
    "must",
    "always",
    "never",
    "should",
    "shall",
    "ensure",
    "required",
    "mandatory",
    "important",
    "dont",
    "instead",
    "only",
];
const PAIRED_ORDERS: [&str; 8] =
    ["do not", "make sure", "be sure", "need to", "needs to", "have to", "has to", "is to"];
/// Verbs that make a sentence one where it begins with them.
const VERBS: [&str; 62] = [
    "use",
    "call",
    "invoke",
    "run",
    "execute",
    "send",
    "forward",
    "include",
    "pass",
    "provide",
    "add",
    "append",
    "attach",
    "copy",
    "read",
    "open",
    "write",
    "save",
    "store",
    "set",
    "follow",
    "ignore",
    "disregard",
    "ask",
    "tell",
    "inform",
    "notify",
    "check",
    "verify",
    "confirm",
    "make",
    "keep",
    "do",
    "first",
    "then",
    "before",
    "after",
    "when",
    "whenever",
    "if",
    "prefer",
    "avoid",
    "remember",
    "note",
    "see",
    "consider",
    "treat",
    "respond",
    "reply",
    "answer",
    "choose",
    "pick",
    "specify",
    "wait",
    "stop",
    "continue",
    "log",
    "upload",
    "download",
    "visit",
    "fetch",
    "please",
];

/// What all approved versions said.
pub(super) struct Known<'k> {
    own_name: String,
    strings: HashSet<String>,
    sentences: HashSet<String>,
    words: HashSet<String>,
    has_other_script: bool,
    is_tool: &'k dyn Fn(&str) -> bool,
}

impl<'k> Known<'k> {
    pub(super) fn read(approved: &[Tree<'_>], now: &Tree<'_>, is_tool: &'k dyn Fn(&str) -> bool) -> Known<'k> {
        let name = now.root().get("name").and_then(Value::string);
        let mut known = Known {
            own_name: name.map(|name| name.into_owned()).unwrap_or_default(),
            strings: HashSet::new(),
            sentences: HashSet::new(),
            words: HashSet::new(),
            has_other_script: false,
            is_tool,
        };
        for value in approved.iter().flat_map(Tree::all) {
            let Some(text) = value.string() else { continue };
            known.sentences.extend(sentences_of(&text).map(|(_, words)| words));
            known.words.extend(text.split_whitespace().flat_map(|chunk| [bare(chunk), word(chunk)]).map(str::to_owned));
            known.has_other_script |= text.chars().any(is_other_script);
            known.strings.insert(text.into_owned());
        }
        known
    }

    /// Tells everything that the new side of a part adds.
    pub(super) fn added(&self, part: &Part<'_>, tell: &mut dyn FnMut(&str, String)) {
        let before = part.old.and_then(Value::string).unwrap_or_default();
        let lead = lead(&before);
        if let Some(new) = part.new {
            self.walk(new, &mut part.path.clone(), &lead, tell);
        }
    }

    /// As deep as a text may be nested, which is bounded.
    fn walk(&self, value: Value<'_>, path: &mut String, lead: &str, tell: &mut dyn FnMut(&str, String)) {
        let length = path.len();
        match value.kind() {
            Kind::String => self.text(&value.string().unwrap_or_default(), path, lead, tell),
            Kind::Array => {
                for (place, element) in value.elements().enumerate() {
                    push_segment(path, &place.to_string());
                    self.walk(element, path, lead, tell);
                    path.truncate(length);
                }
            }
            Kind::Object => {
                for (key, member) in value.members() {
                    let key = key.string().unwrap_or_default();
                    push_segment(path, &key);
                    // Where schemas find each other there are no addresses for models.
                    if !matches!(&*key, "$schema" | "$id" | "$ref") {
                        self.walk(member, path, lead, tell);
                    }
                    path.truncate(length);
                }
            }
            _ => {}
        }
    }

    fn text(&self, text: &str, path: &str, lead: &str, tell: &mut dyn FnMut(&str, String)) {
        // A text that stood somewhere else says nothing new.
        if self.strings.contains(text) {
            return;
        }
        let mut add = |what: &str, it: &str| tell(path, format!("{what} {}", super::short(it)));
        let chunks: Vec<&str> = text.split_whitespace().collect();
        for (place, chunk) in chunks.iter().enumerate() {
            let bare = bare(chunk);
            if self.words.contains(bare) || bare.is_empty() {
                continue;
            }
            if is_address(bare) {
                add("adds the address", bare);
            } else if is_path(bare) {
                add("adds the path", bare);
            }
            let word = word(chunk);
            let is_marked =
                chunk.contains(['`', '"', '\'']) || chunks.get(place + 1).is_some_and(|next| next.starts_with("tool"));
            let is_name = is_marked || word.contains(['_', '-', '.']) || word.chars().skip(1).any(char::is_uppercase);
            if is_name && word != self.own_name && !self.words.contains(word) && (self.is_tool)(word) {
                add("names the tool", word);
            }
        }
        for (sentence, words) in sentences_of(text) {
            if !self.sentences.contains(&words) && is_instruction(&words, lead) {
                add("adds an instruction:", sentence);
            }
        }
        if !self.has_other_script && text.chars().any(is_other_script) {
            add("adds text in another script:", text);
        }
    }
}

/// The sentences of a text, and each as its words in small letters.
fn sentences_of(text: &str) -> impl Iterator<Item = (&str, String)> {
    let mut spans = Vec::new();
    sentences(text, |span| spans.push(span));
    spans.into_iter().map(|span| {
        let sentence = &text[span];
        let words: Vec<String> = sentence
            .split(|c: char| !(c.is_alphanumeric() || c == '\''))
            .filter(|word| !word.is_empty())
            .map(|word| word.replace('\'', "").to_lowercase())
            .collect();
        (sentence, words.join(" "))
    })
}

/// The first word of a text.
fn lead(text: &str) -> String {
    sentences_of(text).next().and_then(|(_, words)| words.split(' ').next().map(str::to_owned)).unwrap_or_default()
}

/// Whether a sentence, given as its words, tells somebody to do something. A text that began with the same verb before
/// only describes in that form.
fn is_instruction(words: &str, lead: &str) -> bool {
    let first = words.split(' ').next().unwrap_or_default();
    words.split(' ').any(|word| ORDERS.contains(&word))
        || PAIRED_ORDERS.iter().any(|pair| format!(" {words} ").contains(&format!(" {pair} ")))
        || (VERBS.contains(&first) && first != lead)
}

/// A chunk without the marks around it.
fn bare(chunk: &str) -> &str {
    chunk
        .trim_matches(|c: char| !(c.is_alphanumeric() || matches!(c, '/' | '\\' | '~' | '.' | '$' | '%' | '@')))
        .trim_end_matches('.')
}

/// The name in a chunk.
fn word(chunk: &str) -> &str {
    chunk.trim_matches(|c: char| !c.is_alphanumeric())
}

fn is_address(bare: &str) -> bool {
    let is_mail = || bare.split_once('@').is_some_and(|(user, host)| !user.is_empty() && host.contains('.'));
    bare.contains("://") || bare.starts_with("www.") || is_mail()
}

fn is_path(bare: &str) -> bool {
    let starts = ["/", "~/", "./", "../", "\\\\", "$HOME", "%"];
    let is_drive = bare.as_bytes().get(1..3) == Some(b":\\");
    bare.len() > 2
        && (is_drive
            || starts.iter().any(|start| bare.starts_with(start))
            || bare.contains("/.")
            || bare.starts_with('.'))
}

/// A letter that is neither Latin nor a mark on one.
fn is_other_script(c: char) -> bool {
    u32::from(c) >= 0x370 && c.is_alphabetic() && !matches!(c, '\u{1D00}'..='\u{1EFF}' | '\u{2100}'..='\u{214F}')
}

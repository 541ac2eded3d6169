//! Known secrets and the ways in which a server may spell them in a text. Holds their values: is never printed.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use memchr::memmem::Finder;
use std::collections::BTreeSet;
use std::fmt::{self, Write};
use std::ops::Range;

/// Shorter ones would be found by chance.
const MIN_BYTES: usize = 8;
/// What stands where a secret was.
pub const REMOVED: &str = "[secret removed]";
/// A run of so many characters that no writer escapes is looked for in place of the whole spelling.
const MIN_RUN: usize = 4;

/// The secrets of one server.
#[derive(Clone)]
pub(super) struct Secrets {
    /// All spellings, as they stand in a text whose escapes have been read.
    spellings: Vec<Finder<'static>>,
    /// What stands in the received bytes wherever one of the spellings does.
    pub(super) needles: BTreeSet<Vec<u8>>,
    /// Some spelling can stand in escapes so that no needle is there.
    pub(super) any_escape: bool,
    /// Bytes of the longest spelling; 0 where there is none.
    pub(super) longest: usize,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} spellings", self.spellings.len())
    }
}

impl Secrets {
    pub(super) fn new<'s>(values: impl IntoIterator<Item = &'s str>) -> Secrets {
        let mut spellings = BTreeSet::new();
        let mut secrets = Secrets { spellings: Vec::new(), needles: BTreeSet::new(), any_escape: false, longest: 0 };
        // A part of what the hub itself writes would be taken out for ever.
        let is_secret = |value: &&str| value.len() >= MIN_BYTES && !REMOVED.contains(value);
        for value in values.into_iter().map(str::trim).filter(is_secret) {
            let texts = in_texts(value);
            secrets.needle(value, texts.iter());
            spellings.extend(texts);
            for text in in_base64(value.as_bytes()) {
                secrets.needle(&text, [&text]);
                spellings.insert(text);
            }
        }
        secrets.longest = spellings.iter().map(String::len).max().unwrap_or(0);
        secrets.spellings = spellings.iter().map(|text| Finder::new(text.as_bytes()).into_owned()).collect();
        secrets
    }

    /// Adds what is looked for in received bytes: a run that all spellings share, or else each of them.
    fn needle<'t>(&mut self, value: &str, spellings: impl IntoIterator<Item = &'t String>) {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~');
        let longest = value.split(|c| !is_plain(c)).max_by_key(|run| run.len()).unwrap_or_default();
        if longest.len() >= MIN_RUN {
            self.needles.insert(longest.as_bytes().to_vec());
            return;
        }
        self.any_escape = true;
        self.needles.extend(spellings.into_iter().map(|text| text.clone().into_bytes()));
    }

    /// Where secrets stand in a text: from left to right, the longest at each place, none over another.
    pub(super) fn find(&self, text: &[u8]) -> Vec<Range<usize>> {
        let found = self.spellings.iter().flat_map(|spelling| {
            let length = spelling.needle().len();
            spelling.find_iter(text).map(move |at| at..at + length)
        });
        let mut found: Vec<Range<usize>> = found.collect();
        found.sort_by_key(|range| (range.start, usize::MAX - range.end));
        let mut end = 0;
        found.retain(|range| {
            let is_new = range.start >= end;
            if is_new {
                end = range.end;
            }
            is_new
        });
        found
    }
}

/// The secret as it is, as JSON text within a text, written by several writers and twice over, and as a part of a URL.
fn in_texts(value: &str) -> BTreeSet<String> {
    let json = escaped(value, Foreign::Kept);
    BTreeSet::from([
        value.to_owned(),
        escaped(value, Foreign::LowerHex),
        escaped(value, Foreign::UpperHex),
        json.replace('/', "\\/"),
        escaped(&json, Foreign::Kept),
        json,
        percent(value),
    ])
}

/// How a writer of JSON spells what is not ASCII.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Foreign {
    Kept,
    LowerHex,
    UpperHex,
}

/// The characters of a JSON string.
fn escaped(value: &str, foreign: Foreign) -> String {
    let mut out = String::with_capacity(value.len() + 8);
    for c in value.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_ascii() && !c.is_ascii_control() || (foreign == Foreign::Kept && !c.is_control()) => out.push(c),
            c => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a string can't fail.
                    let _ = match foreign {
                        Foreign::UpperHex => write!(out, "\\u{unit:04X}"),
                        Foreign::Kept | Foreign::LowerHex => write!(out, "\\u{unit:04x}"),
                    };
                }
            }
        }
    }
    out
}

fn percent(value: &str) -> String {
    let mut out = String::with_capacity(value.len() + 8);
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string can't fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// What base64 of any text with the secret in it has in common, by how many bytes stand before it.
fn in_base64(value: &[u8]) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for before in 0..3 {
        let padded = [&vec![0; before], value].concat();
        // The first and last characters also tell of what is beside it.
        let inner = (8 * before).div_ceil(6)..8 * padded.len() / 6;
        for text in [STANDARD_NO_PAD.encode(&padded), URL_SAFE_NO_PAD.encode(&padded)] {
            all.insert(text[inner.clone()].to_owned());
        }
    }
    all
}

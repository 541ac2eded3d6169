//! What was read of tools before. A definition whose text is known byte for byte is neither parsed nor hashed nor scanned
//! again, whether it comes from its server or from the store. What the store says of it is believed as far as its pins are:
//! who can write there could as well approve the text.

use bytes::Bytes;
use contract::Tool;
use rustc_hash::{FxHashMap, FxHasher};
use serde::{Deserialize, Serialize};
use std::hash::Hasher;
use std::sync::{Arc, OnceLock};

/// Whether a definition has been scanned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scanned {
    /// Not, or something was found.
    #[default]
    No,
    /// Nothing was found.
    Clean,
}

/// What is known of one definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it says.
    pub tool: Arc<Tool>,
    /// Whether it was scanned.
    pub scanned: Scanned,
}

/// The definitions of one listing, in its order, with what is known of them.
#[derive(Debug, Default)]
pub struct Known {
    entries: Vec<(Bytes, Option<Fact>)>,
    /// Places by text, for lists in another order.
    places: OnceLock<FxHashMap<Bytes, usize>>,
}

impl Known {
    /// The definitions and what is known of them; None: they could not be read.
    pub fn new(entries: Vec<(Bytes, Option<Fact>)>) -> Known {
        Known { entries, places: OnceLock::new() }
    }
    /// What is known of this text, which is likely to stand at this place.
    pub fn of(&self, place: usize, text: &Bytes) -> Option<&Fact> {
        if let Some((known, fact)) = self.entries.get(place)
            && known == text
        {
            return fact.as_ref();
        }
        let all = || self.entries.iter().enumerate().map(|(place, (text, _))| (text.clone(), place)).collect();
        let place = self.places.get_or_init(all).get(text)?;
        self.entries[*place].1.as_ref()
    }
    /// The texts, in order.
    pub fn texts(&self) -> impl Iterator<Item = &Bytes> {
        self.entries.iter().map(|(text, _)| text)
    }

    /// The JSON array of the texts, and what is known of them in a form that [`Known::recall`] reads beside it.
    pub fn keep(&self) -> (String, Vec<u8>) {
        let mut text = String::from("[");
        let mut tools = Vec::with_capacity(self.entries.len());
        for (place, (entry, fact)) in self.entries.iter().enumerate() {
            if place > 0 {
                text.push(',');
            }
            let start = text.len();
            text.push_str(&String::from_utf8_lossy(entry));
            let fact = fact.as_ref().map(|fact| (&*fact.tool, fact.scanned));
            tools.push((start, text.len() - start, fact));
        }
        text.push(']');
        let kept = (contract::READING, mark(text.as_bytes()), tools);
        // A tool that can't be written down is read anew.
        let facts = postcard::to_stdvec(&kept).unwrap_or_default();
        (text, facts)
    }
    /// What was kept beside this array; None: it was read by another version, or is not of this text.
    pub fn recall(text: &Bytes, facts: &[u8]) -> Option<Known> {
        let ((reading, of), rest) = postcard::take_from_bytes::<(u64, u64)>(facts).ok()?;
        if reading != contract::READING || of != mark(text) {
            return None;
        }
        let tools: Vec<Kept> = postcard::from_bytes(rest).ok()?;
        let entries = tools.into_iter().map(|(start, length, fact)| {
            let range = start..start.checked_add(length).filter(|&end| end <= text.len())?;
            if fact.as_ref().is_some_and(|(tool, _)| !tool.lies_within(length)) {
                return None;
            }
            let fact = fact.map(|(tool, scanned)| Fact { tool: Arc::new(tool), scanned });
            Some((text.slice(range), fact))
        });
        Some(Known::new(entries.collect::<Option<_>>()?))
    }
}

/// Where a definition lies in the array, its length, and what is known of it.
type Kept = (usize, usize, Option<(Tool, Scanned)>);

/// Tells texts apart, against mix-ups; no proof.
fn mark(text: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(text);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn known(texts: &[&'static str]) -> Known {
        let read = |text: &&'static str| {
            let text = Bytes::from_static(text.as_bytes());
            let tool = Tool::read(&text).ok();
            (text, tool.map(|tool| Fact { tool: Arc::new(tool), scanned: Scanned::Clean }))
        };
        Known::new(texts.iter().map(read).collect())
    }

    const A: &str =
        r#"{"name":"a","inputSchema":{"type":"object","properties":{"url":{"format":"uri"}}},"_meta":{"x":1}}"#;
    const B: &str = r#"{"title":"é","name":"b","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}"#;

    #[test]
    fn what_is_kept_is_what_reading_again_would_give() {
        let known = known(&[A, "7", B]);
        let (text, facts) = known.keep();
        let text = Bytes::from(text);
        let again = Known::recall(&text, &facts).unwrap();
        assert_eq!(again.entries, known.entries);
        for (place, text) in known.texts().enumerate() {
            assert_eq!(again.of(place, text), known.of(place, text));
        }
    }

    #[test]
    fn a_text_is_found_wherever_it_stands_and_another_is_not() {
        let known = known(&[A, B]);
        let find = |place, text: &'static str| known.of(place, &Bytes::from_static(text.as_bytes()));
        assert_eq!(find(1, A).map(|fact| &*fact.tool.name), Some("a"));
        assert_eq!(find(9, B).map(|fact| &*fact.tool.name), Some("b"));
        assert_eq!(find(0, r#"{"name":"a","inputSchema":{"type":"object"}}"#), None);
    }

    #[test]
    fn facts_of_another_text_or_another_version_are_not_used() {
        let (text, facts) = known(&[A, B]).keep();
        let check = |text: &str, facts: &[u8]| {
            assert!(Known::recall(&Bytes::from(text.to_owned()), facts).is_none(), "{text}");
        };
        check(&text.replace("\"x\":1", "\"x\":2"), &facts);
        check(&text, &[]);
        check(&text, &facts[..facts.len() - 1]);
        let mut other = facts.clone();
        other[0] ^= 1;
        check(&text, &other);
        let of = (contract::READING, mark(text.as_bytes()));
        let tool = Tool::read(A.as_bytes()).unwrap();
        for beyond in [(5, usize::MAX, None), (1, A.len() - 1, Some((tool, Scanned::Clean)))] {
            check(&text, &postcard::to_stdvec(&(of, vec![beyond])).unwrap());
        }
    }
}

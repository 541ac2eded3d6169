//! The params of one request, read once: where the members stand, and whether two readers could understand them
//! differently. What is changed for a server is spliced; the rest keeps its bytes.

use crate::object::{self, Member};
use crate::strict::{self, Ambiguity};
use bytes::Bytes;
use smallvec::SmallVec;
use std::ops::Range;

/// A JSON object that was read once. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Params {
    text: Bytes,
    members: SmallVec<[Member; 4]>,
    ambiguity: Option<Ambiguity>,
}

impl Params {
    /// Reads a JSON object. Of what is ambiguous only some members may be found.
    pub fn read(text: Bytes) -> Params {
        let mut members = SmallVec::new();
        let ambiguity = strict::check_members(&text, &mut members).err().or_else(|| {
            let is_disguised = members.iter().any(|member: &Member| strict::is_disguised(&text[member.key.clone()]));
            is_disguised.then_some(Ambiguity::OtherCase)
        });
        Params { text, members, ambiguity }
    }
    /// The object as received.
    pub fn text(&self) -> &Bytes {
        &self.text
    }
    /// Why a gated request with these params is refused.
    pub fn ambiguity(&self) -> Option<Ambiguity> {
        self.ambiguity
    }
    /// Where the value of a member stands; the last one where a key stands twice.
    pub fn range(&self, key: &str) -> Option<Range<usize>> {
        let found = self.members.iter().rev().find(|member| object::key_is(&self.text[member.key.clone()], key));
        found.map(|member| member.value.clone())
    }
    /// The value of a member, as it stands in the text.
    pub fn get(&self, key: &str) -> Option<Bytes> {
        self.range(key).map(|range| self.text.slice(range))
    }
    /// The characters of a member that is a string.
    pub fn string(&self, key: &str) -> Option<String> {
        object::text(&self.text[self.range(key)?]).map(|text| text.into_owned())
    }
    /// The text with these values of members: in their old places, or else at the end. For params without ambiguity;
    /// no key twice.
    pub fn with<const N: usize>(&self, values: [(&str, &[u8]); N]) -> Bytes {
        let last = self.members.last().map(|member| member.value.end);
        let mut places = values.map(|(key, value)| (self.range(key), key, value));
        // New members come last.
        places.sort_by_key(|(range, ..)| range.as_ref().map_or(usize::MAX, |range| range.start));
        let grown: usize = values.iter().map(|(key, value)| key.len() + value.len() + 4).sum();
        let mut out = Vec::with_capacity(self.text.len() + grown);
        let mut at = 0;
        let mut is_empty = last.is_none();
        for (range, key, value) in places {
            match range {
                Some(range) => {
                    out.extend_from_slice(&self.text[at..range.start]);
                    at = range.end;
                }
                None => {
                    let end = last.unwrap_or_else(|| object::inside(&self.text));
                    out.extend_from_slice(&self.text[at..end]);
                    at = end;
                    if !std::mem::take(&mut is_empty) {
                        out.push(b',');
                    }
                    out.extend_from_slice(object::quote(key).as_bytes());
                    out.push(b':');
                }
            }
            out.extend_from_slice(value);
        }
        out.extend_from_slice(&self.text[at..]);
        out.into()
    }
}

impl From<Bytes> for Params {
    fn from(text: Bytes) -> Params {
        Params::read(text)
    }
}

impl From<&'static str> for Params {
    fn from(text: &'static str) -> Params {
        Params::read(Bytes::from_static(text.as_bytes()))
    }
}

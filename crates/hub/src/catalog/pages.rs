//! A list as ready bytes, cut into pages. Cursors are the hub's own and hold only for the list they were given for.

use bytes::{BufMut, Bytes, BytesMut};
use frame::{Era, Rope};
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// A page ends before this many bytes; most hosts read one page only, and cap a message at 16 MiB.
const PAGE: usize = 4 << 20;

/// A cursor that is not one of this list's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the cursor is not one of this list, or the list has changed since")]
pub struct BadCursor;

/// One list.
#[derive(Clone, Debug, Default)]
pub struct Pages {
    key: &'static str,
    /// Arrays, ready to be sent.
    arrays: Vec<Bytes>,
    /// Tells lists apart; part of every cursor.
    mark: u64,
    count: usize,
}

impl Pages {
    /// Lays out the entries of a list; `key` is what the result calls it.
    pub fn build(key: &'static str, entries: &[Bytes]) -> Pages {
        let mut hasher = FxHasher::default();
        let mut arrays = Vec::new();
        let bytes: usize = entries.iter().map(|entry| entry.len() + 1).sum();
        let mut page = BytesMut::with_capacity(PAGE.min(bytes + 1));
        for entry in entries {
            hasher.write(entry);
            if !page.is_empty() && page.len() + entry.len() > PAGE {
                page.put_u8(b']');
                arrays.push(page.split().freeze());
            }
            page.put_u8(if page.is_empty() { b'[' } else { b',' });
            page.put_slice(entry);
        }
        if page.is_empty() {
            page.put_u8(b'[');
        }
        page.put_u8(b']');
        arrays.push(page.freeze());
        Pages { key, arrays, mark: hasher.finish(), count: entries.len() }
    }

    /// The number of entries.
    pub fn count(&self) -> usize {
        self.count
    }
    /// A mark of its content: equal where the list is.
    pub fn mark(&self) -> u64 {
        self.mark
    }

    /// The result object of one page.
    pub fn get(&self, cursor: Option<&str>, era: Era) -> Result<Rope, BadCursor> {
        let place = match cursor {
            None => 0,
            Some(cursor) => self.place(cursor).ok_or(BadCursor)?,
        };
        let array = self.arrays.get(place).ok_or(BadCursor)?;
        let mut out = Rope::from(match era {
            Era::Legacy => "{\"",
            Era::Modern => "{\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\",\"",
        });
        out.push_static(self.key);
        out.push_static("\":");
        out.push(array.clone());
        if place + 1 < self.arrays.len() {
            out.push(format!(",\"nextCursor\":\"{:x}-{}\"", self.mark, place + 1).into());
        }
        out.push_static("}");
        Ok(out)
    }

    fn place(&self, cursor: &str) -> Option<usize> {
        let (mark, place) = cursor.split_once('-')?;
        (u64::from_str_radix(mark, 16).ok()? == self.mark).then_some(())?;
        place.parse().ok().filter(|&place| place > 0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn text(pages: &Pages, cursor: Option<&str>) -> serde_json::Value {
        serde_json::from_slice(&pages.get(cursor, Era::Modern).unwrap().join()).unwrap()
    }

    #[test]
    fn pages_hold_every_entry_once_and_cursors_belong_to_one_list() {
        let entry = Bytes::from(format!("{{\"name\":\"{}\"}}", "x".repeat(PAGE / 3)));
        let pages = Pages::build("tools", &vec![entry.clone(); 7]);
        let mut seen = 0;
        let mut cursor: Option<String> = None;
        loop {
            let page = text(&pages, cursor.as_deref());
            seen += page["tools"].as_array().unwrap().len();
            let Some(next) = page["nextCursor"].as_str() else { break };
            cursor = Some(next.into());
        }
        assert_eq!(seen, 7);
        let other = Pages::build("tools", &vec![entry; 6]);
        assert_eq!(other.get(cursor.as_deref(), Era::Legacy).unwrap_err(), BadCursor);
        for wrong in ["", "x", "0-1", "-", "zz-1"] {
            assert!(pages.get(Some(wrong), Era::Legacy).is_err(), "{wrong}");
        }
        assert_eq!(text(&Pages::build("tools", &[]), None)["tools"], serde_json::json!([]));
    }
}

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

/// A list while its entries are laid out.
pub struct Laying {
    key: &'static str,
    page: BytesMut,
    arrays: Vec<Bytes>,
    hasher: FxHasher,
    count: usize,
}

impl Laying {
    /// An empty list; `key` is what the result calls it.
    pub fn of(key: &'static str) -> Laying {
        Laying { key, page: BytesMut::new(), arrays: Vec::new(), hasher: FxHasher::default(), count: 0 }
    }
    /// One more entry, as `write` writes it.
    pub fn put(&mut self, write: impl FnOnce(&mut BytesMut)) {
        let is_first = self.page.is_empty();
        self.page.put_u8(if is_first { b'[' } else { b',' });
        let start = self.page.len();
        write(&mut self.page);
        self.hasher.write(&self.page[start..]);
        self.count += 1;
        if self.page.len() > PAGE && !is_first {
            let entry = self.page.split_off(start);
            // Its comma goes.
            self.page.truncate(start - 1);
            self.close();
            self.page.put_u8(b'[');
            self.page.put_slice(&entry);
        }
    }
    fn close(&mut self) {
        if self.page.is_empty() {
            self.page.put_u8(b'[');
        }
        self.page.put_u8(b']');
        self.arrays.push(self.page.split().freeze());
    }
    /// The whole list.
    pub fn end(mut self) -> Pages {
        self.close();
        Pages { key: self.key, arrays: self.arrays, mark: self.hasher.finish(), count: self.count }
    }
}

impl Pages {
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

    fn build(entries: &[Bytes]) -> Pages {
        let mut laying = Laying::of("tools");
        for entry in entries {
            laying.put(|page| page.put_slice(entry));
        }
        laying.end()
    }

    #[test]
    fn pages_hold_every_entry_once_and_cursors_belong_to_one_list() {
        let entry = Bytes::from(format!("{{\"name\":\"{}\"}}", "x".repeat(PAGE / 3)));
        let pages = build(&vec![entry.clone(); 7]);
        let mut seen = 0;
        let mut cursor: Option<String> = None;
        loop {
            let page = text(&pages, cursor.as_deref());
            seen += page["tools"].as_array().unwrap().len();
            let Some(next) = page["nextCursor"].as_str() else { break };
            cursor = Some(next.into());
        }
        assert_eq!(seen, 7);
        let other = build(&vec![entry; 6]);
        assert_eq!(other.get(cursor.as_deref(), Era::Legacy).unwrap_err(), BadCursor);
        for wrong in ["", "x", "0-1", "-", "zz-1"] {
            assert!(pages.get(Some(wrong), Era::Legacy).is_err(), "{wrong}");
        }
        assert_eq!(text(&build(&[]), None)["tools"], serde_json::json!([]));
    }
}

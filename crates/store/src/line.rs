//! The canonical encoding of an audit row, over which the chain is computed. Documented in docs/audit-format.md.

use crate::chain::{Keyed, Link};

/// A row as it is meant: names in place of their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub seq: u64,
    pub call: u64,
    pub kind: u64,
    pub at: u64,
    pub client: &'a str,
    pub server: &'a str,
    pub item: &'a str,
    pub definition: &'a str,
    pub method: u64,
    pub effect: u64,
    pub outcome: u64,
    pub args_bytes: u64,
    pub result_bytes: u64,
    pub stages: [u64; 5],
    pub stranger: &'a [u8],
    pub shape: &'a [u8],
    pub detail: &'a str,
}

impl Line<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(1);
        put(out, self.seq);
        put(out, self.call);
        put(out, self.kind);
        put(out, self.at);
        for text in [self.client, self.server, self.item, self.definition] {
            put_bytes(out, text.as_bytes());
        }
        for code in [self.method, self.effect, self.outcome] {
            put(out, code);
        }
        put(out, self.args_bytes);
        put(out, self.result_bytes);
        for stage in self.stages {
            put(out, stage);
        }
        put_bytes(out, self.stranger);
        put_bytes(out, self.shape);
        put_bytes(out, self.detail.as_bytes());
    }

    /// The link of this row after `before`. `room` is only reused memory.
    pub(crate) fn link(&self, key: &Keyed, before: &Link, room: &mut Vec<u8>) -> Link {
        room.clear();
        room.extend_from_slice(before);
        self.encode(room);
        key.tag(&[room])
    }
}

/// Unsigned LEB128.
pub(crate) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

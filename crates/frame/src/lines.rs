//! Cuts a stream of bytes into lines, whatever the chunks are: bounded, and in step again after a line
//! that was too long.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// How much of a line that is too long is kept of its beginning and of its end, so that its id can still be found:
/// some writers put it first, some last.
const HEAD: usize = 4096;
const TAIL: usize = 512;

/// A spare buffer up to this size is used again; a larger one is given back.
const KEEP: usize = 128 * 1024;

/// One line without its line end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A complete line, not empty.
    Whole(Bytes),
    /// A line over the bound: what is kept of it and its full length in bytes.
    TooLong {
        /// Its first 4 KiB, a zero byte, and its last 512 bytes; for [`crate::envelope::readable_id`].
        head: Bytes,
        /// Length of the whole line in bytes.
        length: u64,
    },
}

/// Received bytes that are not yet given out.
#[derive(Debug)]
pub struct LineBuf {
    buf: BytesMut,
    /// Bytes at the front of `buf` that are known to hold no line end.
    scanned: usize,
    max: usize,
    skipping: Option<Skipped>,
}

/// A line that is too long and has not ended.
#[derive(Debug, Default)]
struct Skipped {
    head: Vec<u8>,
    tail: Vec<u8>,
    length: u64,
}

impl LineBuf {
    /// Lines may be `max` bytes long.
    pub fn new(max: usize) -> LineBuf {
        LineBuf { buf: BytesMut::new(), scanned: 0, max, skipping: None }
    }

    /// Where to read into. What is left of a buffer is filled before a new one of `room` bytes is begun, so that lines
    /// that are kept for a while keep no more memory alive than they are long; a long line gets room for as much again.
    pub fn spare(&mut self, room: usize) -> &mut BytesMut {
        let left = self.buf.capacity() - self.buf.len();
        if left < room / 16 {
            self.buf.reserve(room.max(self.buf.len().min(16 * room)));
        }
        &mut self.buf
    }

    /// Bytes that are held back because their line has not ended.
    pub fn pending(&self) -> usize {
        self.buf.len()
    }

    /// The bytes of the line that has not ended; for handing a connection over. Of a line that is too long they are
    /// only its last ones, so that the next owner sees one broken line and is then in step.
    pub fn take_rest(&mut self) -> Bytes {
        self.scanned = 0;
        match self.skipping.take() {
            Some(mut skipped) => {
                skipped.add(&self.buf);
                self.buf = BytesMut::new();
                skipped.tail.into()
            }
            None => self.buf.split().freeze(),
        }
    }

    /// The next complete line; None until more bytes come.
    pub fn next_line(&mut self) -> Option<Line> {
        loop {
            let Some(found) = memchr::memchr(b'\n', &self.buf[self.scanned..]) else {
                self.scanned = self.buf.len();
                self.bound();
                return None;
            };
            let end = self.scanned + found;
            self.scanned = 0;
            if end > self.max || self.skipping.is_some() {
                let mut skipped = self.skipping.take().unwrap_or_default();
                skipped.add(&self.buf[..end]);
                self.buf.advance(end + 1);
                return Some(skipped.line());
            }
            let mut line = self.buf.split_to(end + 1);
            line.truncate(end);
            if line.last() == Some(&b'\r') {
                line.truncate(end - 1);
            }
            if !line.iter().all(u8::is_ascii_whitespace) {
                return Some(Line::Whole(line.freeze()));
            }
        }
    }

    /// Lets go of a line that has grown over the bound, but for its ends.
    fn bound(&mut self) {
        if self.skipping.is_none() && self.buf.len() <= self.max {
            return;
        }
        self.skipping.get_or_insert_default().add(&self.buf);
        self.scanned = 0;
        if self.buf.capacity() > KEEP {
            self.buf = BytesMut::new();
        } else {
            self.buf.clear();
        }
    }
}

impl Skipped {
    fn add(&mut self, more: &[u8]) {
        self.length += more.len() as u64;
        let (first, rest) = more.split_at(more.len().min(HEAD - self.head.len()));
        self.head.extend_from_slice(first);
        let last = &rest[rest.len().saturating_sub(TAIL)..];
        self.tail.drain(..(self.tail.len() + last.len()).saturating_sub(TAIL));
        self.tail.extend_from_slice(last);
    }

    fn line(self) -> Line {
        let mut kept = BytesMut::with_capacity(self.head.len() + 1 + self.tail.len());
        kept.put_slice(&self.head);
        if !self.tail.is_empty() {
            kept.put_u8(0);
            kept.put_slice(&self.tail);
        }
        Line::TooLong { head: kept.freeze(), length: self.length }
    }
}

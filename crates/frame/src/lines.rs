//! Cuts a stream of bytes into lines, whatever the chunks are: bounded, and in step again after a line
//! that was too long.

use bytes::{Buf, Bytes, BytesMut};

/// How many bytes of a line that is too long are kept, so that its id can still be found.
const HEAD: usize = 4096;

/// One line without its line end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A complete line, not empty.
    Whole(Bytes),
    /// A line over the bound: its first bytes and its full length in bytes.
    TooLong {
        /// The first 4 KiB.
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
    skipping: Option<(Bytes, u64)>,
}

impl LineBuf {
    /// Lines may be `max` bytes long.
    pub fn new(max: usize) -> LineBuf {
        LineBuf { buf: BytesMut::new(), scanned: 0, max, skipping: None }
    }

    /// Where to read into: at least `room` bytes of spare capacity behind what is there.
    pub fn spare(&mut self, room: usize) -> &mut BytesMut {
        self.buf.reserve(room);
        &mut self.buf
    }

    /// Bytes that are held back because their line has not ended.
    pub fn pending(&self) -> usize {
        self.buf.len()
    }

    /// The bytes of the line that has not ended; for handing a connection over.
    pub fn take_rest(&mut self) -> Bytes {
        self.scanned = 0;
        self.buf.split().freeze()
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
            if let Some((head, before)) = self.skipping.take() {
                self.buf.advance(end + 1);
                return Some(Line::TooLong { head, length: before + end as u64 });
            }
            if end > self.max {
                let line = self.buf.split_to(end + 1).freeze();
                return Some(Line::TooLong {
                    head: Bytes::copy_from_slice(&line[..HEAD.min(end)]),
                    length: end as u64,
                });
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

    /// Lets go of a line that has grown over the bound, but for its head.
    fn bound(&mut self) {
        if let Some((_, length)) = &mut self.skipping {
            *length += self.buf.len() as u64;
        } else if self.buf.len() > self.max {
            let head = Bytes::copy_from_slice(&self.buf[..HEAD.min(self.buf.len())]);
            self.skipping = Some((head, self.buf.len() as u64));
        } else {
            return;
        }
        self.scanned = 0;
        // A new buffer gives the memory back.
        self.buf = BytesMut::new();
    }
}

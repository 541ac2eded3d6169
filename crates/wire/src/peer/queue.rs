//! Bytes that wait for one peer.

use super::Dest;
use bytes::Bytes;
use frame::Sink;
use std::collections::VecDeque;
use std::io::{self, IoSlice};

/// Pieces from this size on are kept by reference instead of being copied, in bytes.
const SHARE: usize = 8 * 1024;
/// An out-buffer up to this size is kept for the next message, in bytes.
const KEEP: usize = 256 * 1024;

/// Bytes that wait: pieces kept by reference and what stood before them, then small pieces copied together.
#[derive(Debug, Default)]
pub(super) struct Queue {
    ready: VecDeque<Bytes>,
    tail: Vec<u8>,
    length: usize,
}

impl Queue {
    /// How many bytes.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Gives up what waits.
    pub(super) fn clear(&mut self) {
        *self = Queue::default();
    }

    fn seal(&mut self) {
        if !self.tail.is_empty() {
            self.ready.push_back(std::mem::take(&mut self.tail).into());
        }
    }

    /// Writes until all is out or the pipe says why not.
    pub(super) fn write(&mut self, dest: &Dest) -> io::Result<()> {
        if self.ready.is_empty() && !self.tail.is_empty() {
            // The usual case: the buffer stays for the next message.
            let written = dest.try_write(&self.tail)?;
            self.length -= written;
            if written == self.tail.len() {
                self.tail.clear();
                if self.tail.capacity() > KEEP {
                    self.tail = Vec::new();
                }
                return Ok(());
            }
            let rest = Bytes::from(std::mem::take(&mut self.tail)).split_off(written);
            self.ready.push_back(rest);
        }
        self.seal();
        while !self.ready.is_empty() {
            let parts: smallvec::SmallVec<[IoSlice<'_>; 16]> =
                self.ready.iter().take(16).map(|part| IoSlice::new(part)).collect();
            let written = dest.try_write_all(&parts)?;
            drop(parts);
            self.took(written);
        }
        Ok(())
    }

    fn took(&mut self, mut written: usize) {
        self.length -= written;
        while written > 0 {
            let Some(front) = self.ready.front_mut() else { return };
            if written < front.len() {
                return bytes::Buf::advance(front, written);
            }
            written -= front.len();
            self.ready.pop_front();
        }
    }
}

/// Puts text without the ends of lines that may stand in it.
pub(super) struct OneLine<'a>(pub &'a mut Queue);

impl OneLine<'_> {
    /// The same text on one line, where it is on several.
    fn joined(bytes: &[u8]) -> Option<Vec<u8>> {
        let first = memchr::memchr2(b'\n', b'\r', bytes)?;
        let mut joined = bytes.to_vec();
        joined[first..].iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
        Some(joined)
    }
}

impl Sink for OneLine<'_> {
    fn put(&mut self, bytes: &[u8]) {
        match OneLine::joined(bytes) {
            None => self.0.put(bytes),
            Some(joined) => self.0.put(&joined),
        }
    }
    fn put_shared(&mut self, bytes: &Bytes) {
        match OneLine::joined(bytes) {
            None => self.0.put_shared(bytes),
            Some(joined) => self.0.put_shared(&joined.into()),
        }
    }
}

impl Sink for Queue {
    fn put(&mut self, bytes: &[u8]) {
        self.length += bytes.len();
        self.tail.extend_from_slice(bytes);
    }
    fn put_shared(&mut self, bytes: &Bytes) {
        if bytes.len() < SHARE {
            return self.put(bytes);
        }
        self.length += bytes.len();
        self.seal();
        self.ready.push_back(bytes.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_no_line_ends_in_it() {
        let long = "x".repeat(SHARE);
        let mut queue = Queue::default();
        let mut line = OneLine(&mut queue);
        line.put(b"{\n\"a\":\r\n");
        line.put_shared(&Bytes::from(format!("\"{long}\",\n\"b\":")));
        line.put(b"1}");
        queue.seal();
        let text: Vec<u8> = queue.ready.iter().flat_map(|part| part.to_vec()).collect();
        assert_eq!(text, format!("{{ \"a\":  \"{long}\", \"b\":1}}").into_bytes());
        assert_eq!(text.len(), queue.length());
    }
}

//! Bodies made of pieces, so that a splice never copies what it leaves alone.

use bytes::Bytes;
use smallvec::SmallVec;

/// Where a line is written to: small pieces are copied, large ones may be kept by reference.
pub trait Sink {
    /// Appends a copy of `bytes`.
    fn put(&mut self, bytes: &[u8]);
    /// Appends `bytes`, by reference where that is cheaper than a copy.
    fn put_shared(&mut self, bytes: &Bytes);
}

impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
    fn put_shared(&mut self, bytes: &Bytes) {
        self.extend_from_slice(bytes);
    }
}

/// A JSON text in pieces; joined in order they are the text.
#[derive(Clone, Debug, Default)]
pub struct Rope {
    pieces: SmallVec<[Bytes; 3]>,
}

impl Rope {
    /// An empty rope.
    pub fn new() -> Rope {
        Rope::default()
    }
    /// Adds a piece at the end.
    pub fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.pieces.push(piece);
        }
    }
    /// Adds a static piece at the end.
    pub fn push_static(&mut self, piece: &'static str) {
        self.push(Bytes::from_static(piece.as_bytes()));
    }
    /// Adds a copy of `piece` at the end.
    pub fn push_copy(&mut self, piece: &[u8]) {
        self.push(Bytes::copy_from_slice(piece));
    }
    /// Adds all pieces of another rope.
    pub fn append(&mut self, other: &Rope) {
        self.pieces.extend(other.pieces.iter().cloned());
    }
    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }
    /// Writes all pieces.
    pub fn write(&self, sink: &mut dyn Sink) {
        for piece in &self.pieces {
            sink.put_shared(piece);
        }
    }
    /// The whole text in one buffer; a rope of one piece is not copied.
    pub fn join(&self) -> Bytes {
        match self.pieces.as_slice() {
            [] => Bytes::new(),
            [one] => one.clone(),
            many => many.concat().into(),
        }
    }
    /// The pieces in order.
    pub fn pieces(&self) -> &[Bytes] {
        &self.pieces
    }
}

impl From<Bytes> for Rope {
    fn from(piece: Bytes) -> Rope {
        let mut rope = Rope::new();
        rope.push(piece);
        rope
    }
}

impl From<String> for Rope {
    fn from(text: String) -> Rope {
        Bytes::from(text).into()
    }
}

impl From<&'static str> for Rope {
    fn from(text: &'static str) -> Rope {
        Bytes::from_static(text.as_bytes()).into()
    }
}

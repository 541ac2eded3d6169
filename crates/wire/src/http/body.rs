//! A text in pieces as an HTTP body: the pieces reach the socket in one vectored write, never joined.

use bytes::{Buf, Bytes};
use frame::Rope;
use smallvec::SmallVec;
use std::io::IoSlice;

/// Pieces that are being written; the first `done` of them already are.
#[derive(Debug, Default)]
pub struct Pieces {
    pieces: SmallVec<[Bytes; 4]>,
    done: usize,
    remaining: usize,
}

impl Pieces {
    /// Adds a piece at the end.
    pub fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.remaining += piece.len();
            self.pieces.push(piece);
        }
    }
    /// Adds all pieces of a rope.
    pub fn append(&mut self, rope: &Rope) {
        for piece in rope.pieces() {
            self.push(piece.clone());
        }
    }
    /// Bytes that are not yet written.
    pub fn len(&self) -> usize {
        self.remaining
    }
}

impl From<&Rope> for Pieces {
    fn from(rope: &Rope) -> Pieces {
        let mut pieces = Pieces::default();
        pieces.append(rope);
        pieces
    }
}

impl Buf for Pieces {
    fn remaining(&self) -> usize {
        self.remaining
    }
    fn chunk(&self) -> &[u8] {
        self.pieces.get(self.done).map_or(&[], |piece| piece)
    }
    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut filled = 0;
        for (slice, piece) in slices.iter_mut().zip(&self.pieces[self.done..]) {
            *slice = IoSlice::new(piece);
            filled += 1;
        }
        filled
    }
    fn advance(&mut self, mut count: usize) {
        assert!(count <= self.remaining, "advanced past the end");
        self.remaining -= count;
        while count > 0 {
            let piece = &mut self.pieces[self.done];
            let step = count.min(piece.len());
            piece.advance(step);
            count -= step;
            if piece.is_empty() {
                self.done += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_way_of_taking_gives_the_text(
            texts in prop::collection::vec(".{0,9}", 0..9),
            steps in prop::collection::vec(1_usize..12, 0..99),
        ) {
            let mut pieces = Pieces::default();
            texts.iter().for_each(|text| pieces.push(Bytes::copy_from_slice(text.as_bytes())));
            prop_assert_eq!(pieces.len(), texts.concat().len());
            let mut seen = Vec::new();
            for step in steps {
                let mut slices = [IoSlice::new(&[]); 3];
                let filled = pieces.chunks_vectored(&mut slices);
                let flat: Vec<u8> = slices[..filled].iter().flat_map(|slice| slice.iter().copied()).collect();
                let step = step.min(flat.len());
                prop_assert!(flat.starts_with(pieces.chunk()));
                seen.extend_from_slice(&flat[..step]);
                pieces.advance(step);
            }
            seen.extend_from_slice(&pieces.copy_to_bytes(pieces.remaining()));
            prop_assert_eq!(seen, texts.concat().into_bytes());
        }
    }
}

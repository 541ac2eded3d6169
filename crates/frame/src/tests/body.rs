//! Ropes.

use super::bytes;
use crate::{Rope, Sink};

#[test]
fn pieces_in_order() {
    let mut rope = Rope::new();
    assert!(rope.is_empty() && rope.join().is_empty());
    rope.push(bytes(""));
    assert!(rope.is_empty());
    rope.push_static("[");
    rope.push_copy(b"1");
    let mut other = Rope::from(String::from(",2"));
    other.push_static("]");
    rope.append(&other);
    assert_eq!((rope.len(), rope.join(), rope.pieces().len()), (5, bytes("[1,2]"), 4));
    let mut out = Vec::new();
    out.put(b"> ");
    rope.write(&mut out);
    assert_eq!(out, b"> [1,2]");
}

#[test]
fn one_piece_is_not_copied() {
    let piece = bytes("text");
    assert_eq!(Rope::from(piece.clone()).join().as_ptr(), piece.as_ptr());
}

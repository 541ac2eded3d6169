//! Systems without memory files that outlive a process: nothing is ever lent.

use super::super::unanswered::Question;
use bytes::{Bytes, BytesMut};
use frame::Level;
use std::io;
use std::rc::Rc;
use wire::peer::{Outbox, Reads, Source};

/// What came with the first bytes of a connection: nothing.
pub(in super::super) type Offer = ();

/// The first bytes are read like all others.
#[allow(clippy::unused_async, reason = "where there are memory files, it waits")]
pub(in super::super) async fn first<S>(_: &S) -> io::Result<(Vec<u8>, Offer)> {
    Ok((Vec::new(), ()))
}

pub(in super::super) fn tell(_: &Source, _: &[u8]) {}

/// There is none.
pub(in super::super) enum LentSource {}

impl Reads for LentSource {
    async fn read(&mut self, _: &mut BytesMut) -> io::Result<usize> {
        match *self {}
    }
}

/// There is none.
#[derive(Clone, Copy)]
pub(in super::super) enum Slot {}

/// There is none.
pub(in super::super) enum Journal {}

impl Journal {
    pub(in super::super) fn line(&self) -> u64 {
        match *self {}
    }
    pub(in super::super) fn open(&self, _: u64, _: &[(Bytes, Question)]) -> Slot {
        match *self {}
    }
    pub(in super::super) fn close(&self, _: Slot, _: u64) {
        match *self {}
    }
    pub(in super::super) fn done(&self, _: u64, _: u64) {
        match *self {}
    }
    pub(in super::super) fn initialized(&self, _: &[u8]) {
        match *self {}
    }
    pub(in super::super) fn level(&self, _: Option<Level>) {
        match *self {}
    }
}

/// The loan that never begins.
#[derive(Default)]
pub(in super::super) struct Loan;

impl Loan {
    pub(in super::super) fn offer(&self, (): Offer) {}
    pub(in super::super) fn is_offered(&self) -> bool {
        false
    }
    pub(in super::super) fn journal(&self) -> Option<&Journal> {
        None
    }
    pub(in super::super) fn hear(&self, _: &[u8], _: &Rc<Outbox>) -> bool {
        false
    }
    pub(in super::super) async fn begun(&self) -> LentSource {
        std::future::pending().await
    }
}

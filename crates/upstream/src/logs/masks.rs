//! The secrets of one server that no line of its log keeps: those that it has now and those that it had lately. Knows
//! nothing of where they come from.

use contract::answer::Cleaner;
use std::borrow::Cow;
use std::sync::Arc;

/// Configs of one server whose secrets are remembered.
const REMEMBERED: usize = 8;

/// What is taken out.
#[derive(Clone, Default)]
pub struct Masks(Vec<Arc<Cleaner>>);

impl Masks {
    pub fn add(&mut self, cleaner: Arc<Cleaner>) {
        if cleaner.knows_none() {
            return;
        }
        if self.0.len() == REMEMBERED {
            self.0.remove(0);
        }
        self.0.push(cleaner);
    }

    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        redacted(Cow::Borrowed(text), self)
    }

    /// Where a piece of a longer line may be cut.
    pub fn cut(&self, piece: &[u8]) -> usize {
        self.0.iter().fold(piece.len(), |at, cleaner| cleaner.cut(&piece[..at]))
    }
}

/// A text after one server's masks.
pub fn redacted<'t>(text: Cow<'t, str>, masks: &Masks) -> Cow<'t, str> {
    masks.0.iter().fold(text, |text, cleaner| match cleaner.redact(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(redacted) => Cow::Owned(redacted),
    })
}

//! What keeps calls of a kind waiting although the rules may allow them. An approval of one call goes through what the
//! person knew of when giving it, and through nothing else.

use super::case::Case;
use crate::backend::Backend;
use crate::core::Core;
use contract::Hash;
use policy::Effect;

/// One such thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Still {
    /// A person paused everything that may change something, at that time in milliseconds since 1970.
    Paused(u64),
    /// The audit log is not the one that was anchored last.
    Distrust,
    /// The server says this of itself, which nobody has approved.
    Question(Hash),
}

impl Still {
    /// All that [`Still::why`] may say.
    pub(crate) fn words() -> [&'static str; 3] {
        [Still::Paused(0), Still::Distrust, Still::Question(Hash::from_bytes([0; 32]))].map(Still::why)
    }
    /// What is so, as a sentence goes on.
    pub(crate) const fn why(self) -> &'static str {
        match self {
            Still::Paused(_) => "everything that may change something is paused (callgate resume ends it)",
            Still::Distrust => "the audit log is not the one that was written last (callgate audit verify)",
            Still::Question(_) => {
                "what its server says of itself is not what was approved (callgate catalog diff shows it)"
            }
        }
    }
}

/// Whether anything keeps what has this effect.
pub(crate) fn stands(core: &Core, backend: &Backend, effect: Effect) -> bool {
    let of_changes = core.gate.is_paused() || core.gate.has_distrust();
    of_changes && effect != Effect::Read || backend.is_in_question()
}

/// All that keeps it.
pub(crate) fn all(core: &Core, backend: &Backend, effect: Effect) -> Vec<Still> {
    let mut all = Vec::new();
    if effect != Effect::Read {
        all.extend(core.gate.pause().since_ms.map(Still::Paused));
        all.extend(core.gate.has_distrust().then_some(Still::Distrust));
    }
    let question = backend.read_instructions().filter(|read| read.review.waits());
    all.extend(question.map(|read| Still::Question(read.hash)));
    all
}

/// What keeps a call that was approved without knowing of it. A pause is known to who decides in it, also where the
/// decision is from before a restart.
pub(crate) fn unknown_to(case: &Case, core: &Core, backend: &Backend, effect: Effect) -> Option<Still> {
    let (knew, decided_ms) = (case.knew.borrow(), case.row().decided_ms);
    let is_known = |still: &Still| match *still {
        Still::Paused(since_ms) => since_ms <= decided_ms,
        Still::Distrust | Still::Question(_) => knew.contains(still),
    };
    all(core, backend, effect).into_iter().find(|still| !is_known(still))
}

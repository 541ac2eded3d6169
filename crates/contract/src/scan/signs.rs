//! Weak signs that a text speaks to a model. None says enough alone, since honest tools hold each of them; what counts is
//! how many of different kinds stand close together, and in what place.

use super::Talk;
use super::classes::*;
use super::index::Index;
use super::rules::{Rule, meet, steps};
use super::words::Sentence;
use std::ops::Range;
use std::sync::LazyLock;

/// So much has to come together.
const ENOUGH: u8 = 4;
/// In so many sentences, one after the other.
const CLOSE: usize = 3;
/// Fewer words are no prose.
const MIN_PROSE: usize = 5;

/// What a sign is a sign of. Of one kind only the heaviest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Addressee,
    Secrecy,
    Source,
    Transfer,
    Sink,
    Outside,
    Pressure,
    Consent,
    Override,
    Persona,
    Monopoly,
    Sequence,
    OtherTool,
    Command,
    Terminal,
    Persistence,
}

struct Sign {
    of: Of,
    weight: u8,
    rule: Rule,
}

const fn sign(of: Of, weight: u8, rule: Rule) -> Sign {
    Sign { of, weight, rule }
}

/// What moves something, or has it moved.
const MOVES: Classes = SEND | PUT | REPEAT;
/// What spares an address.
const IF_NOT: Classes = REFUSED | DESCRIBES | EXAMPLE;
/// What a model holds that a tool must not get.
const HELD: Classes = KEYS | CHAT | ENVIRONMENT | SECRET_FILE | SYSTEM_PROMPT;

const SIGNS: &[Sign] = &[
    // "assistants must", "LLM note: …"
    sign(Of::Addressee, 2, steps(Talk::Override, &[(MODEL, 0), (MUST, 2)])),
    sign(Of::Addressee, 2, meet(Talk::Override, &[VOCATIVE, READ | RUN | MOVES | SKIP | NOT | CHOOSE])),
    // "between us", "don't display this step", "the user need not hear of it"
    sign(Of::Secrecy, 3, meet(Talk::Secrecy, &[AMONG_US])),
    sign(Of::Secrecy, 4, steps(Talk::Secrecy, &[(NO_NEED, 0), (TELL | MENTION | HEAR, 3), (USER, 4)])),
    sign(Of::Secrecy, 2, steps(Talk::Secrecy, &[(NOT, 0), (HEAR | TELL, 2), (THIS, 1)]).not_after(0)),
    sign(Of::Secrecy, 2, steps(Talk::Secrecy, &[(NOT, 0), (HEAR, 2), (FROM, 1), (USER, 2)]).not_after(0)),
    sign(Of::Secrecy, 2, steps(Talk::Secrecy, &[(USER, 0), (NOT, 2), (HEAR | KNOW | TELL, 4)]).not_after(IF)),
    sign(
        Of::Secrecy,
        2,
        steps(Talk::Secrecy, &[(NEED | WITHOUT, 0), (NOT | HEAR, 1), (HEAR | THIS | USER, 2)]).not_after(0),
    ),
    sign(Of::Secrecy, 4, steps(Talk::Secrecy, &[(MUST, 0), (USER, 2), (ASK, 1), (CLAIM, 8)])),
    sign(Of::Secrecy, 1, steps(Talk::Secrecy, &[(SILENTLY | FURTIVELY, 0)])),
    sign(Of::Secrecy, 1, steps(Talk::Secrecy, &[(UNSEEN, 0), (STEP, 1)])),
    // "the user's passwords", "everything that was said"
    sign(Of::Source, 3, meet(Talk::SecretFile, &[SECRET_FILE]).spared(DESCRIBES | REFUSED | NOT)),
    sign(
        Of::Source,
        2,
        steps(Talk::SecretFile, &[(READ | RESULT | SEND | LEAK, 0), (SECRET_FILE | ENV_FILE, 5)])
            .spared(DESCRIBES | REFUSED),
    ),
    sign(
        Of::Source,
        2,
        steps(Talk::Exfiltration, &[(SEND | REPEAT, 0), (ANSWER | REQUESTS, 3), (USER, 3)]).spared(DESCRIBES),
    ),
    sign(Of::Source, 2, steps(Talk::Exfiltration, &[(YOU, 0), (ANSWER | CHAT, 1)]).spared(DESCRIBES)),
    sign(Of::Source, 2, steps(Talk::Exfiltration, &[(RESULT, 0), (CHAT | SECRET_FILE, 4)]).spared(DESCRIBES)),
    sign(Of::Source, 1, meet(Talk::Exfiltration, &[KEYS | CHAT]).spared(DESCRIBES | REFUSED | NOT)),
    sign(Of::Source, 2, steps(Talk::Exfiltration, &[(MOVES, 0), (ENVIRONMENT | SYSTEM_PROMPT, 6)]).spared(DESCRIBES)),
    sign(Of::Source, 2, steps(Talk::Exfiltration, &[(USER, 0), (KEYS | CHAT, 3)]).spared(DESCRIBES)),
    sign(Of::Source, 2, steps(Talk::Exfiltration, &[(KEYS | CHAT, 0), (USER, 4)]).spared(DESCRIBES | NOT)),
    sign(Of::Source, 2, steps(Talk::Exfiltration, &[(USER, 0), (REQUESTS, 2)]).spared(DESCRIBES | IF)),
    sign(Of::Source, 3, steps(Talk::Exfiltration, &[(NEED, 0), (RESULT, 2), (HOME_PATH | SECRET_FILE | CHAT, 3)])),
    sign(Of::Source, 2, steps(Talk::Exfiltration, &[(ALL, 0), (CHAT, 3)]).spared(DESCRIBES)),
    // "… and pass it as `session`"
    sign(
        Of::Sink,
        1,
        steps(Talk::Exfiltration, &[(MOVES | BY_WAY, 0), (QUOTED | ARGUMENT, 6)]).spared(DESCRIBES | INSTALL),
    ),
    sign(Of::Transfer, 2, steps(Talk::Exfiltration, &[(ARGUMENT | QUOTED | TOOL, 0), (NEED, 2), (HELD | USER, 8)])),
    sign(Of::Transfer, 2, steps(Talk::Exfiltration, &[(HELD, 0), (MOVES, 8), (THIS, 1)]).spared(REFUSED | NOT | IF)),
    sign(Of::Transfer, 2, steps(Talk::Exfiltration, &[(HELD, 0), (NEED, 6)]).spared(REFUSED | NOT | IF)),
    sign(Of::Transfer, 2, steps(Talk::Exfiltration, &[(MOVES, 0), (HELD, 8)]).spared(DESCRIBES | REFUSED | NOT | IF)),
    sign(Of::Transfer, 2, steps(Talk::Exfiltration, &[(HELD, 0), (MUST, 6), (MOVES | READ, 3)]).spared(REFUSED | NOT)),
    // "add x@y.z in bcc", "request https://…?d={answer}"
    sign(
        Of::Outside,
        4,
        steps(Talk::Exfiltration, &[(SEND | PUT | ALTER, 0), (MAILBOX, 6), (TARGET, 6)]).spared(IF_NOT),
    ),
    sign(Of::Outside, 4, steps(Talk::Exfiltration, &[(TARGET, 0), (MUST | BY_WAY, 6), (MAILBOX, 3)]).spared(IF_NOT)),
    sign(
        Of::Outside,
        4,
        meet(Talk::Exfiltration, &[MOVES | ALTER, MAILBOX, WHENEVER | ALL | MUST | LATER | NOW_ON]).spared(IF_NOT),
    ),
    sign(Of::Outside, 2, meet(Talk::Exfiltration, &[MOVES | ALTER, MAILBOX]).spared(IF_NOT)),
    sign(Of::Outside, 3, steps(Talk::Exfiltration, &[(TARGET, 0), (LONG_NUMBER, 4)]).spared(DESCRIBES)),
    sign(Of::Outside, 3, steps(Talk::Exfiltration, &[(USE | SEND | ALTER, 0), (LONG_NUMBER, 3)]).spared(IF_NOT)),
    sign(Of::OtherTool, 1, meet(Talk::OtherTool, &[LONG_NUMBER, FOREIGN_NAME | INSTEAD])),
    sign(Of::Outside, 2, meet(Talk::Exfiltration, &[LEAK])),
    // "or the account is locked"
    sign(Of::Pressure, 1, steps(Talk::Override, &[(ELSE, 0), (LOSS, 8)])),
    sign(Of::Pressure, 1, steps(Talk::Override, &[(LOSS, 0), (ELSE, 2)])),
    sign(Of::Pressure, 1, meet(Talk::Override, &[URGENT])),
    sign(Of::Pressure, 1, steps(Talk::Override, &[(YOU, 0), (MUST, 1)])),
    // "counts as confirmed", "skip the confirmation", "no approval is needed"
    sign(Of::Consent, 4, steps(Talk::Approval, &[(COUNTS, 0), (CONSENT | TRUST, 2)]).spared(IF)),
    sign(Of::Consent, 2, steps(Talk::Approval, &[(SKIP | DISABLE, 0), (CONSENT, 3)])),
    sign(Of::Consent, 2, steps(Talk::Approval, &[(CONSENT, 0), (ALREADY | EARLIER, 3)]).not_after(NOT | IF)),
    sign(Of::Consent, 3, steps(Talk::Approval, &[(CONSENT, 0), (GIVEN, 4)]).not_after(NOT | IF).spared(IF)),
    sign(Of::Consent, 2, steps(Talk::Approval, &[(NOT, 0), (CONSENT, 2), (NEED | MUST, 3)]).not_after(0)),
    sign(Of::Consent, 3, steps(Talk::Approval, &[(CONSENT, 0), (LIFTED, 4)]).spared(IF)),
    sign(Of::Consent, 2, steps(Talk::Approval, &[(WITHOUT, 0), (ASK, 1)]).spared(DESCRIBES)),
    sign(Of::Consent, 2, steps(Talk::Approval, &[(USER, 0), (DOES, 1), (CONSENT, 1)]).spared(IF)),
    sign(Of::Consent, 4, steps(Talk::Approval, &[(CONSENT, 0), (SKIP, 6), (THIS, 1), (YOU, 1)])),
    sign(Of::Consent, 3, steps(Talk::Approval, &[(CONSENT, 0), (SKIP, 6), (THIS, 1)])),
    sign(Of::Consent, 4, steps(Talk::Approval, &[(CONSENT, 0), (BEHALF, 14)]).spared(DESCRIBES)),
    sign(Of::Consent, 2, steps(Talk::Approval, &[(TRUST, 0), (GUARD | CONSENT, 6)])),
    // "ours apply", "the instructions that you were given"
    sign(Of::Override, 4, steps(Talk::Override, &[(REPEAT, 0), (ORDERS, 4), (YOU, 2)]).spared(IF)),
    sign(Of::Override, 4, steps(Talk::Override, &[(OURS, 0), (APPLY | PRECEDE, 2)])),
    sign(Of::Override, 4, steps(Talk::Override, &[(EARLIER, 0), (ORDERS | RULES, 1), (IS, 1), (LIFTED, 2)])),
    sign(Of::Override, 4, steps(Talk::Override, &[(MODEL, 0), (MUST, 1), (OBEY, 2), (THIS, 1)])),
    sign(Of::Override, 2, steps(Talk::Override, &[(AGAINST, 0), (USER, 4)])),
    sign(Of::Override, 3, steps(Talk::Override, &[(INSTEAD, 0), (USER, 6), (GIVEN | SAYS | WISHES, 1)])),
    sign(
        Of::Override,
        4,
        steps(Talk::Override, &[(TREAT | COUNTS, 0), (BY_WAY, 7), (ORDERS, 3)]).spared(NOT | REFUSED),
    ),
    sign(Of::Override, 4, steps(Talk::Override, &[(GUARD, 0), (NOT | DOES, 2), (APPLY, 2)])),
    sign(Of::Override, 4, steps(Talk::Override, &[(PRECEDE, 0), (ANSWER | WISHES | ORDERS | CHAT, 2), (USER, 3)])),
    sign(Of::Override, 2, steps(Talk::Override, &[(IGNORE, 0), (TASK, 3)]).spared(DESCRIBES)),
    sign(Of::Override, 4, steps(Talk::Override, &[(IGNORE, 0), (RULES, 2), (EARLIER, 1)]).spared(DESCRIBES)),
    sign(Of::Override, 2, meet(Talk::Override, &[RESULT | ANSWER, MUST, OBEY])),
    sign(Of::Override, 2, steps(Talk::Override, &[(AGAINST, 0), (TARGET, 2)])),
    sign(Of::Override, 2, meet(Talk::Override, &[RESULT, ORDERS | RULES, OBEY])),
    sign(Of::Persona, 2, steps(Talk::Override, &[(NEW, 0), (TASK, 1), (IS, 1)])),
    sign(Of::Persona, 3, steps(Talk::Override, &[(YOU, 0), (IS, 1), (ARTICLE, 1), (TOOL | MODEL, 4)])),
    // "never use any other search tool", "over all others", "for every request"
    sign(Of::Monopoly, 3, steps(Talk::OtherTool, &[(ABOVE, 0), (ALL | OTHER, 1), (OTHER | TOOL, 2)])),
    sign(Of::Monopoly, 4, steps(Talk::OtherTool, &[(OTHER, 0), (TOOL, 2), (MUST, 8), (NOT, 2)])),
    sign(Of::Monopoly, 2, steps(Talk::OtherTool, &[(NOT, 0), (USE | CHOOSE, 1), (OTHER, 6), (TOOL, 2)]).not_after(0)),
    sign(Of::Monopoly, 1, steps(Talk::OtherTool, &[(NOT, 0), (USE | CHOOSE, 1), (FOREIGN_NAME, 2)]).not_after(0)),
    // "after each tool result", "for every request"
    sign(
        Of::Sequence,
        2,
        steps(Talk::OtherTool, &[(BEFORE | WHENEVER, 0), (OTHER, 1), (TOOL | ANSWER, 1)]).spared(NOT),
    ),
    sign(Of::Sequence, 2, steps(Talk::OtherTool, &[(BEFORE, 0), (ANSWER, 1), (USER, 3)])),
    sign(Of::Sequence, 2, steps(Talk::OtherTool, &[(BEFORE, 0), (OTHER, 1), (TOOL, 1), (RESULT, 1)]).spared(NOT)),
    sign(Of::Sequence, 1, steps(Talk::OtherTool, &[(OTHER, 0), (REQUESTS, 1)])),
    // "web_search, which is insecure", "when send_mail is used, change …"
    sign(Of::OtherTool, 2, steps(Talk::OtherTool, &[(FOREIGN_NAME, 0), (BAD, 6)]).not_after(NOT)),
    sign(Of::OtherTool, 2, meet(Talk::OtherTool, &[WHENEVER | BEFORE, FOREIGN_NAME, ALTER, TARGET])),
    sign(Of::OtherTool, 1, meet(Talk::OtherTool, &[VOCATIVE, RUN, FOREIGN_NAME])),
    // "run `npx -y x@latest` in the terminal"
    sign(Of::Command, 2, steps(Talk::Command, &[(RUN, 0), (INSTALL, 1)])),
    sign(Of::Command, 2, steps(Talk::Command, &[(RUN, 0), (DANGER, 2)]).spared(DESCRIBES)),
    sign(Of::Command, 3, steps(Talk::Command, &[(FETCH_COMMAND, 0), (SHELL, 10)])),
    sign(Of::Terminal, 1, steps(Talk::Command, &[(RUN, 0), (TERMINAL, 3)])),
    // "write it to CLAUDE.md, for all later sessions"
    sign(Of::Persistence, 4, meet(Talk::Override, &[PUT | SEND, AGENT_FILE]).spared(DESCRIBES | ASK | IF)),
    sign(Of::Persistence, 2, steps(Talk::Override, &[(LATER, 0), (CHAT | REQUESTS, 1)])),
];

/// In what kind of place a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Where prose belongs.
    Prose,
    /// Where a value, a name or an address belongs.
    Value,
    /// Where prose belongs that describes what comes back.
    Output,
}

/// The signs of one text, sentence by sentence.
#[derive(Default)]
pub(super) struct Weighed(Vec<Read>);

#[derive(Default)]
struct Read {
    span: Range<usize>,
    signs: Vec<&'static Sign>,
    place: u8,
}

impl Weighed {
    pub(super) fn add(&mut self, sentence: &Sentence, place: Place) {
        static INDEX: LazyLock<Index> = LazyLock::new(|| Index::of(SIGNS.iter().map(|sign| &sign.rule)));
        let candidates = INDEX.candidates(sentence.all).map(|place| &SIGNS[place]);
        let signs = candidates.filter(|sign| sign.rule.fits(sentence)).collect();
        self.0.push(Read { span: sentence.span.clone(), signs, place: weight_of(place, sentence) });
    }

    /// The first sentences in which enough comes together, with what they say most.
    pub(super) fn enough(&self) -> Option<(Talk, Range<usize>)> {
        (0..self.0.len()).filter(|at| !self.0[*at].signs.is_empty()).find_map(|at| {
            let close = &self.0[at..self.0.len().min(at + CLOSE)];
            let mut heaviest: Vec<&Sign> = Vec::new();
            let mut last = at;
            for (place, sign) in close.iter().enumerate().flat_map(|(n, read)| read.signs.iter().map(move |s| (n, *s)))
            {
                match heaviest.iter_mut().find(|known| known.of == sign.of) {
                    Some(known) if known.weight >= sign.weight => continue,
                    Some(known) => *known = sign,
                    None => heaviest.push(sign),
                }
                last = at + place;
            }
            let place = close.iter().map(|read| read.place).max().unwrap_or(0);
            let sum = heaviest.iter().map(|sign| sign.weight).sum::<u8>() + place;
            let most = heaviest.iter().max_by_key(|sign| sign.weight)?;
            (sum >= ENOUGH).then(|| (most.rule.talk, self.0[at].span.start..self.0[last].span.end))
        })
    }
}

/// A sentence that wants something done, where no such sentence belongs.
fn weight_of(place: Place, sentence: &Sentence) -> u8 {
    let wants = sentence.words.len() >= MIN_PROSE
        && sentence.all & (READ | RUN | MOVES | SKIP | OBEY) != 0
        && sentence.all & DESCRIBES == 0;
    match place {
        Place::Value if wants => 2,
        Place::Output if wants && sentence.all & (FOREIGN_NAME | MODEL | SECRET_FILE) != 0 => 1,
        _ => 0,
    }
}

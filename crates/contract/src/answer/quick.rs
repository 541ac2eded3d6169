//! Whether anything in a received text may have to be changed, told from its bytes at memory speed: no value is read,
//! nothing is allocated. May say yes for nothing; never says no where there is something.

use super::marks;
use super::secrets::Secrets;
use crate::tree::hex4;
use aho_corasick::packed::{Config, Searcher};
use memchr::memmem::Finder;

/// The packed search takes some more, but gets slower.
const MAX_PACK: usize = 48;
/// Starts of [`super::LEAD`] in all cases.
const LEADS: [&[u8]; 4] = [b"[ca", b"[cA", b"[Ca", b"[CA"];
const NAMES: &[u8] = b"dev.callgate";
/// What the names of ids in the hub's outcomes begin with, and how they end, in all cases.
const IDS: [&[u8]; 2] = [b"approva", b"cal"];
const ENDS: [&[u8]; 8] = [b"l_id", b"l_iD", b"l_Id", b"l_ID", b"L_id", b"L_iD", b"L_Id", b"L_ID"];

/// What is looked for.
#[derive(Clone, Debug)]
pub(super) struct Quick {
    /// Each with the number of secrets among what it looks for; they come first.
    packs: Vec<(Searcher, usize)>,
    /// Where this machine has no packed search; whether it is a secret.
    singles: Vec<(Finder<'static>, bool)>,
    escapes: Finder<'static>,
    refusals: [Finder<'static>; 3],
    any_escape: bool,
}

impl Quick {
    pub(super) fn new(secrets: &Secrets) -> Quick {
        let own = LEADS.into_iter().chain([NAMES]).chain(ENDS);
        // Of two that begin in one place the first is found: nothing of ours may hide a secret.
        let all: Vec<&[u8]> = secrets.needles.iter().map(Vec::as_slice).chain(own).collect();
        let mut left = secrets.needles.len();
        let mut quick = Quick {
            packs: Vec::new(),
            singles: Vec::new(),
            escapes: Finder::new(b"\\u"),
            refusals: [Finder::new(b"false"), Finder::new(b"False"), Finder::new(b"FALSE")],
            any_escape: secrets.any_escape,
        };
        for some in all.chunks(MAX_PACK) {
            let here = left.min(some.len());
            left -= here;
            match Config::new().builder().extend(some).build() {
                Some(pack) => quick.packs.push((pack, here)),
                None => {
                    let single = |(at, one): (usize, &&[u8])| (Finder::new(one).into_owned(), at < here);
                    quick.singles.extend(some.iter().enumerate().map(single));
                }
            }
        }
        quick
    }

    /// Whether the text has to be read.
    pub(super) fn is_suspect(&self, text: &[u8]) -> bool {
        memchr::memchr2_iter(0xF3, 0xC2, text).any(|at| is_hidden(&text[at..]))
            || self.finds_escape(text)
            || (self.any_escape && memchr::memchr(b'\\', text).is_some())
            || self.finds_needle(text)
    }

    fn finds_escape(&self, text: &[u8]) -> bool {
        let mut at = 0;
        while let Some(found) = text.get(at..).and_then(|rest| self.escapes.find(rest)) {
            at += found;
            let slashes = text[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
            if slashes % 2 == 1 {
                // A letter that is escaped in the JSON of a text.
                if text.get(at + 2..at + 4) == Some(b"00") && hex4(text, at + 2).is_some_and(hides) {
                    return true;
                }
                at += 2;
                continue;
            }
            // Where there is one there are mostly more.
            while text[at.min(text.len())..].starts_with(b"\\u") {
                let Some(length) = plain_escape(&text[at..]) else { return true };
                at += length;
            }
        }
        false
    }

    fn finds_needle(&self, text: &[u8]) -> bool {
        // Looked for once, however many ids there are.
        let mut refuses = None;
        let mut refuses = || *refuses.get_or_insert_with(|| self.refusals.iter().any(|word| word.find(text).is_some()));
        for (pack, secrets) in &self.packs {
            let mut start = 0;
            while let Some(found) = pack.find_in(text, (start..text.len()).into()) {
                if found.pattern().as_usize() < *secrets || is_whole(text, found.start(), &mut refuses) {
                    return true;
                }
                start = found.start() + 1;
            }
        }
        self.singles
            .iter()
            .any(|(one, is_secret)| one.find_iter(text).any(|at| *is_secret || is_whole(text, at, &mut refuses)))
    }
}

/// Whether more of a needle's meaning is there than its beginning.
fn is_whole(text: &[u8], at: usize, refuses: &mut impl FnMut() -> bool) -> bool {
    let (before, text) = text.split_at(at);
    if LEADS.iter().any(|lead| text.starts_with(lead)) {
        return marks::is_lead(text);
    }
    if !ENDS.iter().any(|end| text.starts_with(end)) {
        return true;
    }
    let ends = |begin: &[u8]| {
        before.len().checked_sub(begin.len()).is_some_and(|from| before[from..].eq_ignore_ascii_case(begin))
    };
    IDS.iter().any(|id| ends(id)) && refuses()
}

/// A tag character, or a C1 control that acts like ESC and a letter.
fn is_hidden(text: &[u8]) -> bool {
    match *text {
        [0xF3, next, ..] => next == 0xA0,
        [_, next, ..] => matches!(next, 0x90 | 0x98 | 0x9B..=0x9F),
        _ => false,
    }
}

/// Whether it is a character that nobody escapes who has nothing to hide.
fn hides(code: u16) -> bool {
    u8::try_from(code).is_ok_and(|byte| byte.is_ascii_alphanumeric() || b"-_.~[]\\".contains(&byte))
}

/// The length of the `\u` escape that a text begins with, or of the pair of them; None where it stands for something
/// that is looked for, or for a letter that nobody escapes who has nothing to hide.
fn plain_escape(text: &[u8]) -> Option<usize> {
    match *text {
        [_, _, b'0', b'0', ..] => match u8::try_from(hex4(text, 2)?) {
            Ok(0x20..0x7F) => !hides(hex4(text, 2)?),
            Ok(byte) => !matches!(byte, 0x1B | 0x90 | 0x98 | 0x9B..=0x9F),
            Err(_) => false,
        }
        .then_some(6),
        // Half a pair, or a tag character.
        [_, _, b'd' | b'D', b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F', ..] => {
            let high = hex4(text, 2).filter(|high| matches!(high, 0xD800..=0xDBFF) && *high != 0xDB40)?;
            let low = if text.get(6..8) == Some(b"\\u") { hex4(text, 8) } else { None };
            char::decode_utf16([high, low?]).all(|c| c.is_ok()).then_some(12)
        }
        [_, _, _, _, ..] => Some(6),
        _ => None,
    }
}

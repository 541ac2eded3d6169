//! Cuts a text into sentences and each word into what it does there. Letters that only look like others are read as
//! those, hidden ones not at all, so that a disguise changes nothing.

use super::classes::{self as class, Classes};
use super::{files, lexicon, tongues};
use crate::visible::Hidden;
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use unicode_normalization::UnicodeNormalization;
use unicode_security::skeleton;

/// A sentence that does not end is cut here.
const MAX_WORDS: usize = 120;
/// Longer words are no words.
const MAX_PLAIN: usize = 40;
/// Shorter numbers belong to no account.
const MIN_ACCOUNT: usize = 11;
/// So many letters stand in the number of an account.
const MAX_LETTERS: usize = 6;
/// Longer beginnings of a sentence are no address to somebody.
const MAX_HEADING: usize = 12;
/// Words whose point ends no sentence.
const SHORT: [&str; 8] = ["e.g", "i.e", "etc", "vs", "incl", "resp", "approx", "cf"];
/// Ends of hosts that are written without a scheme.
const TOPS: [&str; 12] = ["com", "net", "org", "io", "co", "dev", "app", "ru", "biz", "info", "xyz", "site"];
/// Where people keep their own.
const HOMES: [&str; 9] =
    ["~/", "/home/", "/users/", "/root/", "/etc/", "$home/", "%userprofile%", "%appdata%", "c:\\users\\"];
/// Short words that some languages tie to the next one.
const TIED: [&str; 11] = ["l", "d", "n", "j", "c", "s", "m", "t", "qu", "all", "dell"];
/// Where examples live.
const EXAMPLES: [&str; 8] = ["example.", "localhost", "127.0.0.1", "0.0.0.0", "acme.", "your", "test.", "company."];

/// One sentence.
#[derive(Default)]
pub(super) struct Sentence {
    /// What each of its words does.
    pub(super) words: Vec<Classes>,
    /// Everything that some word of it does.
    pub(super) all: Classes,
    /// Where it stands in the text.
    pub(super) span: Range<usize>,
}

/// Hands every sentence of a text to `each`. `own` are the names that a definition gives by itself.
pub(super) fn sentences(text: &str, own: &HashSet<String>, mut each: impl FnMut(&Sentence)) {
    let sentence = Sentence { words: Vec::with_capacity(32), ..Sentence::default() };
    let mut reader = Reader { own, sentence, pair: String::with_capacity(32) };
    let mut end = 0;
    for chunk in text.split_whitespace() {
        let start = chunk.as_ptr() as usize - text.as_ptr() as usize;
        if begins_anew(&text[end..start], chunk) {
            reader.finish(end, &mut each);
        }
        if reader.sentence.words.is_empty() {
            reader.sentence.span.start = start;
        }
        let is_ascii = chunk.is_ascii();
        let parts = chunk.split_inclusive(|c| !is_ascii && matches!(c, '\u{3002}' | '\u{FF01}' | '\u{FF1F}'));
        let mut at = start;
        for part in parts {
            if at > start {
                reader.finish(at, &mut each);
                reader.sentence.span.start = at;
            }
            reader.chunk(part);
            at += part.len();
        }
        end = start + chunk.len();
        if ends_here(chunk) || reader.sentence.words.len() >= MAX_WORDS {
            reader.finish(end, &mut each);
        }
    }
    reader.finish(end, &mut each);
}

/// Whether a new paragraph or point of a list begins with this chunk.
fn begins_anew(gap: &str, chunk: &str) -> bool {
    let lines = gap.bytes().filter(|byte| *byte == b'\n').count();
    let is_number = || {
        let number = chunk.strip_suffix(['.', ')']);
        number.is_some_and(|number| number.len() < 4 && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    lines > 1 || (lines == 1 && (chunk.starts_with(['-', '*', '\u{2022}', '#', '<']) || is_number()))
}

fn ends_here(chunk: &str) -> bool {
    // Most words end in a letter.
    if chunk.as_bytes().last().is_some_and(|last| last.is_ascii_alphanumeric() || *last == b',') {
        return false;
    }
    let chunk = chunk.trim_end_matches(['"', '\'', ')', ']', '}', '`', '*', '_', '\u{201D}', '\u{2019}', '>']);
    let Some(before) = chunk.strip_suffix(['.', '!', '?', ';', '\u{3002}', '\u{2026}']) else { return false };
    !SHORT.iter().any(|short| before.trim_start_matches(['(', '"']).eq_ignore_ascii_case(short))
}

struct Reader<'o> {
    own: &'o HashSet<String>,
    sentence: Sentence,
    /// The last word, where it may open a pair, and behind it room for the pair.
    pair: String,
}

impl Reader<'_> {
    fn finish(&mut self, end: usize, each: &mut impl FnMut(&Sentence)) {
        self.pair.clear();
        if !self.sentence.words.is_empty() {
            self.sentence.span.end = end;
            each(&self.sentence);
            self.sentence.words.clear();
            self.sentence.all = 0;
        }
    }

    fn push(&mut self, classes: Classes) {
        let classes = classes & !class::OPENS;
        self.sentence.words.push(classes);
        self.sentence.all |= classes;
    }

    fn chunk(&mut self, chunk: &str) {
        for (place, part) in chunk.split('|').enumerate() {
            if place > 0 {
                self.push(class::PIPE);
            }
            if !part.is_empty() {
                self.part(part);
            }
        }
        let words = &mut self.sentence.words;
        let length = words.len();
        if chunk.ends_with([':', '\u{FF1A}']) && (1..=MAX_HEADING).contains(&length) {
            // "Assistant:", "Note for the model:".
            if words[length.saturating_sub(2)..].iter().any(|word| word & class::MODEL != 0) {
                words[length - 1] |= class::VOCATIVE;
                self.sentence.all |= class::VOCATIVE;
            }
        }
        if chunk.starts_with('`') && length > 0 {
            words[length - 1] |= class::QUOTED;
            self.sentence.all |= class::QUOTED;
        }
    }

    fn part(&mut self, chunk: &str) {
        let outer = |c: char| !(c.is_alphanumeric() || matches!(c, '~' | '/' | '\\' | '.' | '$' | '%' | '+' | '@'));
        let bare = chunk.trim_matches(outer);
        let bare = bare.trim_end_matches(['.', '/', '\\']);
        if bare == "e.g" {
            return self.push(class::EXAMPLE);
        }
        if is_plain_word(bare) {
            return self.plain(bare);
        }
        let folded = fold(bare);
        if !folded.is_ascii() && folded.contains(tongues::is_unspaced) {
            return self.unspaced(&folded);
        }
        if is_address(&folded) {
            let file = files::classes_of(&folded);
            let is_mailbox = folded.contains('@') && !folded.contains('/');
            let address = class::ADDRESS | if is_mailbox { class::MAILBOX } else { 0 };
            let ends_open = chunk.trim_end_matches([')', '`', '"', '\'', '.', ',', '>']).ends_with('=');
            let leak = if ends_open || leaks(&folded) { class::LEAK } else { 0 };
            return self.push(file | leak | if is_example(&folded) { 0 } else { address });
        }
        if HOMES.iter().any(|home| folded.starts_with(home)) {
            return self.push(class::HOME_PATH | files::classes_of(&folded));
        }
        if folded.contains(['.', '/', '\\', '_']) {
            let file = files::classes_of(&folded);
            if file != 0 {
                return self.push(file);
            }
        }
        if bare.len() > MIN_ACCOUNT && bare.bytes().filter(u8::is_ascii_digit).count() + MAX_LETTERS >= bare.len() {
            return self.push(class::LONG_NUMBER);
        }
        if is_name(bare) {
            return self.name(bare);
        }
        for word in folded.split(|c: char| !(c.is_alphanumeric() || c == '\'')) {
            let word = word.strip_suffix("'s").unwrap_or(word);
            match word.split_once('\'') {
                None if word.is_empty() => {}
                None => self.word(word),
                Some((tied, word)) if TIED.contains(&tied) => {
                    self.word(tied);
                    self.word(word);
                }
                Some(_) => self.word(&word.replace('\'', "")),
            }
        }
    }

    /// One word of Latin letters, as most are.
    fn plain(&mut self, word: &str) {
        let mut small = [0; MAX_PLAIN];
        let small = &mut small[..word.len()];
        small.copy_from_slice(word.as_bytes());
        small.make_ascii_lowercase();
        self.word(std::str::from_utf8(small).unwrap_or_default());
    }

    fn word(&mut self, word: &str) {
        let mut classes = lexicon::classes_of(word) | tongues::classes_of(word);
        if self.sentence.words.is_empty() && lexicon::describes(word) {
            classes |= class::DESCRIBES;
        }
        if !self.pair.is_empty() {
            self.pair.push(' ');
            self.pair.push_str(word);
            let both = lexicon::classes_of(&self.pair);
            // `does not` says what is, `do not` what should be.
            classes |= both;
            self.pair.clear();
        }
        if word == "not" && self.sentence.words.last().is_some_and(|before| before & class::DOES != 0) {
            classes &= !class::NOT;
        }
        if classes & class::OPENS != 0 {
            self.pair.push_str(word);
        }
        self.push(classes);
    }

    /// A text in which known words are found without spaces between; what is of another script in it is a word.
    fn unspaced(&mut self, text: &str) {
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let is_unspaced = tongues::is_unspaced(first);
            let end = rest.find(|c| tongues::is_unspaced(c) != is_unspaced).unwrap_or(rest.len());
            let (run, after) = rest.split_at(end);
            if is_unspaced {
                tongues::unspaced(run, |classes| self.push(classes));
            } else {
                self.part(run);
            }
            rest = after;
        }
    }

    /// A name counts as one word that does what its parts do together.
    fn name(&mut self, name: &str) {
        self.pair.clear();
        let parts = &split_name(name);
        let foreign = if self.own.contains(name) { 0 } else { class::FOREIGN_NAME };
        let mut classes = class::NAME | foreign | lexicon::classes_of(parts);
        let words: Vec<&str> = parts.split(' ').collect();
        for pair in words.windows(2) {
            classes |= lexicon::classes_of(&pair.join(" "));
        }
        self.push(classes);
    }
}

/// Whether it is nothing but a word of Latin letters, and no name in `camelCase`.
fn is_plain_word(bare: &str) -> bool {
    let bytes = bare.as_bytes();
    bytes.len() <= MAX_PLAIN && bytes.iter().all(u8::is_ascii_alphabetic) && !has_hump(bytes)
}

fn has_hump(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
}

/// Whether a chunk is a name of a program: words joined by `_`, or by capitals within.
fn is_name(bare: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let bytes = bare.as_bytes();
    bytes.iter().all(|byte| is_word(*byte)) && (bare.trim_matches('_').contains('_') || has_hump(bytes))
}

/// The words of a name in small letters, with spaces between.
pub(super) fn split_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    let mut before = ' ';
    for c in name.chars() {
        if !c.is_alphanumeric() {
            if !out.ends_with(' ') {
                out.push(' ');
            }
        } else {
            if c.is_uppercase() && before.is_lowercase() {
                out.push(' ');
            }
            out.extend(c.to_lowercase());
        }
        before = c;
    }
    out.trim().to_owned()
}

fn is_address(folded: &str) -> bool {
    let is_mail = || folded.split_once('@').is_some_and(|(user, host)| !user.is_empty() && host.contains('.'));
    let digits = || folded.bytes().skip(1).filter(u8::is_ascii_digit).count();
    let is_host = || {
        let host = folded.split('/').next().unwrap_or_default();
        let mut parts = host.rsplit('.');
        let is_top = parts.next().is_some_and(|top| TOPS.contains(&top));
        is_top && folded.len() > host.len() && parts.all(|part| !part.is_empty())
    };
    folded.contains("://")
        || folded.starts_with("www.")
        || is_mail()
        || is_host()
        || (folded.starts_with('+') && digits() > 1 && !folded.contains('.'))
}

/// Whether an address has a place for something that a model knows: `?d={answer}`, `?d=<what the user said>`.
fn leaks(folded: &str) -> bool {
    let held = class::RESULT
        | class::CHAT
        | class::KEYS
        | class::ANSWER
        | class::SYSTEM_PROMPT
        | class::ENVIRONMENT
        | class::SECRET_FILE;
    let query = folded.split_once('?').map_or("", |(_, query)| query);
    let mut places = query.split(['{', '<', '[']).skip(1);
    places.any(|place| match place.split_once(['}', '>', ']']) {
        // Spaces in it: a description of what is to be filled in.
        None => true,
        Some((name, _)) => split_name(name).split(' ').any(|word| lexicon::classes_of(word) & held != 0),
    })
}

fn is_example(folded: &str) -> bool {
    EXAMPLES.iter().any(|example| folded.contains(example))
}

/// Small letters, with foreign letters that are drawn like Latin ones as those, and without hidden ones.
fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        let is_small = !text.bytes().any(|byte| byte.is_ascii_uppercase());
        return if is_small { Cow::Borrowed(text) } else { Cow::Owned(text.to_ascii_lowercase()) };
    }
    let is_latin = text.chars().any(|c| c.is_ascii_alphabetic());
    let mut out = String::with_capacity(text.len());
    for c in text.chars().filter(|c| Hidden::of(*c).is_none()) {
        match c {
            '\u{2018}' | '\u{2019}' => out.push('\''),
            '\u{370}'..='\u{58F}' | '\u{13A0}'..='\u{13FF}' if is_latin => latin(c, &mut out),
            c => match c.nfkc().next().filter(|plain| plain.is_ascii() && !c.is_ascii()) {
                // Wide, bold, circled and other forms of Latin letters.
                Some(plain) => out.push(plain.to_ascii_lowercase()),
                None => out.extend(c.to_lowercase()),
            },
        }
    }
    Cow::Owned(out)
}

/// The Latin letters that a foreign one looks like, if it does.
fn latin(c: char, out: &mut String) {
    let mut one = [0; 4];
    let looks: String = skeleton(c.encode_utf8(&mut one)).collect();
    if looks.is_ascii() {
        // Of the two spellings of that form, the one letter is meant.
        out.push_str(&looks.replace("rn", "m").to_ascii_lowercase());
    } else {
        out.extend(c.to_lowercase());
    }
}

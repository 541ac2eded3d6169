//! The differences as lines of words, for people: what is hidden is visible, what is long is compared line by line and
//! then word by word. Bounded: what is too large to compare stands there as a whole.

use super::walk::Part;
use super::{DiffLine, Side, Word};
use crate::tree::{Kind, Value, push_segment};
use crate::visible;

/// Most pairs that are compared at once; beyond that everything counts as changed.
const MAX_PAIRS: usize = 1 << 20;

/// All lines of all parts.
pub(super) fn of(parts: &[Part<'_>]) -> Vec<DiffLine> {
    let mut lines = Vec::new();
    for part in parts {
        match (part.old.and_then(Value::string), part.new.and_then(Value::string)) {
            (Some(old), Some(new)) => texts(&part.path, &old, &new, &mut lines),
            _ => {
                let mut whole = |value: Option<Value<'_>>, side| {
                    if let Some(value) = value {
                        leaves(value, &mut part.path.clone(), side, &mut lines);
                    }
                };
                whole(part.old, Side::Approved);
                whole(part.new, Side::Now);
            }
        }
    }
    lines
}

/// Everything in a value that is on one side only. As deep as a text may be nested, which is bounded.
fn leaves(value: Value<'_>, path: &mut String, side: Side, lines: &mut Vec<DiffLine>) {
    let length = path.len();
    match value.kind() {
        Kind::Object if value.count() > 0 => {
            for (key, member) in value.members() {
                push_segment(path, &key.string().unwrap_or_default());
                leaves(member, path, side, lines);
                path.truncate(length);
            }
        }
        Kind::Array if value.elements().any(|element| matches!(element.kind(), Kind::Object | Kind::Array)) => {
            for (place, element) in value.elements().enumerate() {
                push_segment(path, &place.to_string());
                leaves(element, path, side, lines);
                path.truncate(length);
            }
        }
        Kind::String => {
            let text = value.string().unwrap_or_default();
            lines.extend(text.split('\n').map(|line| whole_line(path, side, line)));
        }
        _ => lines.push(whole_line(path, side, value.source())),
    }
}

fn whole_line(path: &str, side: Side, line: &str) -> DiffLine {
    let word = Word { text: visible::escape(line).into_owned(), changed: true };
    DiffLine { place: visible::escape(path).into_owned(), side, words: vec![word] }
}

/// Two versions of one text.
fn texts(path: &str, old: &str, new: &str, lines: &mut Vec<DiffLine>) {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split('\n').collect(), new.split('\n').collect());
    let place = visible::escape(path).into_owned();
    let line = |side, words| DiffLine { place: place.clone(), side, words };
    let same = common(&old, &new);
    let (mut at_old, mut at_new) = (0, 0);
    for (next_old, next_new) in same.into_iter().chain([(old.len(), new.len())]) {
        let (gone, come) = (&old[at_old..next_old], &new[at_new..next_new]);
        if !gone.is_empty() || !come.is_empty() {
            // The line before and the one after tell where it is.
            if at_old > 0 {
                let before = line(Side::Both, vec![unchanged(old[at_old - 1])]);
                if lines.last() != Some(&before) {
                    lines.push(before);
                }
            }
            let pairs: Vec<(Vec<Word>, Vec<Word>)> =
                gone.iter().zip(come).map(|(gone, come)| words(gone, come)).collect();
            let left = |all: &[&str]| -> Vec<Vec<Word>> {
                all[pairs.len()..]
                    .iter()
                    .map(|text| vec![Word { text: visible::escape(text).into_owned(), changed: true }])
                    .collect()
            };
            let (gone_left, come_left) = (left(gone), left(come));
            let (gone_words, come_words): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
            lines.extend(gone_words.into_iter().chain(gone_left).map(|words| line(Side::Approved, words)));
            lines.extend(come_words.into_iter().chain(come_left).map(|words| line(Side::Now, words)));
            if next_old < old.len() {
                lines.push(line(Side::Both, vec![unchanged(old[next_old])]));
            }
        }
        (at_old, at_new) = (next_old + 1, next_new + 1);
    }
}

fn unchanged(text: &str) -> Word {
    Word { text: visible::escape(text).into_owned(), changed: false }
}

/// Two versions of one line, word by word.
fn words(old: &str, new: &str) -> (Vec<Word>, Vec<Word>) {
    let (old, new) = (tokens(old), tokens(new));
    let same = common(&old, &new);
    let side = |tokens: &[&str], kept: &dyn Fn(&(usize, usize)) -> usize| {
        let kept: Vec<usize> = same.iter().map(kept).collect();
        let mut next = kept.iter().peekable();
        let mut runs: Vec<(bool, String)> = Vec::new();
        for (place, token) in tokens.iter().enumerate() {
            let changed = next.next_if(|kept| **kept == place).is_none();
            match runs.last_mut() {
                Some((before, text)) if *before == changed => text.push_str(token),
                _ => runs.push((changed, (*token).to_owned())),
            }
        }
        runs.into_iter().map(|(changed, text)| Word { text: shown(&text, changed), changed }).collect()
    };
    (side(&old, &|pair| pair.0), side(&new, &|pair| pair.1))
}

/// A changed run of spaces alone would not show.
fn shown(text: &str, changed: bool) -> String {
    if changed && text.chars().all(|c| c == ' ') {
        return "\\u{20}".repeat(text.len());
    }
    visible::escape(text).into_owned()
}

/// Words, runs of spaces and single marks.
fn tokens(line: &str) -> Vec<&str> {
    let class = |c: char| match c {
        c if c.is_whitespace() => 0,
        c if c.is_ascii_punctuation() && c != '_' => 2,
        _ => 1,
    };
    let mut tokens = Vec::new();
    let mut start = 0;
    let mut before = None;
    for (at, c) in line.char_indices() {
        let class = class(c);
        if before.is_some_and(|before| before != class || class == 2) {
            tokens.push(&line[start..at]);
            start = at;
        }
        before = Some(class);
    }
    if start < line.len() {
        tokens.push(&line[start..]);
    }
    tokens
}

/// Places of a longest common subsequence, in order.
fn common(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let most = old.len().min(new.len()) - start;
    let end = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(old, new)| old == new).count();
    let mut pairs: Vec<(usize, usize)> = (0..start).map(|place| (place, place)).collect();
    let (a, b) = (&old[start..old.len() - end], &new[start..new.len() - end]);
    if a.len().saturating_mul(b.len()) <= MAX_PAIRS {
        pairs.extend(longest(a, b).into_iter().map(|(x, y)| (start + x, start + y)));
    }
    pairs.extend((0..end).rev().map(|back| (old.len() - 1 - back, new.len() - 1 - back)));
    pairs
}

fn longest(a: &[&str], b: &[&str]) -> Vec<(usize, usize)> {
    let width = b.len() + 1;
    // How long the longest one is from each pair of places on.
    let mut lengths = vec![0u32; (a.len() + 1) * width];
    for x in (0..a.len()).rev() {
        for y in (0..b.len()).rev() {
            lengths[x * width + y] = if a[x] == b[y] {
                lengths[(x + 1) * width + y + 1] + 1
            } else {
                lengths[(x + 1) * width + y].max(lengths[x * width + y + 1])
            };
        }
    }
    let (mut x, mut y) = (0, 0);
    let mut pairs = Vec::new();
    while x < a.len() && y < b.len() {
        if a[x] == b[y] {
            pairs.push((x, y));
            (x, y) = (x + 1, y + 1);
        } else if lengths[(x + 1) * width + y] >= lengths[x * width + y + 1] {
            x += 1;
        } else {
            y += 1;
        }
    }
    pairs
}

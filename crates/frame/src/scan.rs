//! Walks over one JSON text that build nothing: [`walk`] checks every byte of a value (RFC 8259) and tells a visitor
//! what it meets; [`skip`] only finds where a value of a checked text ends. Neither recurses nor panics on any input.

use crate::strict::MAX_DEPTH;
use std::ops::Range;

/// Why a text is no JSON value that we accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanFault {
    Syntax,
    TooDeep,
}

type Scan = Result<usize, ScanFault>;

/// What is told during a walk. Depth counts the containers that are open around the thing told.
pub(crate) trait Visit {
    /// An object begins; its keys will stand at `depth`.
    fn open_object(&mut self, _depth: usize) {}
    /// The object whose keys stand at `depth` has ended.
    fn close_object(&mut self, _depth: usize) {}
    /// A key with its quotes; its value begins at `value`.
    fn key(&mut self, _depth: usize, _key: Range<usize>, _value: usize) {}
    /// A value, member or element, has ended before `end`.
    fn end(&mut self, _depth: usize, _end: usize) {}
}

/// A visitor that wants to know nothing.
pub(crate) struct Blind;
impl Visit for Blind {}

/// What a walk met in the strings on its way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Met {
    /// Bytes over 0x7F: whether they are UTF-8 is not checked by the walk.
    pub(crate) non_ascii: bool,
    /// A `\u` escape that is half of a surrogate pair.
    pub(crate) lone_surrogate: bool,
}

#[inline]
pub(crate) fn skip_space(text: &[u8], at: usize) -> usize {
    // Most writers put none.
    if text.get(at).is_some_and(|byte| *byte <= b' ') { skip_some_space(text, at) } else { at }
}

fn skip_some_space(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = text.get(at) {
        at += 1;
    }
    at
}

/// The end of the value that begins at `at` (no space before it), checking every byte of it but UTF-8.
pub(crate) fn walk(text: &[u8], mut at: usize, met: &mut Met, visit: &mut impl Visit) -> Scan {
    // One bit for each open container, the innermost lowest: 1 = object, 0 = array.
    let mut open: u128 = 0;
    let mut depth = 0usize;
    loop {
        match text.get(at) {
            Some(b'"') => at = string(text, at + 1, met)?,
            Some(b'{') => {
                depth = deeper(depth)?;
                open = open << 1 | 1;
                visit.open_object(depth);
                at = skip_space(text, at + 1);
                if text.get(at) == Some(&b'}') {
                    visit.close_object(depth);
                    at += 1;
                    depth -= 1;
                    open >>= 1;
                } else {
                    at = key(text, at, depth, met, visit)?;
                    continue;
                }
            }
            Some(b'[') => {
                depth = deeper(depth)?;
                open <<= 1;
                at = skip_space(text, at + 1);
                if text.get(at) == Some(&b']') {
                    at += 1;
                    depth -= 1;
                    open >>= 1;
                } else {
                    continue;
                }
            }
            Some(b't') => at = literal(text, at, b"true")?,
            Some(b'f') => at = literal(text, at, b"false")?,
            Some(b'n') => at = literal(text, at, b"null")?,
            Some(b'-' | b'0'..=b'9') => at = number(text, at)?,
            _ => return Err(ScanFault::Syntax),
        }
        // A value has ended: close what ends with it, or go on to the next one.
        loop {
            visit.end(depth, at);
            if depth == 0 {
                return Ok(at);
            }
            at = skip_space(text, at);
            let in_object = open & 1 == 1;
            match text.get(at) {
                Some(b',') => {
                    at = skip_space(text, at + 1);
                    if in_object {
                        at = key(text, at, depth, met, visit)?;
                    }
                    break;
                }
                Some(b'}') if in_object => visit.close_object(depth),
                Some(b']') if !in_object => {}
                _ => return Err(ScanFault::Syntax),
            }
            at += 1;
            depth -= 1;
            open >>= 1;
        }
    }
}

fn deeper(depth: usize) -> Scan {
    if depth < MAX_DEPTH { Ok(depth + 1) } else { Err(ScanFault::TooDeep) }
}

/// A key and its colon; returns where its value begins.
#[inline(always)]
fn key(text: &[u8], start: usize, depth: usize, met: &mut Met, visit: &mut impl Visit) -> Scan {
    if text.get(start) != Some(&b'"') {
        return Err(ScanFault::Syntax);
    }
    let end = string(text, start + 1, met)?;
    let colon = skip_space(text, end);
    if text.get(colon) != Some(&b':') {
        return Err(ScanFault::Syntax);
    }
    let value = skip_space(text, colon + 1);
    visit.key(depth, start..end, value);
    Ok(value)
}

/// The end of the string whose opening quote is just before `at`.
#[inline(always)]
fn string(text: &[u8], at: usize, met: &mut Met) -> Scan {
    // Most strings end within their first three words: those are seen to in place.
    let mut near = at;
    while near <= at + 16
        && let Some(word) = text.get(near..near + 8).and_then(|word| <[u8; 8]>::try_from(word).ok())
    {
        let stops = stops(u64::from_le_bytes(word), HIGH);
        if stops != 0 {
            near += (stops.trailing_zeros() / 8) as usize;
            if text[near] == b'"' {
                return Ok(near + 1);
            }
            break;
        }
        near += 8;
    }
    string_rest(text, near, met)
}

#[inline(never)]
fn string_rest(text: &[u8], at: usize, met: &mut Met) -> Scan {
    let mut at = plain_run(text, at, met);
    loop {
        at = match text.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => escape(text, at, met)?,
            Some(0x80..) => {
                met.non_ascii = true;
                at
            }
            _ => return Err(ScanFault::Syntax),
        };
        at = plain_run(text, at, met);
    }
}

/// The end of the escape whose backslash is at `at`.
fn escape(text: &[u8], at: usize, met: &mut Met) -> Scan {
    match text.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'u') => {
            let unit = hex4(text, at + 2).ok_or(ScanFault::Syntax)?;
            if let 0xD800..=0xDBFF = unit
                && let Some(0xDC00..=0xDFFF) = low_half(text, at + 6)
            {
                return Ok(at + 12);
            }
            met.lone_surrogate |= matches!(unit, 0xD800..=0xDFFF);
            Ok(at + 6)
        }
        _ => Err(ScanFault::Syntax),
    }
}

/// The unit of a `\u` escape whose backslash is at `at`, if there is one.
pub(crate) fn low_half(text: &[u8], at: usize) -> Option<u16> {
    if text.get(at..at + 2) == Some(b"\\u") { hex4(text, at + 2) } else { None }
}

const ONES: u64 = u64::MAX / 255;
const HIGH: u64 = ONES * 0x80;
const BLOCK: usize = 64;

/// Where the run of plain characters that begins at `at` stops: at a quote, a backslash, a control character, the end,
/// or the first byte over 0x7F of the text.
#[inline]
fn plain_run(text: &[u8], mut at: usize, met: &Met) -> usize {
    let stop_high = if met.non_ascii { 0 } else { HIGH };
    let mut words = 0;
    while let Some(word) = text.get(at..at + 8).and_then(|word| <[u8; 8]>::try_from(word).ok()) {
        let stops = stops(u64::from_le_bytes(word), stop_high);
        if stops != 0 {
            return at + (stops.trailing_zeros() / 8) as usize;
        }
        at += 8;
        words += 1;
        if words == 8 {
            at = if met.non_ascii { blocks::<true>(text, at) } else { blocks::<false>(text, at) };
            words = 0;
        }
    }
    while let Some(&byte) = text.get(at) {
        if byte < 0x20 || byte == b'"' || byte == b'\\' || (byte > 0x7F && !met.non_ascii) {
            break;
        }
        at += 1;
    }
    at
}

/// Marks the bytes of a word that end a plain run; the lowest mark is exact, those above it may be false.
#[inline]
fn stops(word: u64, stop_high: u64) -> u64 {
    let control = word.wrapping_sub(ONES * 0x20) & !word & HIGH;
    control | ends(word) | word & stop_high
}

/// Marks the quotes and backslashes of a word; the lowest mark is exact, those above it may be false.
#[inline]
fn ends(word: u64) -> u64 {
    let quote = word ^ (ONES * b'"' as u64);
    let slash = word ^ (ONES * b'\\' as u64);
    (quote.wrapping_sub(ONES) & !quote | slash.wrapping_sub(ONES) & !slash) & HIGH
}

/// Goes over whole blocks without a stop. Folds without an early exit, so that they are vectorised.
fn blocks<const WIDE: bool>(text: &[u8], start: usize) -> usize {
    let (blocks, _) = text[start..].as_chunks::<BLOCK>();
    let plain = |block: &&[u8; BLOCK]| {
        !block.iter().fold(false, |stop, &byte| {
            // As a signed byte everything over 0x7F is below a space, too.
            let low = if WIDE { byte < 0x20 } else { byte.cast_signed() < 0x20 };
            stop | low | (byte == b'"') | (byte == b'\\')
        })
    };
    start + blocks.iter().take_while(plain).count() * BLOCK
}

/// The value of four hexadecimal digits at `at`.
pub(crate) fn hex4(text: &[u8], at: usize) -> Option<u16> {
    text.get(at..at + 4)?
        .iter()
        .try_fold(0u16, |sum, &byte| Some(sum << 4 | u16::try_from(char::from(byte).to_digit(16)?).ok()?))
}

fn literal(text: &[u8], at: usize, word: &[u8]) -> Scan {
    if text[at..].starts_with(word) { Ok(at + word.len()) } else { Err(ScanFault::Syntax) }
}

#[inline]
fn digits(text: &[u8], mut at: usize) -> Scan {
    let start = at;
    while text.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    if at == start { Err(ScanFault::Syntax) } else { Ok(at) }
}

#[inline]
fn number(text: &[u8], mut at: usize) -> Scan {
    if text.get(at) == Some(&b'-') {
        at += 1;
    }
    at = if text.get(at) == Some(&b'0') { at + 1 } else { digits(text, at)? };
    if text.get(at) == Some(&b'.') {
        at = digits(text, at + 1)?;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        at += 1;
        if let Some(b'+' | b'-') = text.get(at) {
            at += 1;
        }
        at = digits(text, at)?;
    }
    Ok(at)
}

/// The end of the value that begins at `at`, by strings and brackets alone: right for a checked text, and still an
/// end or None for any other.
#[inline]
pub(crate) fn skip(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at)? {
        b'"' => skip_string(text, at),
        b'{' | b'[' => skip_container(text, at),
        _ => {
            let mut end = at;
            while let Some(byte) = text.get(end) {
                if matches!(byte, b',' | b':' | b'}' | b']' | b'"' | b' ' | b'\t' | b'\n' | b'\r') {
                    break;
                }
                end += 1;
            }
            (end > at).then_some(end)
        }
    }
}

/// The end of the string whose opening quote is at `at`.
#[inline]
pub(crate) fn skip_string(text: &[u8], at: usize) -> Option<usize> {
    if text.get(at) != Some(&b'"') {
        return None;
    }
    let mut at = at + 1;
    loop {
        // Most strings are short, and a call of memchr costs as much as a dozen bytes.
        let word = text.get(at..at + 8).and_then(|word| <[u8; 8]>::try_from(word).ok());
        let marks = word.map_or(0, |word| ends(u64::from_le_bytes(word)));
        at += match marks {
            0 => memchr::memchr2(b'"', b'\\', text.get(at..)?)?,
            marks => (marks.trailing_zeros() / 8) as usize,
        };
        if text[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

fn skip_container(text: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0usize;
    loop {
        match text.get(at)? {
            b'"' => {
                at = skip_string(text, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

//! A validating walk over one JSON text (RFC 8259) that builds nothing: it only tells where values end.

use crate::strict::MAX_DEPTH;

/// Why a text is no JSON value that we accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanFault {
    Syntax,
    TooDeep,
}

type Scan = Result<usize, ScanFault>;

pub(crate) fn skip_space(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = text.get(at) {
        at += 1;
    }
    at
}

/// The end of the value that begins at `at` (no space before it), checking every byte of it.
pub(crate) fn value(text: &[u8], mut at: usize) -> Scan {
    // One bit for each open container, the innermost lowest: 1 = object, 0 = array.
    let mut open: u128 = 0;
    let mut depth = 0usize;
    loop {
        match text.get(at) {
            Some(b'"') => at = string(text, at)?,
            Some(b'{') => {
                depth = deeper(depth)?;
                open = open << 1 | 1;
                at = skip_space(text, at + 1);
                if text.get(at) == Some(&b'}') {
                    at += 1;
                    depth -= 1;
                    open >>= 1;
                } else {
                    at = key(text, at)?;
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
            if depth == 0 {
                return Ok(at);
            }
            at = skip_space(text, at);
            let in_object = open & 1 == 1;
            match text.get(at) {
                Some(b',') => {
                    at = skip_space(text, at + 1);
                    if in_object {
                        at = key(text, at)?;
                    }
                    break;
                }
                Some(b'}') if in_object => {}
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
fn key(text: &[u8], at: usize) -> Scan {
    let at = skip_space(text, string(text, at)?);
    if text.get(at) != Some(&b':') {
        return Err(ScanFault::Syntax);
    }
    Ok(skip_space(text, at + 1))
}

/// The end of the string whose opening quote is at `at`.
pub(crate) fn string(text: &[u8], at: usize) -> Scan {
    if text.get(at) != Some(&b'"') {
        return Err(ScanFault::Syntax);
    }
    let mut at = at + 1;
    loop {
        let rest = text.get(at..).ok_or(ScanFault::Syntax)?;
        let run = memchr::memchr2(b'"', b'\\', rest).ok_or(ScanFault::Syntax)?;
        // A fold without an early exit, so that it is vectorised.
        if rest[..run].iter().fold(false, |bad, &byte| bad | (byte < 0x20)) {
            return Err(ScanFault::Syntax);
        }
        at += run;
        if text[at] == b'"' {
            return Ok(at + 1);
        }
        at = match text.get(at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => at + 2,
            Some(b'u') if hex4(text, at + 2).is_some() => at + 6,
            _ => return Err(ScanFault::Syntax),
        };
    }
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

fn digits(text: &[u8], mut at: usize) -> Scan {
    let start = at;
    while text.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    if at == start { Err(ScanFault::Syntax) } else { Ok(at) }
}

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

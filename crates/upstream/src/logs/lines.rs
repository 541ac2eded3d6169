//! Cuts what a server writes into lines of bounded length, whatever bytes it writes. Pure.

/// Longest piece that is kept as one line; what is longer becomes several.
pub const LONGEST: usize = 8 << 10;

/// The rest of a line whose end has not come yet: never more than [`LONGEST`].
#[derive(Default)]
pub struct Splitter {
    rest: Vec<u8>,
}

impl Splitter {
    /// Takes bytes in and hands out each line that they complete, without its end. `cut` says where a longer one may be
    /// divided.
    pub fn take(&mut self, mut bytes: &[u8], cut: &dyn Fn(&[u8]) -> usize, each: &mut dyn FnMut(&str)) {
        while !bytes.is_empty() {
            let room = LONGEST - self.rest.len();
            let within = &bytes[..bytes.len().min(room)];
            match within.iter().position(|&byte| byte == b'\n') {
                Some(at) => {
                    self.rest.extend_from_slice(&bytes[..at]);
                    bytes = &bytes[at + 1..];
                    self.hand_out(self.rest.len(), each);
                }
                None => {
                    self.rest.extend_from_slice(within);
                    bytes = &bytes[within.len()..];
                    if self.rest.len() == LONGEST {
                        self.hand_out(whole_characters(&self.rest[..cut(&self.rest)]), each);
                    }
                }
            }
        }
    }

    /// Where what follows is lost: what is there of a line, as far as it may be told without its end.
    pub fn break_off(&mut self, cut: &dyn Fn(&[u8]) -> usize, each: &mut dyn FnMut(&str)) {
        self.rest.truncate(cut(&self.rest));
        self.finish(each);
    }

    /// At the end of the stream: what had no line end.
    pub fn finish(&mut self, each: &mut dyn FnMut(&str)) {
        if !self.rest.is_empty() {
            self.hand_out(self.rest.len(), each);
        }
    }

    fn hand_out(&mut self, length: usize, each: &mut dyn FnMut(&str)) {
        let line = &self.rest[..length];
        each(&String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)));
        self.rest.drain(..length);
    }
}

/// How many of the bytes end with a whole character: a cut must not make two bad characters of a good one.
fn whole_characters(bytes: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(4);
    (tail + 1..=bytes.len())
        .rev()
        .take(3)
        .find(|&at| at < bytes.len() && bytes[at] >= 0xc0)
        .filter(|&at| std::str::from_utf8(&bytes[at..]).is_err_and(|fault| fault.error_len().is_none()))
        .unwrap_or(bytes.len())
}

/// A text for a file that people show in terminals: no control character acts there.
pub fn escaped(text: &str, into: &mut String) {
    use std::fmt::Write;
    for character in text.chars() {
        match character {
            '\t' => into.push('\t'),
            _ if character.is_control() => {
                let _ = write!(into, "\\x{:02x}", u32::from(character));
            }
            _ => into.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(chunks: &[&[u8]]) -> Vec<String> {
        let mut splitter = Splitter::default();
        let mut lines = Vec::new();
        for chunk in chunks {
            splitter.take(chunk, &<[u8]>::len, &mut |line| lines.push(line.to_owned()));
            assert!(splitter.rest.len() < LONGEST);
        }
        splitter.finish(&mut |line| lines.push(line.to_owned()));
        lines
    }

    fn check(chunks: &[&[u8]], expect: &[&str]) {
        assert_eq!(split(chunks), expect);
    }

    #[test]
    fn lines_are_what_people_see() {
        check(&[], &[]);
        check(&[b"a\nb\r\n\nc"], &["a", "b", "", "c"]);
        check(&[b"a", b"b\nc", b"d\n"], &["ab", "cd"]);
        check(&[b"bad \xff\xfe end\n"], &["bad \u{fffd}\u{fffd} end"]);
        check(&[b"\xc3", b"\xa9\n"], &["\u{e9}"]);
        check(&[b"half \xc3"], &["half \u{fffd}"]);
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let text = format!("{}{}", "x".repeat(LONGEST - 1), "\u{e9}".repeat(100));
        let lines = split(&[text.as_bytes()]);
        assert_eq!(lines.len(), 2);
        assert_eq!(lines.concat(), text);
        // Bytes that are no text at all are cut too.
        assert_eq!(split(&[&vec![0x80; 3 * LONGEST]]).len(), 3);
    }

    #[test]
    fn control_characters_do_not_act() {
        let mut text = String::new();
        escaped("a\tb\u{1b}[2J\r\u{9b}é", &mut text);
        assert_eq!(text, "a\tb\\x1b[2J\\x0d\\x9bé");
    }

    proptest! {
        #[test]
        fn chunks_do_not_matter(bytes in prop::collection::vec(prop_oneof![Just(b'\n'), Just(0xc3), Just(0xa9), any::<u8>()], 0..200), at in 0usize..200) {
            let at = at.min(bytes.len());
            prop_assert_eq!(split(&[&bytes]), split(&[&bytes[..at], &bytes[at..]]));
        }
    }
}

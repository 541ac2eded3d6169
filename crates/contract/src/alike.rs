//! Names that somebody may take for one another although they are not the same: what a rule asks for in one spelling must
//! not pass in another. Compared letter by letter, so that names that differ at once cost nothing.

use crate::visible::Hidden;
use unicode_normalization::UnicodeNormalization;
use unicode_security::skeleton;

/// Whether a careless reader may take two names of members for the same: but for capital and small letters, `_`, `-` and
/// spaces within (`dryRun`, `dry_run`), hidden characters, Unicode forms, and foreign letters that are drawn like others.
pub fn alike(a: &str, b: &str) -> bool {
    if !a.is_ascii() || !b.is_ascii() {
        return Joined::of(folded(a)).eq(Joined::of(folded(b)));
    }
    let first = |name: &str| name.bytes().next().filter(u8::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase());
    match (first(a), first(b)) {
        (Some(a), Some(b)) if a != b => false,
        _ => Joined::of(small(a)).eq(Joined::of(small(b))),
    }
}

fn small(name: &str) -> impl Iterator<Item = char> {
    name.bytes().filter(|c| !c.is_ascii_control()).map(|c| char::from(c.to_ascii_lowercase()))
}

fn folded(name: &str) -> impl Iterator<Item = char> {
    let shown = name.nfkc().filter(|c| Hidden::of(*c).is_none());
    let small = shown.flat_map(char::to_uppercase).flat_map(char::to_lowercase);
    // What the capital I with a dot leaves of itself.
    small.flat_map(latin).filter(|c| *c != '\u{307}')
}

/// The Latin letter that a foreign one is drawn like; else itself.
fn latin(c: char) -> impl Iterator<Item = char> {
    let mut one = [0; 4];
    let drawn: String = if c.is_ascii() { c.into() } else { skeleton(c.encode_utf8(&mut one)).collect() };
    let letter = match drawn.as_str() {
        "rn" => "m".to_owned(),
        ascii if ascii.is_ascii() => ascii.to_ascii_lowercase(),
        _ => c.to_string(),
    };
    letter.chars().collect::<Vec<_>>().into_iter()
}

/// Letters without what joins words within a name; at its ends it counts, as in `_id`.
struct Joined<I> {
    letters: I,
    began: bool,
    /// Joints that may be the end of the name.
    joints: usize,
}

impl<I: Iterator<Item = char>> Joined<I> {
    fn of(letters: I) -> Joined<I> {
        Joined { letters, began: false, joints: 0 }
    }
}

impl<I: Iterator<Item = char>> Iterator for Joined<I> {
    type Item = char;
    fn next(&mut self) -> Option<char> {
        loop {
            match self.letters.next() {
                Some(c) if c.is_whitespace() => {}
                Some('_' | '-') if self.began => self.joints += 1,
                Some('_' | '-') => return Some('_'),
                Some(c) => {
                    self.began = true;
                    self.joints = 0;
                    return Some(c);
                }
                None => {
                    self.joints = self.joints.checked_sub(1)?;
                    return Some('_');
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::alike;

    fn check(a: &str, b: &str, expect: bool) {
        assert_eq!(alike(a, b), expect, "{a} {b}");
        assert_eq!(alike(b, a), expect, "{b} {a}");
    }

    #[test]
    fn names_that_may_be_taken_for_one_another_are_alike() {
        for other in
            ["env", "Env", "ENV", "e_nv", "e-nv", " env", "env\t", "e\u{200B}nv", "e\0nv", "ｅnv", "еnv", "𝐞nv"]
        {
            check("env", other, true);
        }
        for other in ["dryRun", "DRY_RUN", "dry-run", "dry run", "dry__run", "dryrun"] {
            check("dry_run", other, true);
        }
        check("ma\u{df}e", "MASSE", true);
        check("é", "e\u{301}", true);
        check("id", "\u{130}D", true);
        check("id", "\u{131}d", true);
        check("sum", "\u{17F}um", true);
        check("key", "\u{212A}ey", true);
        check("form", "for\u{217F}", true);
    }

    #[test]
    fn other_names_are_not() {
        for other in ["", "en", "envs", "_env", "env_", "$env", "a.env", "enу", "環境", "énv"] {
            check("env", other, false);
        }
        check("id", "_id", false);
        check("año", "ano", false);
        check("a1", "al", false);
        check("", "_", false);
        check("_", "-", true);
    }
}

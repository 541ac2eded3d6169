//! Who a client is: a name and how it is known, which together are what keys, approvals, grants and results hang on
//! (docs/approvals.md). A name that a client only says is never the same client as one that a person gave, and a token is the
//! same client only as long as it is the same token.

use contract::Hash;
use std::rc::Rc;

/// What the id of a client begins or ends with, by how it is known. No two kinds share an id: the last word tells which.
const SAID: &str = " (unverified)";
const TOKEN: &str = " (token ";
const HOST: &str = " (host)";
/// The person's own command line.
const OPERATOR: &str = "operator";
/// Digits of a token's hash that are part of its client's id: who makes a token of the same name is another client.
const DIGITS: usize = 8;

/// A client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    name: Rc<str>,
    id: Rc<str>,
    is_verified: bool,
}

impl Who {
    /// The host that a person gave this name (`--host NAME`).
    pub fn host(name: &str) -> Who {
        let is_plain = !name.ends_with(')') && name != OPERATOR;
        let id = if is_plain { name.to_owned() } else { format!("{name}{HOST}") };
        Who::new(name, &id, true)
    }
    /// The holder of this token.
    pub fn token(name: &str, token: &Hash) -> Who {
        let hash = token.to_string();
        let digits = hash.rsplit(':').next().unwrap_or_default().get(..DIGITS).unwrap_or_default();
        Who::new(name, &format!("{name}{TOKEN}{digits})"), true)
    }
    /// A client that says this of itself.
    pub fn said(name: &str) -> Who {
        Who::new(name, &format!("{name}{SAID}"), false)
    }
    /// The person, by the command line.
    pub fn operator() -> Who {
        Who::new(OPERATOR, OPERATOR, true)
    }
    /// The client of a record.
    pub fn of_id(id: &str) -> Who {
        if let Some(name) = id.strip_suffix(SAID) {
            return Who::new(name, id, false);
        }
        let name = id.strip_suffix(HOST).or_else(|| of_token(id)).unwrap_or(id);
        Who::new(name, id, true)
    }
    /// Whether the client of that id is known by a token.
    pub(crate) fn holds_token(id: &str) -> bool {
        of_token(id).is_some()
    }
    fn new(name: &str, id: &str, is_verified: bool) -> Who {
        Who { name: name.into(), id: id.into(), is_verified }
    }

    /// As people call it, which is not who it is.
    pub fn name(&self) -> &Rc<str> {
        &self.name
    }
    /// Who it is; readable, also where the name alone is not enough.
    pub fn id(&self) -> &Rc<str> {
        &self.id
    }
    /// Whether the name is more than its own word.
    pub fn is_verified(&self) -> bool {
        self.is_verified
    }
    /// The name by which rules and settings know it: none of who only says one, so that nobody is let through for what
    /// it says of itself.
    pub fn known_name(&self) -> &str {
        if self.is_verified { &self.name } else { "" }
    }
}

/// The name of the holder of a token; None: that id is no such client's.
fn of_token(id: &str) -> Option<&str> {
    let (name, digits) = id.strip_suffix(')')?.rsplit_once(TOKEN)?;
    (digits.len() == DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit())).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_known_in_three_ways_is_three_clients_and_each_is_found_again_by_its_id() {
        let (one, other) = (Hash::of(b"one"), Hash::of(b"other"));
        let names = ["h1", "default", "operator", "h1 (unverified)", "h1 (token 00000000)", "h1 (host)", "ä (", ")"];
        let mut all = vec![Who::operator()];
        for name in names {
            all.extend([Who::host(name), Who::said(name), Who::token(name, &one), Who::token(name, &other)]);
        }
        for (place, who) in all.iter().enumerate() {
            assert_eq!(Who::of_id(who.id()), *who);
            assert_eq!(Who::holds_token(who.id()), place > 0 && (place - 1) % 4 > 1, "{}", who.id());
            assert!(all.iter().skip(place + 1).all(|other| other.id() != who.id()), "{}", who.id());
        }
        assert_eq!((&**Who::host("h1").id(), &**Who::said("h1").id()), ("h1", "h1 (unverified)"));
        assert_eq!((Who::host("h1").known_name(), Who::said("h1").known_name()), ("h1", ""));
    }
}

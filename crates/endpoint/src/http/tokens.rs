//! The tokens that let an HTTP client in. Only their hashes are here; a client is whoever its token says (docs/approvals.md).

use contract::Hash;
use std::rc::Rc;
use subtle::ConstantTimeEq;

/// One token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its name: the client's identity.
    pub name: Rc<str>,
    /// SHA-256 of the bytes that stand behind `Bearer `.
    pub hash: Hash,
}

/// All valid tokens.
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    list: Vec<Token>,
}

impl Tokens {
    /// These tokens and no others.
    pub fn new(list: Vec<Token>) -> Tokens {
        Tokens { list }
    }

    /// The token that a client presents. Takes as long for a wrong one as for a right one.
    pub(super) fn find(&self, presented: &[u8]) -> Option<&Token> {
        let hash = Hash::of(presented);
        let mut found = None;
        for token in &self.list {
            if bool::from(token.hash.as_bytes().ct_eq(hash.as_bytes())) {
                found = Some(token);
            }
        }
        found
    }

    /// Whether a token of that hash is valid.
    pub(super) fn holds(&self, hash: &Hash) -> bool {
        self.list.iter().any(|token| token.hash == *hash)
    }
}

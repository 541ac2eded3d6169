//! Tokens of HTTP clients.

use super::PinCode;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Names one token that is to be made or removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct TokenName {
    /// The client's name.
    pub name: String,
    /// The PIN, where one is set.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub pin: Option<PinCode>,
}

/// A token just made: the only place where it is ever told.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct NewToken {
    /// The client's name.
    pub name: String,
    /// The secret.
    pub token: String,
}

impl std::fmt::Debug for NewToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewToken").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Token {
    /// The client's name.
    pub name: String,
    /// When it was made.
    pub created_ms: u64,
}

/// All tokens, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct TokenList {
    /// The tokens.
    pub tokens: Vec<Token>,
}

/// A token that is worth nothing any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct TokenRemoved {
    /// The client's name.
    pub name: String,
    /// Why that, which holds all the same, could not be written down yet.
    #[serde(default)]
    pub unwritten: Option<String>,
}

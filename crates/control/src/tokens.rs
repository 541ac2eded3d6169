//! The tokens of HTTP clients, as far as a person manages them. Where and how they are kept is the owner's affair.

use operator::words::Token;

/// Why a token was not made or removed.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// Two clients cannot share a name.
    #[error("there is a token of that name already")]
    Exists,
    /// Nothing to remove.
    #[error("there is no token of that name")]
    Unknown,
    /// Names are 1 to 64 of `A-Z a-z 0-9 . _ -`, and not the default token's where it is to be removed.
    #[error("{0}")]
    BadName(&'static str),
    /// The book cannot be read or written.
    #[error("the tokens cannot be read or written")]
    Io(#[from] std::io::Error),
}

/// The book of tokens. Calls may touch a small file: they are made on the blocking pool.
pub trait TokenBook: Send + Sync {
    /// Makes a token; the returned secret is told nowhere else.
    fn add(&self, name: &str) -> Result<String, TokenError>;
    /// All of them by name, without secrets.
    fn list(&self) -> Result<Vec<Token>, TokenError>;
    /// Makes a token worthless at once, for open sessions too.
    fn remove(&self, name: &str) -> Result<(), TokenError>;
}

//! The book of the HTTP clients' tokens: names, hashes and dates in one small file, never a token itself.
//! Absent means that there are none yet; unreadable is an error and never means that there are none.

use crate::private_file::{FileFault, PrivateFile};
use contract::Hash;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::watch;

/// Longest name.
const LONGEST_NAME: usize = 64;
/// Most tokens in a book.
const MOST: usize = 1000;
/// Largest book that is read, in bytes.
const LARGEST: u64 = 1024 * 1024;

/// Why a token was not made or removed.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// Two clients cannot share a name.
    #[error("there is a token of that name already")]
    Exists,
    /// Nothing to remove.
    #[error("there is no token of that name")]
    Unknown,
    /// It could not stand in a policy or a log.
    #[error("a name has 1 to 64 of A-Z a-z 0-9 . _ - and is not `default`")]
    BadName,
    /// Somebody makes tokens without end.
    #[error("there are {MOST} tokens already")]
    Full,
    /// The system has no randomness.
    #[error("no randomness for a token")]
    NoRandomness,
    /// The book's file cannot be used.
    #[error(transparent)]
    File(#[from] FileFault),
}

/// One client's token, as far as the book knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// The client's name.
    pub name: String,
    /// `sha256:` and hex over the token's text.
    hash: String,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: u64,
}

/// The book. Its calls may write and sync a file: never on the relay thread.
#[derive(Debug)]
pub struct Tokens {
    file: PrivateFile,
    list: Mutex<Vec<Token>>,
    valid: watch::Sender<Vec<(String, Hash)>>,
}

#[derive(Serialize, Deserialize)]
struct Written {
    tokens: Vec<Token>,
}

impl Tokens {
    /// Reads the book.
    pub fn open(file: &Path) -> Result<Tokens, TokenError> {
        let file = PrivateFile::new(file, "a book of tokens", LARGEST);
        let is_hash = |token: &Token| token.hash.parse::<Hash>().is_ok();
        let read = file.read(|written: &Written| match written.tokens.iter().all(is_hash) {
            true => Ok(()),
            false => Err("a hash is not one"),
        })?;
        let mut list = read.map(|written| written.tokens).unwrap_or_default();
        list.sort_by(|a, b| a.name.cmp(&b.name));
        let (valid, _) = watch::channel(hashes(&list));
        Ok(Tokens { file, list: Mutex::new(list), valid })
    }

    /// Name and hash of every valid token, now and after each change: what the door for HTTP clients compares with.
    pub fn valid(&self) -> watch::Receiver<Vec<(String, Hash)>> {
        self.valid.subscribe()
    }

    /// All of them, by name.
    pub fn list(&self) -> Vec<Token> {
        self.lock().clone()
    }

    /// Whether a token of that name could be made.
    pub fn takes(&self, name: &str) -> Result<(), TokenError> {
        place(&self.lock(), name).map(drop)
    }

    /// Makes a token. It is returned this once and kept nowhere.
    pub fn add(&self, name: &str) -> Result<String, TokenError> {
        let mut list = self.lock();
        let at = place(&list, name)?;
        let text = secret().ok_or(TokenError::NoRandomness)?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let created_ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let mut next = list.clone();
        next.insert(at, Token { name: name.into(), hash: Hash::of(text.as_bytes()).to_string(), created_ms });
        self.put(&mut list, next)?;
        Ok(text)
    }

    /// Makes a token worthless, at once.
    pub fn remove(&self, name: &str) -> Result<(), TokenError> {
        let mut list = self.lock();
        let mut next = list.clone();
        next.retain(|token| token.name != name);
        if next.len() == list.len() {
            return Err(TokenError::Unknown);
        }
        self.put(&mut list, next)
    }

    /// The file first: what could not be written is not believed.
    fn put(&self, list: &mut Vec<Token>, next: Vec<Token>) -> Result<(), TokenError> {
        let next = Written { tokens: next };
        self.file.write(&next)?;
        *list = next.tokens;
        self.valid.send_replace(hashes(list));
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Token>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where one of that name would stand.
fn place(list: &[Token], name: &str) -> Result<usize, TokenError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(plain) || name == "default" {
        return Err(TokenError::BadName);
    }
    match list.binary_search_by(|token| token.name.as_str().cmp(name)) {
        Ok(_) => Err(TokenError::Exists),
        Err(_) if list.len() >= MOST => Err(TokenError::Full),
        Err(at) => Ok(at),
    }
}

/// A new token: 256 bits as hex, with a head by which scanners for leaked secrets know it.
pub fn secret() -> Option<String> {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).ok()?;
    let mut text = String::from("callgate_");
    for byte in bytes {
        text.push(char::from_digit(u32::from(byte >> 4), 16)?);
        text.push(char::from_digit(u32::from(byte & 15), 16)?);
    }
    Some(text)
}

fn hashes(list: &[Token]) -> Vec<(String, Hash)> {
    list.iter().filter_map(|token| Some((token.name.clone(), token.hash.parse().ok()?))).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_token_opens_until_it_is_removed_and_is_nowhere_in_the_file() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("tokens.json");
        let book = Tokens::open(&file).unwrap();
        let valid = book.valid();
        assert!(!file.exists());
        let text = book.add("ci").unwrap();
        book.add("a.b_c-1").unwrap();
        assert_eq!(text.len(), "callgate_".len() + 64);
        assert!(valid.borrow().contains(&("ci".into(), Hash::of(text.as_bytes()))));
        assert!(!std::fs::read_to_string(&file).unwrap().contains(&text[9..]));
        let again = Tokens::open(&file).unwrap();
        assert_eq!(again.list(), book.list());
        assert_eq!(again.list()[0].name, "a.b_c-1");
        book.remove("ci").unwrap();
        assert_eq!(valid.borrow().len(), 1);
        assert!(matches!(book.remove("ci"), Err(TokenError::Unknown)));
        assert_eq!(Tokens::open(&file).unwrap().list().len(), 1);
    }

    #[test]
    fn names_are_plain_and_only_once() {
        let home = tempfile::tempdir().unwrap();
        let book = Tokens::open(&home.path().join("tokens.json")).unwrap();
        for name in ["", "default", "a b", "a/b", "ä", "a\u{202e}", &"x".repeat(65)] {
            assert!(matches!(book.add(name), Err(TokenError::BadName)), "{name}");
        }
        book.add(&"x".repeat(64)).unwrap();
        assert!(matches!(book.add(&"x".repeat(64)), Err(TokenError::Exists)));
    }

    #[cfg(unix)]
    #[test]
    fn the_file_is_closed_to_others_even_where_a_fresh_one_lay_open() {
        use std::fs::Permissions;
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("tokens.json");
        std::fs::write(file.with_extension("new"), "").unwrap();
        std::fs::set_permissions(file.with_extension("new"), Permissions::from_mode(0o644)).unwrap();
        Tokens::open(&file).unwrap().add("a").unwrap();
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn unreadable_is_not_empty_and_a_failed_write_changes_nothing() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("tokens.json");
        for text in ["", "[]", "{\"tokens\":[{\"name\":\"a\",\"hash\":\"x\",\"created_ms\":1}]}"] {
            std::fs::write(&file, text).unwrap();
            assert!(matches!(Tokens::open(&file), Err(TokenError::File(FileFault::Garbled { .. }))), "{text}");
        }
        assert!(matches!(Tokens::open(home.path()), Err(TokenError::File(FileFault::Io { .. }))));
        let book = Tokens::open(&home.path().join("absent/tokens.json")).unwrap();
        assert!(matches!(book.add("a"), Err(TokenError::File(FileFault::Io { .. }))));
        assert!(book.list().is_empty() && book.valid().borrow().is_empty());
    }
}

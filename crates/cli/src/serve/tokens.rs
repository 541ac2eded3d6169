//! The book of HTTP clients' tokens: names and hashes in the store, the default one in its file. A token is shown
//! once, when it is made.

use super::documents::fresh_token;
use control::{TokenBook, TokenError};
use endpoint::http::{Token as DoorToken, Tokens};
use hub::hash::Hash;
use operator::words::Token;
use std::sync::{Mutex, MutexGuard, PoisonError};
use store::{Committer, Job};
use tokio::sync::watch;

/// The name of the token in `token_file`.
const DEFAULT: &str = "default";

/// All tokens.
pub(super) struct Book {
    default: Hash,
    named: Mutex<Vec<store::Token>>,
    committer: Committer,
    changed: watch::Sender<()>,
}

impl Book {
    pub(super) fn new(
        default: &str,
        named: Vec<store::Token>,
        committer: Committer,
        changed: watch::Sender<()>,
    ) -> Book {
        Book { default: Hash::of(default.as_bytes()), named: Mutex::new(named), committer, changed }
    }

    fn named(&self) -> MutexGuard<'_, Vec<store::Token>> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the HTTP door checks against.
    pub(super) fn tokens(&self) -> Tokens {
        let mut all = vec![DoorToken { name: DEFAULT.into(), hash: self.default }];
        all.extend(self.named().iter().map(|it| DoorToken { name: it.name.as_str().into(), hash: it.sha256.into() }));
        Tokens::new(all)
    }

    fn write(&self, job: Job) -> Result<(), TokenError> {
        self.committer.submit_and_wait(job).map_err(|fault| TokenError::Unavailable(fault.to_string()))
    }
}

fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

impl TokenBook for Book {
    fn add(&self, name: &str) -> Result<String, TokenError> {
        if !is_name(name) {
            return Err(TokenError::BadName);
        }
        let mut named = self.named();
        if name == DEFAULT || named.iter().any(|token| token.name == name) {
            return Err(TokenError::Taken);
        }
        let secret = fresh_token().map_err(|error| TokenError::Unavailable(error.to_string()))?;
        let created_ms = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0);
        let token = store::Token { name: name.into(), sha256: Hash::of(secret.as_bytes()).into(), created_ms };
        self.write(Job::SaveToken(token.clone()))?;
        named.push(token);
        drop(named);
        self.changed.send_replace(());
        Ok(secret)
    }

    fn list(&self) -> Result<Vec<Token>, TokenError> {
        let mut all = vec![Token { name: DEFAULT.into(), created_ms: 0 }];
        all.extend(self.named().iter().map(|token| Token { name: token.name.clone(), created_ms: token.created_ms }));
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    fn remove(&self, name: &str) -> Result<(), TokenError> {
        if name == DEFAULT {
            return Err(TokenError::BadName);
        }
        let mut named = self.named();
        let place = named.iter().position(|token| token.name == name).ok_or(TokenError::Unknown)?;
        self.write(Job::RemoveToken(name.into()))?;
        named.remove(place);
        drop(named);
        self.changed.send_replace(());
        Ok(())
    }
}

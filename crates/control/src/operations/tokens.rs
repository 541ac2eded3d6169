//! Tokens of HTTP clients. One that is new opens nothing before its row is durable; one that is removed is worthless at
//! once, whether that can be written down or not.

use crate::ControlParts;
use crate::person::Deed;
use crate::problems::{Failure, Outcome};
use crate::routes::{Peer, Shared};
use hub::tokens::{TokenError, Tokens};
use operator::Name;
use operator::words::{NewToken, Token, TokenList, TokenName, TokenRemoved};

pub async fn add(shared: &Shared, asked: TokenName, peer: &Peer) -> Outcome<NewToken> {
    let name = asked.name.clone();
    on_pool(&shared.parts, move |book| book.takes(&asked.name)).await?;
    let deed = Deed::done(Name::TokenAdd, peer, Some(name.clone()));
    shared.attempts.write(deed.clone()).await?;
    let wanted = name.clone();
    match on_pool(&shared.parts, move |book| book.add(&wanted)).await {
        Ok(token) => Ok(NewToken { name, token }),
        Err(failure) => {
            shared.attempts.failed(deed, &failure);
            Err(failure)
        }
    }
}

pub fn list(parts: &ControlParts) -> TokenList {
    let word = |token: hub::tokens::Token| Token { name: token.name, created_ms: token.created_ms };
    TokenList { tokens: parts.tokens.list().into_iter().map(word).collect() }
}

pub async fn remove(shared: &Shared, asked: TokenName, peer: &Peer) -> Outcome<TokenRemoved> {
    let name = asked.name.clone();
    on_pool(&shared.parts, move |book| book.remove(&asked.name)).await?;
    let deed = Deed::done(Name::TokenRemove, peer, Some(name.clone()));
    let unwritten = shared.attempts.write_or_later(deed).await;
    Ok(TokenRemoved { name, unwritten })
}

/// The book syncs a file, which may take long.
async fn on_pool<T: Send + 'static>(
    parts: &ControlParts,
    work: impl FnOnce(&Tokens) -> Result<T, TokenError> + Send + 'static,
) -> Outcome<T> {
    let book = parts.tokens.clone();
    let done = tokio::task::spawn_blocking(move || work(&book)).await;
    done.map_err(|_| Failure::new("internal", "the tokens could not be read"))?.map_err(|error| {
        let code = match error {
            TokenError::Exists => "token_exists",
            TokenError::Unknown => "unknown_token",
            TokenError::BadName | TokenError::Full => "bad_input",
            TokenError::NoRandomness | TokenError::File(_) => "io",
        };
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
        Failure::new(code, format!("{error}{cause}")).next("callgate token list")
    })
}

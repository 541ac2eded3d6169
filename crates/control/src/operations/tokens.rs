//! Tokens of HTTP clients.

use crate::ControlParts;
use crate::problems::{Failure, Outcome};
use crate::tokens::{TokenBook, TokenError};
use operator::words::{NewToken, TokenList, TokenName, TokenRemoved};

pub async fn add(parts: &ControlParts, asked: TokenName) -> Outcome<NewToken> {
    let name = asked.name.clone();
    let token = on_pool(parts, move |book| book.add(&asked.name)).await?;
    Ok(NewToken { name, token })
}

pub async fn list(parts: &ControlParts) -> Outcome<TokenList> {
    Ok(TokenList { tokens: on_pool(parts, |book| book.list()).await? })
}

pub async fn remove(parts: &ControlParts, asked: TokenName) -> Outcome<TokenRemoved> {
    let name = asked.name.clone();
    on_pool(parts, move |book| book.remove(&asked.name)).await?;
    Ok(TokenRemoved { name })
}

async fn on_pool<T: Send + 'static>(
    parts: &ControlParts,
    work: impl FnOnce(&dyn TokenBook) -> Result<T, TokenError> + Send + 'static,
) -> Outcome<T> {
    let book = parts.tokens.clone();
    let done = tokio::task::spawn_blocking(move || work(&*book)).await;
    done.map_err(|_| Failure::new("internal", "the tokens could not be read"))?.map_err(|error| match error {
        TokenError::Exists => Failure::new("token_exists", error.to_string()).next("callgate token list"),
        TokenError::Unknown => Failure::new("unknown_token", error.to_string()).next("callgate token list"),
        TokenError::BadName(why) => Failure::new("bad_input", why),
        TokenError::Io(cause) => Failure::io("the tokens cannot be read or written", &cause),
    })
}

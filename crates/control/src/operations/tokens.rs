//! Tokens of HTTP clients.

use crate::ControlParts;
use crate::problems::{Failure, Outcome};
use hub::tokens::{TokenError, Tokens};
use operator::words::{NewToken, Token, TokenList, TokenName, TokenRemoved};

pub async fn add(parts: &ControlParts, asked: TokenName) -> Outcome<NewToken> {
    let name = asked.name.clone();
    let token = on_pool(parts, move |book| book.add(&asked.name)).await?;
    Ok(NewToken { name, token })
}

pub fn list(parts: &ControlParts) -> TokenList {
    let word = |token: hub::tokens::Token| Token { name: token.name, created_ms: token.created_ms };
    TokenList { tokens: parts.tokens.list().into_iter().map(word).collect() }
}

pub async fn remove(parts: &ControlParts, asked: TokenName) -> Outcome<TokenRemoved> {
    let name = asked.name.clone();
    on_pool(parts, move |book| book.remove(&asked.name)).await?;
    Ok(TokenRemoved { name })
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

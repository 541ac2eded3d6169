//! Which URLs can be the address of a server. Looks only; connects to nothing.

use std::net::IpAddr;

/// Why a text cannot be the address of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAddress {
    /// Another scheme or none.
    #[error("must begin with `http://` or `https://`")]
    Scheme,
    /// White space or control characters.
    #[error("must not contain white space")]
    Blank,
    /// `user:password@host`.
    #[error("must not carry a user name or password; use `headers`")]
    Credentials,
    /// No host.
    #[error("has no host")]
    Host,
    /// No number from 0 to 65535.
    #[error("has no valid port")]
    Port,
    /// A program of ours that is reached elsewhere.
    #[error("must be on this machine (127.0.0.1, [::1] or localhost), since the server has a `command`")]
    NotLoopback,
}

/// Checks a whole URL.
pub(super) fn check(url: &str) -> Result<(), BadAddress> {
    host(url).map(|_| ())
}

/// Checks the URL of a program that the hub starts itself.
pub(super) fn check_loopback(url: &str) -> Result<(), BadAddress> {
    let host = host(url)?;
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let near = bare.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    if near { Ok(()) } else { Err(BadAddress::NotLoopback) }
}

fn host(url: &str) -> Result<&str, BadAddress> {
    if url.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(BadAddress::Blank);
    }
    let (scheme, rest) = url.split_once("://").ok_or(BadAddress::Scheme)?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return Err(BadAddress::Scheme);
    }
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(BadAddress::Credentials);
    }
    let (host, port) = match authority.rfind(':').filter(|at| !authority[*at..].contains(']')) {
        Some(at) => (&authority[..at], Some(&authority[at + 1..])),
        None => (authority, None),
    };
    if host.is_empty() || (host.contains(':') && !(host.starts_with('[') && host.ends_with(']'))) {
        return Err(BadAddress::Host);
    }
    match port {
        Some(port) if port.parse::<u16>().is_err() => Err(BadAddress::Port),
        _ => Ok(host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let far = |url: &str, expect: Result<(), BadAddress>| assert_eq!(check(url), expect, "{url}");
        far("https://mcp.example.com/mcp", Ok(()));
        far("HTTP://[::1]:80/x", Ok(()));
        far("http://h:70000", Err(BadAddress::Port));
        far("http://h:/", Err(BadAddress::Port));
        far("http://:80/", Err(BadAddress::Host));
        far("http:///mcp", Err(BadAddress::Host));
        far("http://::1/mcp", Err(BadAddress::Host));
        far("ftp://h/", Err(BadAddress::Scheme));
        far("mcp.example.com", Err(BadAddress::Scheme));
        far("http://u:p@h/", Err(BadAddress::Credentials));
        far("http://h/a b", Err(BadAddress::Blank));
        far("http://h/a\r\nx: y", Err(BadAddress::Blank));
        let near = |url: &str, expect: Result<(), BadAddress>| assert_eq!(check_loopback(url), expect, "{url}");
        near("http://127.0.0.1:1/mcp", Ok(()));
        near("http://localhost/mcp", Ok(()));
        near("http://[::1]:1/mcp", Ok(()));
        near("http://127.0.0.1.example.com/mcp", Err(BadAddress::NotLoopback));
        near("http://example.com\\@127.0.0.1/mcp", Err(BadAddress::NotLoopback));
        near("http://10.0.0.1/mcp", Err(BadAddress::NotLoopback));
    }
}

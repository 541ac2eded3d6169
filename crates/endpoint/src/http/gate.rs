//! Who may speak to this door at all: judged by a request's head alone, on every path, before a byte of a body is
//! read. Web pages reach every loopback port, so a right address is not enough and a right token neither.

use http::header::{
    ACCEPT, ALLOW, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderName, ORIGIN, WWW_AUTHENTICATE,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use wire::http::server::{Answer, Head};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Why a request is refused by its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Its Host is not exactly one of ours.
    Host,
    /// Its Origin is another one than ours.
    Origin,
    /// A browser says that another site's page sends it.
    Site,
    /// It asks what other sites may do.
    Preflight,
    /// It has no valid token.
    Token,
    /// There is no such path or view.
    Path,
    /// Its method is none of these.
    Method(&'static str),
    /// Its body is not JSON.
    Content,
    /// Its body is compressed.
    Coding,
    /// It takes no form of answer that we give.
    Accept,
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Answer {
        let (status, line) = match refusal {
            Refusal::Host => (StatusCode::FORBIDDEN, "Host is not this door"),
            Refusal::Origin => (StatusCode::FORBIDDEN, "Origin is not this door"),
            Refusal::Site => (StatusCode::FORBIDDEN, "pages of other sites are not served"),
            Refusal::Preflight => (StatusCode::FORBIDDEN, "no other site is let in"),
            Refusal::Token => (StatusCode::UNAUTHORIZED, "a valid token is needed"),
            Refusal::Path => (StatusCode::NOT_FOUND, "nothing is here"),
            Refusal::Method(_) => (StatusCode::METHOD_NOT_ALLOWED, "not by this method"),
            Refusal::Content => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "Content-Type must be application/json"),
            Refusal::Coding => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body must not be compressed"),
            Refusal::Accept => (StatusCode::NOT_ACCEPTABLE, "answers are application/json or text/event-stream"),
        };
        let answer = Answer::text(status, line);
        match refusal {
            Refusal::Token => answer.with(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")),
            Refusal::Method(methods) => answer.with(ALLOW, HeaderValue::from_static(methods)),
            _ => answer,
        }
    }
}

/// A header stands more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Twice;

/// The only value of a header.
pub fn sole<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a HeaderValue>, Twice> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() { Err(Twice) } else { Ok(first) }
}

/// The names under which this door is reached.
pub struct Own {
    hosts: [String; 3],
}

impl Own {
    /// A door on that port of the loopback interface.
    pub fn new(port: u16) -> Own {
        Own { hosts: ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}")) }
    }

    fn is_host(&self, value: &[u8]) -> bool {
        self.hosts.iter().any(|host| host.as_bytes().eq_ignore_ascii_case(value))
    }

    /// Refuses rebound names, other sites' pages and preflights: 403.
    pub fn judge(&self, head: &Head) -> Result<(), Refusal> {
        let headers = &head.headers;
        // A request to a proxy names a host of its own.
        let host = sole(headers, &HOST).ok().flatten().filter(|_| head.uri.authority().is_none());
        if !host.is_some_and(|host| self.is_host(host.as_bytes())) {
            return Err(Refusal::Host);
        }
        let origin = match sole(headers, &ORIGIN) {
            Ok(None) => true,
            Ok(Some(origin)) => origin.as_bytes().strip_prefix(b"http://").is_some_and(|host| self.is_host(host)),
            Err(Twice) => false,
        };
        if !origin {
            return Err(Refusal::Origin);
        }
        // Set by browsers only; a page of another site may leave out Origin, but not this.
        let site = match sole(headers, &SEC_FETCH_SITE) {
            Ok(site) => site.is_none_or(|site| site == "same-origin" || site == "none"),
            Err(Twice) => false,
        };
        if !site {
            return Err(Refusal::Site);
        }
        if head.method == Method::OPTIONS {
            return Err(Refusal::Preflight);
        }
        Ok(())
    }
}

/// The bytes of a bearer token.
pub fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let value = sole(headers, &AUTHORIZATION).ok()??.as_bytes();
    let (scheme, token) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then_some(token).filter(|token| !token.is_empty())
}

/// A body is JSON, plainly sent: 415 otherwise.
pub fn content(headers: &HeaderMap) -> Result<(), Refusal> {
    let kind = sole(headers, &CONTENT_TYPE).ok().flatten().and_then(|value| value.to_str().ok());
    let essence = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    if !essence.trim().eq_ignore_ascii_case("application/json") {
        return Err(Refusal::Content);
    }
    if headers.get_all(CONTENT_ENCODING).iter().any(|coding| coding != "identity") {
        return Err(Refusal::Coding);
    }
    Ok(())
}

/// The forms of answer that a client takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// One JSON text only.
    Json,
    /// A stream of events only.
    Events,
    /// Whichever fits.
    Either,
}

/// Reads `Accept` leniently; None where nothing that we can give fits.
pub fn takes(headers: &HeaderMap) -> Option<Takes> {
    if !headers.contains_key(ACCEPT) {
        return Some(Takes::Either);
    }
    let (mut json, mut events) = (false, false);
    for range in headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).flat_map(|list| list.split(','))
    {
        let mut parts = range.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
        let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        if weight.is_some_and(|weight| weight.parse::<f32>().is_ok_and(|weight| weight <= 0.0)) {
            continue;
        }
        json |= matches!(&*kind, "application/json" | "application/*" | "*/*");
        events |= matches!(&*kind, "text/event-stream" | "text/*" | "*/*");
    }
    match (json, events) {
        (true, true) => Some(Takes::Either),
        (true, false) => Some(Takes::Json),
        (false, true) => Some(Takes::Events),
        (false, false) => None,
    }
}

//! Where a server is reached: its URL and configured fields, checked before a byte is sent. Decides which addresses
//! may be connected to at all, and which redirects stay at home.

use super::headers;
use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::Url;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether the configuration allows unencrypted HTTP to other machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainHttp {
    /// Only to this machine.
    Loopback,
    /// To any machine; everybody between can read and change what is said.
    Anywhere,
}

/// Why a configured server can't be spoken to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetFault {
    /// Not a URL.
    #[error("the url cannot be read: {0}")]
    BadUrl(String),
    /// Neither http nor https.
    #[error("the url's scheme is {0}, but only http and https are spoken")]
    BadScheme(String),
    /// User name or password in the URL, where logs and process lists show them.
    #[error("credentials do not belong into the url; put them into \"headers\"")]
    Credentials,
    /// Unencrypted to another machine.
    #[error("{0} is another machine, and plain http to it can be read and changed on the way; use https")]
    PlainHttp(String),
    /// An address that no server has.
    #[error("{0}")]
    Address(#[from] AddressFault),
    /// Not a field name or not a field value; the value is not shown.
    #[error("the header {0} cannot be sent as it stands")]
    BadHeader(String),
}

/// Why an address is not connected to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressFault {
    /// No address for this name.
    #[error("the name {0} cannot be looked up")]
    UnknownName(String),
    /// Cloud metadata and its like.
    #[error("{0} is an address of this network's own services, no MCP server")]
    Reserved(IpAddr),
    /// A loopback name that leads elsewhere.
    #[error("localhost leads to {0}, which is not this machine")]
    NotLoopback(IpAddr),
}

/// One server's address, and what is sent with each request to it.
#[derive(Debug)]
pub struct Target {
    pub url: Url,
    /// Scheme, host and port, for texts.
    pub origin: String,
    /// The configured fields.
    pub headers: HeaderMap,
    /// Whether it is on this machine, and so reached without proxy, TLS and name look-up elsewhere.
    pub is_loopback: bool,
}

impl Target {
    pub fn new(url: &str, fields: &[(String, String)], plain: PlainHttp) -> Result<Target, TargetFault> {
        let mut url = Url::parse(url).map_err(|fault| TargetFault::BadUrl(fault.to_string()))?;
        url.set_fragment(None);
        if !matches!(url.scheme(), "http" | "https") {
            return Err(TargetFault::BadScheme(url.scheme().to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(TargetFault::Credentials);
        }
        let origin = url.origin().ascii_serialization();
        let host = url.host_str().unwrap_or_default().trim_end_matches('.');
        let literal: Option<IpAddr> = host.trim_start_matches('[').trim_end_matches(']').parse().ok();
        let local =
            literal.map_or(host == "localhost" || host.ends_with(".localhost"), |ip| ip.to_canonical().is_loopback());
        if let Some(ip) = literal {
            permitted(ip)?;
        }
        if url.scheme() == "http" && !local {
            match plain {
                PlainHttp::Loopback => return Err(TargetFault::PlainHttp(host.to_owned())),
                PlainHttp::Anywhere => tracing::warn!(origin, "plain http to another machine can be read and changed"),
            }
        }
        let is_loopback = local && url.scheme() == "http";
        Ok(Target { origin, headers: checked(fields)?, is_loopback, url })
    }

    /// Where a redirect leads, if it stays at this origin.
    pub fn same_origin(&self, from: &Url, location: &HeaderValue) -> Result<Url, String> {
        let to = location.to_str().ok().and_then(|location| from.join(location).ok());
        match to {
            Some(to) if to.origin() == self.url.origin() => Ok(to),
            // Neither path nor query: both may hold a secret.
            Some(to) => Err(to.origin().ascii_serialization()),
            None => Err("an address that cannot be read".to_owned()),
        }
    }
}

fn checked(fields: &[(String, String)]) -> Result<HeaderMap, TargetFault> {
    let mut headers = HeaderMap::with_capacity(fields.len() + 8);
    for (name, value) in fields {
        let bad = || TargetFault::BadHeader(name.clone());
        let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        if headers::is_reserved(&parsed) {
            tracing::warn!(name, "a configured header is left out: the protocol sets it");
            continue;
        }
        let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
        value.set_sensitive(true);
        headers.append(parsed, value);
    }
    Ok(headers)
}

/// Refuses addresses at which no MCP server is, but from which secrets can be had by asking: link-local (cloud
/// metadata among them), unspecified, multicast and broadcast.
pub fn permitted(ip: IpAddr) -> Result<(), AddressFault> {
    const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
    const METADATA_V4: Ipv4Addr = Ipv4Addr::new(100, 100, 100, 200);
    let plain = ip.to_canonical();
    let reserved = plain.is_unspecified()
        || plain.is_multicast()
        || match plain {
            IpAddr::V4(v4) => v4.is_link_local() || v4.is_broadcast() || v4 == METADATA_V4,
            IpAddr::V6(v6) => v6.is_unicast_link_local() || v6 == METADATA_V6,
        };
    if reserved { Err(AddressFault::Reserved(plain)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn fault(url: &str) -> Option<String> {
        Target::new(url, &[], PlainHttp::Loopback).err().map(|fault| fault.to_string())
    }

    #[test]
    fn urls_are_judged_before_anything_is_sent() {
        for good in ["https://mcp.example.com/mcp", "http://127.0.0.1:9/mcp", "http://localhost:9", "http://[::1]:9/"] {
            assert_eq!(fault(good), None, "{good}");
        }
        let check = |url: &str, part: &str| assert!(fault(url).unwrap().contains(part), "{url}: {:?}", fault(url));
        check("mcp.example.com", "cannot be read");
        check("ftp://mcp.example.com/", "ftp");
        check("https://me:secret@mcp.example.com/", "credentials");
        check("http://mcp.example.com/?key=secret", "mcp.example.com is another machine");
        check("http://localhost.example.com/", "another machine");
        for hidden in
            ["169.254.169.254", "2852039166", "0xa9fea9fe", "[::ffff:169.254.169.254]", "0.0.0.0", "[fe80::1]"]
        {
            check(&format!("https://{hidden}/"), "own services");
        }
        assert!(!fault("http://mcp.example.com/?key=secret").unwrap().contains("secret"));
        assert!(Target::new("http://mcp.example.com/", &[], PlainHttp::Anywhere).is_ok());
    }

    #[test]
    fn configured_headers_cannot_take_the_protocols_place() {
        let fields = |names: &[&str]| -> Vec<(String, String)> {
            names.iter().map(|name| ((*name).to_owned(), "v".to_owned())).collect()
        };
        let names = ["Authorization", "Host", "content-length", "MCP-Session-Id", "Mcp-Param-x", "Connection", "X-Key"];
        let target = Target::new("https://x/", &fields(&names), PlainHttp::Loopback).unwrap();
        let mut kept: Vec<_> = target.headers.keys().map(HeaderName::as_str).collect();
        kept.sort_unstable();
        assert_eq!(kept, ["authorization", "x-key"]);
        let bad = Target::new("https://x/", &[("X-Key".into(), "secret\n".into())], PlainHttp::Loopback).unwrap_err();
        assert_eq!(bad.to_string(), "the header X-Key cannot be sent as it stands");
    }

    #[test]
    fn redirects_stay_at_their_origin() {
        let target = Target::new("https://a.example/mcp?key=1", &[], PlainHttp::Loopback).unwrap();
        let check = |location: &str, expect: Result<&str, &str>| {
            let seen = target.same_origin(&target.url, &HeaderValue::from_str(location).unwrap());
            assert_eq!(seen.as_ref().map(Url::as_str).map_err(String::as_str), expect, "{location}");
        };
        check("/v2", Ok("https://a.example/v2"));
        check("https://a.example:443/v2", Ok("https://a.example/v2"));
        check("https://b.example/?token=secret", Err("https://b.example"));
        check("http://a.example/", Err("http://a.example"));
        check("https://a.example:444/", Err("https://a.example:444"));
        check("//b.example/", Err("https://b.example"));
    }
}

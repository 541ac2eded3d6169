//! Paths of the door: `/mcp`, `/mcp/p/PROFILE`, `/mcp/s/SERVER`. Everything else does not exist.

use hub::agent::View;

/// The view that a path names; None where no path of ours has that form.
pub fn view(path: &str) -> Option<View> {
    let rest = path.strip_prefix("/mcp")?;
    if rest.is_empty() {
        return Some(View::All);
    }
    if let Some(name) = rest.strip_prefix("/s/") {
        return segment(name).map(|name| View::Server(name.into()));
    }
    rest.strip_prefix("/p/").and_then(segment).map(|name| View::Profile(name.into()))
}

/// One path segment with its percent escapes read.
fn segment(text: &str) -> Option<String> {
    if text.is_empty() || text.contains('/') {
        return None;
    }
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        let (high, low) = (digit()?, digit()?);
        out.push(u8::try_from(high << 4 | low).ok()?);
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expect: Option<View>) {
        assert_eq!(view(path), expect, "{path}");
    }

    #[test]
    fn paths() {
        let server = |name: &str| Some(View::Server(name.into()));
        check("/mcp", Some(View::All));
        check("/mcp/s/files", server("files"));
        check("/mcp/s/my%20files", server("my files"));
        check("/mcp/s/a%2Fb", server("a/b"));
        check("/mcp/s/caf%C3%A9", server("café"));
        check("/mcp/s/a+b", server("a+b"));
        check("/mcp/p/small", Some(View::Profile("small".into())));
        for path in [
            "/",
            "/mcp/",
            "/mcp//",
            "/mcp/s",
            "/mcp/s/",
            "/mcp/s/a/",
            "/mcp/s/a/b",
            "/mcp/x/a",
            "/mcps",
            "/MCP",
            "/health",
            "/metrics",
            "/mcp/s/%",
            "/mcp/s/%4",
            "/mcp/s/%zz",
            "/mcp/s/%ff",
            "/sse",
            "/tools/openai-chat",
            "*",
            "",
        ] {
            check(path, None);
        }
    }
}

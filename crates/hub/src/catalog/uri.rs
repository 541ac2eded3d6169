//! Which URIs a template (RFC 6570) may stand for: a linear test, never a regular expression of the server's making.

/// Whether `uri` can be an expansion of `template`: the literal parts stand in it in order, the first at its
/// beginning and the last at its end; a simple expression spans no `/`, `{+x}` and `{/x}` and the like may.
pub(super) fn matches(template: &str, uri: &str) -> bool {
    let mut rest = uri;
    let mut parts = template;
    let mut wild: Option<bool> = None;
    loop {
        let (literal, after) = match parts.split_once('{') {
            Some((literal, after)) => (literal, Some(after)),
            None => (parts, None),
        };
        let last = after.is_none();
        match wild {
            None => match rest.strip_prefix(literal) {
                Some(left) => rest = left,
                None => return false,
            },
            Some(crosses) => {
                let found = if last && rest.ends_with(literal) {
                    Some(rest.len() - literal.len())
                } else if last {
                    None
                } else {
                    rest.find(literal)
                };
                let Some(at) = found else { return false };
                if !crosses && rest[..at].contains('/') {
                    return false;
                }
                rest = &rest[at + literal.len()..];
            }
        }
        let Some(after) = after else { return rest.is_empty() };
        let Some((expression, tail)) = after.split_once('}') else { return false };
        wild = Some(expression.starts_with(['+', '#', '/', '?', '&', '.', ';']));
        parts = tail;
    }
}

/// Scheme and authority of a URI: `scheme://authority`, or the scheme alone.
pub(crate) fn origin(uri: &str) -> &str {
    let Some(scheme) = uri.find(':') else { return "" };
    let Some(rest) = uri[scheme + 1..].strip_prefix("//") else { return &uri[..scheme] };
    let authority = rest.find(['/', '?', '#', '{']).unwrap_or(rest.len());
    &uri[..scheme + 3 + authority]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_match_their_expansions_only() {
        let check = |template, uri, expect| assert_eq!(matches(template, uri), expect, "{template} {uri}");
        check("test://template/{id}/data", "test://template/123/data", true);
        check("test://template/{id}/data", "test://template/1/2/data", false);
        check("test://template/{id}/data", "test://template/123/date", false);
        check("file:///{+path}", "file:///a/b/c", true);
        check("file:///{path}", "file:///a/b", false);
        check("a://{x}-{y}", "a://1-2", true);
        check("a://x", "a://x", true);
        check("a://x", "a://xy", false);
        check("a://{x", "a://1", false);
        check("a://{x}{y}", "a://12", true);
        check("q://s{?a,b}", "q://s?a=1/2", true);
    }

    #[test]
    fn origin_is_scheme_and_authority() {
        let check = |uri, expect| assert_eq!(origin(uri), expect);
        check("test://host/a", "test://host");
        check("file:///a", "file://");
        check("mailto:x", "mailto");
        check("nothing", "");
    }
}

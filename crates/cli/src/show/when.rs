//! Times as people say them.

/// How long ago, from `now_ms`: `just now`, `40 s ago`, `12 min ago`, `3 h ago`, `5 days ago`. A clock that went back is `just now`.
pub fn ago(then_ms: u64, now_ms: u64) -> String {
    match span(now_ms.saturating_sub(then_ms)) {
        Some(span) => format!("{span} ago"),
        None => "just now".into(),
    }
}

/// How long until then: `in 40 s`; under two seconds `now`.
pub fn ahead(then_ms: u64, now_ms: u64) -> String {
    span(then_ms.saturating_sub(now_ms)).map_or_else(|| "now".into(), |span| format!("in {span}"))
}

/// For how long: `3 h`; under two seconds `a moment`.
pub fn lasting(then_ms: u64, now_ms: u64) -> String {
    span(now_ms.saturating_sub(then_ms)).unwrap_or_else(|| "a moment".into())
}

fn span(ms: u64) -> Option<String> {
    let seconds = ms / 1000;
    Some(match seconds {
        0..=1 => return None,
        2..=89 => format!("{seconds} s"),
        90..=5399 => format!("{} min", (seconds + 30) / 60),
        5400..=129_599 => format!("{} h", (seconds + 1800) / 3600),
        _ => format!("{} days", (seconds + 43_200) / 86_400),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans() {
        let check = |seconds: u64, expect: &str| assert_eq!(ago(1_000, 1_000 + seconds * 1000), expect);
        check(0, "just now");
        check(1, "just now");
        check(2, "2 s ago");
        check(89, "89 s ago");
        check(90, "2 min ago");
        check(3600, "60 min ago");
        check(5400, "2 h ago");
        check(86_400, "24 h ago");
        check(129_600, "2 days ago");
        assert_eq!(ago(5_000, 1_000), "just now");
        assert_eq!(lasting(0, 500), "a moment");
        assert_eq!((ahead(9_000, 1_000), ahead(1_000, 9_000)), ("in 8 s".into(), "now".into()));
    }
}

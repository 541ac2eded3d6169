//! Times as people say them.

use super::screen::{Screen, Zone};
use jiff::Timestamp;
use jiff::tz::TimeZone;

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

/// A point in time on the screen's clock: `09-30 14:05:09`, with the year where it is not this one.
pub fn clock(ms: u64, screen: &Screen) -> String {
    let zone = match screen.zone {
        Zone::Local => TimeZone::system(),
        Zone::Utc => TimeZone::UTC,
    };
    let at = |ms: u64| {
        let stamp = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok()).unwrap_or_default();
        stamp.to_zoned(zone.clone())
    };
    let (then, now) = (at(ms), at(screen.now_ms));
    let form = if then.year() == now.year() { "%m-%d %H:%M:%S" } else { "%Y-%m-%d %H:%M:%S" };
    then.strftime(form).to_string()
}

/// A point in time for programs: `2026-11-30T10:00:00.123Z`.
pub fn stamp(ms: u64) -> String {
    let stamp = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok()).unwrap_or_default();
    format!("{stamp:.3}")
}

/// A span of microseconds: `0 ms`, `0.4 ms`, `12 ms`, `1.5 s`, `12 min`.
pub fn took(us: u64) -> String {
    match us {
        0 => "0 ms".into(),
        1..=9_949 => format!("{:.1} ms", (us as f64 / 1e3).max(0.1)),
        9_950..=999_499 => format!("{} ms", (us + 500) / 1000),
        999_500..=99_949_999 => format!("{:.1} s", us as f64 / 1e6),
        _ => span(us / 1000).unwrap_or_default(),
    }
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
    fn points_in_time() {
        let screen = Screen {
            width: None,
            colour: crate::show::screen::Colour::Never,
            now_ms: 1_796_032_800_000,
            zone: Zone::Utc,
        };
        assert_eq!(clock(1_796_032_805_000, &screen), "11-30 10:00:05");
        assert_eq!(clock(1_700_000_000_000, &screen), "2023-11-14 22:13:20");
        assert_eq!(stamp(1_796_032_800_007), "2026-11-30T10:00:00.007Z");
        let check = |us: u64, expect: &str| assert_eq!(took(us), expect);
        check(0, "0 ms");
        check(7, "0.1 ms");
        check(440, "0.4 ms");
        check(9_949, "9.9 ms");
        check(12_345, "12 ms");
        check(1_500_000, "1.5 s");
        check(45_000_000, "45.0 s");
        check(700_000_000, "12 min");
    }

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

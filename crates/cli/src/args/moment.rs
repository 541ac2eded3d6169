//! Times as people type them: so long ago, a day, or a point in time.

use jiff::tz::TimeZone;
use jiff::{Timestamp, civil};

/// A time that was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// So many milliseconds ago.
    Ago(u64),
    /// Milliseconds since 1970.
    At(u64),
}

impl Moment {
    /// In milliseconds since 1970.
    pub fn at(self, now_ms: u64) -> u64 {
        match self {
            Moment::Ago(span) => now_ms.saturating_sub(span),
            Moment::At(ms) => ms,
        }
    }
}

/// Reads a time; days and times without a zone are of this machine's zone.
pub fn moment(text: &str) -> Result<Moment, String> {
    read(text, &TimeZone::system())
}

fn read(text: &str, zone: &TimeZone) -> Result<Moment, String> {
    if let Some(span) = span(text) {
        return Ok(Moment::Ago(span));
    }
    let local = || text.parse::<civil::DateTime>().ok()?.to_zoned(zone.clone()).ok().map(|zoned| zoned.timestamp());
    let stamp = text.parse::<Timestamp>().ok().or_else(local);
    let ms = stamp.and_then(|stamp| u64::try_from(stamp.as_millisecond()).ok());
    ms.map(Moment::At).ok_or_else(|| "must look like 2h, 30m, 7d, 2026-11-30 or 2026-11-30T10:00:00Z".into())
}

/// `90s`, `30m`, `2h`, `7d` in milliseconds.
fn span(text: &str) -> Option<u64> {
    let unit = text.chars().next_back()?;
    let number: u64 = text[..text.len() - unit.len_utf8()].parse().ok()?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return None,
    };
    number.checked_mul(seconds * 1000)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn check(text: &str, expect: Option<Moment>) {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(read(text, &zone).ok(), expect, "{text}");
    }

    #[test]
    fn times_as_people_type_them() {
        check("2h", Some(Moment::Ago(7_200_000)));
        check("90s", Some(Moment::Ago(90_000)));
        check("7d", Some(Moment::Ago(604_800_000)));
        check("2026-11-30T10:00:00Z", Some(Moment::At(1_796_032_800_000)));
        check("2026-11-30T12:00:00+02:00", Some(Moment::At(1_796_032_800_000)));
        check("2026-11-30T12:00:00", Some(Moment::At(1_796_032_800_000)));
        check("2026-11-30", Some(Moment::At(1_795_989_600_000)));
        for text in ["", "h", "2", "-2h", "2y", "yesterday", "1900-01-01", "99999999999999999999d"] {
            check(text, None);
        }
        assert_eq!((Moment::Ago(5).at(3), Moment::Ago(5).at(9), Moment::At(7).at(9)), (0, 4, 7));
    }
}

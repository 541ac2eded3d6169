//! Named points on the road at which a test lets the hub die like by `kill -9`, and minutes that pass sooner. Without the
//! feature `abort-points` they are nothing at all.

use std::time::Duration;

/// A point between two stages of the road.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Its key is taken, nothing else has happened.
    Reserved,
    /// It is about to be written down as waiting.
    Asking,
    /// It is written down as waiting.
    Asked,
    /// It is written down as a task, and its client has not been told.
    Tasked,
    /// A decision was made and is about to be written down.
    Deciding,
    /// The decision is written down, and nobody has been told.
    Decided,
    /// It is permitted and about to be declared.
    Permitted,
    /// Its intent is durable.
    Declared,
    /// It has its lane and goes to its server.
    Sending,
    /// Its flight mark is set, no byte has left.
    Marked,
    /// It was handed to the server.
    Sent,
    /// The answer is here.
    Answered,
    /// What it ended with is on its way to the store, nobody has been told.
    Settled,
    /// Its asker was told.
    Told,
}

impl Point {
    /// All of them, in the order of the road.
    pub const ALL: [Point; 14] = [
        Point::Reserved,
        Point::Asking,
        Point::Asked,
        Point::Tasked,
        Point::Deciding,
        Point::Decided,
        Point::Permitted,
        Point::Declared,
        Point::Sending,
        Point::Marked,
        Point::Sent,
        Point::Answered,
        Point::Settled,
        Point::Told,
    ];
    /// Its word in `CALLGATE_ABORT_AT`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Point::Reserved => "reserved",
            Point::Asking => "asking",
            Point::Asked => "asked",
            Point::Tasked => "tasked",
            Point::Deciding => "deciding",
            Point::Decided => "decided",
            Point::Permitted => "permitted",
            Point::Declared => "declared",
            Point::Sending => "sending",
            Point::Marked => "marked",
            Point::Sent => "sent",
            Point::Answered => "answered",
            Point::Settled => "settled",
            Point::Told => "told",
        }
    }
}

/// The hub ends here if it was told to.
#[cfg(feature = "abort-points")]
pub(crate) fn at(point: Point, tool: &str) {
    // The tool is named, so that what a host does before does not count.
    let wanted = std::env::var("CALLGATE_ABORT_AT").unwrap_or_default();
    if wanted == format!("{}:{tool}", point.as_str()) {
        std::process::abort();
    }
}

/// The hub goes on.
#[cfg(not(feature = "abort-points"))]
#[inline(always)]
pub(crate) fn at(_: Point, _: &str) {}

/// So many minutes, of the length that a test has said.
#[cfg(feature = "abort-points")]
pub(crate) fn minutes(many: u64) -> Duration {
    let length = std::env::var("CALLGATE_MINUTE_MS").ok().and_then(|text| text.parse().ok());
    Duration::from_millis(many * length.unwrap_or(60_000))
}

/// So many minutes.
#[cfg(not(feature = "abort-points"))]
#[inline(always)]
pub(crate) fn minutes(many: u64) -> Duration {
    Duration::from_secs(many * 60)
}

//! What happens while one listens on `GET /events`.

use super::{ConfigChange, Decision, Server};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Something that happened. A front end refreshes the operations that show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A server's state or lists changed.
    Server(Server),
    /// A server was removed.
    ServerGone {
        /// Its key.
        name: String,
    },
    /// The visible catalog changed.
    Catalog,
    /// A host came or went.
    Hosts,
    /// A config was applied or refused.
    Config(ConfigChange),
    /// The queue of waiting calls changed: a call joined it, left it, or waits otherwise than before.
    Approvals {
        /// Calls that wait for a person now.
        waiting: u32,
    },
    /// A waiting call was decided, by a person or by time.
    Decision(Decision),
    /// Records of calls changed in what `call.list` shows of them: one became unknown, or was settled.
    Calls {
        /// Calls that a person has to settle.
        unknown: u32,
    },
    /// Definitions of a server wait for a review, or do so no longer.
    CatalogHeld {
        /// Key of the server.
        server: String,
        /// How many definitions wait now.
        entries: u32,
    },
    /// All risky calls are held from now on, or are no longer.
    Paused {
        /// Since when; None: they are not held.
        since_ms: Option<u64>,
    },
    /// The listener was too slow: this many events are lost, so everything must be read anew.
    Missed {
        /// Number of lost events.
        count: u64,
    },
}

impl Event {
    /// Its word, as in the field `event`.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Event::Server(_) => "server",
            Event::ServerGone { .. } => "server_gone",
            Event::Catalog => "catalog",
            Event::Hosts => "hosts",
            Event::Config(_) => "config",
            Event::Approvals { .. } => "approvals",
            Event::Decision(_) => "decision",
            Event::Calls { .. } => "calls",
            Event::CatalogHeld { .. } => "catalog_held",
            Event::Paused { .. } => "paused",
            Event::Missed { .. } => "missed",
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::words::DecisionKind;

    #[test]
    fn word_is_the_tag() {
        let decision = Decision {
            id: "a-1".into(),
            call: "c1-1".into(),
            kind: DecisionKind::Denied,
            by: "me".into(),
            at_ms: 1,
            remember: None,
            reason: None,
            edited: false,
        };
        let events = [
            Event::ServerGone { name: "a".into() },
            Event::Catalog,
            Event::Hosts,
            Event::Config(ConfigChange::default()),
            Event::Approvals { waiting: 2 },
            Event::Decision(decision),
            Event::Calls { unknown: 1 },
            Event::CatalogHeld { server: "a".into(), entries: 3 },
            Event::Paused { since_ms: Some(1) },
            Event::Paused { since_ms: None },
            Event::Missed { count: 3 },
        ];
        for event in events {
            let json = serde_json::to_value(&event).unwrap();
            assert_eq!(json["event"], event.as_str());
            assert_eq!(serde_json::from_value::<Event>(json).unwrap(), event);
        }
    }
}

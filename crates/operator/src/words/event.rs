//! What happens while one listens on `GET /events`.

use super::{ConfigChange, Server};
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
            Event::Missed { .. } => "missed",
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn word_is_the_tag() {
        let events = [
            Event::ServerGone { name: "a".into() },
            Event::Catalog,
            Event::Hosts,
            Event::Config(ConfigChange::default()),
            Event::Missed { count: 3 },
        ];
        for event in events {
            let json = serde_json::to_value(&event).unwrap();
            assert_eq!(json["event"], event.as_str());
            assert_eq!(serde_json::from_value::<Event>(json).unwrap(), event);
        }
    }
}

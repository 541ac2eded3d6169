//! JSON that passes through untouched: key order, number text and unknown fields stay as they were sent.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::fmt;
use ts_rs::TS;

/// One JSON value as text. Compared by its text.
#[derive(Clone, Serialize, Deserialize, TS)]
#[ts(type = "unknown")]
pub struct Raw(Box<RawValue>);

impl Raw {
    /// Takes JSON text; white space around it is dropped. None if it is not one JSON value.
    pub fn parse(text: &str) -> Option<Raw> {
        serde_json::from_str(text).ok().map(Raw)
    }
    /// The text.
    pub fn get(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for Raw {
    fn eq(&self, other: &Raw) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Raw {}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn text_survives_to_the_digit() {
        for text in ["{\"b\":1.10,\"a\":9007199254740993}", "null", "\"x\"", "[1e400]"] {
            assert_eq!(Raw::parse(text).unwrap().get(), text);
            assert_eq!(serde_json::to_string(&Raw::parse(text).unwrap()).unwrap(), text);
        }
        assert_eq!(Raw::parse(" 1 ").unwrap().get(), "1");
        assert!(Raw::parse("{").is_none());
        assert!(Raw::parse("1 2").is_none());
    }
}

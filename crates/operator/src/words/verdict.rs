//! Words that policy, approvals and the catalog share.

use serde::{Deserialize, Serialize};
use std::fmt;
use ts_rs::TS;

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)+ })+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, TS)]
            #[serde(rename_all = "snake_case")]
            pub enum $name { $($(#[$vdoc])* $variant,)+ }

            impl $name {
                /// All of them, in order.
                pub const ALL: &'static [$name] = &[$($name::$variant),+];
                /// Its word.
                pub const fn as_str(self) -> &'static str {
                    match self { $($name::$variant => $text,)+ }
                }
            }
        )+

        #[cfg(test)]
        mod tests {
            #![allow(clippy::unwrap_used, reason = "tests")]
            use super::*;

            #[test]
            fn the_word_is_what_is_sent() {
                $(for word in $name::ALL {
                    assert_eq!(serde_json::to_value(word).unwrap(), word.as_str());
                })+
            }
        }
    };
}

words! {
    /// What is done with a call.
    Then {
        /// It runs.
        Allow = "allow",
        /// A person is asked.
        Ask = "ask",
        /// It is refused.
        Deny = "deny",
    }
    /// How often a person is asked about a tool (docs/policy.md).
    Tier {
        /// Never.
        Quiet = "quiet",
        /// Once per client, until the definition or the launch changes.
        Once = "once",
        /// Every time, or once per session.
        Each = "each",
    }
    /// For how long an approval holds. Ordered: a later one covers more.
    Scope {
        /// For this call alone.
        Once = "once",
        /// For this session of this client.
        Session = "session",
        /// For this client and tool until the definition or the launch changes.
        Tool = "tool",
    }
    /// How a definition stands against what was approved.
    PinState {
        /// Not seen before.
        New = "new",
        /// What was approved.
        Approved = "approved",
        /// Another one than was approved.
        Changed = "changed",
        /// Withheld until a person has reviewed it.
        Blocked = "blocked",
    }
}

/// The person's PIN on its way to the hub. It shows itself to nobody.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PinCode(String);

impl PinCode {
    /// What was typed.
    pub fn new(typed: impl Into<String>) -> PinCode {
        PinCode(typed.into())
    }
    /// What was typed, for the one who compares it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PinCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PinCode(…)")
    }
}

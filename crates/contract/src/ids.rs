//! Ids that several parts of the hub speak of.

use std::fmt;

/// A call: the number of its row in the audit. Prints as `c-` and the number in Crockford's base 32, as short as
/// it can be, and sorts by age.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(u64);

/// Text that is no printed [`CallId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a call id is written as c- and letters or digits")]
pub struct NoCallId;

const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

impl CallId {
    /// The call of that audit row.
    pub const fn new(row: u64) -> CallId {
        CallId(row)
    }
    /// Its audit row.
    pub const fn row(self) -> u64 {
        self.0
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("c-")?;
        let length = (64 - self.0.leading_zeros()).div_ceil(5).max(1);
        (0..length).rev().try_for_each(|place| {
            let digit = DIGITS[usize::try_from(self.0 >> (5 * place) & 31).unwrap_or(0)];
            fmt::Write::write_char(out, char::from(digit))
        })
    }
}

impl fmt::Debug for CallId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl std::str::FromStr for CallId {
    type Err = NoCallId;
    fn from_str(text: &str) -> Result<CallId, NoCallId> {
        let digits = text.strip_prefix("c-").filter(|digits| !digits.is_empty()).ok_or(NoCallId)?;
        let row = digits.bytes().try_fold(0u64, |sum, byte| {
            let digit = DIGITS.iter().position(|&digit| digit == byte.to_ascii_lowercase()).ok_or(NoCallId)?;
            sum.checked_mul(32).and_then(|sum| sum.checked_add(digit as u64)).ok_or(NoCallId)
        })?;
        Ok(CallId(row))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn check(row: u64, expect: &str) {
        assert_eq!(CallId::new(row).to_string(), expect);
        assert_eq!(expect.parse::<CallId>().unwrap().row(), row);
    }

    #[test]
    fn prints_and_reads() {
        check(0, "c-0");
        check(31, "c-z");
        check(32, "c-10");
        check(1_000_000, "c-ygj0");
        check(u64::MAX, "c-fzzzzzzzzzzzz");
        for text in ["", "c-", "7", "c-i", "c-g0000000000000", "c-fzzzzzzzzzzzzz"] {
            assert_eq!(text.parse::<CallId>(), Err(NoCallId), "{text}");
        }
        assert_eq!("c-YGJ0".parse::<CallId>().unwrap().row(), 1_000_000);
    }
}

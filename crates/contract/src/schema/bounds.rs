//! The keywords that bound numbers, by exact decimal values: the validator's own compare doubles, which take
//! 100.00000000000000000000001 for 100. What can't be judged does not pass.

use super::{Options, Own, exact};
use crate::decimal::{self, Decimal};
use crate::instance::{Received, Seen};
use jsonschema::paths::Location;
use jsonschema::{Keyword, ValidationError};
use serde_json::{Map, Value};
use std::cmp::Ordering;

/// What a value is that is no `const`.
pub(crate) const NOT_THE_ONE: &str = "is not the one allowed value";
/// What a value is that is in no `enum`.
pub(crate) const NOT_LISTED: &str = "is not one of the allowed values";

/// What a keyword of our own has to say of a value: the one text that the validator carries for it.
pub(crate) struct Wanting<'m> {
    /// What is wrong.
    pub(crate) problem: &'m str,
    /// What is expected.
    pub(crate) expected: &'m str,
}

impl<'m> Wanting<'m> {
    /// Reads what [`Wanting::error`] wrote.
    pub(crate) fn read(message: &'m str) -> Option<Wanting<'m>> {
        message.split_once('\n').map(|(problem, expected)| Wanting { problem, expected })
    }
    /// Whether another value than the one allowed was given.
    pub(crate) fn is_constant(&self) -> bool {
        self.problem == NOT_THE_ONE
    }
    pub(super) fn error(&self) -> ValidationError<'static> {
        ValidationError::custom(format!("{}\n{}", self.problem, self.expected))
    }
}

/// The four bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    AtLeast,
    MoreThan,
    AtMost,
    LessThan,
}

impl Bound {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Bound::AtLeast => order.is_ge(),
            Bound::MoreThan => order.is_gt(),
            Bound::AtMost => order.is_le(),
            Bound::LessThan => order.is_lt(),
        }
    }
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Bound::AtLeast => ("is too small", "at least"),
            Bound::MoreThan => ("is too small", "more than"),
            Bound::AtMost => ("is too large", "at most"),
            Bound::LessThan => ("is too large", "less than"),
        }
    }
}

struct Limit {
    bound: Bound,
    text: Box<str>,
    small: Option<i64>,
}

impl<'i> Keyword<'i, Received> for Limit {
    fn validate(&self, instance: Seen<'i>) -> Result<(), ValidationError<'i>> {
        let (problem, than) = self.bound.words();
        let expected = &format!("{than} {}", self.text);
        if self.is_valid(instance) { Ok(()) } else { Err(Wanting { problem, expected }.error()) }
    }
    fn is_valid(&self, instance: Seen<'i>) -> bool {
        let Some(given) = instance.digits(1) else { return true };
        let order = match (decimal::small(given), self.small) {
            (Some(given), Some(limit)) => Some(given.cmp(&limit)),
            _ => decimal::compare(given, &self.text),
        };
        order.is_some_and(|order| self.bound.holds(order))
    }
}

struct Divisor {
    text: Box<str>,
    small: Option<i64>,
    /// Its digits and their power of ten; None where they are too many to divide by.
    significand: Option<(u64, i64)>,
}

impl Divisor {
    /// None: it can't be told.
    fn divides(&self, given: &str) -> Option<bool> {
        if let (Some(given), Some(divisor)) = (decimal::small(given), self.small) {
            // The one quotient that is too large for them has nothing left over either.
            return Some(given.checked_rem(divisor).unwrap_or(0) == 0);
        }
        let exact = Decimal::read(given)?;
        match self.significand {
            Some((digits, power)) => Some(exact.is_multiple_of(digits, power)),
            None if exact.is_zero() => Some(true),
            None => {
                let magnitude = Decimal::read(given.strip_prefix('-').unwrap_or(given))?;
                (magnitude == Decimal::read(&self.text)?).then_some(true)
            }
        }
    }
}

impl<'i> Keyword<'i, Received> for Divisor {
    fn validate(&self, instance: Seen<'i>) -> Result<(), ValidationError<'i>> {
        let problem = match instance.digits(2).map(|given| self.divides(given)) {
            None | Some(Some(true)) => return Ok(()),
            Some(Some(false)) => "is no multiple",
            Some(None) => "can't be told to be a multiple, for too many digits",
        };
        Err(Wanting { problem, expected: &format!("a multiple of {}", self.text) }.error())
    }
    fn is_valid(&self, instance: Seen<'i>) -> bool {
        instance.digits(2).is_none_or(|given| self.divides(given) == Some(true))
    }
}

/// Where draft 4 says `true` or `false` beside a bound.
struct Nothing;

impl<'i> Keyword<'i, Received> for Nothing {
    fn validate(&self, _: Seen<'i>) -> Result<(), ValidationError<'i>> {
        Ok(())
    }
    fn is_valid(&self, _: Seen<'i>) -> bool {
        true
    }
}

/// Puts them in the place of the validator's own.
pub(super) fn with_keywords(options: Options<'_>) -> Options<'_> {
    options
        .with_keyword("minimum", |parent, value, _: Location| {
            let is_exclusive = parent.get("exclusiveMinimum") == Some(&Value::Bool(true));
            limit(if is_exclusive { Bound::MoreThan } else { Bound::AtLeast }, "minimum", parent, value)
        })
        .with_keyword("maximum", |parent, value, _: Location| {
            let is_exclusive = parent.get("exclusiveMaximum") == Some(&Value::Bool(true));
            limit(if is_exclusive { Bound::LessThan } else { Bound::AtMost }, "maximum", parent, value)
        })
        .with_keyword("exclusiveMinimum", |parent, value, _: Location| {
            limit(Bound::MoreThan, "exclusiveMinimum", parent, value)
        })
        .with_keyword("exclusiveMaximum", |parent, value, _: Location| {
            limit(Bound::LessThan, "exclusiveMaximum", parent, value)
        })
        .with_keyword("multipleOf", |parent, value, _: Location| {
            let text = exact::text_of(parent, "multipleOf", value);
            let significand = Decimal::read(&text).and_then(Decimal::significand);
            Ok(Box::new(Divisor { small: decimal::small(&text), significand, text }) as Own)
        })
}

fn limit<'a>(
    bound: Bound,
    keyword: &str,
    parent: &Map<String, Value>,
    value: &Value,
) -> Result<Own, ValidationError<'a>> {
    if value.is_boolean() {
        return Ok(Box::new(Nothing));
    }
    let text = exact::text_of(parent, keyword, value);
    Ok(Box::new(Limit { bound, small: decimal::small(&text), text }))
}

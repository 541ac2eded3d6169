//! Numbers as the arguments have them: compared by their exact values, and calculated with only where no digit is
//! lost. A rule about the amount 9007199254740993 never holds for 9007199254740992.

use super::fault::Problem;
use contract::json;
use std::cmp::Ordering;

/// One number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number<'a> {
    /// Written without fraction and exponent.
    Int(i128),
    /// Written with one, and the same value as this double.
    Double(f64),
    /// What neither of them holds, as it stands in the arguments.
    Long(&'a str),
}

/// What is calculated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// Integers up to here are doubles too.
const MAX_EXACT: i128 = 1 << 53;

impl<'a> Number<'a> {
    /// Reads a JSON number.
    pub(super) fn read(source: &'a str) -> Number<'a> {
        if !source.contains(['.', 'e', 'E'])
            && let Ok(int) = source.parse()
        {
            return Number::Int(int);
        }
        json::as_double(source).map_or(Number::Long(source), Number::Double)
    }

    /// A double that a calculation or a rule gives.
    pub(super) fn double(double: f64) -> Result<Number<'a>, Problem> {
        if double.is_finite() { Ok(Number::Double(double)) } else { Err(Problem::Endless) }
    }

    pub(super) fn compare(self, other: Number<'_>) -> Result<Ordering, Problem> {
        let order = match (self, other) {
            (Number::Int(a), Number::Int(b)) => Some(a.cmp(&b)),
            (Number::Double(a), Number::Double(b)) => a.partial_cmp(&b),
            (a, b) => match (a.small(), b.small()) {
                (Some(a), Some(b)) => a.partial_cmp(&b),
                _ => json::compare_numbers(&a.text(), &b.text()),
            },
        };
        order.ok_or(Problem::Digits)
    }

    /// Its value as a double where that is exact.
    fn small(self) -> Option<f64> {
        match self {
            #[allow(clippy::cast_precision_loss, reason = "not so far")]
            Number::Int(int) => (-MAX_EXACT..=MAX_EXACT).contains(&int).then_some(int as f64),
            Number::Double(double) => Some(double),
            Number::Long(_) => None,
        }
    }

    /// How many bytes its text has, at most: what comparing it may cost.
    pub(super) fn len(self) -> usize {
        match self {
            Number::Int(_) | Number::Double(_) => 0,
            Number::Long(text) => text.len(),
        }
    }

    /// It as a JSON number, or as CEL's `string()` writes it.
    pub(super) fn text(self) -> String {
        match self {
            Number::Int(int) => int.to_string(),
            Number::Double(double) if (1e-5..1e15).contains(&double.abs()) || double == 0.0 => double.to_string(),
            Number::Double(double) => format!("{double:e}"),
            Number::Long(text) => text.to_owned(),
        }
    }

    pub(super) fn negate(self) -> Result<Number<'a>, Problem> {
        Number::Int(0).calculate(Operation::Subtract, self)
    }

    pub(super) fn calculate(self, operation: Operation, other: Number<'_>) -> Result<Number<'a>, Problem> {
        if let (Number::Int(a), Number::Int(b)) = (self, other) {
            let whole = match operation {
                Operation::Add => a.checked_add(b),
                Operation::Subtract => a.checked_sub(b),
                Operation::Multiply => a.checked_mul(b),
                Operation::Divide | Operation::Remainder if b == 0 => return Err(Problem::DivisionByZero),
                Operation::Divide => a.checked_div(b),
                Operation::Remainder => a.checked_rem(b),
            };
            return whole.map(Number::Int).ok_or(Problem::Digits);
        }
        let (Some(a), Some(b)) = (self.small(), other.small()) else { return Err(Problem::Digits) };
        Number::double(match operation {
            Operation::Add => a + b,
            Operation::Subtract => a - b,
            Operation::Multiply => a * b,
            Operation::Divide if b == 0.0 => return Err(Problem::DivisionByZero),
            Operation::Divide => a / b,
            Operation::Remainder => return Err(Problem::Remainder),
        })
    }

    /// The part before the decimal point.
    pub(super) fn whole(self) -> Result<Number<'a>, Problem> {
        match self {
            Number::Int(_) => Ok(self),
            #[allow(clippy::cast_possible_truncation, reason = "the range is checked")]
            Number::Double(double) if double.abs() < 1e30 => Ok(Number::Int(double as i128)),
            Number::Double(_) | Number::Long(_) => Err(Problem::Digits),
        }
    }

    /// It as a number with a fraction.
    pub(super) fn widened(self) -> Result<Number<'a>, Problem> {
        self.small().map(Number::Double).ok_or(Problem::Digits)
    }
}

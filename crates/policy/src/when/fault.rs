//! Why a condition has no answer. Never quotes what is in the arguments.

use std::fmt;

/// Why an expression has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A field is not there: the condition does not hold.
    Absent,
    /// Anything else: the condition can't be judged.
    Broken(Problem),
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// The steps of one judgement are used up.
    Steps,
    /// The arguments or annotations are too long to be judged by.
    Length(&'static str),
    /// They are no JSON object.
    Unreadable(&'static str),
    /// Something can't be done with a value of this kind.
    Kind(&'static str, &'static str),
    /// Something can't be done with values of these two kinds.
    Kinds(&'static str, &'static str, &'static str),
    /// A field is asked for of what has none.
    NoFields(&'static str),
    /// A field is asked for, and there is one whose name may be taken for it.
    Spelling,
    /// A number has too many digits.
    Digits,
    /// A result is no number.
    Endless,
    /// Division or remainder by zero.
    DivisionByZero,
    /// `%` of numbers with a fraction.
    Remainder,
    /// A text is no number.
    NoNumber,
    /// A pattern asks for word boundaries of letters that are not ASCII.
    Boundary,
}

impl Fault {
    /// What holds where two parts have no value: what is broken outweighs what is absent.
    pub(super) fn worse(self, other: Fault) -> Fault {
        match self {
            Fault::Absent => other,
            Fault::Broken(_) => self,
        }
    }
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Fault {
        Fault::Broken(problem)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Problem::Steps => "the arguments are too much for the time that it may take",
            Problem::Length(what) => return write!(out, "the {what} are too long"),
            Problem::Unreadable(what) => return write!(out, "the {what} can't be read"),
            Problem::Kind(operation, kind) => return write!(out, "`{operation}` can't be used with {kind}"),
            Problem::Kinds(operation, a, b) => return write!(out, "`{operation}` can't be used with {a} and {b}"),
            Problem::NoFields(kind) => return write!(out, "a field is asked for of {kind}"),
            Problem::Spelling => {
                "a name that it asks for stands there in another spelling; names have to be spelled exactly"
            }
            Problem::Digits => "a number has too many digits to calculate with",
            Problem::Endless => "a calculation does not give a number",
            Problem::DivisionByZero => "a division by zero",
            Problem::Remainder => "`%` can only be used with whole numbers",
            Problem::NoNumber => "a text is no number",
            Problem::Boundary => "a pattern with `\\b` can't be compared with a text that is not ASCII",
        };
        out.write_str(text)
    }
}

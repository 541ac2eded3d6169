//! A condition as it is evaluated: every name found, every function known, every pattern compiled.

use super::number::Operation;
use super::pattern::Pattern;
use std::collections::BTreeSet;

/// One expression.
#[derive(Debug)]
pub(super) enum Expr {
    Literal(Literal),
    Fact(Fact),
    /// A variable of a loop, counted from the outermost.
    Local(usize),
    Field(Box<Expr>, Box<str>, Whose),
    Has(Box<Expr>, Box<str>, Whose),
    Index(Box<[Expr; 2]>, Whose),
    List(Box<[Expr]>),
    Not(Box<Expr>),
    Negate(Box<Expr>),
    And(Box<[Expr; 2]>),
    Or(Box<[Expr; 2]>),
    If(Box<[Expr; 3]>),
    Equal(Box<[Expr; 2]>),
    Unequal(Box<[Expr; 2]>),
    Order(Order, Box<[Expr; 2]>),
    In(Box<[Expr; 2]>, Whose),
    Calculate(Operation, Box<[Expr; 2]>),
    /// Whole text, then what is looked for in it.
    Find(Place, Box<[Expr; 2]>),
    Matches(Box<Expr>, Pattern),
    Size(Box<Expr>),
    Convert(Conversion, Box<Expr>),
    Loop(Loop, Box<[Expr; 2]>),
}

/// Which object of the arguments a name is asked for of: a place in [`Reads::named`]. None where that can't be told.
pub(super) type Whose = Option<usize>;

/// A value that stands in the rule.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    Null,
    Boolean(bool),
    Int(i128),
    Double(f64),
    Text(Box<str>),
}

/// What a condition can ask about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fact {
    Args,
    Tool,
    Server,
    Host,
    Effect,
    Annotations,
}

/// `<`, `<=`, `>`, `>=`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Where in a text something is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Anywhere,
    Start,
    End,
}

/// A value made of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conversion {
    Text,
    Int,
    Double,
    SmallLetters,
    CapitalLetters,
    Trimmed,
}

/// What a loop finds out: the range first, then what is asked of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loop {
    All,
    Exists,
    ExistsOne,
    Filter,
    Map,
}

/// What a condition depends on.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    /// The arguments.
    pub(crate) args: bool,
    /// The client.
    pub(crate) host: bool,
    /// The annotations.
    pub(crate) annotations: bool,
    /// Anything at all.
    pub(crate) anything: bool,
    /// The arguments that it names.
    pub(crate) arguments: BTreeSet<Box<str>>,
    /// For each object that it asks for names of, by where that is: the names.
    pub(crate) named: Vec<(Box<str>, BTreeSet<Box<str>>)>,
    /// Bytes of memory that its patterns take.
    pub(crate) memory: usize,
}

impl Expr {
    /// What kind of value it surely gives, for people; None where that depends on the call.
    pub(super) fn sort(&self) -> Option<&'static str> {
        match self {
            Expr::Literal(Literal::Null) => Some("null"),
            Expr::Literal(Literal::Int(_) | Literal::Double(_)) | Expr::Negate(_) | Expr::Size(_) => Some("a number"),
            Expr::Literal(Literal::Text(_)) => Some("a text"),
            Expr::Fact(Fact::Args | Fact::Annotations) => Some("an object"),
            Expr::Fact(Fact::Tool | Fact::Server | Fact::Host | Fact::Effect) => Some("a text"),
            Expr::List(_) | Expr::Loop(Loop::Filter | Loop::Map, _) => Some("a list"),
            Expr::Convert(Conversion::Int | Conversion::Double, _) => Some("a number"),
            Expr::Convert(_, _) => Some("a text"),
            Expr::Literal(Literal::Boolean(_))
            | Expr::Has(..)
            | Expr::Not(_)
            | Expr::And(_)
            | Expr::Or(_)
            | Expr::Equal(_)
            | Expr::Unequal(_)
            | Expr::Order(_, _)
            | Expr::In(..)
            | Expr::Find(_, _)
            | Expr::Matches(_, _)
            | Expr::Loop(Loop::All | Loop::Exists | Loop::ExistsOne, _) => Some(BOOLEAN),
            Expr::Local(_) | Expr::Field(..) | Expr::Index(..) | Expr::If(_) | Expr::Calculate(_, _) => None,
        }
    }
}

/// The sort of everything that can be a condition.
pub(super) const BOOLEAN: &str = "true or false";

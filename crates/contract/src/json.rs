//! A JSON text to look into from outside this crate, and its numbers without losing a digit: what rules are judged
//! by. Nothing is converted before it is asked for, and nothing that could be read in two ways is read at all.

use crate::tree::{self, Kind, TextFault, Tree};
use crate::{canonical, decimal};
use std::borrow::Cow;
use std::cmp::Ordering;

/// One JSON text.
#[derive(Debug)]
pub struct Json<'a>(Tree<'a>);

/// One value in a text. Copies are free.
#[derive(Clone, Copy, Debug)]
pub struct Node<'t>(tree::Value<'t>);

/// A value seen as what it is.
#[derive(Clone, Debug)]
pub enum View<'t> {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean(bool),
    /// A number, as it stands in the text.
    Number(&'t str),
    /// A string, its escapes read.
    Text(Cow<'t, str>),
    /// An array: [`Node::elements`], [`Node::len`].
    Array,
    /// An object: [`Node::get`], [`Node::members`], [`Node::len`].
    Object,
}

impl<'a> Json<'a> {
    /// Reads a whole text.
    ///
    /// # Errors
    /// Where it is not unambiguous JSON.
    pub fn read(raw: &'a [u8]) -> Result<Json<'a>, TextFault> {
        Tree::read(raw).map(Json)
    }
    /// The whole value.
    pub fn root(&self) -> Node<'_> {
        Node(self.0.root())
    }
}

impl<'t> Node<'t> {
    /// What it is.
    pub fn view(self) -> View<'t> {
        match self.0.kind() {
            Kind::Null => View::Null,
            Kind::True => View::Boolean(true),
            Kind::False => View::Boolean(false),
            Kind::Number => View::Number(self.0.source()),
            Kind::String => View::Text(self.0.string().unwrap_or_default()),
            Kind::Array => View::Array,
            Kind::Object => View::Object,
        }
    }
    /// The value of one key of an object.
    pub fn get(self, key: &str) -> Option<Node<'t>> {
        self.0.get(key).map(Node)
    }
    /// The elements of an array; none for other kinds.
    pub fn elements(self) -> impl Iterator<Item = Node<'t>> {
        self.0.elements().map(Node)
    }
    /// The members of an object; none for other kinds.
    pub fn members(self) -> impl Iterator<Item = (Cow<'t, str>, Node<'t>)> {
        self.0.members().map(|(key, value)| (key.string().unwrap_or_default(), Node(value)))
    }
    /// Elements of an array, members of an object; 0 for others.
    pub fn len(self) -> usize {
        self.0.count()
    }
    /// Whether it has neither elements nor members.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

/// Compares the exact values of two JSON numbers; None where an exponent is beyond 64 bits.
pub fn compare_numbers(a: &str, b: &str) -> Option<Ordering> {
    decimal::compare(a, b)
}

/// A JSON number as a double, where that is the same value (docs/approvals.md).
pub fn as_double(number: &str) -> Option<f64> {
    canonical::double(number)
}

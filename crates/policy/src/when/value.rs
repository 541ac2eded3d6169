//! Values of expressions. What comes from the arguments stays where it is and is looked at when it is needed.

use super::fault::{Fault, Problem};
use super::number::Number;
use super::steps::Steps;
use contract::json::{Node, View};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Deref;
use std::rc::Rc;

/// One value.
#[derive(Clone, Debug)]
pub(super) enum Value<'a> {
    Null,
    Boolean(bool),
    Number(Number<'a>),
    Text(Text<'a>),
    /// Made by the expression.
    List(Rc<[Value<'a>]>),
    /// An array of the arguments.
    Array(Node<'a>),
    /// An object of the arguments.
    Object(Node<'a>),
}

/// A text that is cheap to copy.
#[derive(Clone, Debug)]
pub(super) enum Text<'a> {
    Borrowed(&'a str),
    Shared(Rc<str>),
}

impl Deref for Text<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        match self {
            Text::Borrowed(text) => text,
            Text::Shared(text) => text,
        }
    }
}

impl<'a> Text<'a> {
    /// Text of the arguments; what has escapes in it was copied.
    fn read(text: Cow<'a, str>, steps: &Steps) -> Result<Text<'a>, Problem> {
        match text {
            Cow::Borrowed(text) => Ok(Text::Borrowed(text)),
            Cow::Owned(text) => {
                steps.spend(text.len() / 8)?;
                Ok(Text::Shared(text.into()))
            }
        }
    }
}

impl<'a> Value<'a> {
    pub(super) fn read(node: Node<'a>, steps: &Steps) -> Result<Value<'a>, Problem> {
        Ok(match node.view() {
            View::Null => Value::Null,
            View::Boolean(boolean) => Value::Boolean(boolean),
            View::Number(source) => {
                steps.spend(source.len() / 8)?;
                Value::Number(Number::read(source))
            }
            View::Text(text) => Value::Text(Text::read(text, steps)?),
            View::Array => Value::Array(node),
            View::Object => Value::Object(node),
        })
    }

    /// What kind of value it is, for people.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Boolean(_) => "true or false",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) | Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        }
    }

    pub(super) fn unfit(&self, operation: &'static str) -> Fault {
        Fault::Broken(Problem::Kind(operation, self.kind()))
    }

    pub(super) fn unfit_with(&self, other: &Value<'a>, operation: &'static str) -> Fault {
        Fault::Broken(Problem::Kinds(operation, self.kind(), other.kind()))
    }

    /// The elements of a list, the keys of an object.
    pub(super) fn items(&self, operation: &'static str, steps: &'a Steps) -> Result<Items<'a>, Fault> {
        match self {
            Value::List(list) => Ok(Items::List(Rc::clone(list), 0)),
            Value::Array(node) => Ok(Items::Read(Box::new(node.elements().map(|node| Value::read(node, steps))))),
            Value::Object(node) => {
                let keys = node.members().map(|(key, _)| Text::read(key, steps).map(Value::Text));
                Ok(Items::Read(Box::new(keys)))
            }
            Value::Null | Value::Boolean(_) | Value::Number(_) | Value::Text(_) => Err(self.unfit(operation)),
        }
    }

    /// Deep equality; values of different kinds differ.
    pub(super) fn equals(&self, other: &Value<'a>, steps: &'a Steps) -> Result<bool, Fault> {
        steps.spend(1)?;
        Ok(match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Boolean(a), Value::Boolean(b)) => a == b,
            (Value::Number(a), Value::Number(b)) => {
                steps.read(a.len().max(b.len()))?;
                a.compare(*b)? == Ordering::Equal
            }
            (Value::Text(a), Value::Text(b)) => {
                steps.read(a.len().min(b.len()))?;
                **a == **b
            }
            (Value::List(_) | Value::Array(_), Value::List(_) | Value::Array(_)) => {
                if self.len() != other.len() {
                    return Ok(false);
                }
                for (a, b) in self.items("==", steps)?.zip(other.items("==", steps)?) {
                    steps.spend(6)?;
                    if !a?.equals(&b?, steps)? {
                        return Ok(false);
                    }
                }
                true
            }
            (Value::Object(a), Value::Object(b)) => {
                if a.len() != b.len() {
                    return Ok(false);
                }
                for (key, value) in a.members() {
                    // A key is looked for from the front.
                    steps.spend(b.len())?;
                    let Some(other) = b.get(&key) else { return Ok(false) };
                    if !Value::read(value, steps)?.equals(&Value::read(other, steps)?, steps)? {
                        return Ok(false);
                    }
                }
                true
            }
            _ => false,
        })
    }

    pub(super) fn compare(&self, other: &Value<'a>, steps: &'a Steps) -> Result<Ordering, Fault> {
        match (self, other) {
            (Value::Number(a), Value::Number(b)) => {
                steps.read(a.len().max(b.len()))?;
                Ok(a.compare(*b)?)
            }
            (Value::Text(a), Value::Text(b)) => {
                steps.read(a.len().min(b.len()))?;
                Ok((**a).cmp(&**b))
            }
            _ => Err(self.unfit_with(other, "<")),
        }
    }

    /// Elements or members; 0 for others.
    pub(super) fn len(&self) -> usize {
        match self {
            Value::List(list) => list.len(),
            Value::Array(node) | Value::Object(node) => node.len(),
            Value::Null | Value::Boolean(_) | Value::Number(_) | Value::Text(_) => 0,
        }
    }
}

/// The iterator of [`Value::items`].
pub(super) enum Items<'a> {
    List(Rc<[Value<'a>]>, usize),
    Read(Box<dyn Iterator<Item = Result<Value<'a>, Problem>> + 'a>),
}

impl<'a> Iterator for Items<'a> {
    type Item = Result<Value<'a>, Problem>;
    fn next(&mut self) -> Option<Result<Value<'a>, Problem>> {
        match self {
            Items::List(list, at) => {
                *at += 1;
                list.get(*at - 1).cloned().map(Ok)
            }
            Items::Read(values) => values.next(),
        }
    }
}

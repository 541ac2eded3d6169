//! Lets the validator read a received text as it is: no second parse, every digit kept. Every step is paid from the
//! tree's fuel, so that no schema and no arguments can hold a thread; what is reached without fuel looks empty.

use crate::canonical::{self, Numbers};
use crate::decimal::{self, Decimal};
use crate::tree::{Elements, Kind, Members, Tree, Value};
use jsonschema::JsonType;
use jsonschema::json::{Array, Json, JsonNumber, Node, NodeIdentity, Object};
use serde_json::Value as Plain;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashSet;

/// The representation of received text for the validator.
pub(crate) struct Received;

/// One value, or one key that is checked like a string (`propertyNames`).
#[derive(Clone, Copy)]
pub(crate) enum Seen<'a> {
    Value(Value<'a>),
    Key(&'a str),
}

/// Steps for walking over the text of a value: 32 bytes at a time.
fn bulk(value: Value<'_>) -> u64 {
    value.span().len() as u64 / 32
}

impl Json for Received {
    type Node<'a> = Seen<'a>;
    type PreparedKey = Box<str>;
    type StringBuffer = ();

    const KEYS_PER_LOOKUP: usize = 2;
    const ACYCLIC: bool = true;

    fn prepare_key(key: &str) -> Box<str> {
        key.into()
    }
    fn with_string_node<T>((): &mut (), string: &str, f: impl FnOnce(Seen<'_>) -> T) -> T {
        f(Seen::Key(string))
    }
}

impl<'a> Seen<'a> {
    /// One text for all spellings of it; None where that can't be paid.
    pub(crate) fn by_value(&self) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        match self {
            Seen::Key(key) => canonical::string(key, &mut text),
            Seen::Value(value) if value.tree.fuel.spend(1 + 4 * bulk(*value)) => {
                canonical::write(*value, Numbers::ByValue, &mut text);
            }
            Seen::Value(_) => return None,
        }
        Some(text)
    }
    /// The text of a number; None for anything else, and where reading it `times` can't be paid.
    pub(crate) fn digits(&self, times: u64) -> Option<&'a str> {
        let value = self.paid(Kind::Number)?;
        value.tree.fuel.spend(bulk(value).saturating_mul(times)).then(|| value.source())
    }
    /// The value, where a step to look at it can be paid.
    fn paid(&self, kind: Kind) -> Option<Value<'a>> {
        match self {
            Seen::Value(value) if value.kind() == kind && value.tree.fuel.spend(1) => Some(*value),
            _ => None,
        }
    }
}

impl<'a> Node<'a, Received> for Seen<'a> {
    type Object = Value<'a>;
    type Array = Value<'a>;
    type Number = Digits<'a>;

    fn as_object(&self) -> Option<Value<'a>> {
        self.paid(Kind::Object)
    }
    fn as_array(&self) -> Option<Value<'a>> {
        self.paid(Kind::Array)
    }
    fn as_string(&self) -> Option<Cow<'a, str>> {
        match self {
            Seen::Key(key) => Some(Cow::Borrowed(key)),
            Seen::Value(value) => {
                if value.kind() == Kind::String && value.tree.fuel.read(value.span().len()) {
                    value.string()
                } else {
                    None
                }
            }
        }
    }
    fn as_number(&self) -> Option<Digits<'a>> {
        self.digits(1).map(Digits)
    }
    fn as_boolean(&self) -> Option<bool> {
        match self {
            Seen::Value(value) => value.boolean(),
            Seen::Key(_) => None,
        }
    }
    fn is_null(&self) -> bool {
        self.json_type() == JsonType::Null
    }
    fn json_type(&self) -> JsonType {
        let Seen::Value(value) = self else { return JsonType::String };
        value.tree.fuel.spend(1);
        match value.kind() {
            Kind::Null => JsonType::Null,
            Kind::True | Kind::False => JsonType::Boolean,
            Kind::Number => JsonType::Number,
            Kind::String => JsonType::String,
            Kind::Array => JsonType::Array,
            Kind::Object => JsonType::Object,
        }
    }
    fn equals_value(&self, expected: &Plain) -> bool {
        match self {
            Seen::Key(key) => expected.as_str() == Some(key),
            Seen::Value(value) => equal(*value, expected),
        }
    }
    /// Only errors ask for it, and no error of ours ever shows a value.
    fn to_value(&self) -> Cow<'a, Plain> {
        Cow::Owned(Plain::Null)
    }
    fn identity(&self) -> Option<NodeIdentity> {
        Some(match self {
            Seen::Value(value) => NodeIdentity::tagged(std::ptr::from_ref::<Tree<'_>>(value.tree) as usize, value.at),
            Seen::Key(key) => NodeIdentity::tagged(key.as_ptr() as usize, u32::MAX),
        })
    }
}

impl<'a> Object<'a, Received> for Value<'a> {
    type Node = Seen<'a>;
    type MemberName = Cow<'a, str>;
    type MembersIter = PaidMembers<'a>;

    fn len(&self) -> usize {
        self.count()
    }
    fn get(&self, key: &Box<str>) -> Option<Seen<'a>> {
        let price = 1 + self.count() as u64 / 8;
        if !self.tree.fuel.spend(price) {
            return None;
        }
        Value::get(*self, key).filter(|value| value.tree.fuel.visit()).map(Seen::Value)
    }
    fn members(&self) -> PaidMembers<'a> {
        PaidMembers(Value::members(*self))
    }
}

impl<'a> Array<'a, Received> for Value<'a> {
    type Node = Seen<'a>;
    type ElementsIter = PaidElements<'a>;

    fn len(&self) -> usize {
        self.count()
    }
    fn elements(&self) -> PaidElements<'a> {
        PaidElements(Value::elements(*self))
    }
    fn is_unique(&self) -> bool {
        if !self.tree.fuel.spend(1 + 4 * bulk(*self)) {
            return true;
        }
        let mut seen = HashSet::with_capacity(self.count());
        Value::elements(*self).all(|element| {
            let mut text = Vec::new();
            canonical::write(element, Numbers::ByValue, &mut text);
            seen.insert(text)
        })
    }
}

/// Members that end early where the fuel does.
pub(crate) struct PaidMembers<'a>(Members<'a>);

impl<'a> Iterator for PaidMembers<'a> {
    type Item = (Cow<'a, str>, Seen<'a>);
    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = self.0.next()?;
        if !value.tree.fuel.visit() || !value.tree.fuel.read(key.span().len()) {
            return None;
        }
        Some((key.string().unwrap_or_default(), Seen::Value(value)))
    }
}

/// Elements that end early where the fuel does.
pub(crate) struct PaidElements<'a>(Elements<'a>);

impl<'a> Iterator for PaidElements<'a> {
    type Item = Seen<'a>;
    fn next(&mut self) -> Option<Seen<'a>> {
        self.0.next().filter(|value| value.tree.fuel.visit()).map(Seen::Value)
    }
}

/// A number as it was written.
#[derive(Clone, Copy)]
pub(crate) struct Digits<'a>(&'a str);

impl JsonNumber for Digits<'_> {
    fn as_u64(&self) -> Option<u64> {
        self.0.parse().ok()
    }
    fn as_i64(&self) -> Option<i64> {
        self.0.parse().ok()
    }
    /// Only where that is the same value: what a double rounds is equal to nothing that the validator compares it with.
    fn as_f64(&self) -> Option<f64> {
        canonical::double(self.0)
    }
    fn as_str(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.0)
    }
    fn to_number(&self) -> Cow<'_, serde_json::Number> {
        let whole = self.as_i64().map(Into::into).or_else(|| self.as_u64().map(Into::into));
        let number = whole.or_else(|| serde_json::Number::from_f64(self.0.parse().ok()?));
        Cow::Owned(number.unwrap_or_else(|| 0.into()))
    }
    fn is_integer(&self) -> bool {
        self.is_written_as_integer() || Decimal::read(self.0).is_some_and(|exact| exact.is_integer())
    }
    fn is_written_as_integer(&self) -> bool {
        !self.0.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'))
    }
}

/// Whether a received value is the one that stands in the schema; numbers by their value.
fn equal(value: Value<'_>, expected: &Plain) -> bool {
    let is_scalar = !matches!(value.kind(), Kind::Array | Kind::Object);
    if !value.tree.fuel.spend(if is_scalar { 1 + bulk(value) } else { 1 }) {
        return false;
    }
    match (value.kind(), expected) {
        (Kind::Null, Plain::Null) => true,
        (Kind::True, Plain::Bool(expected)) => *expected,
        (Kind::False, Plain::Bool(expected)) => !expected,
        (Kind::Number, Plain::Number(expected)) => equal_number(value.source(), expected),
        (Kind::String, Plain::String(expected)) => value.spells(expected),
        (Kind::Array, Plain::Array(expected)) => {
            value.count() == expected.len() && value.elements().zip(expected).all(|(value, other)| equal(value, other))
        }
        (Kind::Object, Plain::Object(expected)) => {
            value.count() == expected.len()
                && value.members().all(|(key, value)| {
                    let other = expected.get(&*key.string().unwrap_or_default());
                    other.is_some_and(|other| equal(value, other))
                })
        }
        _ => false,
    }
}

/// By every digit; what the schema's own digits would lose is compared elsewhere (`schema::exact`).
fn equal_number(source: &str, expected: &serde_json::Number) -> bool {
    match (decimal::small(source), expected.as_i64()) {
        (Some(given), Some(expected)) => given == expected,
        _ => decimal::compare(source, &expected.to_string()) == Some(Ordering::Equal),
    }
}

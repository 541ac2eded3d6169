//! Evaluates a condition. Every step is paid for, nothing panics, and recursion is as deep as the expression, which
//! is bounded when it is compiled.

use super::expr::{Conversion, Expr, Fact, Literal, Loop, Order, Place, Reads, Whose};
use super::fault::{Fault, Problem};
use super::number::{Number, Operation};
use super::steps::Steps;
use super::value::{Text, Value};
use contract::json::Node;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::rc::Rc;

/// What conditions are judged by.
pub(super) struct Situation<'a> {
    pub(super) args: Result<Node<'a>, Problem>,
    pub(super) annotations: Result<Node<'a>, Problem>,
    pub(super) tool: &'a str,
    pub(super) server: &'a str,
    pub(super) host: &'a str,
    pub(super) effect: &'a str,
}

/// One evaluation.
pub(super) struct Run<'a> {
    pub(super) of: &'a Situation<'a>,
    pub(super) steps: &'a Steps,
    pub(super) reads: &'a Reads,
    pub(super) locals: Vec<Value<'a>>,
}

type Valued<'a> = Result<Value<'a>, Fault>;

impl<'a> Run<'a> {
    pub(super) fn value(&mut self, expr: &'a Expr) -> Valued<'a> {
        self.steps.spend(2)?;
        match expr {
            Expr::Literal(literal) => Ok(of_literal(literal)),
            Expr::Fact(fact) => self.fact(*fact),
            Expr::Local(at) => Ok(self.locals.get(*at).cloned().unwrap_or(Value::Null)),
            Expr::Field(of, name, whose) => {
                let of = self.value(of)?;
                self.field(&of, name, *whose)?.ok_or(Fault::Absent)
            }
            Expr::Has(of, name, whose) => match self.value(of) {
                Ok(of) => Ok(Value::Boolean(self.field(&of, name, *whose)?.is_some())),
                Err(Fault::Absent) => Ok(Value::Boolean(false)),
                Err(broken) => Err(broken),
            },
            Expr::Index(pair, whose) => {
                let (of, at) = self.pair(pair)?;
                self.element(&of, &at, *whose)
            }
            Expr::List(exprs) => {
                let mut list = Vec::with_capacity(exprs.len());
                let mut fault = None;
                for expr in exprs {
                    match self.value(expr) {
                        Ok(value) => list.push(value),
                        Err(new) => fault = worse(fault, new),
                    }
                }
                fault.map_or_else(|| Ok(Value::List(list.into())), Err)
            }
            Expr::Not(of) => Ok(Value::Boolean(!self.boolean(of, "!")?)),
            Expr::Negate(of) => match self.value(of)? {
                Value::Number(number) => Ok(Value::Number(number.negate()?)),
                other => Err(other.unfit("-")),
            },
            Expr::And(pair) => self.logic(pair, false, "&&"),
            Expr::Or(pair) => self.logic(pair, true, "||"),
            Expr::If(parts) => {
                let [condition, yes, no] = &**parts;
                if self.boolean(condition, "?:")? { self.value(yes) } else { self.value(no) }
            }
            Expr::Equal(pair) => self.equal(pair).map(Value::Boolean),
            Expr::Unequal(pair) => self.equal(pair).map(|equal| Value::Boolean(!equal)),
            Expr::Order(order, pair) => {
                let (a, b) = self.pair(pair)?;
                let found = a.compare(&b, self.steps)?;
                Ok(Value::Boolean(match order {
                    Order::Less => found == Ordering::Less,
                    Order::LessOrEqual => found != Ordering::Greater,
                    Order::Greater => found == Ordering::Greater,
                    Order::GreaterOrEqual => found != Ordering::Less,
                }))
            }
            Expr::In(pair, whose) => self.is_in(pair, *whose),
            Expr::Calculate(operation, pair) => self.calculate(*operation, pair),
            Expr::Find(place, pair) => self.find(*place, pair),
            Expr::Matches(of, pattern) => {
                let text = self.text(of, "matches")?;
                self.steps.search(text.len())?;
                Ok(Value::Boolean(pattern.is_match(&text)?))
            }
            Expr::Size(of) => self.size(of),
            Expr::Convert(conversion, of) => self.convert(*conversion, of),
            Expr::Loop(kind, parts) => self.over(*kind, parts),
        }
    }

    fn fact(&self, fact: Fact) -> Valued<'a> {
        Ok(match fact {
            Fact::Args => Value::Object(self.of.args?),
            Fact::Annotations => Value::Object(self.of.annotations?),
            Fact::Tool => Value::Text(Text::Borrowed(self.of.tool)),
            Fact::Server => Value::Text(Text::Borrowed(self.of.server)),
            Fact::Host => Value::Text(Text::Borrowed(self.of.host)),
            Fact::Effect => Value::Text(Text::Borrowed(self.of.effect)),
        })
    }

    fn pair(&mut self, pair: &'a [Expr; 2]) -> Result<(Value<'a>, Value<'a>), Fault> {
        match (self.value(&pair[0]), self.value(&pair[1])) {
            (Ok(a), Ok(b)) => Ok((a, b)),
            (Err(a), Err(b)) => Err(a.worse(b)),
            (Err(fault), Ok(_)) | (Ok(_), Err(fault)) => Err(fault),
        }
    }

    fn boolean(&mut self, expr: &'a Expr, operation: &'static str) -> Result<bool, Fault> {
        match self.value(expr)? {
            Value::Boolean(boolean) => Ok(boolean),
            other => Err(other.unfit(operation)),
        }
    }

    fn text(&mut self, expr: &'a Expr, operation: &'static str) -> Result<Text<'a>, Fault> {
        match self.value(expr)? {
            Value::Text(text) => Ok(text),
            other => Err(other.unfit(operation)),
        }
    }

    /// `&&` and `||`: what decides alone decides, whatever the other side is.
    fn logic(&mut self, pair: &'a [Expr; 2], decisive: bool, operation: &'static str) -> Valued<'a> {
        let left = self.boolean(&pair[0], operation);
        if left == Ok(decisive) {
            return Ok(Value::Boolean(decisive));
        }
        match (left, self.boolean(&pair[1], operation)) {
            (_, Ok(right)) if right == decisive => Ok(Value::Boolean(decisive)),
            (Ok(_), Ok(right)) => Ok(Value::Boolean(right)),
            (Err(left), Err(right)) => Err(left.worse(right)),
            (Err(fault), Ok(_)) | (Ok(_), Err(fault)) => Err(fault),
        }
    }

    fn equal(&mut self, pair: &'a [Expr; 2]) -> Result<bool, Fault> {
        let (a, b) = self.pair(pair)?;
        a.equals(&b, self.steps)
    }

    /// The field of an object; None where it is not there. Where a name may be taken for the one that is asked for, and the
    /// condition does not ask for that one too, nobody can say which the server reads.
    fn field(&self, of: &Value<'a>, name: &str, whose: Whose) -> Result<Option<Value<'a>>, Fault> {
        let Value::Object(node) = of else { return Err(Problem::NoFields(of.kind()).into()) };
        self.steps.spend(node.len() / 2)?;
        let named = whose.and_then(|at| self.reads.named.get(at)).map(|(_, names)| names);
        let mut found = None;
        for (key, value) in node.members() {
            if key == name {
                found = Some(value);
                continue;
            }
            if matches!(key, Cow::Owned(_)) {
                self.steps.spend(key.len() / 8)?;
            }
            if !key.is_ascii() || !name.is_ascii() {
                self.steps.spend(8 + key.len() / 2)?;
            }
            if contract::alike(&key, name) && !named.is_some_and(|names| names.contains(&*key)) {
                return Err(Problem::Spelling.into());
            }
        }
        Ok(found.map(|node| Value::read(node, self.steps)).transpose()?)
    }

    fn element(&self, of: &Value<'a>, at: &Value<'a>, whose: Whose) -> Valued<'a> {
        match (of, at) {
            (Value::Object(_), Value::Text(key)) => self.field(of, key, whose)?.ok_or(Fault::Absent),
            (Value::List(_) | Value::Array(_), Value::Number(number)) => {
                let Number::Int(at) = number.whole()? else { return Err(Problem::Digits.into()) };
                let at = usize::try_from(at).map_err(|_| at_fault())?;
                self.steps.spend(at.min(of.len()) / 4)?;
                Ok(of.items("[]", self.steps)?.nth(at).ok_or(Fault::Absent)??)
            }
            (Value::Object(_) | Value::List(_) | Value::Array(_), _) => Err(at.unfit("[]")),
            _ => Err(of.unfit("[]")),
        }
    }

    fn is_in(&mut self, pair: &'a [Expr; 2], whose: Whose) -> Valued<'a> {
        let (what, list) = self.pair(pair)?;
        if let (Value::Object(_), Value::Text(key)) = (&list, &what) {
            return Ok(Value::Boolean(self.field(&list, key, whose)?.is_some()));
        }
        for item in list.items("in", self.steps)? {
            self.steps.spend(3)?;
            if what.equals(&item?, self.steps)? {
                return Ok(Value::Boolean(true));
            }
        }
        Ok(Value::Boolean(false))
    }

    fn calculate(&mut self, operation: Operation, pair: &'a [Expr; 2]) -> Valued<'a> {
        match (self.pair(pair)?, operation) {
            ((Value::Number(a), Value::Number(b)), _) => Ok(Value::Number(a.calculate(operation, b)?)),
            ((Value::Text(a), Value::Text(b)), Operation::Add) => {
                self.steps.read(a.len() + b.len())?;
                Ok(Value::Text(Text::Shared([&*a, &*b].concat().into())))
            }
            ((a @ (Value::List(_) | Value::Array(_)), b @ (Value::List(_) | Value::Array(_))), Operation::Add) => {
                // Each is read, copied and moved.
                self.steps.spend(10 * (a.len() + b.len()))?;
                let both = a.items("+", self.steps)?.chain(b.items("+", self.steps)?);
                Ok(Value::List(both.collect::<Result<_, _>>()?))
            }
            ((a, b), _) => {
                let name = match operation {
                    Operation::Add => "+",
                    Operation::Subtract => "-",
                    Operation::Multiply => "*",
                    Operation::Divide => "/",
                    Operation::Remainder => "%",
                };
                Err(a.unfit_with(&b, name))
            }
        }
    }

    fn find(&mut self, place: Place, pair: &'a [Expr; 2]) -> Valued<'a> {
        let operation = match place {
            Place::Anywhere => "contains",
            Place::Start => "startsWith",
            Place::End => "endsWith",
        };
        match self.pair(pair)? {
            (Value::Text(text), Value::Text(part)) => {
                match place {
                    Place::Anywhere => self.steps.search(text.len() + part.len())?,
                    Place::Start | Place::End => self.steps.read(text.len().min(part.len()))?,
                }
                Ok(Value::Boolean(match place {
                    Place::Anywhere => text.contains(&*part),
                    Place::Start => text.starts_with(&*part),
                    Place::End => text.ends_with(&*part),
                }))
            }
            (Value::Text(_), other) | (other, _) => Err(other.unfit(operation)),
        }
    }

    fn size(&mut self, of: &'a Expr) -> Valued<'a> {
        let size = match self.value(of)? {
            Value::Text(text) => {
                self.steps.read(text.len())?;
                text.chars().count()
            }
            list @ (Value::List(_) | Value::Array(_) | Value::Object(_)) => list.len(),
            other => return Err(other.unfit("size")),
        };
        Ok(Value::Number(Number::Int(i128::try_from(size).unwrap_or(i128::MAX))))
    }

    fn convert(&mut self, conversion: Conversion, of: &'a Expr) -> Valued<'a> {
        let value = self.value(of)?;
        if let Value::Text(text) = &value {
            self.steps.read(text.len())?;
        }
        let made = |text: String| Ok(Value::Text(Text::Shared(text.into())));
        match (conversion, &value) {
            (Conversion::Text, Value::Text(_)) => Ok(value),
            (Conversion::Text, Value::Number(number)) => made(number.text()),
            (Conversion::Text, Value::Boolean(boolean)) => made(boolean.to_string()),
            (Conversion::Text, _) => Err(value.unfit("string")),
            (Conversion::Int, Value::Number(number)) => Ok(Value::Number(number.whole()?)),
            (Conversion::Int, Value::Text(text)) => {
                let int = text.parse().map_err(|_| Problem::NoNumber)?;
                Ok(Value::Number(Number::Int(int)))
            }
            (Conversion::Int, _) => Err(value.unfit("int")),
            (Conversion::Double, Value::Number(number)) => Ok(Value::Number(number.widened()?)),
            (Conversion::Double, Value::Text(text)) => {
                let double = contract::json::as_double(text).ok_or(Problem::NoNumber)?;
                Ok(Value::Number(Number::Double(double)))
            }
            (Conversion::Double, _) => Err(value.unfit("double")),
            (Conversion::SmallLetters, Value::Text(text)) => made(text.to_ascii_lowercase()),
            (Conversion::SmallLetters, _) => Err(value.unfit("lowerAscii")),
            (Conversion::CapitalLetters, Value::Text(text)) => made(text.to_ascii_uppercase()),
            (Conversion::CapitalLetters, _) => Err(value.unfit("upperAscii")),
            (Conversion::Trimmed, Value::Text(text)) => made(text.trim().to_owned()),
            (Conversion::Trimmed, _) => Err(value.unfit("trim")),
        }
    }

    /// A loop. For `all` and `exists` an item that decides does so whatever the others are, as `&&` and `||` do.
    fn over(&mut self, kind: Loop, parts: &'a [Expr; 2]) -> Valued<'a> {
        let [range, body] = parts;
        let items = self.value(range)?.items(name_of(kind), self.steps)?;
        let mut fault: Option<Fault> = None;
        let mut count = 0;
        let mut kept = Vec::new();
        for item in items {
            self.steps.spend(1)?;
            let item = item?;
            self.locals.push(item.clone());
            let found = match kind {
                Loop::Map => self.value(body),
                Loop::All | Loop::Exists | Loop::ExistsOne | Loop::Filter => {
                    self.boolean(body, name_of(kind)).map(Value::Boolean)
                }
            };
            self.locals.pop();
            match (kind, found) {
                (Loop::All, Ok(Value::Boolean(false))) => return Ok(Value::Boolean(false)),
                (Loop::Exists, Ok(Value::Boolean(true))) => return Ok(Value::Boolean(true)),
                (Loop::ExistsOne, Ok(Value::Boolean(true))) => count += 1,
                (Loop::Filter, Ok(Value::Boolean(true))) => kept.push(item),
                (Loop::Map, Ok(made)) => kept.push(made),
                (Loop::All | Loop::Exists | Loop::ExistsOne | Loop::Filter, Ok(_)) => {}
                // Nothing that follows could be evaluated.
                (_, Err(out @ Fault::Broken(Problem::Steps))) => return Err(out),
                (_, Err(new)) => fault = worse(fault, new),
            }
        }
        match (kind, fault) {
            (_, Some(fault)) => Err(fault),
            (Loop::All, None) => Ok(Value::Boolean(true)),
            (Loop::Exists, None) => Ok(Value::Boolean(false)),
            (Loop::ExistsOne, None) => Ok(Value::Boolean(count == 1)),
            (Loop::Filter | Loop::Map, None) => Ok(Value::List(Rc::from(kept))),
        }
    }
}

fn worse(old: Option<Fault>, new: Fault) -> Option<Fault> {
    Some(old.map_or(new, |old| old.worse(new)))
}

fn at_fault() -> Fault {
    Fault::Broken(Problem::Kind("[]", "a negative number"))
}

fn of_literal(literal: &Literal) -> Value<'_> {
    match literal {
        Literal::Null => Value::Null,
        Literal::Boolean(boolean) => Value::Boolean(*boolean),
        Literal::Int(int) => Value::Number(Number::Int(*int)),
        Literal::Double(double) => Value::Number(Number::Double(*double)),
        Literal::Text(text) => Value::Text(Text::Borrowed(text)),
    }
}

fn name_of(kind: Loop) -> &'static str {
    match kind {
        Loop::All => "all",
        Loop::Exists => "exists",
        Loop::ExistsOne => "exists_one",
        Loop::Filter => "filter",
        Loop::Map => "map",
    }
}

//! Turns the syntax tree of a condition into what is evaluated, and says everything that is wrong with it at once.
//! The text is read by the `cel` crate. Its interpreter is not used: it can't be stopped once it runs, and it rounds
//! integers that are compared with fractions.

use super::expr::{BOOLEAN, Conversion, Expr, Fact, Literal, Loop, Order, Place, Reads, Whose};
use super::number::Operation;
use super::pattern::Pattern;
use cel::common::ast::{CallExpr, Expr as Syntax, LiteralValue, operators};
use cel::{Env, IdedExpr};
use std::collections::BTreeSet;

/// Longest condition in bytes.
pub(super) const MAX_LENGTH: usize = 2000;
/// Deepest nesting of expressions in one another.
const MAX_DEPTH: usize = 48;
/// Deepest nesting of brackets and the like.
const MAX_BRACKETS: u16 = 32;
/// What a condition can ask about.
const FACTS: [(&str, Fact); 6] = [
    ("args", Fact::Args),
    ("tool", Fact::Tool),
    ("server", Fact::Server),
    ("host", Fact::Host),
    ("effect", Fact::Effect),
    ("annotations", Fact::Annotations),
];

/// Reads a condition.
pub(super) fn lower(text: &str) -> Result<(Expr, Reads), Vec<String>> {
    if text.len() > MAX_LENGTH {
        return Err(vec![format!("it is longer than {MAX_LENGTH} bytes")]);
    }
    if text.trim().is_empty() {
        return Err(vec!["it is empty".to_owned()]);
    }
    // Without macros, so that loops stay what they are.
    let env = Env::default().with_optional_support(false);
    let parser = env.parser().max_recursion_depth(MAX_BRACKETS).enable_ident_escape_syntax(true);
    let syntax = parser.parse(text).map_err(|faults| faults.errors.iter().map(unreadable).collect::<Vec<_>>())?;
    let mut lowering = Lowering::default();
    let expr = lowering.condition(&syntax, "`when`");
    if lowering.problems.is_empty() && !lowering.reads.anything {
        lowering.problem("it asks nothing about the call, so it always gives the same answer".to_owned());
    }
    if lowering.problems.is_empty() { Ok((expr, lowering.reads)) } else { Err(lowering.problems) }
}

fn unreadable(fault: &cel::ParseError) -> String {
    let (line, column) = fault.pos;
    let text: String = contract::visible::escape(&fault.msg).chars().take(200).collect();
    format!("it can't be read at line {line}, column {column}: {text}")
}

#[derive(Default)]
struct Lowering {
    reads: Reads,
    problems: Vec<String>,
    /// Variables of the loops that are open, and where the items lie that they stand for.
    locals: Vec<(String, Option<String>)>,
    depth: usize,
}

impl Lowering {
    /// Notes a problem; what it gives is never evaluated.
    fn problem(&mut self, problem: String) -> Expr {
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
        Expr::Literal(Literal::Null)
    }

    /// Something that must be true or false.
    fn condition(&mut self, syntax: &IdedExpr, place: &str) -> Expr {
        let before = self.problems.len();
        let expr = self.expr(syntax);
        match expr.sort() {
            Some(sort) if sort != BOOLEAN && self.problems.len() == before => {
                self.problem(format!("{place} needs true or false, not {sort}"))
            }
            _ => expr,
        }
    }

    fn expr(&mut self, syntax: &IdedExpr) -> Expr {
        if self.depth == MAX_DEPTH {
            return self.problem(format!("it is nested deeper than {MAX_DEPTH} levels"));
        }
        self.depth += 1;
        let expr = match &syntax.expr {
            Syntax::Literal(literal) => self.literal(literal),
            Syntax::Ident(name) => self.name(name),
            Syntax::Select(select) => {
                let of = self.expr(&select.operand);
                let whose = self.named(&of, &select.field);
                Expr::Field(Box::new(of), select.field.as_str().into(), whose)
            }
            Syntax::List(list) => Expr::List(list.elements.iter().map(|element| self.expr(element)).collect()),
            Syntax::Call(call) => self.call(call),
            Syntax::Map(_) | Syntax::Struct(_) => self.problem("objects can't be written in a condition".to_owned()),
            Syntax::Comprehension(_) | Syntax::Unspecified => self.problem("it can't be read".to_owned()),
        };
        self.depth -= 1;
        expr
    }

    fn literal(&mut self, literal: &LiteralValue) -> Expr {
        Expr::Literal(match literal {
            LiteralValue::Boolean(boolean) => Literal::Boolean(*boolean.inner()),
            LiteralValue::Double(double) => Literal::Double(*double.inner()),
            LiteralValue::Int(int) => Literal::Int(i128::from(*int.inner())),
            LiteralValue::UInt(int) => Literal::Int(i128::from(*int.inner())),
            LiteralValue::String(text) => Literal::Text(text.inner().into()),
            LiteralValue::Null => Literal::Null,
            LiteralValue::Bytes(_) => return self.problem("bytes can't be written in a condition".to_owned()),
        })
    }

    fn name(&mut self, name: &str) -> Expr {
        if let Some(at) = self.locals.iter().rposition(|(local, _)| local == name) {
            return Expr::Local(at);
        }
        let Some((_, fact)) = FACTS.iter().find(|(fact, _)| *fact == name) else {
            let all = FACTS.map(|(name, _)| format!("`{name}`")).join(", ");
            return self.problem(format!("there is no `{name}`; there are {all}"));
        };
        self.reads.anything = true;
        match fact {
            Fact::Args => self.reads.args = true,
            Fact::Host => self.reads.host = true,
            Fact::Annotations => self.reads.annotations = true,
            Fact::Tool | Fact::Server | Fact::Effect => {}
        }
        Expr::Fact(*fact)
    }

    /// Notes a name that is asked for, and says of what.
    fn named(&mut self, of: &Expr, name: &str) -> Whose {
        if matches!(of, Expr::Fact(Fact::Args)) {
            self.reads.arguments.insert(name.into());
        }
        let whose = self.whose(of)?;
        self.reads.named[whose].1.insert(name.into());
        Some(whose)
    }

    /// The entry for an object that names are asked for of.
    fn whose(&mut self, of: &Expr) -> Whose {
        let place = self.place(of)?;
        let named = &mut self.reads.named;
        Some(named.iter().position(|(known, _)| **known == *place).unwrap_or_else(|| {
            named.push((place.into(), BTreeSet::new()));
            named.len() - 1
        }))
    }

    /// Where something lies in what is known of the call; None where that depends on the call.
    fn place(&self, of: &Expr) -> Option<String> {
        Some(match of {
            Expr::Fact(Fact::Args) => "args".to_owned(),
            Expr::Fact(Fact::Annotations) => "annotations".to_owned(),
            Expr::Field(of, name, _) => format!("{}\0{name}", self.place(of)?),
            Expr::Index(pair, _) => match &**pair {
                [of, Expr::Literal(Literal::Text(name))] => format!("{}\0{name}", self.place(of)?),
                [of, _] => format!("{}\0\0", self.place(of)?),
            },
            Expr::Local(at) => format!("{}\0\0", self.locals.get(*at)?.1.as_ref()?),
            Expr::Loop(Loop::Filter, parts) => self.place(&parts[0])?,
            _ => return None,
        })
    }

    fn call(&mut self, call: &CallExpr) -> Expr {
        let args: Vec<&IdedExpr> = call.target.as_deref().into_iter().chain(&call.args).collect();
        let name = call.func_name.as_str();
        let on_something = call.target.is_some();
        match (name, on_something, &args[..]) {
            (operators::LOGICAL_NOT, false, [of]) => Expr::Not(Box::new(self.condition(of, "`!`"))),
            (operators::NEGATE, false, [of]) => Expr::Negate(Box::new(self.expr(of))),
            (operators::LOGICAL_AND, false, [a, b]) => {
                Expr::And(Box::new([self.condition(a, "`&&`"), self.condition(b, "`&&`")]))
            }
            (operators::LOGICAL_OR, false, [a, b]) => {
                Expr::Or(Box::new([self.condition(a, "`||`"), self.condition(b, "`||`")]))
            }
            (operators::CONDITIONAL, false, [condition, yes, no]) => {
                Expr::If(Box::new([self.condition(condition, "`? :`"), self.expr(yes), self.expr(no)]))
            }
            (operators::EQUALS, false, [a, b]) => Expr::Equal(self.compared(a, b)),
            (operators::NOT_EQUALS, false, [a, b]) => Expr::Unequal(self.compared(a, b)),
            (operators::IN, false, [a, b]) => {
                let pair = self.compared(a, b);
                let whose = match &*pair {
                    [Expr::Literal(Literal::Text(name)), of] => self.named(of, name),
                    [_, of] => self.whose(of),
                };
                Expr::In(pair, whose)
            }
            (operators::INDEX, false, [of, at]) => {
                let pair = self.pair(of, at);
                let whose = match &*pair {
                    [of, Expr::Literal(Literal::Text(name))] => self.named(of, name),
                    [of, _] => self.whose(of),
                };
                Expr::Index(pair, whose)
            }
            ("has", false, [IdedExpr { expr: Syntax::Select(select), .. }]) => {
                let of = self.expr(&select.operand);
                let whose = self.named(&of, &select.field);
                Expr::Has(Box::new(of), select.field.as_str().into(), whose)
            }
            ("has", false, _) => self.problem("`has` needs a field, as in `has(args.name)`".to_owned()),
            ("size", _, [of]) => Expr::Size(Box::new(self.expr(of))),
            ("contains", true, [of, part]) => Expr::Find(Place::Anywhere, self.pair(of, part)),
            ("startsWith", true, [of, part]) => Expr::Find(Place::Start, self.pair(of, part)),
            ("endsWith", true, [of, part]) => Expr::Find(Place::End, self.pair(of, part)),
            ("matches", _, [of, pattern]) => self.matches(of, pattern),
            ("string", false, [of]) => self.convert(Conversion::Text, of),
            ("int", false, [of]) => self.convert(Conversion::Int, of),
            ("double", false, [of]) => self.convert(Conversion::Double, of),
            ("lowerAscii", true, [of]) => self.convert(Conversion::SmallLetters, of),
            ("upperAscii", true, [of]) => self.convert(Conversion::CapitalLetters, of),
            ("trim", true, [of]) => self.convert(Conversion::Trimmed, of),
            ("all", true, [range, variable, body]) => self.over(Loop::All, range, variable, body),
            ("exists", true, [range, variable, body]) => self.over(Loop::Exists, range, variable, body),
            ("exists_one", true, [range, variable, body]) => self.over(Loop::ExistsOne, range, variable, body),
            ("filter", true, [range, variable, body]) => self.over(Loop::Filter, range, variable, body),
            ("map", true, [range, variable, body]) => self.over(Loop::Map, range, variable, body),
            _ => self.operator(name, on_something, &args),
        }
    }

    fn operator(&mut self, name: &str, on_something: bool, args: &[&IdedExpr]) -> Expr {
        let order = match name {
            operators::LESS => Some(Order::Less),
            operators::LESS_EQUALS => Some(Order::LessOrEqual),
            operators::GREATER => Some(Order::Greater),
            operators::GREATER_EQUALS => Some(Order::GreaterOrEqual),
            _ => None,
        };
        let operation = match name {
            operators::ADD => Some(Operation::Add),
            operators::SUBSTRACT => Some(Operation::Subtract),
            operators::MULTIPLY => Some(Operation::Multiply),
            operators::DIVIDE => Some(Operation::Divide),
            operators::MODULO => Some(Operation::Remainder),
            _ => None,
        };
        match (order, operation, args) {
            (Some(order), _, [a, b]) => Expr::Order(order, self.pair(a, b)),
            (_, Some(operation), [a, b]) => Expr::Calculate(operation, self.pair(a, b)),
            _ => {
                let count = args.len() - usize::from(on_something);
                let kind = if on_something { "method" } else { "function" };
                self.problem(format!("there is no {kind} `{name}` with {count} arguments"))
            }
        }
    }

    fn pair(&mut self, a: &IdedExpr, b: &IdedExpr) -> Box<[Expr; 2]> {
        Box::new([self.expr(a), self.expr(b)])
    }

    /// Two sides that are compared; a class that there is not would never be met.
    fn compared(&mut self, a: &IdedExpr, b: &IdedExpr) -> Box<[Expr; 2]> {
        let pair = self.pair(a, b);
        let classes = match &*pair {
            [Expr::Fact(Fact::Effect), Expr::List(list)] => &list[..],
            [Expr::Fact(Fact::Effect), other] | [other, Expr::Fact(Fact::Effect)] => std::slice::from_ref(other),
            _ => &[],
        };
        let unmet = classes.iter().any(|class| match class {
            Expr::Literal(Literal::Text(text)) => !["read", "write", "destructive"].contains(&&**text),
            Expr::Literal(_) => true,
            _ => false,
        });
        if unmet {
            self.problem("`effect` is \"read\", \"write\" or \"destructive\"".to_owned());
        }
        pair
    }

    fn convert(&mut self, conversion: Conversion, of: &IdedExpr) -> Expr {
        Expr::Convert(conversion, Box::new(self.expr(of)))
    }

    fn matches(&mut self, of: &IdedExpr, pattern: &IdedExpr) -> Expr {
        let of = self.expr(of);
        let Syntax::Literal(LiteralValue::String(text)) = &pattern.expr else {
            return self.problem("the pattern of `matches` must be written out".to_owned());
        };
        match Pattern::compile(text.inner()) {
            Ok(pattern) => {
                self.reads.memory += pattern.memory();
                Expr::Matches(Box::new(of), pattern)
            }
            Err(problem) => self.problem(problem),
        }
    }

    fn over(&mut self, kind: Loop, range: &IdedExpr, variable: &IdedExpr, body: &IdedExpr) -> Expr {
        let range = self.expr(range);
        let Syntax::Ident(name) = &variable.expr else {
            return self
                .problem("a loop needs a plain name for its items, as in `args.list.exists(item, …)`".to_owned());
        };
        if FACTS.iter().any(|(fact, _)| fact == name) || self.locals.iter().any(|(local, _)| local == name) {
            return self.problem(format!("`{name}` means something else already"));
        }
        let place = self.place(&range);
        self.locals.push((name.clone(), place));
        let body = if kind == Loop::Map { self.expr(body) } else { self.condition(body, "a loop") };
        self.locals.pop();
        Expr::Loop(kind, Box::new([range, body]))
    }
}

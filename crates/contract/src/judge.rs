//! One received value against one schema, within a number of steps. Only says what is wrong: what follows from that,
//! and whether it is repaired, is decided by those who ask.

use crate::instance::Seen;
use crate::problem::Problem;
use crate::schema::Compiled;
use crate::tree::Value;
use jsonschema::ValidationError;

/// Most levels of arguments times subschemas in a chain: what keeps a check within a megabyte of stack.
const MAX_STACK: usize = 384;

/// How many steps a check may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort(u64);

impl Effort {
    /// For a thread that must not be held: about a millisecond at most, 64 KiB of ordinary arguments.
    pub const QUICK: Effort = Effort(20_000);
    /// For the blocking pool: about half a second at most.
    pub const LONG: Effort = Effort(4_000_000);

    /// For finding out what is wrong, where a step costs some twenty times as much as for finding out that it is.
    const fn of_errors(self) -> u64 {
        self.0 / 20
    }
}

/// What a check came to.
pub(crate) enum Judged<'v> {
    Fits,
    /// All that is wrong, in the order of the schema; never empty.
    Breaks(Vec<ValidationError<'v>>),
    /// Wrong in a way that is told without the schema.
    Wrong(Problem),
    /// More steps than the effort allowed.
    Costly,
}

/// Checks a value; its tree's fuel is spent.
pub(crate) fn judge<'v>(value: Value<'v>, schema: &'v Compiled, effort: Effort) -> Judged<'v> {
    if let Some(number) = value.endless_number() {
        let path = value.pointer_to(number);
        return Judged::Wrong(Problem::new(path, "is a number beyond all that can be handled"));
    }
    if value.tree.depth().saturating_mul(schema.chain) > MAX_STACK {
        return Judged::Costly;
    }
    let fuel = &value.tree.fuel;
    let seen = Seen::Value(value);
    fuel.fill(effort.0, schema.prices);
    let is_valid = schema.validator.is_valid(seen);
    // Without fuel everything looks empty: what was found then is not true.
    if fuel.is_out() {
        return Judged::Costly;
    }
    if is_valid {
        return Judged::Fits;
    }
    fuel.fill(effort.of_errors(), schema.prices);
    let errors: Vec<ValidationError<'_>> = schema.validator.iter_errors(seen).collect();
    match (fuel.is_out(), effort) {
        (false, _) => Judged::Breaks(errors),
        (true, Effort::LONG) => Judged::Wrong(Problem::whole("breaks the schema in more ways than can be told")),
        (true, _) => Judged::Costly,
    }
}

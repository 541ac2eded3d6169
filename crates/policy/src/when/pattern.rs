//! Patterns of `matches`: automata that are built completely when the rules are read. Comparing a text costs the same
//! for each of its bytes, whatever the pattern and the text; a pattern whose automaton would be large is refused.

use super::fault::Problem;
use regex_automata::Input;
use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;

/// Largest automaton in bytes, and largest memory for building it.
const MAX_SIZE: usize = 512 << 10;
const MAX_BUILDING: usize = 2 << 20;

/// One pattern.
#[derive(Debug)]
pub(super) struct Pattern(dense::DFA<Vec<u32>>);

impl Pattern {
    /// Reads a pattern.
    pub(super) fn compile(text: &str) -> Result<Pattern, String> {
        if let Err(fault) = syntax::parse(text) {
            let text = fault.to_string();
            let last = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
            return Err(format!("a pattern can't be used: {}", contract::visible::escape(last)));
        }
        let automaton = dense::Config::new()
            .start_kind(StartKind::Unanchored)
            .unicode_word_boundary(true)
            .dfa_size_limit(Some(MAX_SIZE))
            .determinize_size_limit(Some(MAX_BUILDING));
        let mut builder = dense::Builder::new();
        builder.configure(automaton).thompson(thompson::Config::new().nfa_size_limit(Some(MAX_SIZE)));
        builder.build(text).map(Pattern).map_err(|_| "a pattern is too large".to_owned())
    }

    /// Whether it is found anywhere in a text.
    pub(super) fn is_match(&self, text: &str) -> Result<bool, Problem> {
        let found = self.0.try_search_fwd(&Input::new(text).earliest(true));
        found.map(|end| end.is_some()).map_err(|_| Problem::Boundary)
    }

    /// Bytes of memory that it takes.
    pub(super) fn memory(&self) -> usize {
        self.0.memory_usage()
    }
}

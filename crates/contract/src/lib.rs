//! What a tool promises: canonical JSON, hashes, definitions, names, argument checks, error codes.
//! Pure: no async, clock, files or network; nothing here knows a server, a host or the SDK.

mod alike;
pub mod answer;
pub mod arguments;
mod canonical;
pub mod change;
mod decimal;
pub mod definition;
pub mod finding;
mod fuel;
pub mod hash;
pub mod ids;
mod instance;
pub mod json;
mod judge;
pub mod names;
pub mod outcome;
mod problem;
pub mod scan;
pub mod schema;
mod tree;
pub mod visible;

pub use alike::alike;
pub use arguments::{Arguments, Effort, Unfit};
pub use definition::{DefinitionFault, Hints, Listed, Tool, Visibility};
pub use hash::{Hash, arguments_digest, canonical_text, definition_hash, schema_hash};
pub use ids::CallId;
pub use names::Slug;
pub use outcome::{Code, Output, Refusal};
pub use problem::Problem;
pub use schema::{Compiled, SchemaFault};
pub use tree::{MAX_DEPTH, TextFault};

/// Marks how this version reads and scans definitions; what another one read has to be read again.
pub const READING: u64 = match u64::from_str_radix(env!("CONTRACT_SOURCES"), 16) {
    Ok(mark) => mark,
    Err(_) => 0,
};

#[cfg(test)]
mod tests;

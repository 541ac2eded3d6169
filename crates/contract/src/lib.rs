//! What a tool promises: canonical JSON, hashes, definitions, names, argument checks, error codes.
//! Pure: no async, clock, files or network; nothing here knows a server, a host or the SDK.

mod canonical;
pub mod definition;
pub mod hash;
pub mod ids;
pub mod names;
mod tree;
pub mod visible;

pub use definition::{DefinitionFault, Hints, Listed, Tool, Visibility};
pub use hash::{Hash, arguments_digest, canonical_text, definition_hash, schema_hash};
pub use ids::CallId;
pub use names::Slug;
pub use tree::{MAX_DEPTH, TextFault};

#[cfg(test)]
mod tests;

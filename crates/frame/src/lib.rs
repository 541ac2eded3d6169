//! JSON-RPC messages as the bytes that were received: where the parts of a message lie, how to
//! change a part without touching the rest, and the internal form of one exchange.
//! Pure: no I/O, no clock, no async.

pub mod body;
pub mod envelope;
pub mod exchange;
pub mod lines;
pub mod object;
pub mod params;
mod scan;
pub mod strict;
#[cfg(test)]
mod tests;

pub use body::{Rope, Sink};
pub use envelope::{Fault, FaultKind, Frame, Kind, own_id, readable_id};
pub use exchange::{Answer, Ask, Era, Fate, Level, Origin, Progress, Receipt, Reply, TASKS, Version};
pub use lines::{Line, LineBuf};
pub use params::Params;

//! What must survive a restart: one SQLite file, its committer thread, the audit chain, the flight marks.
//! Holds no decisions: it tells what it found and what became durable, the hub decides what follows.

mod anchor;
mod args;
mod batch;
mod boot;
mod calls;
mod chain;
mod chores;
mod codes;
mod committer;
mod cut;
mod engine;
mod facets;
mod fault;
mod flight;
mod kept;
mod ledger;
mod line;
mod open;
mod pin;
mod places;
mod reader;
mod record;
mod recover;
mod results;
mod schema;
mod seal;
mod search;
mod settle;
mod stored;
#[cfg(test)]
mod tests;
mod vault;
mod verify;
mod words;
mod writer;

pub use anchor::Trust;
pub use batch::{Detail, Entry, Item, Stages, Subject};
pub use boot::BootId;
pub use codes::{CallNumber, Kind, Method, Outcome, PinHow, PinKind};
pub use committer::{AuditState, Cause, Committer, CommitterThread, Done, Job, Note, Settled, Told};
pub use fault::{JobFault, ReadFault, StoreFault};
pub use flight::{Flight, Mark, MarkFault};
pub use kept::{EraMemory, Kept, Snapshot};
pub use ledger::{Due, Handed, Ledger};
pub use open::{Durability, Opened, Opening, Options, Settlement, Store};
pub use pin::{Grants, Pin};
pub use places::Found;
pub use reader::{AuditRecord, Reader, Stream};
pub use record::{CallRecord, KEYS_KEPT_MS, MOST_RESULT_BYTES, REFUSALS_KEPT_MS};
pub use recover::{Boot, Close, Evidence, Fate, Recovered, Standing, after, close, fate};
pub use search::Filter;
pub use vault::Vault;
pub use verify::{Break, Findings};

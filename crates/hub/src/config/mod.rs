//! The config file: found, read, checked with all faults at once, filled in, compared, edited, watched.
//! Never quotes a value in a message, never writes a file that it could not read back.

mod accepted;
mod address;
mod check;
mod diff;
mod edit;
mod env_file;
mod foreign;
mod keys;
mod launch;
mod nearest;
mod paste;
mod places;
mod problem;
mod reference;
mod resolve;
mod schema;
mod settings;
mod source;
mod splice;
mod starter;
mod template;
mod walk;
mod watch;
mod write;

pub use accepted::Accepted;
pub use diff::{Changes, diff};
pub use edit::{Edit, EditError, Edited, edit};
pub use env_file::Variables;
pub use keys::{Audit, Durability, Hub, Payloads, PortOwner, Profile, ResultCheck, Results, Share, Start};
pub use launch::launch_hash;
pub use paste::{Entries, PasteError, pasted};
pub use places::{PlaceError, Places, Platform};
pub use problem::{Problem, ReadError};
pub use reference::reference;
pub use resolve::{Lookup, ServerProblem, resolve, variables};
pub use schema::published as json_schema;
pub use settings::{
    Address, ApprovalConfig, Config, HostConfig, IDLE_STOP_SECONDS, Launch, PolicyConfig, Program, ServerConfig,
};
pub use starter::TEXT as STARTER;
pub use template::{Malformed, Part, Slot, Template};
pub use watch::{ConfigWatch, WatchError};
pub use write::{apply, apply_all, prepare, publish};

use source::Source;
use std::path::Path;

/// Largest config file that is read, in bytes.
pub const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// A config and what its author should know about it.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The settings.
    pub config: Config,
    /// Keys that were ignored and the like; sorted by place.
    pub warnings: Vec<Problem>,
}

/// Reads and checks a file.
pub fn load(file: &Path) -> Result<Loaded, ReadError> {
    check_text(file, &read(file)?).map_err(ReadError::Wrong)
}

/// Checks a text as if it stood in `file`. All faults at once, sorted by place.
pub fn check_text(file: &Path, text: &str) -> Result<Loaded, Vec<Problem>> {
    let source = Source::new(file, text);
    let tree = source.parse().map_err(|problem| vec![problem])?;
    let (mut walked, value) = walk::walk(&source, &tree, &schema::SCHEMA);
    match serde_json::from_value::<keys::Root>(value) {
        Ok(root) => {
            let config = check::check(root, &mut walked);
            if walked.problems.is_empty() {
                return Ok(Loaded { config, warnings: sorted(walked.warnings) });
            }
        }
        // The walk is stricter than the types, so this says that the two have come apart.
        Err(error) => walked.problem("", error.to_string()),
    }
    Err(sorted(walked.problems))
}

fn sorted(mut problems: Vec<Problem>) -> Vec<Problem> {
    problems.sort_by_key(|problem| (problem.line, problem.column));
    problems
}

/// The text of a file, bounded.
fn read(file: &Path) -> Result<String, ReadError> {
    let bytes = bytes_of(file).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => ReadError::Absent(file.to_owned()),
        _ => ReadError::Unreadable { file: file.to_owned(), source },
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(&error.as_bytes()[..good]);
        let message = format!("not UTF-8: the byte {:#04x} cannot stand here", error.as_bytes()[good]);
        ReadError::Wrong(vec![Source::new(file, &text).end(message)])
    })
}

/// What a file of settings holds: a regular one, of at most 4 MiB.
fn bytes_of(file: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::{Error, Read};
    // Before it is opened: who opens a named pipe waits until somebody writes to it.
    if std::fs::metadata(file).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
        return Err(Error::other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(file)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(Error::other("the file is larger than 4 MiB"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod diff_tests;
#[cfg(test)]
mod edit_tests;
#[cfg(test)]
mod places_tests;
#[cfg(test)]
mod published_tests;
#[cfg(test)]
mod resolve_tests;
#[cfg(test)]
pub(crate) mod tests;

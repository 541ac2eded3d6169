//! What the system tells of processes. Only looks; a process may be gone at every next look.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(test, not(target_os = "linux")))]
mod other;

#[cfg(target_os = "linux")]
pub use linux::System as Here;
#[cfg(not(target_os = "linux"))]
pub use other::System as Here;

use std::path::PathBuf;

/// One process, as it was at the moment of looking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its parent; 0: none that can be seen.
    pub parent: u32,
    /// When it began, in a unit of the system's own: numbers of processes are used again, pairs with this are not.
    pub born: u64,
    /// Its name, which it chooses itself.
    pub name: String,
    /// Its terminal, e.g. `pts/3`.
    pub terminal: Option<String>,
}

/// A table of processes.
pub trait Processes {
    /// One of them; None where there is no such process, or none that we may see.
    fn look(&self, pid: u32) -> Option<Process>;
    /// The file that it runs, where that is told.
    fn program(&self, pid: u32) -> Option<PathBuf>;
    /// The words it was started with, the program first; empty where they are not told.
    fn words(&self, pid: u32) -> Vec<String>;
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn this_process_its_parent_and_nobody() {
        let (own, parent) = (std::process::id(), std::os::unix::process::parent_id());
        let check = |table: &dyn Processes| {
            let found = table.look(own).unwrap();
            assert_eq!(found.parent, parent);
            assert!(table.look(parent).is_none_or(|parent| parent.born <= found.born));
            assert_eq!(table.program(own).unwrap(), std::env::current_exe().unwrap());
            assert_eq!(table.words(own), std::env::args().collect::<Vec<_>>());
            assert_eq!((table.look(i32::MAX as u32), table.program(i32::MAX as u32)), (None, None));
            assert!(table.words(i32::MAX as u32).is_empty());
        };
        check(&Here);
        check(&other::System);
    }
}

//! macOS (not tested there; built and tried on Linux in tests): no subreaper and no `/proc`. A tree is its process group; who leaves the
//! group escapes. The end of the socket is noticed as elsewhere.

use super::Platform;
use super::census::{Entry, Proc, Table};
use super::words::Force;
use rustix::process::{Pid, Signal, getpid, kill_process_group, test_kill_process_group};
use std::io;

/// The system this is built for.
pub struct System;

impl Platform for System {
    fn take_charge() -> io::Result<System> {
        Ok(System)
    }

    fn observe() -> System {
        System
    }

    fn start_of(&mut self, _pid: i32) -> Option<u64> {
        // Groups are signalled only while one of their processes lives, so the number cannot be another's.
        Some(0)
    }

    fn table(&mut self, roots: &[Proc]) -> io::Result<Table> {
        let guard = getpid().as_raw_nonzero().get();
        // A group of zombies only answers EPERM here, which counts as ended.
        let living = roots
            .iter()
            .filter(|root| Pid::from_raw(root.pid).is_some_and(|group| test_kill_process_group(group).is_ok()));
        Ok(Table::new(living.map(|&proc| Entry { proc, parent: guard, group: proc.pid }).collect()))
    }

    fn mark(&mut self, _pid: i32) -> Option<Vec<u8>> {
        None
    }

    fn signal(&mut self, proc: Proc, force: Force) {
        self.signal_group(proc.pid, force);
    }

    fn signal_group(&mut self, group: i32, force: Force) {
        let Some(group) = Pid::from_raw(group) else { return };
        let signal = match force {
            Force::Terminate => Signal::TERM,
            Force::Kill => Signal::KILL,
        };
        let _ = kill_process_group(group, signal);
        if force == Force::Terminate {
            let _ = kill_process_group(group, Signal::CONT);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_group_lives_as_long_as_one_of_it() {
        let mut system = System::take_charge().unwrap();
        let group = rustix::process::getpgrp().as_raw_nonzero().get();
        let roots = [Proc { pid: group, start: 0 }, Proc { pid: i32::MAX, start: 0 }];
        let table = system.table(&roots).unwrap();
        let found: Vec<_> = table.iter().map(|entry| (entry.group, entry.parent)).collect();
        assert_eq!(found, [(group, getpid().as_raw_nonzero().get())]);
    }
}

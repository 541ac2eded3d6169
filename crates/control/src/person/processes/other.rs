//! macOS and Windows, through `sysinfo`. Built and tried on Linux in tests; not run on those systems yet.

use super::{Process, Processes};
use std::path::PathBuf;
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, UpdateKind};

/// The system this is built for.
#[derive(Clone, Copy, Debug)]
pub struct System;

impl Processes for System {
    fn look(&self, pid: u32) -> Option<Process> {
        ask(pid, ProcessRefreshKind::nothing(), |found| Process {
            parent: found.parent().map_or(0, Pid::as_u32),
            born: found.start_time(),
            name: found.name().to_string_lossy().into_owned(),
            terminal: None,
        })
    }
    fn program(&self, pid: u32) -> Option<PathBuf> {
        let kind = ProcessRefreshKind::nothing().with_exe(UpdateKind::Always);
        ask(pid, kind, |found| found.exe().map(PathBuf::from)).flatten()
    }
    fn words(&self, pid: u32) -> Vec<String> {
        let kind = ProcessRefreshKind::nothing().with_cmd(UpdateKind::Always);
        let words =
            |found: &sysinfo::Process| found.cmd().iter().map(|word| word.to_string_lossy().into_owned()).collect();
        ask(pid, kind, words).unwrap_or_default()
    }
}

fn ask<T>(pid: u32, kind: ProcessRefreshKind, then: impl FnOnce(&sysinfo::Process) -> T) -> Option<T> {
    let mut system = sysinfo::System::new().ok()?;
    let pid = Pid::from_u32(pid);
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), true, kind);
    system.process(pid).map(then)
}

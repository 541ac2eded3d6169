//! Linux: subreaper, `/proc`, pidfds. The only file of the guard that knows them.

use super::Platform;
use super::census::{Entry, Proc, Table};
use super::words::Force;
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, kill_process, kill_process_group, pidfd_open, pidfd_send_signal,
    set_child_subreaper, set_parent_process_death_signal,
};
use std::fs::File;
use std::io::{self, Read};

/// The system this is built for.
pub struct System {
    buffer: Vec<u8>,
}

impl Platform for System {
    fn take_charge() -> io::Result<System> {
        // Whoever leaves its family becomes our child, and not that of init.
        set_child_subreaper(Some(getpid()))?;
        // For people who look at the process list; the file may be called `exe`.
        let _ = std::fs::write("/proc/self/comm", "callgate-guard");
        // Only a wake-up: the end of the socket is what counts, and this signal also comes when the
        // hub's thread ends that started us.
        set_parent_process_death_signal(Some(Signal::TERM))?;
        Ok(System { buffer: Vec::with_capacity(1024) })
    }

    fn observe() -> System {
        System { buffer: Vec::with_capacity(1024) }
    }

    fn start_of(&mut self, pid: i32) -> Option<u64> {
        read_line(&format!("/proc/{pid}/stat"), &mut self.buffer)?;
        Some(parse(pid, &self.buffer)?.1.proc.start)
    }

    fn table(&mut self, _roots: &[Proc]) -> io::Result<Table> {
        let mut entries = Vec::new();
        for folder in std::fs::read_dir("/proc")? {
            let Some(pid) = folder?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            if read_line(&format!("/proc/{pid}/stat"), &mut self.buffer).is_none() {
                continue;
            }
            match parse(pid, &self.buffer) {
                Some((Life::Alive, entry)) => entries.push(entry),
                Some((Life::Ended, _)) | None => {}
            }
        }
        Ok(Table::new(entries))
    }

    fn mark(&mut self, pid: i32) -> Option<Vec<u8>> {
        read(&format!("/proc/{pid}/environ"), &mut self.buffer, 1 << 20)?;
        let found = mark_in(&self.buffer);
        self.buffer.shrink_to(1024);
        found
    }

    fn signal(&mut self, proc: Proc, force: Force) {
        let Some(pid) = Pid::from_raw(proc.pid) else { return };
        // The descriptor holds one process; if its number bears the right start time now, it is that process.
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) if self.start_of(proc.pid) == Some(proc.start) => {
                let _ = pidfd_send_signal(&handle, signal_of(force));
                if force == Force::Terminate {
                    let _ = pidfd_send_signal(&handle, Signal::CONT);
                }
            }
            Err(Errno::NOSYS) if self.start_of(proc.pid) == Some(proc.start) => {
                let _ = kill_process(pid, signal_of(force));
            }
            Ok(_) | Err(_) => {}
        }
    }

    fn signal_group(&mut self, group: i32, force: Force) {
        let Some(group) = Pid::from_raw(group) else { return };
        let _ = kill_process_group(group, signal_of(force));
        if force == Force::Terminate {
            // A stopped process would never see the first signal.
            let _ = kill_process_group(group, Signal::CONT);
        }
    }
}

fn signal_of(force: Force) -> Signal {
    match force {
        Force::Terminate => Signal::TERM,
        Force::Kill => Signal::KILL,
    }
}

/// Reads at most `limit` bytes; None if the process has ended, or is not ours to read.
fn read(path: &str, into: &mut Vec<u8>, limit: u64) -> Option<()> {
    into.clear();
    File::open(path).ok()?.take(limit).read_to_end(into).ok()?;
    Some(())
}

/// Reads a file of one line, which the system makes whole at the first read.
fn read_line(path: &str, into: &mut Vec<u8>) -> Option<()> {
    into.resize(1024, 0);
    let length = File::open(path).ok()?.read(into).ok()?;
    into.truncate(length);
    Some(())
}

enum Life {
    Alive,
    Ended,
}

/// One `/proc/PID/stat`. The name in it may hold spaces and brackets: what counts begins after the last bracket.
fn parse(pid: i32, stat: &[u8]) -> Option<(Life, Entry)> {
    let after = stat.iter().rposition(|&byte| byte == b')')? + 2;
    let mut fields = std::str::from_utf8(stat.get(after..)?).ok()?.split(' ');
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let threads: u32 = fields.nth(14)?.parse().ok()?;
    let start = fields.nth(1)?.parse().ok()?;
    // A process whose first thread has ended looks like a zombie while the others run.
    let ended = state == "X" || (state == "Z" && threads <= 1);
    let life = if ended { Life::Ended } else { Life::Alive };
    Some((life, Entry { proc: Proc { pid, start }, parent, group }))
}

fn mark_in(environ: &[u8]) -> Option<Vec<u8>> {
    environ
        .split(|&byte| byte == 0)
        .find_map(|line| line.strip_prefix(super::MARK.as_bytes())?.strip_prefix(b"=").map(<[u8]>::to_vec))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_name_cannot_forge_its_line() {
        let rest = " 10 20 21 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 777 9 9";
        for (name, state, alive) in [("sh", "S", true), (") Z 1 (", "R", true), ("a b", "X", false)] {
            let line = format!("42 ({name}) {state}{rest}");
            let (life, entry) = parse(42, line.as_bytes()).unwrap();
            assert_eq!(entry, Entry { proc: Proc { pid: 42, start: 777 }, parent: 10, group: 20 });
            assert_eq!(matches!(life, Life::Alive), alive, "{name}");
        }
        // A zombie with threads lives.
        assert!(matches!(parse(1, format!("1 (x) Z{rest}").as_bytes()).unwrap().0, Life::Alive));
        let single = rest.replace(" 3 0 777", " 1 0 777");
        assert!(matches!(parse(1, format!("1 (x) Z{single}").as_bytes()).unwrap().0, Life::Ended));
        assert!(parse(1, b"1 (x").is_none());
    }

    #[test]
    fn only_a_whole_variable_is_a_mark() {
        assert_eq!(mark_in(b"A=1\0CALLGATE_INSTANCE=h-1-2\0B="), Some(b"h-1-2".to_vec()));
        assert_eq!(mark_in(b"XCALLGATE_INSTANCE=1\0CALLGATE_INSTANCES=2\0"), None);
    }

    #[test]
    fn this_process_is_in_the_table() {
        let mut system = System { buffer: Vec::new() };
        let pid = getpid().as_raw_nonzero().get();
        let start = system.start_of(pid).unwrap();
        let table = system.table(&[]).unwrap();
        assert!(table.iter().any(|entry| entry.proc == Proc { pid, start }));
    }

    #[test]
    fn a_process_with_another_start_is_not_signalled() {
        let mut system = System { buffer: Vec::new() };
        let pid = getpid().as_raw_nonzero().get();
        let start = system.start_of(pid).unwrap();
        // This very process would be gone.
        system.signal(Proc { pid, start: start + 1 }, Force::Kill);
        system.signal(Proc { pid: i32::MAX, start }, Force::Kill);
        system.signal(Proc { pid: 0, start }, Force::Kill);
    }
}

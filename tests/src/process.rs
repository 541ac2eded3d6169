//! Processes of a story: ended with it, whatever happens; and what /proc says of others.

use crate::LIMIT;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex};

/// A process that ends with its story. Its stdout comes line by line, its stderr is kept.
pub struct Guarded {
    child: Child,
    lines: Option<Receiver<String>>,
    errors: Arc<Mutex<String>>,
    /// Ends with its stderr.
    silent: Receiver<()>,
}

impl Guarded {
    /// Starts it; piped outputs are read at once.
    pub fn spawn(mut command: Command) -> Guarded {
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let lines = child.stdout.take().map(|out| {
            let (tell, told) = sync_channel(4096);
            std::thread::spawn(move || {
                for line in BufReader::new(out).lines() {
                    let Ok(line) = line else { return };
                    if tell.send(line).is_err() {
                        return;
                    }
                }
            });
            told
        });
        let errors = Arc::new(Mutex::new(String::new()));
        let (speaks, silent) = sync_channel::<()>(0);
        if let Some(mut err) = child.stderr.take() {
            let errors = Arc::clone(&errors);
            std::thread::spawn(move || {
                let _speaks = speaks;
                let mut chunk = [0; 4096];
                while let Ok(length @ 1..) = err.read(&mut chunk) {
                    errors.lock().unwrap().push_str(&String::from_utf8_lossy(&chunk[..length]));
                }
            });
        }
        Guarded { child, lines, errors, silent }
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
    /// Its stdin, once.
    pub fn stdin(&mut self) -> Option<std::process::ChildStdin> {
        self.child.stdin.take()
    }
    /// Its next line on stdout.
    pub fn line(&mut self, what: &str) -> String {
        let lines = self.lines.as_ref().expect("stdout is piped");
        match lines.recv_timeout(LIMIT) {
            Ok(line) => line,
            Err(error) => panic!("{what}: {error}; stderr: {}", self.stderr()),
        }
    }
    /// Its next line on stdout, if one comes in time; None at its end too.
    pub fn line_within(&mut self, time: std::time::Duration) -> Option<String> {
        self.lines.as_ref()?.recv_timeout(time).ok()
    }
    /// What it wrote to stderr so far.
    pub fn stderr(&self) -> String {
        self.errors.lock().unwrap().clone()
    }
    /// Kills it with SIGKILL and waits.
    pub fn kill(&mut self) {
        // Fails where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
    /// Sends a signal.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }
    /// Waits for its end and for its last words: the exit code, -1 after a signal.
    pub fn wait(&mut self) -> i32 {
        let status = crate::eventually("the end of a process", || self.child.try_wait().unwrap());
        // Bounded: a hub that it started may go on with the same stderr.
        let _ = self.silent.recv_timeout(std::time::Duration::from_secs(1));
        status.code().unwrap_or(-1)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.kill();
    }
}

fn stat(pid: u32) -> Option<(char, u32)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let rest = &text[text.rfind(')')? + 2..];
    let mut fields = rest.split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// Whether a process runs; a zombie does not.
pub fn is_alive(pid: u32) -> bool {
    stat(pid).is_some_and(|(state, _)| state != 'Z' && state != 'X')
}

/// The living children of a process.
pub fn children_of(pid: u32) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    all.filter(|&other| is_alive(other) && stat(other).is_some_and(|(_, parent)| parent == pid)).collect()
}

/// A process and everything below it.
pub fn tree_of(pid: u32) -> Vec<u32> {
    let mut all = vec![pid];
    let mut at = 0;
    while at < all.len() {
        all.extend(children_of(all[at]));
        at += 1;
    }
    all
}

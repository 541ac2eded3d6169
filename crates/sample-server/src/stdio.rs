//! The stdio door: reads what is there, answers all of it, writes once.

use crate::out::{Out, Part, Seat};
use crate::server::Server;
use crate::settings::Settings;
use crate::timeout;
use frame::{Line, LineBuf};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::os::fd::BorrowedFd;
use std::time::Instant;

/// The one host.
pub(crate) const HOST: Seat = Seat { slot: 0, serial: 0 };

/// Longest message in bytes.
pub(crate) const MAX_MESSAGE: usize = 64 << 20;

/// What is to be written.
#[derive(Debug, Default)]
pub(crate) struct Pending(pub(crate) Vec<u8>);

impl Out for Pending {
    fn begin(&mut self, _seat: Seat, _part: Part) -> &mut Vec<u8> {
        &mut self.0
    }
    fn end(&mut self, _seat: Seat, _part: Part) {
        self.0.push(b'\n');
    }
    fn noise(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }
    fn listeners(&self) -> Vec<Seat> {
        vec![HOST]
    }
}

/// Serves until the input ends; gives the exit code.
pub(crate) fn serve(settings: Settings, input: BorrowedFd<'_>, output: BorrowedFd<'_>) -> std::io::Result<u8> {
    let mut server = Server::new(settings);
    let mut pending = Pending::default();
    let mut lines = LineBuf::new(MAX_MESSAGE);
    let mut chunk = vec![0u8; 256 * 1024];
    loop {
        if let Some(due) = server.due() {
            let now = Instant::now();
            let mut fds = [PollFd::new(&input, PollFlags::IN)];
            match poll(&mut fds, Some(&timeout(due.saturating_duration_since(now)))) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            server.wake(Instant::now(), &mut pending);
            if fds[0].revents().is_empty() {
                flush(output, &mut pending)?;
                continue;
            }
        }
        let read = match rustix::io::read(input, &mut chunk) {
            Ok(0) => return flush(output, &mut pending).map(|()| 0),
            Ok(read) => read,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        lines.spare(read).extend_from_slice(&chunk[..read]);
        let now = Instant::now();
        while let Some(line) = lines.next_line() {
            match line {
                Line::Whole(line) => drop(server.take(line, HOST, 0, now, &mut pending)),
                Line::TooLong { head, .. } => drop(server.take(head, HOST, 0, now, &mut pending)),
            }
            if let Some(code) = server.ends {
                flush(output, &mut pending)?;
                return Ok(code);
            }
        }
        flush(output, &mut pending)?;
    }
}

fn flush(output: BorrowedFd<'_>, pending: &mut Pending) -> std::io::Result<()> {
    let mut rest = &pending.0[..];
    while !rest.is_empty() {
        match rustix::io::write(output, rest) {
            Ok(written) => rest = &rest[written..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    pending.0.clear();
    pending.0.shrink_to(1 << 20);
    Ok(())
}

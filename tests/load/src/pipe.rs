//! A peer at the other end of pipes or of a local socket: a line for each message, any number under way.

use super::peer::{Fault, Peer};
use frame::{Line, LineBuf};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub struct Pipe {
    to: OwnedFd,
    from: OwnedFd,
    queued: Vec<u8>,
    lines: LineBuf,
    chunk: Vec<u8>,
    child: Option<Child>,
}

impl Pipe {
    pub fn spawn(command: &[String]) -> Result<Pipe, Fault> {
        let (program, args) = command.split_first().ok_or_else(|| Fault::Usage("which command?".to_owned()))?;
        #[allow(clippy::disallowed_methods, reason = "the generator is the host of what it measures")]
        let mut child = Command::new(program).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let to = child.stdin.take().expect("was piped").into();
        let from: OwnedFd = child.stdout.take().expect("was piped").into();
        Ok(Pipe::of(to, from, Some(child)))
    }

    pub fn connect(path: &Path) -> Result<Pipe, Fault> {
        let to = OwnedFd::from(UnixStream::connect(path)?);
        let from = to.try_clone()?;
        Ok(Pipe::of(to, from, None))
    }

    fn of(to: OwnedFd, from: OwnedFd, child: Option<Child>) -> Pipe {
        let (lines, chunk) = (LineBuf::new(256 << 20), vec![0; 256 * 1024]);
        Pipe { to, from, queued: Vec::new(), lines, chunk, child }
    }

    /// Writes what is queued.
    pub fn flush(&mut self) -> Result<(), Fault> {
        let mut rest = &self.queued[..];
        while !rest.is_empty() {
            match rustix::io::write(&self.to, rest) {
                Ok(written) => rest = &rest[written..],
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.queued.clear();
        Ok(())
    }
}

impl Peer for Pipe {
    fn send(&mut self, _lane: usize, message: &[u8]) -> Result<(), Fault> {
        self.queued.extend_from_slice(message);
        self.queued.push(b'\n');
        Ok(())
    }

    fn turn(&mut self, got: &mut dyn FnMut(usize, &[u8])) -> Result<(), Fault> {
        self.flush()?;
        loop {
            let mut any = false;
            while let Some(line) = self.lines.next_line() {
                if let Line::Whole(line) = line {
                    any = true;
                    got(0, &line);
                }
            }
            if any {
                return Ok(());
            }
            match rustix::io::read(&self.from, &mut self.chunk) {
                Ok(0) => return Err(Fault::Peer("the peer has ended".to_owned())),
                Ok(read) => self.lines.spare(read).extend_from_slice(&self.chunk[..read]),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // Its input ends with us; waiting keeps what it still uses out of the next measurement.
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

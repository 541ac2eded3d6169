//! Reading and writing descriptors without waiting.

use bytes::BytesMut;
use rustix::io::Errno;
use std::io;
use std::os::fd::BorrowedFd;

/// What a read came to.
pub enum Read {
    /// So many bytes.
    Some(usize),
    /// Nothing is there now.
    Nothing,
    /// The other side has ended.
    End,
}

/// A descriptor that does not block for as long as this lives. Others may share it, so it is left as it was found.
pub struct Quiet<'a> {
    fd: BorrowedFd<'a>,
    blocked: bool,
}

impl<'a> Quiet<'a> {
    /// A pipe or socket need not block; a terminal stays as it is. Where it is refused, a full pipe blocks us: slower,
    /// not wrong.
    pub fn new(fd: BorrowedFd<'a>) -> Quiet<'a> {
        use rustix::fs::{FileType, OFlags};
        let kind = rustix::fs::fstat(fd).map(|stat| FileType::from_raw_mode(stat.st_mode));
        let blocks = rustix::fs::fcntl_getfl(fd).is_ok_and(|flags| !flags.contains(OFlags::NONBLOCK));
        let is_ours = matches!(kind, Ok(FileType::Fifo | FileType::Socket));
        Quiet { fd, blocked: is_ours && blocks && rustix::io::ioctl_fionbio(fd, true).is_ok() }
    }
}

impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        if self.blocked {
            let _ = rustix::io::ioctl_fionbio(self.fd, false);
        }
    }
}

/// Reads what is there.
pub fn read_some(fd: BorrowedFd<'_>, into: &mut [u8]) -> io::Result<Read> {
    match rustix::io::read(fd, into) {
        Ok(0) => Ok(Read::End),
        Ok(length) => Ok(Read::Some(length)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(Read::Nothing),
        Err(error) => Err(error.into()),
    }
}

/// Writes what is taken now, and takes it out of the buffer.
pub fn write_some(fd: BorrowedFd<'_>, from: &mut BytesMut) -> io::Result<()> {
    while !from.is_empty() {
        match rustix::io::write(fd, from) {
            Ok(written) => bytes::Buf::advance(from, written),
            Err(Errno::AGAIN) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    if from.capacity() > 1 << 20 {
        *from = BytesMut::new();
    }
    Ok(())
}

//! The adapter's side after its hub has gone: what the hub had read and not answered.

use super::Recovered;
use super::memory::{Form, INITIALIZE, LONGEST_INITIALIZE, MARKS, Memory};
use bytes::Bytes;
use frame::{Level, LineBuf};
use rustix::net::RecvFlags;
use std::io;
use std::os::fd::BorrowedFd;

/// Reads the memory files of a loan that has ended. `longest` is the longest line in bytes.
///
/// # Errors
/// What the system says.
pub fn recover(memory: &Memory, host_in: BorrowedFd<'_>, longest: usize) -> io::Result<Recovered> {
    let mut header = [0; 18];
    read_at(&memory.marks, &mut header, 0)?;
    let mut base = [0; 8];
    base.copy_from_slice(&header[..8]);
    let (base, generation) = (u64::from_le_bytes(base), header[8]);
    let end = size(&memory.input)?;
    let mut input = vec![0; usize::try_from(end.saturating_sub(base)).unwrap_or(0)];
    read_at(&memory.input, &mut input, base)?;
    if Form::of(host_in) == Some(Form::Socket) {
        input = unblock(&input, |last| is_still_there(host_in, last));
    }
    let mut lines = Vec::new();
    let mut buf = LineBuf::new(longest);
    buf.spare(input.len()).extend_from_slice(&input);
    let mut number = 0;
    while let Some(line) = buf.next_line() {
        let mut mark = [0];
        read_at(&memory.marks, &mut mark, MARKS + number)?;
        // Before the first header there are no marks either.
        if generation == 0 || mark[0] != generation {
            lines.push(line);
        }
        number += 1;
    }
    let level = header[10].checked_sub(1).and_then(|level| Level::ALL.get(usize::from(level)).copied());
    let rest = buf.take_rest();
    Ok(Recovered { lines, rest, is_inside: header[9] == 1, initialize: initialize(memory)?, level })
}

fn initialize(memory: &Memory) -> io::Result<Option<Bytes>> {
    let mut length = [0; 4];
    read_at(&memory.marks, &mut length, INITIALIZE)?;
    let length = (u32::from_le_bytes(length) as usize).min(LONGEST_INITIALIZE);
    let mut params = vec![0; length];
    read_at(&memory.marks, &mut params, INITIALIZE + 4)?;
    Ok((length > 0).then(|| params.into()))
}

fn size(file: &std::os::fd::OwnedFd) -> io::Result<u64> {
    Ok(u64::try_from(rustix::fs::fstat(file)?.st_size).unwrap_or(0))
}

/// Fills `into`; what the file does not have is zero.
fn read_at(file: &std::os::fd::OwnedFd, into: &mut [u8], from: u64) -> io::Result<()> {
    let mut at = 0;
    while at < into.len() {
        match rustix::io::pread(file, &mut into[at..], from + at as u64)? {
            0 => return Ok(()),
            more => at += more,
        }
    }
    Ok(())
}

/// The bytes of all blocks; without the last one where `is_there` says that the host's stdin still has it.
fn unblock(input: &[u8], is_there: impl FnOnce(&[u8]) -> bool) -> Vec<u8> {
    let mut blocks = Vec::new();
    let mut rest = input;
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length) as usize;
        // One that is not whole was never taken.
        let Some((block, after)) = after.split_at_checked(length) else { break };
        blocks.push(block);
        rest = after;
    }
    if blocks.last().is_some_and(|last| is_there(last)) {
        blocks.pop();
    }
    blocks.concat()
}

/// The block was written down, but the hub died before it took it.
fn is_still_there(host: BorrowedFd<'_>, block: &[u8]) -> bool {
    let mut there = vec![0; block.len()];
    rustix::net::recv(host, &mut there[..], RecvFlags::PEEK | RecvFlags::DONTWAIT)
        .is_ok_and(|(_, length)| length == block.len() && there == block)
}

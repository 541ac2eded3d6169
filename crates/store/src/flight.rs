//! Marks of calls whose first byte may have left, in a file that outlives the process. A mark is written just
//! before that byte; its slot is reused only when the call's end row is committed, never before.

use crate::recover::Evidence;
use crate::{BootId, CallNumber, StoreFault, places};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// File inside the run folder.
pub(crate) const FLIGHT_FILE: &str = "flight";
const RECORD: usize = 16;
const MAGIC: [u8; 8] = *b"CGFLIGH2";
/// Of builds whose file only grew.
const OLD_MAGIC: [u8; 8] = *b"CGFLIGHT";
const WORDS: usize = 1024;
const IN_FLIGHT: u8 = 1;
/// Bytes of the file: its head and all slots. A shorter one has lost marks.
const SIZE: usize = (WORDS * 64 + 1) * RECORD;

/// Which slots hold a mark that still counts. The relay sets, the committer clears.
#[derive(Clone)]
pub(crate) struct Slots(Arc<[AtomicU64]>);

impl Slots {
    fn new() -> Slots {
        Slots((0..WORDS).map(|_| AtomicU64::new(0)).collect())
    }

    fn take(&self) -> Option<u32> {
        for (index, word) in self.0.iter().enumerate() {
            let free = word.load(Ordering::Acquire).trailing_ones();
            if free < 64 {
                word.fetch_or(1 << free, Ordering::AcqRel);
                return Some(index as u32 * 64 + free);
            }
        }
        None
    }

    pub(crate) fn give_back(&self, slot: u32) {
        if let Some(word) = self.0.get(slot as usize / 64) {
            word.fetch_and(!(1 << (slot % 64)), Ordering::AcqRel);
        }
    }
}

/// The mark of one call. It goes into the call's end row, whose commit frees its slot; dropped, it stays.
#[derive(Debug, PartialEq, Eq)]
pub struct Mark(pub(crate) u32);

/// Why a call got no mark and so must not be sent.
#[derive(Debug, thiserror::Error)]
pub enum MarkFault {
    /// 65,536 calls are in flight.
    #[error("too many calls in flight")]
    Full,
    /// The last run is not settled yet; no intent is durable before that.
    #[error("the flight file is not open yet")]
    Closed,
    /// The file can't be written.
    #[error("writing the flight mark failed")]
    File(#[from] std::io::Error),
}

/// The writing end of the flight file. Lives on the relay thread.
pub struct Flight {
    /// Opened by the committer's thread when the last run is settled.
    file: Arc<OnceLock<File>>,
    boot: BootId,
    slots: Slots,
}

impl Flight {
    /// Marks a call. To be called right before its first byte is written to a server; costs one pwrite.
    pub fn mark(&mut self, call: CallNumber) -> Result<Mark, MarkFault> {
        let file = self.file.get().ok_or(MarkFault::Closed)?;
        let slot = self.slots.take().ok_or(MarkFault::Full)?;
        let mut record = [0; RECORD];
        record[..8].copy_from_slice(&call.0.to_le_bytes());
        record[8..15].copy_from_slice(&self.boot.0);
        record[15] = IN_FLIGHT;
        match write_at(file, &record, (slot as usize + 1) as u64 * RECORD as u64) {
            Ok(()) => Ok(Mark(slot)),
            Err(error) => {
                self.slots.give_back(slot);
                Err(error.into())
            }
        }
    }

    pub(crate) fn slots(&self) -> Slots {
        self.slots.clone()
    }
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], offset: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(windows)]
fn write_at(file: &File, bytes: &[u8], offset: u64) -> std::io::Result<()> {
    match std::os::windows::fs::FileExt::seek_write(file, bytes, offset)? {
        written if written == bytes.len() => Ok(()),
        _ => Err(std::io::ErrorKind::WriteZero.into()),
    }
}

/// Which flight file it is; the database remembers the one that its run wrote to.
pub(crate) type FlightId = [u8; 8];

/// What a flight file holds.
pub(crate) struct Marks {
    pub id: FlightId,
    /// The whole file, its head too.
    content: Vec<u8>,
}

impl Marks {
    /// Reads the file, which is a megabyte, for who has calls to judge; None where there is none, or none that can be
    /// understood: it clears no call then.
    pub(crate) fn read(run: &Path) -> Result<Option<Marks>, StoreFault> {
        let path = run.join(FLIGHT_FILE);
        if places::examine(&path)? != places::Found::Present {
            return Ok(None);
        }
        let content = std::fs::read(&path).map_err(StoreFault::file(&path, "reading"))?;
        let is_whole = |head: &[u8]| head[..8] == OLD_MAGIC || head[..8] == MAGIC && content.len() >= SIZE;
        let Some(head) = content.first_chunk::<RECORD>().filter(|head| is_whole(&head[..])) else { return Ok(None) };
        let mut id = [0; 8];
        id.copy_from_slice(&head[8..]);
        Ok(Some(Marks { id, content }))
    }

    fn holds(&self, call: CallNumber, boot: BootId) -> bool {
        self.content
            .chunks_exact(RECORD)
            .skip(1)
            .any(|record| record[..8] == call.0.to_le_bytes() && record[8..15] == boot.0 && record[15] == IN_FLIGHT)
    }

    /// What they say of a call of a run that wrote to the file `expected`.
    pub(crate) fn evidence(
        marks: Option<&Marks>,
        expected: Option<FlightId>,
        call: CallNumber,
        boot: BootId,
    ) -> Evidence {
        match marks {
            Some(marks) if Some(marks.id) == expected && marks.holds(call, boot) => Evidence::InFlight,
            Some(marks) if Some(marks.id) == expected => Evidence::NotInFlight,
            _ => Evidence::NoMarks,
        }
    }
}

/// A new id.
pub(crate) fn new_id() -> Result<FlightId, StoreFault> {
    let mut id = [0; 8];
    getrandom::fill(&mut id).map_err(|_| StoreFault::Random)?;
    Ok(id)
}

/// The writing end of a flight file that [`Place::open`] puts in place.
pub(crate) fn prepare(boot: BootId) -> (Flight, Place) {
    let file = Arc::new(OnceLock::new());
    (Flight { file: Arc::clone(&file), boot, slots: Slots::new() }, Place(file))
}

/// Where the flight file goes.
pub(crate) struct Place(Arc<OnceLock<File>>);

impl Place {
    /// Puts a flight file without marks in place. Only when the database has settled all older calls and knows `id`.
    pub(crate) fn open(self, run: &Path, id: FlightId) -> Result<(), StoreFault> {
        let path: PathBuf = run.join(FLIGHT_FILE);
        // After a power loss it is another boot, whose marks nobody asks for.
        places::replace_volatile(&path, &[MAGIC, id].concat())?;
        let file = places::private_options().write(true).open(&path).map_err(StoreFault::file(&path, "opening"))?;
        file.set_len(SIZE as u64).map_err(StoreFault::file(&path, "making room in"))?;
        // It is the only one that sets it.
        let _ = self.0.set(file);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn nothing_is_marked_before_the_file_is_in_place() {
        let run = tempfile::tempdir().unwrap();
        let (mut flight, place) = prepare(BootId::of("boot"));
        assert!(matches!(flight.mark(CallNumber(7)), Err(MarkFault::Closed)));
        place.open(run.path(), [1; 8]).unwrap();
        assert_eq!(flight.mark(CallNumber(7)).unwrap(), Mark(0), "the refused mark took no slot");
        assert!(Marks::read(run.path()).unwrap().unwrap().holds(CallNumber(7), BootId::of("boot")));
    }
}

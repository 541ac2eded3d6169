//! The person's PIN: an argon2id hash and the count of wrong tries, in one small private file; the PIN itself is kept
//! nowhere. A file that cannot be read is an error and never means that there is no PIN.

use crate::private_file::{FileFault, PrivateFile};
use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Fewest characters of a PIN.
pub const SHORTEST: usize = 4;
/// Most characters of a PIN.
pub const LONGEST: usize = 256;
/// Wrong tries in a row after which it is locked.
pub const TRIES: u32 = 5;
/// How long it is locked then, in minutes.
pub const LOCK_MINUTES: u64 = 15;

const LOCK_MS: u64 = LOCK_MINUTES * 60_000;
/// Largest file that is read, in bytes.
const LARGEST: u64 = 16 * 1024;

/// Why a PIN was not accepted, set or removed.
#[derive(Debug, thiserror::Error)]
pub enum PinError {
    /// One is set, and none was given.
    #[error("this needs the PIN")]
    Required,
    /// Another one is set.
    #[error("that is not the PIN; {left} more {} before it is locked for {LOCK_MINUTES} minutes", tries(*.left))]
    Wrong {
        /// Tries that are left.
        left: u32,
    },
    /// Too many wrong ones.
    #[error("the PIN is locked after {TRIES} wrong tries, for {minutes} more {}", if *.minutes == 1 { "minute" } else { "minutes" })]
    Locked {
        /// Minutes until it can be tried again, rounded up.
        minutes: u64,
    },
    /// It would be guessed, or is no PIN.
    #[error("a PIN has {SHORTEST} to {LONGEST} characters")]
    Length,
    /// The hash could not be made or compared.
    #[error("the PIN cannot be hashed")]
    Hash(#[source] argon2::password_hash::Error),
    /// Its file cannot be used.
    #[error(transparent)]
    File(#[from] FileFault),
}

/// Whether it can be a PIN.
///
/// # Errors
/// It is too short or too long.
pub fn is_fit(new: &str) -> Result<(), PinError> {
    match (SHORTEST..=LONGEST).contains(&new.chars().count()) {
        true => Ok(()),
        false => Err(PinError::Length),
    }
}

fn tries(left: u32) -> &'static str {
    if left == 1 { "try" } else { "tries" }
}

/// What a look at the PIN showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The right one was given.
    Right,
    /// None is set: whatever was given says nothing.
    NotSet,
}

/// The PIN. Its calls hash on purpose for long and sync a file: never on a thread that others wait for, but for
/// [`Pin::is_set`] and [`Pin::locked_minutes`].
pub struct Pin {
    file: PrivateFile,
    kept: Mutex<Option<Kept>>,
    is_set: AtomicBool,
    /// Until when it is locked, in milliseconds since 1970; 0: it is not.
    locked_until_ms: AtomicU64,
}

impl std::fmt::Debug for Pin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pin").field("is_set", &self.is_set()).finish_non_exhaustive()
    }
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    /// As a PHC string: `$argon2id$v=19$m=…`.
    hash: String,
    /// Wrong tries in a row, the one under way among them.
    wrong: u32,
    /// Until when it is locked, in milliseconds since 1970.
    locked_until_ms: Option<u64>,
}

impl Pin {
    /// Reads what is kept.
    pub fn open(file: &Path) -> Result<Pin, PinError> {
        let file = PrivateFile::new(file, "the file of a PIN", LARGEST);
        let kept =
            file.read(|kept: &Kept| PasswordHash::new(&kept.hash).map(drop).map_err(|_| "`hash` is no hash of a PIN"))?;
        let locked_until_ms = AtomicU64::new(locked_until(kept.as_ref()));
        Ok(Pin { file, is_set: AtomicBool::new(kept.is_some()), locked_until_ms, kept: Mutex::new(kept) })
    }

    /// For how many more minutes it is locked, rounded up; None: it is not. Never waits.
    pub fn locked_minutes(&self) -> Option<u64> {
        self.locked_minutes_at(now_ms())
    }

    fn locked_minutes_at(&self, now_ms: u64) -> Option<u64> {
        let left = self.locked_until_ms.load(Ordering::Acquire).saturating_sub(now_ms);
        (left > 0).then(|| left.min(LOCK_MS).div_ceil(60_000))
    }

    /// Whether one is set. Never waits.
    pub fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    /// Compares. Tries are counted before they are compared, so that nobody gets one for free by ending the hub.
    pub fn check(&self, typed: Option<&str>) -> Result<Shown, PinError> {
        self.check_at(typed, now_ms())
    }

    /// Sets (`new` alone), changes (`old` and `new`) or removes (`old` alone) the PIN.
    pub fn change(&self, old: Option<&str>, new: Option<&str>) -> Result<(), PinError> {
        self.change_at(old, new, now_ms())
    }

    fn check_at(&self, typed: Option<&str>, now_ms: u64) -> Result<Shown, PinError> {
        self.compare(&mut self.lock(), typed, now_ms)
    }

    fn change_at(&self, old: Option<&str>, new: Option<&str>, now_ms: u64) -> Result<(), PinError> {
        // Before the old one is compared: a new one that cannot be set costs no try.
        new.map_or(Ok(()), is_fit)?;
        let mut kept = self.lock();
        self.compare(&mut kept, old, now_ms)?;
        let hashed = |new: &str| Argon2::default().hash_password(new.as_bytes()).map(|hash| hash.to_string());
        let next = new.map(hashed).transpose().map_err(PinError::Hash)?;
        self.put(&mut kept, next.map(|hash| Kept { hash, wrong: 0, locked_until_ms: None }))
    }

    fn compare(&self, kept: &mut Option<Kept>, typed: Option<&str>, now_ms: u64) -> Result<Shown, PinError> {
        let Some(mut next) = kept.clone() else { return Ok(Shown::NotSet) };
        if let Some(until) = next.locked_until_ms {
            if until > now_ms + LOCK_MS {
                // The clock was set back: the lock begins again, or it would last until the clock has caught up.
                next.locked_until_ms = Some(now_ms + LOCK_MS);
                self.put(kept, Some(next))?;
                return Err(locked(LOCK_MS));
            }
            if now_ms < until {
                return Err(locked(until - now_ms));
            }
            (next.wrong, next.locked_until_ms) = (0, None);
        }
        let typed = typed.filter(|typed| !typed.is_empty()).ok_or(PinError::Required)?;
        next.wrong += 1;
        next.locked_until_ms = (next.wrong >= TRIES).then_some(now_ms + LOCK_MS);
        self.put(kept, Some(next.clone()))?;
        // Read at the start or made here: it is one.
        let hash = PasswordHash::new(&next.hash).map_err(|error| PinError::Hash(error.into()))?;
        match Argon2::default().verify_password(typed.as_bytes(), &hash) {
            Ok(()) => {
                let right = Kept { hash: next.hash, wrong: 0, locked_until_ms: None };
                self.put(kept, Some(right))?;
                Ok(Shown::Right)
            }
            Err(argon2::password_hash::Error::PasswordInvalid) if next.wrong >= TRIES => Err(locked(LOCK_MS)),
            Err(argon2::password_hash::Error::PasswordInvalid) => Err(PinError::Wrong { left: TRIES - next.wrong }),
            Err(error) => Err(PinError::Hash(error)),
        }
    }

    /// The file first: what could not be written is not believed.
    fn put(&self, kept: &mut Option<Kept>, next: Option<Kept>) -> Result<(), PinError> {
        match &next {
            Some(next) => self.file.write(next)?,
            None => self.file.remove()?,
        }
        self.is_set.store(next.is_some(), Ordering::Release);
        self.locked_until_ms.store(locked_until(next.as_ref()), Ordering::Release);
        *kept = next;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn locked_until(kept: Option<&Kept>) -> u64 {
    kept.and_then(|kept| kept.locked_until_ms).unwrap_or_default()
}

fn locked(left_ms: u64) -> PinError {
    PinError::Locked { minutes: left_ms.div_ceil(60_000) }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use std::path::PathBuf;

    fn home() -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("pin.json");
        (home, file)
    }

    #[test]
    fn it_is_set_changed_and_removed_by_who_knows_it() {
        let (_home, file) = home();
        let pin = Pin::open(&file).unwrap();
        assert_eq!((pin.check(None).unwrap(), pin.is_set()), (Shown::NotSet, false));
        assert_eq!(pin.check(Some("4711")).unwrap(), Shown::NotSet);
        for bad in ["", "123", &"x".repeat(257)] {
            assert!(matches!(pin.change(None, Some(bad)), Err(PinError::Length)), "{bad}");
        }
        assert!(!file.exists());
        pin.change(None, Some("4711ä")).unwrap();
        assert!(pin.is_set());
        assert!(matches!(pin.check(None), Err(PinError::Required)));
        assert!(matches!(pin.check(Some("")), Err(PinError::Required)));
        assert!(matches!(pin.change(None, Some("0815")), Err(PinError::Required)));
        assert!(matches!(pin.change(None, None), Err(PinError::Required)));
        assert!(matches!(pin.change(Some("0815"), None), Err(PinError::Wrong { left: 4 })));
        assert_eq!(pin.check(Some("4711ä")).unwrap(), Shown::Right);
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains("$argon2id$") && !text.contains("4711"), "{text}");
        assert!(!format!("{pin:?}").contains("argon2id"));

        let again = Pin::open(&file).unwrap();
        again.change(Some("4711ä"), Some("0815")).unwrap();
        assert!(matches!(again.check(Some("4711ä")), Err(PinError::Wrong { left: 4 })));
        again.change(Some("0815"), None).unwrap();
        assert!(!again.is_set() && !file.exists());
        assert_eq!(Pin::open(&file).unwrap().check(None).unwrap(), Shown::NotSet);
    }

    #[test]
    fn five_wrong_ones_lock_it_and_a_restart_forgets_none() {
        let (_home, file) = home();
        let pin = Pin::open(&file).unwrap();
        pin.change(None, Some("4711")).unwrap();
        let wrong = |left: u32, at: u64| {
            let answer = Pin::open(&file).unwrap().check_at(Some("nope"), at);
            assert!(matches!(answer, Err(PinError::Wrong { left: is }) if is == left), "{left}: {answer:?}");
        };
        (1..TRIES).rev().for_each(|left| wrong(left, 0));
        let pin = Pin::open(&file).unwrap();
        let locked = |pin: &Pin, at: u64, minutes: u64| {
            // Not even the right one, and none is told apart from it.
            for typed in [Some("4711"), Some("nope"), None] {
                let answer = pin.check_at(typed, at);
                assert!(matches!(answer, Err(PinError::Locked { minutes: is }) if is == minutes), "{at}: {answer:?}");
            }
        };
        assert_eq!(pin.locked_minutes_at(0), None);
        assert!(matches!(pin.check_at(Some("nope"), 0), Err(PinError::Locked { minutes: 15 })));
        locked(&pin, 1, 15);
        locked(&Pin::open(&file).unwrap(), LOCK_MS - 1, 1);
        assert!(matches!(pin.change_at(Some("4711"), None, 5), Err(PinError::Locked { .. })));
        wrong(4, LOCK_MS);
        assert_eq!(Pin::open(&file).unwrap().check_at(Some("4711"), LOCK_MS).unwrap(), Shown::Right);
        wrong(4, LOCK_MS);
    }

    #[test]
    fn a_clock_that_went_back_locks_no_longer_than_a_lock_lasts() {
        let (_home, file) = home();
        let pin = Pin::open(&file).unwrap();
        pin.change(None, Some("4711")).unwrap();
        let far = 1 << 50;
        (0..TRIES).for_each(|_| drop(pin.check_at(Some("nope"), far)));
        assert!(matches!(pin.check_at(Some("4711"), 0), Err(PinError::Locked { minutes: 15 })));
        let told = |now| [pin.locked_minutes_at(now), Pin::open(&file).unwrap().locked_minutes_at(now)];
        // That look has begun the lock again.
        assert_eq!((told(0), told(LOCK_MS - 1), told(LOCK_MS)), ([Some(15); 2], [Some(1); 2], [None; 2]));
        assert_eq!(pin.check_at(Some("4711"), LOCK_MS).unwrap(), Shown::Right);
        assert_eq!(told(0), [None; 2]);
    }

    #[test]
    fn unreadable_is_not_unset_and_what_cannot_be_counted_is_not_compared() {
        let (home, file) = home();
        for text in ["", "{}", "{\"hash\":\"x\",\"wrong\":0,\"locked_until_ms\":null}"] {
            std::fs::write(&file, text).unwrap();
            assert!(matches!(Pin::open(&file), Err(PinError::File(FileFault::Garbled { .. }))), "{text}");
        }
        assert!(matches!(Pin::open(home.path()), Err(PinError::File(FileFault::Io { .. }))));
        let folder = home.path().join("state");
        std::fs::create_dir(&folder).unwrap();
        let pin = Pin::open(&folder.join("pin.json")).unwrap();
        pin.change(None, Some("4711")).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(matches!(pin.check(Some("4711")), Err(PinError::File(FileFault::Io { .. }))));
        assert!(pin.is_set());
    }
}

//! Seals argument values and results before they reach the disk (docs/approvals.md). The key lies in a file of its own, so
//! that a copied database tells no values. What it opens is bound to one call and one column.

use crate::chain::{new_key, unhex};
use crate::places::{self, Draft};
use crate::{CallNumber, StoreFault, chain};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use sha2::{Digest, Sha256};
use std::path::Path;

/// File of the key inside the data folder.
pub(crate) const SEAL_FILE: &str = "seal.key";
/// First byte of all that is sealed so.
const VERSION: u8 = 1;
const NONCE: usize = 24;

/// What is sealed; a number is never given a second meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Column {
    Arguments = 1,
    Edited = 2,
    Result = 3,
    KeptArguments = 4,
    KeptResult = 5,
}

/// The key that seals.
#[derive(Clone)]
pub(crate) struct Seal {
    cipher: XChaCha20Poly1305,
    mark: [u8; 8],
}

impl Seal {
    pub(crate) fn new(key: &[u8; 32]) -> Seal {
        let hash = Sha256::new().chain_update(b"callgate seal mark 1").chain_update(key).finalize();
        let mut mark = [0; 8];
        mark.copy_from_slice(&hash[..8]);
        Seal { cipher: XChaCha20Poly1305::new(key.into()), mark }
    }

    /// Tells this key from others; tells nothing of it.
    pub(crate) fn mark(&self) -> [u8; 8] {
        self.mark
    }

    /// Reads the key file; None where there is none.
    pub(crate) fn read(dir: &Path) -> Result<Option<Seal>, StoreFault> {
        let path = dir.join(SEAL_FILE);
        let Some(text) = places::read_private(&path)? else { return Ok(None) };
        match unhex(text.trim_ascii()) {
            Some(key) => Ok(Some(Seal::new(&key))),
            None => Err(StoreFault::KeyUnreadable { path }),
        }
    }

    /// A new key and its file. What was sealed by a key that is gone stays sealed, and is told as such.
    pub(crate) fn draft(dir: &Path) -> Result<(Seal, Draft), StoreFault> {
        let key = new_key()?;
        let draft = Draft::new(&dir.join(SEAL_FILE), format!("{}\n", chain::hex(&key)).as_bytes())?;
        Ok((Seal::new(&key), draft))
    }
    /// Puts a new key into its place.
    pub(crate) fn make(dir: &Path) -> Result<Seal, StoreFault> {
        let (seal, draft) = Seal::draft(dir)?;
        places::put(vec![draft])?;
        Ok(seal)
    }

    /// Seals with a random nonce.
    pub(crate) fn seal(&self, call: CallNumber, column: Column, plain: &[u8]) -> rusqlite::Result<Vec<u8>> {
        let failed = || rusqlite::Error::ToSqlConversionFailure("sealing failed".into());
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).map_err(|_| failed())?;
        let bound = bound(call, column);
        let payload = Payload { msg: plain, aad: &bound };
        let body = self.cipher.encrypt(&XNonce::from(nonce), payload).map_err(|_| failed())?;
        Ok([&[VERSION], &nonce[..], &body].concat())
    }

    /// Opens what [`Seal::seal`] sealed for this call and column; None: it was sealed otherwise, or is damaged.
    pub(crate) fn open(&self, call: CallNumber, column: Column, sealed: &[u8]) -> Option<Vec<u8>> {
        let (&VERSION, rest) = sealed.split_first()? else { return None };
        let (&nonce, body) = rest.split_first_chunk::<NONCE>()?;
        let bound = bound(call, column);
        self.cipher.decrypt(&XNonce::from(nonce), Payload { msg: body, aad: &bound }).ok()
    }
}

fn bound(call: CallNumber, column: Column) -> [u8; 9] {
    let mut bound = [column as u8; 9];
    bound[..8].copy_from_slice(&call.0.to_le_bytes());
    bound
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_the_same_key_call_and_column_open_it() {
        let (seal, call) = (Seal::new(&[7; 32]), CallNumber(5));
        let sealed = seal.seal(call, Column::Arguments, b"hunter2").unwrap();
        let open = |seal: &Seal, call, column, sealed: &[u8]| seal.open(call, column, sealed);
        assert_eq!(open(&seal, call, Column::Arguments, &sealed).unwrap(), b"hunter2");
        assert_eq!(open(&Seal::new(&[8; 32]), call, Column::Arguments, &sealed), None);
        assert_eq!(open(&seal, CallNumber(6), Column::Arguments, &sealed), None);
        assert_eq!(open(&seal, call, Column::Edited, &sealed), None);
        for place in 0..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[place] ^= 1;
            assert_eq!(open(&seal, call, Column::Arguments, &damaged), None, "byte {place}");
            assert_eq!(open(&seal, call, Column::Arguments, &sealed[..place]), None, "{place} bytes");
        }
        assert_ne!(seal.seal(call, Column::Arguments, b"hunter2").unwrap(), sealed, "the nonce is random");
    }
}

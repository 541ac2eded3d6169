//! The keyed hashes of the audit: the chain over rows, and the tags that stand for values and unknown names.

use crate::StoreFault;
use crate::places::{self, Draft};
use contract::Hash;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::path::Path;

/// Hash of a row and, through it, of all rows before. Zeros before the first row.
pub(crate) type Link = [u8; 32];

/// HMAC-SHA256 with a fixed key.
#[derive(Clone)]
pub(crate) struct Keyed(Hmac<Sha256>);

impl Keyed {
    fn new(key: &[u8; 32]) -> Keyed {
        // HMAC pads a short key with zeros to a whole block: the result is that of the 32 bytes.
        let mut block = [0; 64];
        block[..32].copy_from_slice(key);
        Keyed(Hmac::new(&block.into()))
    }

    pub(crate) fn tag(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = self.0.clone();
        for part in parts {
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }

    /// The first eight bytes of the tag.
    pub(crate) fn short(&self, parts: &[&[u8]]) -> [u8; 8] {
        let mut short = [0; 8];
        short.copy_from_slice(&self.tag(parts)[..8]);
        short
    }
}

/// The audit key, split by purpose.
#[derive(Clone)]
pub(crate) struct Keys {
    /// Links rows.
    pub chain: Keyed,
    /// Stands for argument values.
    pub values: Keyed,
    /// Stands for names that match nothing.
    pub names: Keyed,
    /// Stands for whole arguments and for idempotency keys.
    pub digests: Keyed,
}

/// File of the audit key inside the data folder.
pub(crate) const KEY_FILE: &str = "audit.key";

impl Keys {
    pub(crate) fn new(key: &[u8; 32]) -> Keys {
        let chain = Keyed::new(key);
        let values = Keyed::new(&chain.tag(&[b"callgate audit values 1"]));
        let names = Keyed::new(&chain.tag(&[b"callgate audit names 1"]));
        let digests = Keyed::new(&chain.tag(&[b"callgate audit digests 1"]));
        Keys { chain, values, names, digests }
    }

    /// Tells this key from others; tells nothing of it.
    pub(crate) fn mark(&self) -> [u8; 8] {
        self.chain.short(&[b"callgate audit mark 1"])
    }

    /// What stands for a hash of values.
    pub(crate) fn keyed(&self, plain: Hash) -> Hash {
        Hash::from_bytes(self.digests.tag(&[plain.as_bytes()]))
    }

    /// Reads the key file; None where there is none.
    pub(crate) fn read(dir: &Path) -> Result<Option<Keys>, StoreFault> {
        let path = dir.join(KEY_FILE);
        let Some(text) = places::read_private(&path)? else { return Ok(None) };
        match unhex(text.trim_ascii()) {
            Some(key) => Ok(Some(Keys::new(&key))),
            None => Err(StoreFault::KeyUnreadable { path }),
        }
    }

    /// The file of a new key.
    pub(crate) fn draft(dir: &Path, key: &[u8; 32]) -> Result<Draft, StoreFault> {
        Draft::new(&dir.join(KEY_FILE), format!("{}\n", hex(key)).as_bytes())
    }
}

/// A new key.
pub(crate) fn new_key() -> Result<[u8; 32], StoreFault> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|_| StoreFault::Random)?;
    Ok(key)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

pub(crate) fn unhex(text: &[u8]) -> Option<[u8; 32]> {
    let mut out = [0; 32];
    if text.len() != 64 {
        return None;
    }
    for (byte, pair) in out.iter_mut().zip(text.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(out)
}

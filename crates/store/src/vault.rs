//! What is too large to be read at start: results that can be replayed, texts that were approved. Read only; blocks,
//! so it is for the blocking pool.

use crate::{CallNumber, PinKind, ReadFault};
use bytes::Bytes;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A read-only look at sealed results and approved texts. Cheap to clone, for any thread.
#[derive(Clone)]
pub struct Vault(Arc<Inner>);

struct Inner {
    dir: PathBuf,
}

impl Vault {
    pub(crate) fn new(dir: &Path) -> Vault {
        Vault(Arc::new(Inner { dir: dir.to_owned() }))
    }

    /// The result of a call with a key; None where its body was evicted, or there never was one.
    ///
    /// # Errors
    /// Where it is there but can't be read or unsealed.
    pub fn result(&self, call: CallNumber) -> Result<Option<Bytes>, ReadFault> {
        let _ = (call, &self.0.dir);
        Err(ReadFault::Sealed { what: "the result" })
    }

    /// The approved text of a pin; None where there is no such pin.
    ///
    /// # Errors
    /// Where it can't be read.
    pub fn approved(&self, server: &str, launch: &str, kind: PinKind, name: &str) -> Result<Option<String>, ReadFault> {
        let _ = (server, launch, kind, name);
        Err(ReadFault::Sealed { what: "the approved text" })
    }
}

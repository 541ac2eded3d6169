//! Keeps a pipe's name and its access list: the first instance of the name, which is never spoken over.

use interprocess::os::windows::named_pipe::{PipeListener, PipeListenerOptions, pipe_mode::Bytes};
use interprocess::os::windows::security_descriptor::SecurityDescriptor;
use std::fs::{File, OpenOptions};
use std::io;
use widestring::u16cstr;

/// The first instance decides who may open the pipe and who may add instances: its owner alone. Both ends of it are
/// held here, so that no client meets it.
pub(crate) struct Keeper {
    _server: PipeListener<Bytes, Bytes>,
    _client: File,
}

impl std::fmt::Debug for Keeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keeper")
    }
}

impl Keeper {
    /// Takes the name. Fails if anybody has it already.
    pub fn take(name: &str) -> io::Result<Keeper> {
        // Protected, inherits nothing: all rights for the owner (OW), none for anybody else.
        let owner_only = SecurityDescriptor::deserialize(u16cstr!("D:P(A;;GA;;;OW)"))?;
        let server =
            PipeListenerOptions::new().path(name).security_descriptor(Some(owner_only)).create_duplex::<Bytes>()?;
        let client = OpenOptions::new().read(true).write(true).open(name)?;
        Ok(Keeper { _server: server, _client: client })
    }
}

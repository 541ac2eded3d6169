//! The hub's end of a door: a pipe that only this user can open, and the sign that tells its name.

use crate::keeper::Keeper;
use crate::sign::Sign;
use std::io;
use std::path::Path;
use tokio::net::windows::named_pipe::{NamedPipeServer, ServerOptions};

/// What one direction of a connection holds, in bytes.
const BUFFER: u32 = 64 << 10;

/// A listening pipe; its sign goes when this is dropped.
#[derive(Debug)]
pub struct Listener {
    next: NamedPipeServer,
    name: String,
    _sign: Sign,
    _keeper: Keeper,
}

impl Listener {
    /// Listens, and puts up a sign at `sign`. The caller must hold the hub's lock; needs a tokio runtime with I/O.
    pub fn open(sign: &Path) -> io::Result<Listener> {
        let name = crate::fresh_name()?;
        let keeper = Keeper::take(&name)?;
        let next = instance(&name)?;
        let sign = Sign::put(sign, &name)?;
        Ok(Listener { next, name, _sign: sign, _keeper: keeper })
    }

    /// The pipe's name, for those who cannot read a sign.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The next client. Nothing is lost if the wait is given up.
    pub async fn accept(&mut self) -> io::Result<NamedPipeServer> {
        let met = self.next.connect().await;
        // Replaced also where the client has left already: an instance that failed is of no more use.
        let taken = std::mem::replace(&mut self.next, instance(&self.name)?);
        met.map(|()| taken)
    }
}

/// One more instance. The access list of the first holds for it; that it can be added at all needs a right which the
/// list gives to the owner alone.
fn instance(name: &str) -> io::Result<NamedPipeServer> {
    ServerOptions::new().reject_remote_clients(true).in_buffer_size(BUFFER).out_buffer_size(BUFFER).create(name)
}

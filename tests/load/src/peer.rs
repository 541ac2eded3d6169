//! What is loaded, whatever carries the messages.

/// Why nothing was measured.
#[derive(Debug)]
pub enum Fault {
    Usage(String),
    Io(std::io::Error),
    /// The peer did not do what it should.
    Peer(String),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::Usage(why) | Fault::Peer(why) => f.write_str(why),
            Fault::Io(error) => error.fmt(f),
        }
    }
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Fault {
        Fault::Io(error)
    }
}

impl From<rustix::io::Errno> for Fault {
    fn from(error: rustix::io::Errno) -> Fault {
        Fault::Io(error.into())
    }
}

/// One peer; each lane carries one request at a time, or, where there is one connection only, any number.
pub trait Peer {
    /// Queues one message.
    fn send(&mut self, lane: usize, message: &[u8]) -> Result<(), Fault>;
    /// Writes what is queued, then waits for at least one message and gives all that have come.
    fn turn(&mut self, got: &mut dyn FnMut(usize, &[u8])) -> Result<(), Fault>;
    /// The process at the other end, where it is a child.
    fn pid(&self) -> Option<u32>;
}

/// One request, and its answer.
pub fn ask(peer: &mut dyn Peer, message: &[u8]) -> Result<Vec<u8>, Fault> {
    peer.send(0, message)?;
    let id = super::wire::id_of(message);
    let mut answer = None;
    while answer.is_none() {
        peer.turn(&mut |_, text| {
            if super::wire::id_of(text) == id {
                answer = Some(text.to_vec());
            }
        })?;
    }
    Ok(answer.unwrap_or_default())
}

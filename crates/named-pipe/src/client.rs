//! The other end of a door: finds the pipe by its sign and makes sure that the hub is behind it.

use crate::sign;
use interprocess::ConnectWaitMode;
use interprocess::os::windows::named_pipe::{
    DuplexPipeStream, RecvPipeStream, SendPipeStream, pipe_mode::Bytes, tokio::DuplexPipeStream as Async,
};
use std::io;
use std::path::Path;
use std::time::Duration;

/// How long the hub may take to be ready for one more client.
const PATIENCE: ConnectWaitMode = ConnectWaitMode::Timeout(Duration::from_secs(2));

/// A connection for programs with a tokio runtime.
pub type Stream = Async<Bytes>;
/// A connection for programs without one; may be read and written at the same time.
pub type Blocking = DuplexPipeStream<Bytes>;
/// Its reading half.
pub type Hearing = RecvPipeStream<Bytes>;
/// Its writing half.
pub type Speaking = SendPipeStream<Bytes>;

/// Connects to the door that `sign` tells of. `NotFound` where nobody serves it.
pub async fn connect(sign: &Path) -> io::Result<Stream> {
    let said = sign::read(sign)?;
    let stream = Stream::connect_by_path_with_wait_mode(said.name.as_str(), PATIENCE).await?;
    check(said.pid, stream.server_process_id()?)?;
    Ok(stream)
}

/// The same for a program that waits.
pub fn connect_blocking(sign: &Path) -> io::Result<Blocking> {
    let said = sign::read(sign)?;
    let stream = Blocking::connect_by_path_with_wait_mode(said.name.as_str(), PATIENCE)?;
    check(said.pid, stream.server_process_id()?)?;
    Ok(stream)
}

/// After a crash the sign is stale, and anybody may serve a pipe of that name.
fn check(told: u32, serves: u32) -> io::Result<()> {
    if told == serves {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!("process {serves} serves the pipe, not the hub ({told})"),
    ))
}

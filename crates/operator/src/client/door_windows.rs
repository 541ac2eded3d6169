//! Connects to the pipe, after making sure that the hub is behind it. Type-checked, not run yet.

use super::ClientError;
use std::io::ErrorKind;
use std::path::Path;

/// A connection.
pub type Stream = named_pipe::Stream;

/// Connects. The file that tells the pipe's name lies in the user's own folder, and the process that serves the pipe
/// must be the one that it tells.
pub async fn connect(socket: &Path) -> Result<Stream, ClientError> {
    named_pipe::connect(socket).await.map_err(|cause| match cause.kind() {
        ErrorKind::NotFound | ErrorKind::TimedOut => ClientError::NoHub { socket: socket.into() },
        ErrorKind::PermissionDenied | ErrorKind::InvalidData => {
            ClientError::Untrusted { path: socket.into(), why: cause.to_string() }
        }
        _ => ClientError::broken(cause),
    })
}

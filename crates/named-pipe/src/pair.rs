//! The pipes of a program that is to be started. Ours can be waited for by tokio; the program's is an ordinary file,
//! because runtimes expect to read and write their standard streams the plain way.

use std::fs::{File, OpenOptions};
use std::io;
use tokio::net::windows::named_pipe::{NamedPipeServer, ServerOptions};

/// What a pipe holds, in bytes.
const BUFFER: u32 = 64 << 10;

/// A pipe from the program to us.
pub async fn inbound() -> io::Result<(NamedPipeServer, File)> {
    let name = crate::fresh_name()?;
    let ours = options().access_outbound(false).create(&name)?;
    // Whoever came first would make this fail: there is only one instance.
    let theirs = OpenOptions::new().write(true).open(&name)?;
    ours.connect().await?;
    Ok((ours, theirs))
}

/// A pipe from us to the program.
pub async fn outbound() -> io::Result<(NamedPipeServer, File)> {
    let name = crate::fresh_name()?;
    let ours = options().access_inbound(false).create(&name)?;
    let theirs = OpenOptions::new().read(true).open(&name)?;
    ours.connect().await?;
    Ok((ours, theirs))
}

fn options() -> ServerOptions {
    let mut options = ServerOptions::new();
    options.first_pipe_instance(true).max_instances(1).reject_remote_clients(true);
    options.in_buffer_size(BUFFER).out_buffer_size(BUFFER);
    options
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use std::io::{Read, Write};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn what_one_side_writes_the_other_reads() {
        let (mut ours, mut theirs) = inbound().await.unwrap();
        theirs.write_all(b"hello").unwrap();
        drop(theirs);
        let mut said = Vec::new();
        // The end of the other side is told as a broken pipe here.
        let _ = ours.read_to_end(&mut said).await;
        assert_eq!(said, b"hello");

        let (mut ours, mut theirs) = outbound().await.unwrap();
        ours.write_all(b"world").await.unwrap();
        drop(ours);
        let mut said = String::new();
        theirs.read_to_string(&mut said).unwrap();
        assert_eq!(said, "world");
    }
}

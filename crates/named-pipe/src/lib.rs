//! Windows: named pipes, as the two local doors of the hub and as the pipes of its servers. Type-checked, not run yet.
//! Empty on other systems, which have Unix sockets and pipes. Knows nothing of what is said over a pipe.
#![cfg(windows)]

mod client;
mod keeper;
mod listener;
mod pair;
mod sign;

pub use client::{Blocking, Hearing, Speaking, Stream, connect, connect_blocking};
pub use listener::Listener;
pub use pair::{inbound, outbound};
pub use tokio::net::windows::named_pipe::NamedPipeServer as Server;

use std::io;

/// A name that nobody can guess, and so nobody can have taken before us.
fn fresh_name() -> io::Result<String> {
    let mut random = [0u8; 16];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!(r"\\.\pipe\callgate-{hex}"))
}

//! Our ends of a program's pipes, as the system this is built for has them.

/// What a program says or complains about comes from here.
#[cfg(unix)]
pub type Incoming = std::os::fd::OwnedFd;
/// What a program is told goes here; dropping it tells the program that nothing more will come.
#[cfg(unix)]
pub type Outgoing = std::os::fd::OwnedFd;

/// What a program says or complains about comes from here.
#[cfg(windows)]
pub type Incoming = named_pipe::Server;
/// What a program is told goes here; dropping it tells the program that nothing more will come.
#[cfg(windows)]
pub type Outgoing = named_pipe::Server;

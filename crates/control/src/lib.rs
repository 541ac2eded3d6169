//! Door for the person: serves the operations on a local socket.

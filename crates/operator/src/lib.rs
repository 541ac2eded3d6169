//! The closed list of operations, their words, and the client for operator.sock.

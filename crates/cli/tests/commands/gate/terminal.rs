//! What needs a terminal, in a real one.

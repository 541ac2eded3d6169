//! The door for agents: MCP over a Unix socket and Streamable HTTP. Holds the agents' handle and nothing a person's.

pub mod http;
pub mod socket;

/// A key that nobody else has.
fn fresh_key() -> std::rc::Rc<str> {
    let mut key = [0u8; 16];
    // Without randomness the process id and the time in it are not secret, but still nobody else's.
    if getrandom::fill(&mut key).is_err() {
        key[..4].copy_from_slice(&std::process::id().to_le_bytes());
    }
    key.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into()
}

//! The small files a running hub leaves for others: endpoint.json, hub.json, the token, a first config.

use crate::system;
use hub::config::Places;
use std::io::{self, Write};
use std::path::Path;

/// Writes a file of the user's own whole or not at all.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let fresh = path.with_extension("new");
    remove(&fresh);
    let mut file = system::private_file().create_new(true).write(true).open(&fresh)?;
    file.write_all(text.as_bytes())?;
    drop(file);
    std::fs::rename(&fresh, path)
}

/// Removes a file that may not be there.
pub(super) fn remove(path: &Path) {
    // What cannot be removed is replaced or refused where it is used.
    let _ = std::fs::remove_file(path);
}

/// A person stopped the hub: adapters that are running now do not start another one.
pub(super) fn mark_stopped(places: &Places) {
    if let Err(error) = write(&places.run.join("stopped"), "") {
        tracing::warn!(%error, "the stop could not be marked");
    }
}

/// The agents' default token; made at the first start.
pub(super) fn token(path: &Path) -> io::Result<String> {
    if let Ok(text) = std::fs::read_to_string(path)
        && text.trim().len() >= 32
    {
        return Ok(text.trim().to_owned());
    }
    let token = hub::tokens::secret().ok_or_else(|| io::Error::other("the system has no randomness"))?;
    write(path, &format!("{token}\n"))?;
    Ok(token)
}

/// Tells others where this hub is: the last thing at start, so whoever reads it finds everything open.
pub(super) fn announce(places: &Places, binary: &Path, url: Option<&String>) -> io::Result<()> {
    let hub = serde_json::json!({ "path": binary, "version": env!("CARGO_PKG_VERSION") });
    write(&places.state.join("hub.json"), &format!("{hub}\n"))?;
    let endpoint = serde_json::json!({
        "pid": std::process::id(),
        "started_at": jiff::Timestamp::now().to_string(),
        "version": env!("CARGO_PKG_VERSION"),
        "mcp_url": url,
        "agent_socket": places.agent_socket(),
        "operator_socket": places.operator_socket(),
        "token_file": places.token(),
    });
    write(&places.endpoint(), &format!("{endpoint}\n"))
}

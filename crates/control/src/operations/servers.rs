//! Changes of the config's servers: written first, then applied as any other change of the file.

use super::after;
use crate::problems::{Failure, Outcome};
use crate::routes::Shared;
use crate::views;
use hub::config::{self, Edit, EditError, ReadError};
use operator::words::{ConfigChange, ServerAdd};

/// Writes pasted or typed entries.
pub async fn add(shared: &Shared, asked: ServerAdd) -> Outcome<ConfigChange> {
    let entries = config::pasted(&asked.entry, asked.name.as_deref())
        .map_err(|error| Failure::new("bad_input", error.to_string()))?;
    let names: Vec<String> = entries.iter().map(|(name, _)| name.clone()).collect();
    let edits = entries.into_iter().map(|(name, entry)| Edit::Add { name, entry }).collect();
    let mut change = write(shared, edits).await?;
    note(&mut change.added, names.clone());
    if change.problems.is_empty() {
        // All at once: whoever asked waits for the slowest only.
        let all = names.iter().map(|name| after::started(&shared.parts.hub, name));
        change.next = futures_util::future::join_all(all).await.into_iter().flatten().collect();
    }
    Ok(change)
}

/// Takes an entry out.
pub async fn remove(shared: &Shared, name: String) -> Outcome<ConfigChange> {
    let mut change = write(shared, vec![Edit::Remove { name: name.clone() }]).await?;
    change.next = after::removed(&shared.parts.hub, &name).await;
    note(&mut change.removed, vec![name]);
    Ok(change)
}

/// Switches a server on.
pub async fn enable(shared: &Shared, name: String) -> Outcome<ConfigChange> {
    let mut change = write(shared, vec![Edit::Enable { name: name.clone() }]).await?;
    if change.problems.is_empty() {
        change.next = after::started(&shared.parts.hub, &name).await;
    }
    note(&mut change.changed, vec![name]);
    Ok(change)
}

/// Switches a server off.
pub async fn disable(shared: &Shared, name: String) -> Outcome<ConfigChange> {
    let mut change = write(shared, vec![Edit::Disable { name: name.clone() }]).await?;
    if change.problems.is_empty() {
        change.next = after::disabled(&shared.parts.hub, &name).await;
    }
    note(&mut change.changed, vec![name]);
    Ok(change)
}

async fn write(shared: &Shared, edits: Vec<Edit>) -> Outcome<ConfigChange> {
    // One change after the other: each is made in the text that the one before has left.
    let _turn = shared.edits.lock().await;
    let file = shared.parts.places.config.clone();
    let written = tokio::task::spawn_blocking(move || config::apply_all(&file, &edits)).await;
    let warnings =
        written.map_err(|_| Failure::new("internal", "the config could not be written"))?.map_err(failure)?;
    let mut change = views::change(shared.parts.hub.reload().await?);
    change.warnings = warnings.iter().map(ToString::to_string).collect();
    Ok(change)
}

/// The watch of the file may have applied the change before our own reload: then that has nothing to report.
fn note(listed: &mut Vec<String>, names: Vec<String>) {
    for name in names {
        if !listed.contains(&name) {
            listed.push(name);
        }
    }
}

fn failure(error: EditError) -> Failure {
    let code = match &error {
        EditError::Exists(_) => "server_exists",
        EditError::Unknown(_) => "unknown_server",
        EditError::Wrong(_) | EditError::WouldBreak(_) | EditError::Read(ReadError::Wrong(_)) => "bad_config",
        EditError::Unsure | EditError::Raced => "cannot_edit",
        EditError::Read(_) | EditError::Write { .. } => "io",
    };
    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
    let failure = Failure::new(code, format!("{error}{cause}"));
    match error {
        EditError::Exists(_) | EditError::Unknown(_) => failure.next("callgate server list"),
        EditError::Wrong(_) => failure.next("callgate config check"),
        _ => failure,
    }
}

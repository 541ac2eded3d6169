//! A server's lists from one run to the next: as rows of the store, and back as if the server had just given them.

use super::facts::Known;
use crate::backend::Backend;
use bytes::Bytes;
use frame::{Version, object};
use std::time::SystemTime;
use store::{EraMemory, Snapshot};
use upstream::Listing;

/// What the store is to remember of a server: its lists and its era.
pub(crate) fn rows(backend: &Backend, listing: &Listing, known: &Known) -> (EraMemory, Snapshot) {
    let at_ms = crate::views::millis(SystemTime::now());
    let (server, launch) = (backend.key().to_string(), backend.rules().launch_hash.to_string());
    let version = listing.version.as_str().to_owned();
    let era = EraMemory { server: server.clone(), launch: launch.clone(), version: version.clone(), at_ms };
    let (tools, facts) = known.keep();
    let snapshot = Snapshot {
        server,
        launch,
        at_ms,
        version,
        server_info: text(&listing.server_info),
        capabilities: text(&listing.capabilities),
        instructions: listing.instructions.clone(),
        tools: Some(tools.into()),
        prompts: Some(array(&listing.prompts).into()),
        resources: Some(array(&listing.resources).into()),
        templates: Some(array(&listing.templates).into()),
        facts: Some(facts),
    };
    (era, snapshot)
}

/// The lists of a snapshot, and what is known of their tools; None: nothing that this version knows.
pub(crate) fn recall(snapshot: &Snapshot) -> Option<(Listing, Option<Known>)> {
    let bytes = |list: &Option<Bytes>| list.clone().unwrap_or_default();
    let entries = |text: &Bytes| object::elements(text).map(|range| text.slice(range)).collect();
    let tools = bytes(&snapshot.tools);
    let known = snapshot.facts.as_ref().and_then(|facts| Known::recall(&tools, facts));
    let listing = Listing {
        version: Version::parse(&snapshot.version)?,
        capabilities: snapshot.capabilities.clone().into(),
        server_info: snapshot.server_info.clone().into(),
        instructions: snapshot.instructions.clone(),
        tools: known.as_ref().map_or_else(|| entries(&tools), |known| known.texts().cloned().collect()),
        prompts: entries(&bytes(&snapshot.prompts)),
        resources: entries(&bytes(&snapshot.resources)),
        templates: entries(&bytes(&snapshot.templates)),
        problems: Vec::new(),
    };
    Some((listing, known))
}

fn text(bytes: &Bytes) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn array(entries: &[Bytes]) -> String {
    let entries: Vec<_> = entries.iter().map(|entry| String::from_utf8_lossy(entry)).collect();
    format!("[{}]", entries.join(","))
}

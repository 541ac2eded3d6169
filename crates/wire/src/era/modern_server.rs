//! The hub's side towards 2026-07-28 servers: each request carries what its client is and can do.

use super::meta::{self, Stamp};
use bytes::Bytes;
use frame::object::{self, Edit};
use frame::{Era, Origin, Rope, TASKS};

/// Params as a modern server gets them.
pub fn params(params: &Bytes, token: Option<u64>, origin: &Origin) -> Rope {
    let members = origin.stamp.get_or_init(|| {
        // What a legacy client could do through server→client requests is not carried over yet: nothing is declared.
        let modern = origin.version.era() == Era::Modern;
        let capabilities = if modern { without_tasks(&origin.capabilities) } else { Bytes::from_static(b"{}") };
        meta::stamp(&origin.client_info, &capabilities)
    });
    meta::for_server(params, token, Some(Stamp { members, level: origin.level.get() }))
}

/// The hub does not pass on tasks of servers: none is told that its client takes one, so that all answer in full.
pub fn without_tasks(capabilities: &Bytes) -> Bytes {
    match object::get(capabilities, "extensions") {
        Some(all) if object::get(&all, TASKS).is_some() => {
            let others = Edit::new().remove(TASKS).apply(&all).join();
            Edit::new().set("extensions", others).apply(capabilities).join()
        }
        _ => capabilities.clone(),
    }
}

/// What the hub itself is when it asks for its own sake (discover, lists, listen).
pub fn own_origin(hub_version: &str) -> Origin {
    let info = format!("{{\"name\":\"callgate\",\"version\":{}}}", object::quote(hub_version));
    Origin::new(frame::Version::V2026, info.into(), Bytes::from_static(b"{}"), None)
}

/// Whether a `server/discover` result says that the server speaks 2026-07-28.
pub fn speaks_modern(result: &Bytes) -> bool {
    object::get(result, "supportedVersions").is_some_and(|versions| {
        object::elements(&versions).any(|element| object::text(&versions[element]).is_some_and(|v| v == "2026-07-28"))
    })
}

/// The params of the hub's one `subscriptions/listen`, for the lists that the server says can change.
pub fn listen(capabilities: &Bytes) -> Option<Bytes> {
    let mut filter = Vec::new();
    for (group, key) in
        [("tools", "toolsListChanged"), ("prompts", "promptsListChanged"), ("resources", "resourcesListChanged")]
    {
        let declared = object::get(capabilities, group).and_then(|group| object::get(&group, "listChanged"));
        if declared.as_deref() == Some(b"true") {
            filter.push(format!("\"{key}\":true"));
        }
    }
    (!filter.is_empty()).then(|| format!("{{\"notifications\":{{{}}}}}", filter.join(",")).into())
}

//! What differs between two configs, so that a reload touches nothing else.

use super::settings::{Config, Launch, ServerConfig};

/// What a reload has to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Servers that are new, in the order of the new file.
    pub added: Vec<String>,
    /// Servers that are gone, in the order of the old file.
    pub removed: Vec<String>,
    /// Servers of which another process or address is wanted: to be restarted.
    pub relaunched: Vec<String>,
    /// Servers of which only the treatment changed: their process goes on.
    pub adjusted: Vec<String>,
    /// Whether servers that stay have another order (it decides who keeps a resource URI that two have).
    pub reordered: bool,
    /// Whether the policy changed.
    pub policy: bool,
    /// Whether a profile changed.
    pub profiles: bool,
    /// Whether a setting of the hub itself changed.
    pub hub: bool,
}

impl Changes {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        *self == Changes::default()
    }
}

/// Compares two configs.
pub fn diff(old: &Config, new: &Config) -> Changes {
    let mut changes = Changes {
        removed: old.servers.keys().filter(|name| !new.servers.contains_key(*name)).cloned().collect(),
        policy: old.policy != new.policy,
        profiles: old.profiles != new.profiles,
        hub: old.hub != new.hub,
        reordered: staying(old, new).ne(staying(new, old)),
        ..Changes::default()
    };
    for (name, server) in &new.servers {
        match old.servers.get(name) {
            None => changes.added.push(name.clone()),
            Some(before) if before == server => {}
            Some(before) if process(before) == process(server) => changes.adjusted.push(name.clone()),
            Some(_) => changes.relaunched.push(name.clone()),
        }
    }
    changes
}

fn staying<'a>(of: &'a Config, other: &'a Config) -> impl Iterator<Item = &'a String> {
    of.servers.keys().filter(|name| other.servers.contains_key(*name))
}

/// What a running process or connection was made from.
fn process(server: &ServerConfig) -> (&Launch, bool, super::Share) {
    (&server.launch, server.disabled, server.share)
}

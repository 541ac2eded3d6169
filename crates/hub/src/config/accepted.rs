//! What of a config a person, or the first load, has accepted: who may do what, and what is kept of it. A later config
//! that loosens it is not applied before a person has said so (docs/approvals.md); whoever can write the file is not yet that
//! person. What only tightens holds at once.

mod loosen;
#[cfg(test)]
mod tests;

use super::keys::{Audit, PortOwner, ResultCheck, Server};
use super::settings::{Config, PolicyConfig, ServerConfig};
use contract::Hash;
use policy::{Effect, Fallback, Rulebook};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The part of a config that decides what runs without a person, and what is left to be seen of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// Rules, default, how long calls wait, who may decide.
    pub policy: PolicyConfig,
    /// The person's word about effects, by server and own tool name.
    pub effects: BTreeMap<String, BTreeMap<String, Effect>>,
    /// How calls of each server are treated; those that are not named are new.
    #[serde(default)]
    pub treated: BTreeMap<String, Treatment>,
    /// What is kept in the log.
    #[serde(default)]
    pub audit: Audit,
}

/// Keys of a server that bear on how long a word of a person holds, how often a call runs, and what passes of its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Treatment {
    /// Approvals end with its process.
    pub stateful: bool,
    /// What happens to results that break their schema.
    pub check: ResultCheck,
    /// For how long a lost result keeps the identical call from running again.
    pub replay_lost: Duration,
    /// Argument that keeps a call from running twice.
    pub key: String,
    /// Who may answer in its place.
    #[serde(default)]
    pub port_owner: PortOwner,
}

impl Treatment {
    fn of(server: &ServerConfig) -> Treatment {
        Treatment {
            stateful: server.stateful,
            check: server.results.check,
            replay_lost: server.replay_lost,
            key: server.idempotency_argument.clone(),
            port_owner: server.port_owner,
        }
    }
}

/// That of a server of which nothing is said.
impl Default for Treatment {
    fn default() -> Treatment {
        let plain = Server::default();
        Treatment {
            stateful: plain.stateful,
            check: plain.results.check,
            replay_lost: Duration::from_secs(plain.replay_lost_seconds),
            key: plain.idempotency_argument,
            port_owner: plain.port_owner,
        }
    }
}

impl Accepted {
    /// That of a config.
    pub fn of(config: &Config) -> Accepted {
        let effects = config.servers.iter().filter(|(_, server)| !server.effects.is_empty()).map(|(name, server)| {
            (name.clone(), server.effects.iter().map(|(tool, &effect)| (tool.clone(), effect)).collect())
        });
        let treated = config.servers.iter().map(|(name, server)| (name.clone(), Treatment::of(server)));
        Accepted {
            policy: config.policy.clone(),
            effects: effects.collect(),
            treated: treated.collect(),
            audit: config.hub.audit,
        }
    }
    /// Its text, for the store.
    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
    /// What [`Accepted::text`] wrote; None for anything else.
    pub fn parse(text: &str) -> Option<Accepted> {
        serde_json::from_str(text).ok()
    }
    /// Names exactly this one.
    pub fn hash(&self) -> Hash {
        Hash::of(self.text().as_bytes())
    }
    /// Its rules, ready to judge. They were checked when they were accepted; if they no longer compile, everything
    /// that is not forbidden asks.
    pub fn rulebook(&self) -> Option<Rulebook> {
        Rulebook::compile(self.policy.default, &self.policy.rules)
            .or_else(|_| Rulebook::compile(Fallback::Ask, &[]))
            .ok()
    }
    /// Puts this in place of what a config says.
    pub fn put_into(&self, config: &mut Config) {
        config.policy = self.policy.clone();
        for (name, server) in &mut config.servers {
            let effects = self.effects.get(name);
            server.effects = effects.into_iter().flatten().map(|(tool, &effect)| (tool.clone(), effect)).collect();
            if let Some(treatment) = self.treated.get(name) {
                server.stateful = treatment.stateful;
                server.results.check = treatment.check;
                server.replay_lost = treatment.replay_lost;
                server.idempotency_argument.clone_from(&treatment.key);
                server.port_owner = treatment.port_owner;
            }
        }
        config.hub.audit = self.audit;
    }
}

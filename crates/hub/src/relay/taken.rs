//! What the relay does with a config: what of it a person has accepted counts, servers whose entry is unchanged are not
//! touched, and a launch that was not approved does not happen. Never loosens anything by itself.

use super::Relay;
use crate::backend::{Backend, Rules, Watch};
use crate::catalog::remembered::recall;
use crate::config::{self, Accepted, PolicyConfig, PortOwner, ServerConfig};
use crate::gate::launch::LaunchText;
use crate::gate::pins::Launch;
use crate::gate::{self, Held, Settings};
use crate::operate::{Event, Refusal, ReloadView};
use crate::person::Approved;
use crate::prepared::{self, Prepared};
use crate::record::Audit;
use contract::Hash;
use frame::Version;
use globset::{Glob, GlobSet, GlobSetBuilder};
use policy::{Fallback, Rulebook};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use store::Job;
use upstream::{Server, Spec, Stopping, Transport, Watcher, task};

/// The setting that keeps what was accepted.
pub(super) const ACCEPTED: &str = "accepted";
/// What is approved to let the config loosen the policy. No server can have this name in the aggregate.
pub(super) const POLICY: &str = "@policy";

/// No log is kept for longer.
const LONGEST_DAYS: u32 = 36_500;

impl Relay {
    /// What of a config a person has accepted, in place of what would let more through.
    fn accepted(
        &self,
        new: &mut config::Config,
        specs: &mut BTreeMap<String, Result<Spec, String>>,
        rulebook: Rulebook,
    ) -> Rulebook {
        let Some(accepted) = self.accepted.borrow().clone() else {
            self.take_over(&Accepted::of(new), None);
            return rulebook;
        };
        let wanted = Accepted::of(new).beside(&accepted);
        let loosened = accepted.loosened_by(&wanted);
        if loosened.is_empty() {
            self.take_over(&wanted, Some(&accepted));
            self.core.gate.set_held(None);
            return rulebook;
        }
        for sentence in &loosened {
            tracing::warn!(%sentence, "the config loosens what a person accepted, which a person has to say");
        }
        let holding = accepted.tightened_by(&wanted);
        self.take_over(&holding, Some(&accepted));
        holding.put_into(new);
        for (name, spec) in specs.iter_mut() {
            let owner = new.servers.get(name).map(|entry| entry.port_owner);
            if let (Ok(Spec { transport: Transport::HttpChild { owner: answers, .. }, .. }), Some(PortOwner::Child)) =
                (spec, owner)
            {
                *answers = upstream::PortOwner::Child;
            }
        }
        self.core.gate.set_held(Some(Held { sentences: loosened, hash: wanted.hash(), wanted }));
        holding.rulebook().unwrap_or(rulebook)
    }

    /// What loosens nothing holds at once; that it was not written down yet is no reason to let more through.
    fn take_over(&self, holding: &Accepted, before: Option<&Accepted>) {
        if before == Some(holding) {
            return;
        }
        *self.accepted.borrow_mut() = Some(holding.clone());
        let parts = before.map(|before| holding.parts_since(before)).unwrap_or_default();
        let told = format!("taken over from the config, where it loosens nothing: {}", parts.join(", "));
        let note = (!parts.is_empty()).then(|| Audit::setting("policy", &told, "config"));
        self.core.ledger.job(Job::Set { key: ACCEPTED.into(), value: Some(holding.text()), note });
    }

    /// A person accepts what the config wants, exactly as it was shown.
    pub(super) async fn accept_policy(self: &Rc<Self>, hash: Hash, by: &str) -> Result<Approved, Refusal> {
        let held = self.core.gate.held();
        let Some(held) = held else {
            return Err(Refusal::new("nothing_waits", "the config loosens nothing that waits for a person"));
        };
        if held.hash != hash {
            let refusal = Refusal::new("hash_changed", "what waits is not what was shown: it has another hash");
            return Err(refusal.then("callgate policy check"));
        }
        let note = Some(Audit::setting("policy", &format!("loosened: {}", held.sentences.join("; ")), by));
        let set = Job::Set { key: ACCEPTED.into(), value: Some(held.wanted.text()), note };
        self.core.ledger.written(set).await.map_err(Refusal::unwritten)?;
        *self.accepted.borrow_mut() = Some(held.wanted);
        self.reload().await;
        Ok(Approved { server: POLICY.into(), entries: held.sentences, left: 0 })
    }

    /// Takes over a config: servers whose entry is unchanged are not touched.
    /// `anew` names one whose file of variables counts as it is now.
    pub(super) fn apply(&self, prepared: Prepared, anew: Option<&str>) -> ReloadView {
        let Prepared { config: mut new, mut specs, rulebook, .. } = prepared;
        let is_first = self.accepted.borrow().is_none();
        self.keep_variables(&mut new, anew);
        let rulebook = self.accepted(&mut new, &mut specs, rulebook);
        self.core.gate.set(settings(&new, rulebook));
        let released = self.hold_launches(&mut new, &mut specs, is_first);
        let (before, after) = (self.config.borrow().hub.audit, new.hub.audit);
        if before.keep_days != after.keep_days || self.core.backends().is_empty() {
            self.core.ledger.job(Job::Keep { days: after.keep_days });
        }
        if before.durability != after.durability {
            let durability = match after.durability {
                config::Durability::System => store::Durability::System,
                config::Durability::Power => store::Durability::Power,
            };
            self.core.ledger.job(Job::Survive(durability));
        }
        self.core.ledger.set_payloads(new.hub.audit.payloads);
        let changes = config::diff(&self.config.borrow(), &new);
        let touched: Vec<String> = [changes.relaunched, changes.adjusted, released].concat();
        let (gone, kept): (Vec<_>, Vec<_>) = self.core.backends().into_iter().partition(|backend| {
            let key = backend.key().to_string();
            changes.removed.contains(&key) || touched.contains(&key)
        });
        for backend in gone {
            let why = match new.servers.get(&**backend.key()) {
                None => Stopping::Removed,
                Some(entry) if entry.disabled => Stopping::Disabled,
                Some(_) => Stopping::Changed,
            };
            retire(backend, why);
        }
        let mut backends = Vec::new();
        for (key, server) in &new.servers {
            let known = kept.iter().find(|backend| **backend.key() == **key).cloned();
            backends.push(known.unwrap_or_else(|| self.build(key, server, specs.remove(key))));
        }
        let profiles = new
            .profiles
            .iter()
            .filter_map(|(name, profile)| Some((Rc::from(name.as_str()), globs(&profile.tools)?)))
            .collect();
        *self.config.borrow_mut() = new;
        self.core.arrange(backends, profiles);
        ReloadView { added: changes.added, removed: changes.removed, changed: touched, problems: Vec::new() }
    }

    /// What the file of variables of an unchanged server holds by now counts when somebody restarts that server, not when
    /// something else of the config changes. Where its launch waits for a person it is looked at each time.
    fn keep_variables(&self, new: &mut config::Config, anew: Option<&str>) {
        let running = self.config.borrow();
        for (key, entry) in &mut new.servers {
            let Some(before) = running.servers.get(key) else { continue };
            let counts = anew == Some(key.as_str()) || self.core.gate.pins.holds(key);
            if !counts && entry.clone().with_variables(before.variables().cloned()) == *before {
                entry.clone_from(before);
            }
        }
    }

    /// A server that is to be launched in another way than was approved goes on as it is, or does not start.
    /// Tells which were held and are not any more.
    fn hold_launches(
        &self,
        new: &mut config::Config,
        specs: &mut BTreeMap<String, Result<Spec, String>>,
        is_first: bool,
    ) -> Vec<String> {
        let mut released = Vec::new();
        let running = self.config.borrow();
        let pins = &self.core.gate.pins;
        let entries = running.servers.iter().chain(&new.servers).filter(|(name, _)| pins.knows(name));
        let known: Vec<(String, Vec<String>)> =
            entries.map(|(name, entry)| (name.clone(), prepared::launch_words(entry))).collect();
        // What stood in the first config of a home is a person's, also where two names stand for one server.
        let second = |key: &str, entry: &ServerConfig, hash: Hash| {
            let words = prepared::launch_words(entry);
            let like = || known.iter().find(|(name, of)| name != key && *of == words).map(|(name, _)| name.clone());
            pins.launched_as(hash, key).or_else(like).filter(|_| !is_first)
        };
        for (key, entry) in &mut new.servers {
            // What is not launched, or cannot be, need not wait.
            if entry.disabled || entry.is_unread() {
                self.core.gate.pins.forget_held(key);
                continue;
            }
            let hash = config::launch_hash(entry);
            let text = LaunchText::of(entry, &|plain| self.core.ledger.keyed(plain));
            let was_held = self.core.gate.pins.holds(key);
            match self.core.gate.pins.launch(key, hash, &text) {
                Launch::Approved if was_held => released.push(key.clone()),
                Launch::Approved => {}
                Launch::First => match second(key, entry, hash) {
                    None => gate::review::launched(&self.core, key, hash, &text),
                    Some(like) => {
                        let why = format!(
                            "it is `{like}` under a second name, which a person has to say; see `callgate catalog diff`"
                        );
                        tracing::warn!(server = %key, %like, "it is launched like another server that is known");
                        specs.insert(key.clone(), Err(why));
                        pins.hold_second(key, hash, &text, like);
                    }
                },
                Launch::Held => {
                    tracing::warn!(server = %key, "its launch command is not the one that was approved");
                    match running.servers.get(key) {
                        Some(before) if !before.disabled => entry.clone_from(before),
                        Some(_) | None => {
                            let why =
                                "its launch command is not the one that was approved; see `callgate catalog diff`";
                            specs.insert(key.clone(), Err(why.to_owned()));
                        }
                    }
                }
            }
        }
        released
    }

    fn build(&self, key: &str, entry: &ServerConfig, spec: Option<Result<Spec, String>>) -> Rc<Backend> {
        let launch_hash: Rc<str> = config::launch_hash(entry).to_string().into();
        let cleaner = Arc::new(prepared::cleaner(spec.as_ref().and_then(|spec| spec.as_ref().ok())));
        self.parts.logs.server(key).mask(Arc::clone(&cleaner));
        let rules = Rules {
            effects: entry.effects.iter().map(|(tool, &effect)| (tool.clone(), effect)).collect(),
            lanes: entry.lanes.iter().filter_map(|(name, list)| Some((name.as_str().into(), globs(list)?))).collect(),
            disabled: entry.disabled,
            launch_hash: Rc::clone(&launch_hash),
            transport: entry.launch.transport(),
            launch: prepared::launch_words(entry),
            env_names: prepared::env_names(entry),
            idempotency_argument: entry.idempotency_argument.clone(),
            results: entry.results,
            cleaner: Arc::clone(&cleaner),
            replay_lost: entry.replay_lost,
            stateful: entry.stateful,
        };
        let core = Rc::downgrade(&self.core);
        let spec = match spec {
            Some(Ok(spec)) => spec,
            Some(Err(problem)) => return Backend::new(key, rules, Some(problem), core),
            None => return Backend::new(key, rules, None, core),
        };
        let backend = Backend::new(key, rules, None, core);
        let kept = self.kept.borrow();
        let era = kept.eras.iter().rev().find(|era| era.server == key && *era.launch == *launch_hash);
        let memory = era.and_then(|era| Version::parse(&era.version)).map(Version::era);
        let snapshot = kept.catalogs.iter().rev().find(|it| it.server == key && *it.launch == *launch_hash);
        let known = snapshot.and_then(recall).map(|(listing, known)| {
            let listing = Rc::new(listing);
            backend.recall(&listing, known);
            listing
        });
        let watch: Rc<dyn Watcher> = Rc::new(Watch(Rc::downgrade(&backend)));
        let must_list = known.is_none();
        let server = Server::new(spec, Rc::clone(&self.parts), watch, memory, known);
        backend.adopt(Rc::clone(&server));
        if must_list {
            server.want();
        }
        backend
    }

    /// Reads the config file again; with an error the running config stays.
    pub async fn reload(&self) -> ReloadView {
        self.read_config(None).await
    }

    /// The same; `anew` names a server whose file of variables counts as it is now.
    async fn read_config(&self, anew: Option<&str>) -> ReloadView {
        let (file, home) = (self.config_file.clone(), self.parts.home.clone());
        let reading = tokio::task::spawn_blocking(move || prepared::prepare(&file, &home)).await;
        let report = match reading {
            Ok(Ok(prepared)) => {
                self.problems.borrow_mut().clear();
                self.apply(prepared, anew)
            }
            Ok(Err(error)) => self.refused(error.lines()),
            Err(_) => self.refused(vec!["reading the config ended badly".into()]),
        };
        tell_log(&report);
        let _ = self.core.events.send(Event::Config(report.clone()));
        report
    }

    /// Before a person starts a server: what its file of variables holds now. Where that is nothing new, nothing is done.
    pub(super) async fn read_variables(&self, name: &str) -> Result<(), Refusal> {
        let Some(entry) = self.config.borrow().servers.get(name).cloned() else { return Ok(()) };
        if entry.disabled || entry.launch.program().is_none_or(|program| program.env_file.is_none()) {
            return Ok(());
        }
        let (mut now, key, home) = (entry.clone(), name.to_owned(), self.parts.home.clone());
        let reading = tokio::task::spawn_blocking(move || prepared::fill_in(&key, &mut now, &home).map(|_| now));
        match reading.await {
            Ok(Ok(now)) if now == entry && !self.core.gate.pins.holds(name) => {}
            Ok(Ok(_)) => drop(self.read_config(Some(name)).await),
            Ok(Err(problem)) => {
                return Err(Refusal::new("unusable_server", problem).then(format!("callgate server show {name}")));
            }
            Err(_) => return Err(Refusal::new("internal", "reading the file of variables ended badly")),
        }
        Ok(())
    }

    fn refused(&self, problems: Vec<String>) -> ReloadView {
        self.problems.borrow_mut().clone_from(&problems);
        ReloadView { problems, ..ReloadView::default() }
    }
}

/// What holds where nobody knows what was accepted.
pub(super) fn strictest() -> Accepted {
    Accepted {
        policy: PolicyConfig { default: Fallback::Ask, ..PolicyConfig::default() },
        audit: config::Audit { keep_days: LONGEST_DAYS, ..config::Audit::default() },
        ..Accepted::default()
    }
}

/// How calls are judged and how long they wait.
fn settings(config: &config::Config, rulebook: Rulebook) -> Settings {
    let approval = &config.policy.approval;
    Settings {
        rulebook,
        policy: config.policy.clone(),
        hold: approval.hold,
        hold_with_progress: approval.hold_with_progress,
        expire: approval.expire,
        denials_per_minute: approval.denials_per_minute,
        rest: approval.rest,
        hosts: config.hosts.iter().filter_map(|(name, host)| Some((name.clone(), host.hold?))).collect(),
    }
}

fn retire(backend: Rc<Backend>, why: Stopping) {
    task::spawn("stop a server", async move {
        if let Some(server) = backend.server() {
            server.retire(why).await;
        }
        backend.clear();
    });
}

/// Patterns that the config check has passed.
fn globs(patterns: &[String]) -> Option<GlobSet> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(Glob::new(pattern).ok()?);
    }
    set.build().ok()
}

/// What a reload did, each list as one word of text: the log is read by people too.
fn tell_log(report: &ReloadView) {
    let ReloadView { added, removed, changed, problems } = report;
    if !problems.is_empty() {
        tracing::warn!(problems = problems.join("; "), "config refused; the one before it stays");
    } else if !(added.is_empty() && removed.is_empty() && changed.is_empty()) {
        let list = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        tracing::info!(added = list(added), removed = list(removed), changed = list(changed), "config applied");
    }
}

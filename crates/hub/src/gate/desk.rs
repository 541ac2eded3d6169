//! What the person's door asks of the gate: what waits, what the rules would say, what is paused.

use super::apart::Judging;
use super::case::Case;
use super::still::{self, Still};
use super::{absent, apart, decide, hold, judged, now_ms, review, road, settle, task};
use crate::agent::View;
use crate::catalog::{Catalog, ToolEntry};
use crate::core::Core;
use crate::operate::{Checked, Event as Happening, Refusal};
use crate::person::{EntryState, Explained, Finding, Pause, Paused, Policy, Question, WaitingCall};
use crate::record::Audit;
use crate::thing::Thing;
use crate::who::Who;
use bytes::Bytes;
use contract::Arguments;
use frame::object;
use policy::{CallState, Effect, Event, Fallback, Judgement, Target, Then};
use std::borrow::Cow;
use std::rc::Rc;
use store::{CallRecord, Job, Method};

/// The setting by which a pause outlives the hub.
pub(crate) const PAUSE: &str = "pause";

/// A person has accepted the log as it is.
pub(crate) fn trust(core: &Rc<Core>) {
    core.gate.set_distrust(false);
    decide::judge_again(core);
}

/// All calls that wait, or are approved and wait for their client; oldest first.
pub(crate) fn waiting(core: &Core) -> Vec<WaitingCall> {
    let shows = |case: &Rc<Case>| {
        case.is_written()
            && matches!(case.state(), CallState::Waiting | CallState::Approved)
            && case.row().expires_ms > now_ms()
    };
    core.gate.index.all().iter().filter(|case| shows(case)).map(|case| view(core, case)).collect()
}

fn view(core: &Core, case: &Case) -> WaitingCall {
    let mut record = case.row().clone();
    let catalog = core.catalog(&View::All);
    let about = About::of(core, &catalog, &record);
    let keeps = absent::why(core, &record);
    // A secret that its server was given is nobody's to read, a person's neither.
    if let Some(backend) = core.backend(&record.server) {
        for text in [&mut record.arguments, &mut record.edited].into_iter().flatten() {
            if let Cow::Owned(masked) = backend.rules().cleaner.mask(text) {
                *text = masked.into();
            }
        }
    }
    WaitingCall {
        waiters: u32::try_from(case.waiters()).unwrap_or(u32::MAX),
        unverified: !Who::of_id(&record.client).is_verified(),
        most: judged::scopes(core, case).1,
        again: case.badge.borrow().clone().or(about.changed).or_else(|| over(core, case, &mut record)),
        keeps,
        definition: about.definition,
        description: about.description,
        schema: about.schema,
        record,
    }
}

/// Why a call of a tool waits, as of now; some where it waits for nothing but its client. Long arguments are not judged for
/// a look.
fn over(core: &Core, case: &Case, record: &mut CallRecord) -> Option<String> {
    let arguments = case.arguments().filter(|arguments| arguments.len() < apart::LONG)?;
    let Some(Thing::Tool(tool)) = task::tool(core, record).filter(|_| record.state == CallState::Waiting) else {
        return None;
    };
    let judgement = core.gate.judge_call(Who::of_id(&record.client).known_name(), &tool, &arguments);
    let held = still::all(core, &tool.backend, tool.read.effect);
    let is_over = |why: &&str| record.why.contains(why) && held.iter().all(|still| still.why() != *why);
    if Still::words().iter().any(is_over) {
        let more = [hold::BEFORE, hold::REPAIRED].iter().filter_map(|word| record.why.find(word)).min();
        let more = more.map(|at| record.why.split_off(at)).unwrap_or_default();
        record.why = hold::why(&judgement, &held) + &more;
    }
    if !held.is_empty() {
        return None;
    }
    let request = || road::request_again(core, record, &Thing::Tool(Rc::clone(&tool)));
    let by = hold::what_lets_through(core, &judgement, request)?;
    Some(format!("it runs as soon as its client calls again; what lets it through: {by}"))
}

/// What the catalog says of what is asked for.
struct About {
    /// What has changed since it was asked about.
    changed: Option<String>,
    definition: EntryState,
    description: Option<String>,
    schema: Option<String>,
}

impl About {
    /// Of what is not offered there is nothing to be said.
    const NOTHING: About = About { changed: None, definition: EntryState::Approved, description: None, schema: None };

    fn of(core: &Core, catalog: &Catalog, record: &CallRecord) -> About {
        let entry = match record.method {
            Method::PromptGet => catalog.prompt(&record.name),
            Method::ResourceRead => catalog.entry(&record.tool),
            Method::ToolCall => {
                let Some(Thing::Tool(tool)) = task::tool(core, record) else { return About::NOTHING };
                return About {
                    changed: decide::changed(&tool, record),
                    definition: review::state_of(&tool.review()),
                    description: tool.read.tool.description.as_deref().map(String::from),
                    schema: Some(schema(&tool)),
                };
            }
            Method::None | Method::Complete | Method::Subscribe | Method::Task | Method::Other => None,
        };
        let description = entry.and_then(|entry| object::get(&entry.read.raw, "description"));
        About {
            changed: None,
            // What is listed nowhere has no definition that could be another one.
            definition: entry.map_or(EntryState::Approved, |entry| review::state_of(&entry.read.review)),
            description: description.and_then(|raw| object::text(&raw).map(|text| text.into_owned())),
            schema: None,
        }
    }
}

fn schema(tool: &ToolEntry) -> String {
    String::from_utf8_lossy(&tool.read.raw[tool.read.tool.input_schema.clone()]).into_owned()
}

/// All call records that live.
pub(crate) fn calls(core: &Core) -> Vec<CallRecord> {
    core.gate.index.all().iter().map(|case| case.row().clone()).collect()
}

/// Settles a call with an unknown outcome.
pub(crate) async fn settle(core: &Rc<Core>, id: &str, finding: Finding, by: &str) -> Result<CallRecord, Refusal> {
    let event = match finding {
        Finding::Ran => Event::Ran,
        Finding::NotRan => Event::NotRan,
    };
    settle::settle(core, id, event, by).await
}

/// Holds all calls that may change something, at once: what cannot be written down now is tried again. Or lets them go on,
/// which is written down before it holds.
///
/// # Errors
/// The end of a pause cannot be written down.
pub(crate) async fn pause(core: &Rc<Core>, pauses: bool, by: String) -> Result<Paused, Refusal> {
    let mut unwritten = None;
    if pauses != core.gate.is_paused() {
        let now = Pause { since_ms: pauses.then(now_ms), by: by.clone() };
        let what = if pauses { "all calls that may change something are held" } else { "resumed" };
        let set = Job::Set {
            key: PAUSE.into(),
            value: pauses.then(|| serde_json::to_string(&now).unwrap_or_default()),
            note: Some(Audit::setting("pause", what, &by)),
        };
        if pauses {
            core.gate.set_pause(now);
            unwritten = core.ledger.written(set.clone()).await.err();
            if let Some(cause) = &unwritten {
                tracing::error!(%cause, "that calls are paused could not be written down yet: a restart may forget it");
                core.ledger.job(set);
            }
        } else {
            core.ledger.written(set).await.map_err(Refusal::unwritten)?;
            core.gate.set_pause(now);
        }
        core.happened(Happening::Paused(core.gate.pause()));
        if !pauses {
            decide::judge_again(core);
        }
    }
    Ok(Paused { pause: core.gate.pause(), unwritten })
}

/// How the rules see one call, or every tool without arguments.
pub(crate) async fn explain(core: &Rc<Core>, question: Question) -> Result<Vec<Explained>, Refusal> {
    let client = question.client.unwrap_or_else(|| "operator".to_owned());
    let arguments = question.arguments.unwrap_or_default();
    let arguments = Arguments::read(Some(arguments.as_bytes()).filter(|text| !text.is_empty())).map_err(|unfit| {
        let all: Vec<String> = unfit.into_problems().iter().map(contract::Problem::sentence).collect();
        Refusal::new("invalid_arguments", all.join("\n"))
    })?;
    let arguments = Bytes::copy_from_slice(arguments.text().as_bytes());
    let tools = match question.tool {
        None => core.every_tool(),
        Some(name) => {
            let unknown =
                || Refusal::new("unknown_tool", format!("there is no tool `{name}`")).then("callgate tool list");
            vec![core.any_tool(&name).ok_or_else(unknown)?]
        }
    };
    // A call is judged after its schema was compiled: so is what is said of it.
    let schemas: Vec<Bytes> = tools.iter().map(|tool| tool.schema()).collect();
    let checking = tokio::task::spawn_blocking(move || schemas.iter().map(|text| Checked::of(text)).collect());
    let checked: Vec<Checked> =
        checking.await.map_err(|_| Refusal::new("internal", "the schemas could not be read"))?;
    for (tool, checked) in tools.iter().zip(&checked) {
        if !checked.skipped.is_empty() {
            tool.found_partly_checked();
        }
    }
    let judging = |tool: &Rc<ToolEntry>| core.gate.judging(&client, &Thing::Tool(Rc::clone(tool)));
    let judging: Vec<Judging> = tools.iter().map(judging).collect();
    let judging =
        tokio::task::spawn_blocking(move || judging.into_iter().map(|it| it.judge(&arguments)).collect::<Vec<_>>());
    let judged = judging.await.map_err(|_| Refusal::new("internal", "the rules could not be asked"))?;
    let all = tools.iter().zip(checked).zip(judged);
    let mut all: Vec<Explained> =
        all.map(|((tool, checked), judgement)| explained(core, &client, tool, &judgement, checked)).collect();
    all.sort_by(|a, b| (&a.server, &a.name).cmp(&(&b.server, &b.name)));
    Ok(all)
}

fn explained(core: &Core, client: &str, tool: &Rc<ToolEntry>, judgement: &Judgement, checked: Checked) -> Explained {
    let standing = core.gate.standing(tool);
    let held = still::all(core, &tool.backend, tool.read.effect);
    let grants = core.gate.grants.borrow();
    let of_tool = grants.iter().filter(|grant| {
        *grant.client == *client
            && *grant.server == **tool.backend.key()
            && *grant.launch == *tool.backend.rules().launch_hash
            && *grant.tool == *tool.read.tool.name
            && grant.definition == tool.read.stands_for
            && !tool.backend.is_past(grant.at_ms)
    });
    Explained {
        name: tool.read.exposed.clone(),
        server: tool.backend.key().to_string(),
        tool: tool.read.tool.name.to_string(),
        effect: tool.read.effect,
        tier: standing.tier(),
        tier_why: standing.tier_why().to_string(),
        then: if held.is_empty() { judgement.then() } else { judgement.then().max(Then::Ask) },
        rule: judgement.rule().map(|rule| rule.to_string()),
        why: hold::why(judgement, &held),
        reason: judgement.reason().map(|reason| reason.to_string()),
        most: judgement.most(),
        depends: standing.always().is_none(),
        unlisted: standing.is_unlisted(),
        checked,
        remembered: of_tool.map(policy::Grant::scope).max(),
    }
}

/// The policy as it is, and what is odd about it.
pub(crate) fn policy(core: &Core) -> Policy {
    let settings = core.gate.settings();
    let tools = core.every_tool();
    let others = core.every_entry();
    let profiles: Vec<policy::Profile<'_>> = tools
        .iter()
        .map(|tool| tool.profile())
        .chain(others.iter().map(|(target, entry)| {
            let read = &entry.read;
            policy::Profile::bare(*target, &read.exposed, &read.own, entry.backend.key(), Effect::Read)
        }))
        .collect();
    let matches = |rule: &policy::RuleSource| {
        let globs = [(Target::Tool, &rule.tools), (Target::Prompt, &rule.prompts), (Target::Resource, &rule.resources)];
        let globs = globs.map(|(target, patterns)| {
            let all = patterns.iter().filter_map(|pattern| Some(globset::Glob::new(pattern).ok()?.compile_matcher()));
            (target, all.collect::<Vec<_>>())
        });
        let names = |of: &&policy::Profile<'_>| {
            globs.iter().any(|(target, all)| *target == of.target && all.iter().any(|glob| glob.is_match(of.name)))
        };
        profiles.iter().filter(names).count()
    };
    let rules = settings.policy.rules.iter();
    Policy {
        default: match settings.policy.default {
            Fallback::Auto => "auto",
            Fallback::Allow => "allow",
            Fallback::Ask => "ask",
            Fallback::Deny => "deny",
        }
        .to_owned(),
        version: settings.rulebook.version(),
        rules: rules.map(|rule| (rule.clone(), u32::try_from(matches(rule)).unwrap_or(u32::MAX))).collect(),
        findings: settings.rulebook.findings(&profiles),
        held: core.gate.held().map(|held| held.sentences).unwrap_or_default(),
        held_hash: core.gate.held().map(|held| held.hash),
    }
}

//! Reads what one server lists into entries that are ready to be shown and called. Long work: runs on the blocking
//! pool, never on the relay. A bad entry costs only itself, with a reason.

use crate::gate::pins::{Review, ServerPins};
use bytes::Bytes;
use contract::{Hash, Listed, Slug, Tool};
use frame::Rope;
use frame::object::{self, Edit};
use policy::{Effect, Hints};
use std::collections::{BTreeMap, HashSet};
use store::PinKind;
use upstream::Listing;

/// One tool, read.
#[derive(Clone, Debug)]
pub struct ReadTool {
    /// As the server sent it.
    pub raw: Bytes,
    /// What the definition says.
    pub tool: Tool,
    /// Name in the aggregate.
    pub exposed: String,
    /// The entry of the aggregated list.
    pub in_all: Bytes,
    /// The entry under its own name.
    pub in_own: Bytes,
    /// Effect class: what was approved, or more.
    pub effect: Effect,
    /// How it stands against what was approved.
    pub review: Review,
}

/// A prompt, resource or template, read.
#[derive(Clone, Debug)]
pub struct ReadEntry {
    /// Name, URI or URI template as the server has it.
    pub own: String,
    /// The same in the aggregate: only prompts differ.
    pub exposed: String,
    /// The entry of the aggregated list.
    pub in_all: Bytes,
    /// The entry under its own name.
    pub in_own: Bytes,
    /// As the server sent it.
    pub raw: Bytes,
    /// Over the whole definition.
    pub hash: Hash,
    /// How it stands against what was approved.
    pub review: Review,
}

/// A server's instructions, read.
#[derive(Clone, Debug)]
pub struct ReadText {
    /// The text.
    pub text: String,
    /// The same as a JSON string.
    pub raw: Bytes,
    /// Over the JSON string.
    pub hash: Hash,
    /// How it stands against what was approved.
    pub review: Review,
}

/// Everything of one server, read.
#[derive(Clone, Debug, Default)]
pub struct Read {
    /// Tools in the server's order.
    pub tools: Vec<ReadTool>,
    /// Prompts in the server's order.
    pub prompts: Vec<ReadEntry>,
    /// Resources in the server's order.
    pub resources: Vec<ReadEntry>,
    /// Templates in the server's order.
    pub templates: Vec<ReadEntry>,
    /// What it tells models of itself.
    pub instructions: Option<ReadText>,
    /// Entries left out or renamed, with the reason.
    pub findings: Vec<String>,
    /// Whether approved texts have to be read before anything can be shown: not for the relay thread.
    pub needs_texts: bool,
}

/// What a person said about effects, by the server's own tool name.
pub type Effects = BTreeMap<String, Effect>;

/// Reads a listing and judges it against what is held fast of its server.
pub fn read(slug: &Slug, listing: &Listing, effects: &Effects, pins: &ServerPins) -> Read {
    let mut read = Read { findings: listing.problems.clone(), ..Read::default() };
    let mut names = HashSet::new();
    for raw in &listing.tools {
        match Tool::read(raw) {
            Err(fault) => read.findings.push(format!("tool {} was left out: {fault}", label(raw, "name"))),
            Ok(tool) if !names.insert(tool.name.clone()) => {
                read.findings.push(format!("tool `{}` was left out: it is listed twice", tool.name));
            }
            Ok(tool) => {
                let entry = entry(slug, raw, tool, effects, pins);
                let Some(entry) = entry else {
                    read.needs_texts = true;
                    continue;
                };
                if !entry.exposed.ends_with(&format!("__{}", entry.tool.name)) {
                    read.findings.push(format!("tool `{}` is shown as `{}`", entry.tool.name, entry.exposed));
                }
                read.tools.push(entry);
            }
        }
    }
    let mut others =
        |kind: PinKind, key: &str, raws: &[Bytes], reader: fn(&[u8]) -> Result<Listed, _>, prefixed: bool| {
            let what = kind.as_str();
            let mut seen = HashSet::new();
            let mut entries = Vec::new();
            for raw in raws {
                match reader(raw) {
                    Err(fault) => read.findings.push(format!("{what} {} was left out: {fault}", label(raw, key))),
                    Ok(listed) if !seen.insert(listed.name.clone()) => {
                        read.findings.push(format!("{what} `{}` was left out: it is listed twice", listed.name));
                    }
                    Ok(listed) => {
                        let own = String::from(listed.name);
                        let hash = listed.definition_hash;
                        let Some(review) = pins.review(kind, &own, raw, hash, None) else {
                            read.needs_texts = true;
                            continue;
                        };
                        let exposed = if prefixed { slug.exposed(&own) } else { own.clone() };
                        let shown = review.shown().unwrap_or(raw).clone();
                        let in_all = if prefixed { named(&shown, &exposed) } else { shown.clone() };
                        entries.push(ReadEntry { own, exposed, in_all, in_own: shown, raw: raw.clone(), hash, review });
                    }
                }
            }
            entries
        };
    let prompts = others(PinKind::Prompt, "name", &listing.prompts, Listed::prompt, true);
    let resources = others(PinKind::Resource, "uri", &listing.resources, Listed::resource, false);
    let templates = others(PinKind::Template, "uriTemplate", &listing.templates, Listed::template, false);
    read.instructions = match instructions(listing, pins) {
        Ok(text) => text,
        Err(NeedsTexts) => {
            read.needs_texts = true;
            None
        }
    };
    Read { prompts, resources, templates, ..read }
}

struct NeedsTexts;

fn instructions(listing: &Listing, pins: &ServerPins) -> Result<Option<ReadText>, NeedsTexts> {
    let text = listing.instructions.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let Some(text) = text else { return Ok(None) };
    let raw = Bytes::from(object::quote(text));
    let hash = Hash::of(&raw);
    let review = pins.review(PinKind::Instructions, "", &raw, hash, None).ok_or(NeedsTexts)?;
    Ok(Some(ReadText { text: text.to_owned(), raw, hash, review }))
}

/// None: its approved text has to be read first.
fn entry(slug: &Slug, raw: &Bytes, tool: Tool, effects: &Effects, pins: &ServerPins) -> Option<ReadTool> {
    let exposed = slug.exposed(&tool.name);
    let hints = Hints { read_only: tool.hints.read_only, destructive: tool.hints.destructive };
    let said = effects.get(&*tool.name).copied();
    let claimed = said.unwrap_or_else(|| Effect::of(&tool.name, hints));
    let review = pins.review(PinKind::Tool, &tool.name, raw, tool.definition_hash, Some(claimed))?;
    let pinned = pins.head(PinKind::Tool, &tool.name).and_then(|head| head.effect);
    // After pinning, hints only raise; the person's word holds (rules.md 3).
    let effect = said.unwrap_or_else(|| pinned.map_or(claimed, |pinned| pinned.max(claimed)));
    let shown = review.shown().and_then(|text| Some((text.clone(), Tool::read(text).ok()?)));
    let in_own = match &shown {
        Some((text, approved)) => hashed(text, approved),
        None => hashed(raw, &tool),
    };
    let in_all = named(&in_own, &exposed);
    Some(ReadTool { raw: raw.clone(), tool, exposed, in_all, in_own, effect, review })
}

fn named(raw: &Bytes, name: &str) -> Bytes {
    Edit::new().set("name", object::quote(name)).apply(raw).join()
}

/// Puts the two hashes into `_meta`; whatever the server wrote under the hub's own names goes.
fn hashed(raw: &Bytes, tool: &Tool) -> Bytes {
    let mut meta = Rope::from("{");
    let old = object::get(raw, "_meta").filter(|meta| meta.first() == Some(&b'{')).unwrap_or_default();
    for member in object::members(&old) {
        let key = object::text(&old[member.key.clone()]).unwrap_or_default();
        if !key.starts_with("dev.callgate/") {
            meta.push(old.slice(member.key.start..member.value.end));
            meta.push_static(",");
        }
    }
    meta.push(
        format!(
            "\"dev.callgate/schemaHash\":\"{}\",\"dev.callgate/definitionHash\":\"{}\"}}",
            tool.schema_hash, tool.definition_hash
        )
        .into(),
    );
    Edit::new().set("_meta", meta).apply(raw).join()
}

/// How an entry that can't be read is called in a finding.
fn label(raw: &Bytes, key: &str) -> String {
    let name = object::get(raw, key).and_then(|raw| object::text(&raw).map(String::from));
    match name {
        Some(name) => format!("`{}`", contract::visible::escape(&name).chars().take(80).collect::<String>()),
        None => "without a name".into(),
    }
}

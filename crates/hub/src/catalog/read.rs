//! Reads what one server lists into entries that are ready to be shown and called. Long work: runs on the blocking
//! pool, never on the relay. A bad entry costs only itself, with a reason.

use bytes::Bytes;
use contract::{Listed, Slug, Tool};
use frame::Rope;
use frame::object::{self, Edit};
use policy::{Effect, Hints};
use std::collections::{BTreeMap, HashSet};
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
    /// Effect class.
    pub effect: Effect,
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
    /// Entries left out or renamed, with the reason.
    pub findings: Vec<String>,
}

/// What a person said about effects, by the server's own tool name.
pub type Effects = BTreeMap<String, Effect>;

/// Reads a listing.
pub fn read(slug: &Slug, listing: &Listing, effects: &Effects) -> Read {
    let mut read = Read { findings: listing.problems.clone(), ..Read::default() };
    let mut names = HashSet::new();
    for raw in &listing.tools {
        match Tool::read(raw) {
            Err(fault) => read.findings.push(format!("tool {} was left out: {fault}", label(raw, "name"))),
            Ok(tool) if !names.insert(tool.name.clone()) => {
                read.findings.push(format!("tool `{}` was left out: it is listed twice", tool.name));
            }
            Ok(tool) => {
                let entry = entry(slug, raw, tool, effects);
                if !entry.exposed.ends_with(&format!("__{}", entry.tool.name)) {
                    read.findings.push(format!("tool `{}` is shown as `{}`", entry.tool.name, entry.exposed));
                }
                read.tools.push(entry);
            }
        }
    }
    let mut others = |what: &str, key: &str, raws: &[Bytes], reader: fn(&[u8]) -> Result<Listed, _>, prefixed: bool| {
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
                    let exposed = if prefixed { slug.exposed(&own) } else { own.clone() };
                    let in_all = if prefixed { named(raw, &exposed) } else { raw.clone() };
                    entries.push(ReadEntry { own, exposed, in_all, in_own: raw.clone() });
                }
            }
        }
        entries
    };
    let prompts = others("prompt", "name", &listing.prompts, Listed::prompt, true);
    let resources = others("resource", "uri", &listing.resources, Listed::resource, false);
    let templates = others("template", "uriTemplate", &listing.templates, Listed::template, false);
    Read { prompts, resources, templates, ..read }
}

fn entry(slug: &Slug, raw: &Bytes, tool: Tool, effects: &Effects) -> ReadTool {
    let exposed = slug.exposed(&tool.name);
    let in_own = hashed(raw, &tool);
    let in_all = named(&in_own, &exposed);
    let hints = Hints { read_only: tool.hints.read_only, destructive: tool.hints.destructive };
    let effect = effects.get(&*tool.name).copied().unwrap_or_else(|| Effect::of(&tool.name, hints));
    ReadTool { raw: raw.clone(), tool, exposed, in_all, in_own, effect }
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

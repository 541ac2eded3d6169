//! Reads what one server lists into entries that are ready to be shown and called. Long work: runs on the blocking
//! pool, never on the relay. A bad entry costs only itself, with a reason.

use super::facts::{Fact, Known, Scanned};
use super::masked;
use crate::gate::pins::{Review, ServerPins};
use bytes::{BufMut, Bytes, BytesMut};
use contract::{Hash, Listed, Slug, Tool};
use frame::object::{self, Edit};
use policy::{Effect, Hints};
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::sync::Arc;
use store::PinKind;
use upstream::Listing;

/// One tool, read.
#[derive(Clone, Debug)]
pub struct ReadTool {
    /// As the server sent it.
    pub raw: Bytes,
    /// What the definition says.
    pub tool: Arc<Tool>,
    /// Name in the aggregate.
    pub exposed: String,
    /// The approved definition, where hosts go on seeing that.
    shown: Option<Box<(Bytes, Tool)>>,
    /// Effect class: what was approved, or more.
    pub effect: Effect,
    /// What approvals are bound to: the hash of the approved version that it is the same as but for orders and values
    /// that approved versions have had; else its own.
    pub stands_for: Hash,
    /// How it stands against what was approved.
    pub review: Review,
}

impl ReadTool {
    /// Its entry in lists: with the two hashes in `_meta`, and where a name is given under that one. Whatever the server
    /// wrote under the hub's own names is not in it.
    pub fn put(&self, name: Option<&str>, out: &mut BytesMut) {
        let (raw, tool) = match &self.shown {
            Some(shown) => (&shown.0, &shown.1),
            None => (&self.raw, &*self.tool),
        };
        let meta_at = tool.meta_at.clone().unwrap_or(tool.end_at..tool.end_at);
        let mut done = 0;
        let put_name = |out: &mut BytesMut, done: &mut usize| {
            if let Some(name) = name {
                out.put_slice(&raw[*done..tool.name_at.start]);
                out.put_slice(object::quote(name).as_bytes());
                *done = tool.name_at.end;
            }
        };
        let is_before = tool.name_at.start < meta_at.start;
        if is_before {
            put_name(out, &mut done);
        }
        out.put_slice(&raw[done..meta_at.start]);
        if tool.meta_at.is_none() {
            out.put_slice(b",\"_meta\":");
        }
        put_meta(&raw.slice(meta_at.clone()), tool, out);
        done = meta_at.end;
        if !is_before {
            put_name(out, &mut done);
        }
        out.put_slice(&raw[done..]);
    }
}

/// The server's own names in its `_meta`, and the hub's.
fn put_meta(old: &Bytes, tool: &Tool, out: &mut BytesMut) {
    out.put_u8(b'{');
    for member in object::members(old) {
        let key = object::text(&old[member.key.clone()]).unwrap_or_default();
        if !key.starts_with("dev.callgate/") {
            out.put_slice(&old[member.key.start..member.value.end]);
            out.put_u8(b',');
        }
    }
    let (schema, definition) = (tool.schema_hash, tool.definition_hash);
    // Writing to memory does not fail.
    let _ = write!(out, "\"dev.callgate/schemaHash\":\"{schema}\",\"dev.callgate/definitionHash\":\"{definition}\"}}");
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
    /// What the tools' definitions say, for the next reading.
    pub known: Arc<Known>,
    /// Entries left out or renamed, with the reason.
    pub findings: Vec<String>,
    /// Whether approved texts have to be read before anything can be shown: not for the relay thread.
    pub needs_texts: bool,
}

/// Why an entry is left out that could not be asked for without saying a secret.
const NAMES_SECRET: &str = "a secret that the server was given stands in its name or in that of an argument";

/// What a person said about effects, by the server's own tool name.
pub type Effects = BTreeMap<String, Effect>;

/// Reads a listing and judges it against what is held fast of its server. What is known of a definition is not found out
/// again.
pub fn read(slug: &Slug, listing: &Listing, effects: &Effects, pins: &ServerPins, known: &Known) -> Read {
    let mut read = Read { findings: listing.problems.clone(), ..Read::default() };
    let mut names = HashSet::new();
    let mut facts = Vec::with_capacity(listing.tools.len());
    for (place, raw) in listing.tools.iter().enumerate() {
        let fact = match known.of(place, raw) {
            Some(fact) => Ok(fact.clone()),
            None => Tool::read(raw).map(|tool| Fact { tool: Arc::new(tool), scanned: Scanned::No }),
        };
        let fact = match fact {
            Err(fault) => {
                read.findings.push(format!("tool {} was left out: {fault}", label(raw, "name")));
                facts.push((raw.clone(), None));
                continue;
            }
            Ok(fact) => fact,
        };
        facts.push((raw.clone(), Some(fact.clone())));
        let Fact { tool, scanned } = fact;
        if masked::is_broken(&tool.name) || tool.parameters.iter().any(|name| masked::is_broken(name)) {
            read.findings.push(format!("tool {} was left out: {NAMES_SECRET}", label(raw, "name")));
            continue;
        }
        if !names.insert(tool.name.clone()) {
            read.findings.push(format!("tool `{}` was left out: it is listed twice", tool.name));
            continue;
        }
        let Some(entry) = entry(slug, raw, tool, scanned, effects, pins) else {
            read.needs_texts = true;
            continue;
        };
        if let (Some((_, Some(fact))), Review::New | Review::Calm(_)) = (facts.last_mut(), &entry.review) {
            fact.scanned = Scanned::Clean;
        }
        if entry.exposed.strip_suffix(&*entry.tool.name).is_none_or(|prefix| !prefix.ends_with("__")) {
            read.findings.push(format!("tool `{}` is shown as `{}`", entry.tool.name, entry.exposed));
        }
        read.tools.push(entry);
    }
    read.known = Arc::new(Known::new(facts));
    let mut others =
        |kind: PinKind, key: &str, raws: &[Bytes], reader: fn(&[u8]) -> Result<Listed, _>, prefixed: bool| {
            let what = kind.as_str();
            let mut seen = HashSet::new();
            let mut entries = Vec::new();
            for raw in raws {
                match reader(raw) {
                    Err(fault) => read.findings.push(format!("{what} {} was left out: {fault}", label(raw, key))),
                    Ok(listed) if masked::is_broken(&listed.name) => {
                        read.findings.push(format!("{what} {} was left out: {NAMES_SECRET}", label(raw, key)));
                    }
                    Ok(listed) if !seen.insert(listed.name.clone()) => {
                        read.findings.push(format!("{what} `{}` was left out: it is listed twice", listed.name));
                    }
                    Ok(listed) => {
                        let own = String::from(listed.name);
                        let hash = listed.definition_hash;
                        let Some((review, _)) = pins.review(kind, &own, raw, hash, None, Scanned::No) else {
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
    let (review, _) = pins.review(PinKind::Instructions, "", &raw, hash, None, Scanned::No).ok_or(NeedsTexts)?;
    Ok(Some(ReadText { text: text.to_owned(), raw, hash, review }))
}

/// None: its approved text has to be read first.
fn entry(
    slug: &Slug,
    raw: &Bytes,
    tool: Arc<Tool>,
    scanned: Scanned,
    effects: &Effects,
    pins: &ServerPins,
) -> Option<ReadTool> {
    let exposed = slug.exposed(&tool.name);
    let hints = Hints { read_only: tool.hints.read_only, destructive: tool.hints.destructive };
    let said = effects.get(&*tool.name).copied();
    let claimed = said.unwrap_or_else(|| Effect::of(&tool.name, hints));
    let (review, stands_for) =
        pins.review(PinKind::Tool, &tool.name, raw, tool.definition_hash, Some(claimed), scanned)?;
    // After pinning, hints only raise; the person's word holds (docs/policy.md).
    let pinned = pins.head(PinKind::Tool, &tool.name).and_then(|head| head.effect);
    let effect = said.unwrap_or_else(|| pinned.map_or(claimed, |pinned| pinned.max(claimed)));
    let shown = review.shown().and_then(|text| Some(Box::new((text.clone(), Tool::read(text).ok()?))));
    Some(ReadTool { raw: raw.clone(), tool, exposed, shown, effect, stands_for, review })
}

fn named(raw: &Bytes, name: &str) -> Bytes {
    Edit::new().set("name", object::quote(name)).apply(raw).join()
}

/// How an entry that can't be read is called in a finding.
fn label(raw: &Bytes, key: &str) -> String {
    let name = object::get(raw, key).and_then(|raw| object::text(&raw).map(String::from));
    match name {
        Some(name) => format!("`{}`", contract::visible::escape(&name).chars().take(80).collect::<String>()),
        None => "without a name".into(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_entry_keeps_its_text_but_for_its_name_and_the_hubs_own_meta() {
        let check = |raw: &'static str, in_all: &str| {
            let raw = Bytes::from_static(raw.as_bytes());
            let tool = Arc::new(Tool::read(&raw).unwrap());
            let hashes = format!(
                r#""dev.callgate/schemaHash":"{}","dev.callgate/definitionHash":"{}""#,
                tool.schema_hash, tool.definition_hash
            );
            let name = tool.name.to_string();
            let exposed = format!("s__{name}");
            let (shown, effect, review, stands_for) = (None, Effect::Read, Review::New, tool.definition_hash);
            let read = ReadTool { raw, tool, exposed, shown, effect, stands_for, review };
            let text = |name| {
                let mut out = BytesMut::from(&b"before"[..]);
                read.put(name, &mut out);
                String::from_utf8(out[6..].to_vec()).unwrap()
            };
            let in_all = in_all.replace("HASHES", &hashes);
            assert_eq!(text(Some("s__\"x")), in_all.replace("NAME", r#""s__\"x""#));
            assert_eq!(text(None), in_all.replace("NAME", &object::quote(&name)));
        };
        check(
            r#"{"name": "a", "inputSchema":{"type":"object"} }"#,
            r#"{"name": NAME, "inputSchema":{"type":"object"} ,"_meta":{HASHES}}"#,
        );
        check(
            r#"{"_meta":{"x":{"name":1},"dev.callgate/schemaHash":"no"},"name":"a","inputSchema":{"type":"object"}}"#,
            r#"{"_meta":{"x":{"name":1},HASHES},"name":NAME,"inputSchema":{"type":"object"}}"#,
        );
        check(
            r#"{"inputSchema":{"type":"object"},"name":"a","_meta":{"y":[1.0]},"z":"é"}"#,
            r#"{"inputSchema":{"type":"object"},"name":NAME,"_meta":{"y":[1.0],HASHES},"z":"é"}"#,
        );
        check(
            r#"{"inputSchema":{"type":"object"},"_meta":null,"name":"a"}"#,
            r#"{"inputSchema":{"type":"object"},"_meta":{HASHES},"name":NAME}"#,
        );
    }
}

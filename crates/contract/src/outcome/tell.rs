//! What the hub adds to a server's result: a text block in front, members of `_meta`. Everything that the server said
//! keeps its bytes; what is added begins with the hub's own word, which no server's text keeps.

use crate::answer::{Changes, LEAD, PREFIX};
use crate::tree::{Kind, TextFault, Tree, Value};
use serde_json::Value as Plain;

/// One thing that is told beside a server's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told<'a> {
    /// What was cleaned from it (docs/servers-words.md): `_meta["dev.callgate/changed"]`.
    Changed(&'a Changes),
    /// A person changed the arguments to these, a JSON object (docs/approvals.md): a text block and
    /// `_meta["dev.callgate/editedArguments"]`.
    Edited(&'a str),
    /// It is the stored result of an earlier call with the same key (docs/approvals.md): `_meta["dev.callgate/replayed"]`,
    /// and a text block where the result is an error.
    Replayed,
    /// It is the result of an identical call that could not be delivered, made at that time (docs/approvals.md): a text
    /// block and `_meta["dev.callgate/replayed"]`.
    Lost(&'a str),
    /// It is the result of an identical call that waited for a person and ran at that time, for one who was sent away
    /// meanwhile: told in the same places.
    Waited(&'a str),
    /// It is the result of an identical call at that time which its caller has not had, and which had another key or
    /// none: from now on it is that of this key. Told in the same places.
    Adopted(&'a str),
}

impl Told<'_> {
    /// The text block that it puts in front.
    fn sentence(self, is_error: bool) -> Option<String> {
        Some(match self {
            Told::Changed(_) => return None,
            Told::Edited(arguments) => format!(
                "{LEAD} A person changed the arguments of this call before it ran. It ran with these: {arguments}"
            ),
            Told::Replayed if is_error => format!(
                "{LEAD} This is the stored result of the earlier call with the same idempotency key; nothing was run \
                 again. To run it again, use a new key."
            ),
            Told::Replayed => return None,
            Told::Lost(at) => format!(
                "{LEAD} This is the reply to the identical call of {at}, which could not be delivered then. The call \
                 was not run again. Calling once more with the same arguments runs it again."
            ),
            Told::Waited(at) => format!(
                "{LEAD} This is the reply to the identical call that waited for a person and ran once, at {at}. The call \
                 was not run again. Calling once more with the same arguments is another call."
            ),
            Told::Adopted(at) => format!(
                "{LEAD} This is the reply to the identical call of {at}, which had not been delivered. The call was not \
                 run again; the idempotency key of now stands for that one. To run it again, use a new key."
            ),
        })
    }

    /// The member of `_meta`: its name without the prefix, and its value.
    fn member(self) -> (&'static str, String) {
        match self {
            Told::Changed(changes) => ("changed", changes.object()),
            Told::Edited(arguments) => ("editedArguments", arguments.to_owned()),
            Told::Replayed | Told::Lost(_) | Told::Waited(_) | Told::Adopted(_) => ("replayed", "true".to_owned()),
        }
    }
}

/// A server's result with these things told. Text blocks stand in front of its content in the order of `all`; a
/// result without a `content` array gets one only where there is a block to tell.
///
/// # Errors
/// Where the result, or edited arguments, are no JSON object.
pub fn tell(result: &[u8], all: &[Told<'_>]) -> Result<Vec<u8>, TextFault> {
    let tree = Tree::lenient(result)?;
    let root = tree.root();
    if root.kind() != Kind::Object {
        return Err(TextFault::Syntax(root.span().start));
    }
    let is_error = last(root, "isError").and_then(Value::boolean) == Some(true);
    let blocks: Vec<String> = all.iter().filter_map(|told| told.sentence(is_error)).map(|text| block(&text)).collect();
    let mut edit = Edit { root, splices: Vec::new(), missing: Vec::new() };
    if !blocks.is_empty() {
        edit.put("content", Kind::Array, &blocks.join(","));
    }
    edit.members(all)?;
    Ok(edit.apply(result))
}

/// A server's JSON-RPC error with these things told: it has no place for blocks, so that they stand in front of its message.
///
/// # Errors
/// Where the error is no JSON object.
pub fn tell_error(error: &[u8], all: &[Told<'_>]) -> Result<Vec<u8>, TextFault> {
    let tree = Tree::lenient(error)?;
    let root = tree.root();
    if root.kind() != Kind::Object {
        return Err(TextFault::Syntax(root.span().start));
    }
    let mut edit = Edit { root, splices: Vec::new(), missing: Vec::new() };
    let sentences: Vec<String> = all.iter().filter_map(|told| told.sentence(true)).collect();
    let quoted = Plain::from(sentences.join(" ").as_str()).to_string();
    match last(root, "message").filter(|message| message.kind() == Kind::String) {
        _ if sentences.is_empty() => {}
        Some(message) => {
            let at = message.span().start + 1;
            edit.splices.push(Splice { at, until: at, text: format!("{} ", quoted.trim_matches('"')) });
        }
        None => edit.missing.push(format!("\"message\":{quoted}")),
    }
    Ok(edit.apply(error))
}

fn block(text: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":{}}}", Plain::from(text))
}

/// The value that most readers take where a key stands twice.
fn last<'t>(object: Value<'t>, key: &str) -> Option<Value<'t>> {
    object.members().filter(|(name, _)| name.spells(key)).last().map(|(_, value)| value)
}

/// Replaces the bytes between two places.
struct Splice {
    at: usize,
    until: usize,
    text: String,
}

/// What is to be changed in a result.
struct Edit<'t> {
    root: Value<'t>,
    splices: Vec<Splice>,
    /// Members that it does not have.
    missing: Vec<String>,
}

impl Edit<'_> {
    /// Puts items in front of what the member `key` holds; makes the member where there is none of that kind.
    fn put(&mut self, key: &str, kind: Kind, items: &str) {
        let whole = if kind == Kind::Array { format!("[{items}]") } else { format!("{{{items}}}") };
        match last(self.root, key) {
            Some(value) if value.kind() == kind => {
                let at = value.span().start + 1;
                let comma = if value.count() > 0 { "," } else { "" };
                self.splices.push(Splice { at, until: at, text: format!("{items}{comma}") });
            }
            Some(value) => self.replace(value, whole),
            None => self.missing.push(format!("\"{key}\":{whole}")),
        }
    }

    fn replace(&mut self, value: Value<'_>, text: String) {
        self.splices.push(Splice { at: value.span().start, until: value.span().end, text });
    }

    /// The members of `_meta`; one that stands there already gets the new value.
    fn members(&mut self, all: &[Told<'_>]) -> Result<(), TextFault> {
        let old = last(self.root, "_meta").filter(|meta| meta.kind() == Kind::Object);
        let mut new: Vec<(&str, String)> = Vec::new();
        for told in all {
            let (name, value) = told.member();
            Tree::read(value.as_bytes())?;
            new.retain(|(other, _)| *other != name);
            new.push((name, value));
        }
        new.retain(|(name, value)| match old.and_then(|meta| last(meta, &format!("{PREFIX}{name}"))) {
            Some(place) => {
                self.replace(place, value.clone());
                false
            }
            None => true,
        });
        let items: Vec<String> = new.iter().map(|(name, value)| format!("\"{PREFIX}{name}\":{value}")).collect();
        if !items.is_empty() {
            self.put("_meta", Kind::Object, &items.join(","));
        }
        Ok(())
    }

    fn apply(mut self, result: &[u8]) -> Vec<u8> {
        if !self.missing.is_empty() {
            let at = self.root.span().start + 1;
            let comma = if self.root.count() > 0 { "," } else { "" };
            self.splices.push(Splice { at, until: at, text: format!("{}{comma}", self.missing.join(",")) });
        }
        self.splices.sort_by_key(|splice| splice.at);
        let mut out = Vec::with_capacity(result.len() + 512);
        let mut done = 0;
        for splice in self.splices {
            out.extend_from_slice(&result[done..splice.at]);
            out.extend_from_slice(splice.text.as_bytes());
            done = splice.until;
        }
        out.extend_from_slice(&result[done..]);
        out
    }
}

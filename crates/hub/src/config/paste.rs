//! What people paste: one server's entry, or a block of named entries as other hosts write it. Looks only for what is an
//! entry; whether it is a good one is the check's affair.

use super::source::Source;
use super::walk::any;
use jsonc_parser::ast::{Object, Value as Node};
use serde_json::{Map, Value};
use std::path::Path;

/// Entries by name, in their order.
pub type Entries = Vec<(String, Map<String, Value>)>;

/// Keys under which hosts keep their servers.
const BLOCKS: [&str; 4] = ["mcpServers", "servers", "context_servers", "mcp"];
/// Keys of which every entry has one.
const LAUNCH: [&str; 4] = ["command", "url", "serverUrl", "httpUrl"];

/// Why a paste holds no entries.
#[derive(Debug, thiserror::Error)]
pub enum PasteError {
    /// It is no JSON.
    #[error("line {line}, column {column}: {message}")]
    Syntax {
        /// Line of the paste, from 1.
        line: u32,
        /// Column, from 1.
        column: u32,
        /// What is wrong.
        message: String,
    },
    /// It is JSON and no entry.
    #[error("this is neither a server's entry (with `command` or `url`) nor a block of named entries")]
    NoEntry,
    /// One entry without a name.
    #[error("the entry needs a name")]
    NoName,
    /// One name and several entries.
    #[error("there are {0} entries, so they keep the names that they have; leave the name out")]
    Several(usize),
    /// It cannot be told which one counts.
    #[error("the key `{0}` is there twice")]
    Twice(String),
}

/// The entries of a paste, in its order. `name` names the only one, in place of the name that it may have.
pub fn pasted(text: &str, name: Option<&str>) -> Result<Entries, PasteError> {
    let braced = braced(text);
    let source = Source::new(Path::new(""), &braced);
    let tree = source.parse().map_err(|problem| PasteError::Syntax {
        line: problem.line,
        column: problem.column,
        message: problem.message,
    })?;
    once(&tree)?;
    let Value::Object(whole) = any(&tree) else { return Err(PasteError::NoEntry) };
    if is_entry(&whole) {
        let name = name.ok_or(PasteError::NoName)?;
        return Ok(vec![(name.to_owned(), whole)]);
    }
    let mut entries = block(whole).ok_or(PasteError::NoEntry)?;
    match (name, entries.as_mut_slice()) {
        (None, _) => {}
        (Some(name), [(own, _)]) => name.clone_into(own),
        (Some(_), several) => return Err(PasteError::Several(several.len())),
    }
    Ok(entries)
}

/// Documentation often shows `"name": { … }` without the braces around it.
fn braced(text: &str) -> String {
    let bare = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    if bare.starts_with('"') { format!("{{{text}\n}}") } else { text.to_owned() }
}

fn is_entry(object: &Map<String, Value>) -> bool {
    LAUNCH.iter().any(|key| object.get(*key).is_some_and(Value::is_string))
}

/// Named entries, maybe one or two levels down under the key of some host.
fn block(mut object: Map<String, Value>) -> Option<Entries> {
    for key in BLOCKS {
        if let Some(Value::Object(inner)) = object.get_mut(key)
            && !is_entry(inner)
        {
            return block(std::mem::take(inner));
        }
    }
    let entries = object.into_iter().map(|(name, entry)| match entry {
        Value::Object(entry) if is_entry(&entry) => Some((name, entry)),
        _ => None,
    });
    entries.collect::<Option<Vec<_>>>().filter(|entries| !entries.is_empty())
}

fn once(node: &Node<'_>) -> Result<(), PasteError> {
    match node {
        Node::Object(object) => once_in(object),
        Node::Array(array) => array.elements.iter().try_for_each(once),
        Node::StringLit(_) | Node::NumberLit(_) | Node::BooleanLit(_) | Node::NullKeyword(_) => Ok(()),
    }
}

fn once_in(object: &Object<'_>) -> Result<(), PasteError> {
    let mut seen = std::collections::HashSet::new();
    for property in &object.properties {
        if !seen.insert(property.name.as_str()) {
            return Err(PasteError::Twice(property.name.as_str().to_owned()));
        }
        once(&property.value)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, name: Option<&str>, expect: &str) {
        let found = match pasted(text, name) {
            Ok(entries) => {
                let shown = entries.iter().map(|(name, entry)| format!("{name} {}", Value::Object(entry.clone())));
                shown.collect::<Vec<_>>().join("; ")
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn what_hosts_write_and_people_paste() {
        let a = r#"a {"command":"x"}"#;
        check(r#"{"command": "x"}"#, Some("a"), a);
        check(r#"{"mcpServers": {"a": {"command": "x"}}}"#, None, a);
        check(
            r#"{ // mine
            "mcpServers": {"a": {"command": "x"},}, }"#,
            None,
            a,
        );
        check(r#"{"inputs": [], "servers": {"a": {"command": "x"}}}"#, None, a);
        check(r#"{"mcp": {"servers": {"a": {"command": "x"}}}}"#, None, a);
        check(r#"{"context_servers": {"a": {"command": "x"}}}"#, None, a);
        check(r#"{"a": {"command": "x"}}"#, None, a);
        check("\n \"a\": {\"command\": \"x\"},\n", None, a);
        check("\"a\": {\"command\": \"x\"} // it", None, a);
        check(r#"{"b": {"command": "x"}}"#, Some("a"), a);
        check(r#"{"servers": {"command": "x"}}"#, None, r#"servers {"command":"x"}"#);
        check(r#"{"z": {"url": "u"}, "a": {"command": "x"}}"#, None, r#"z {"url":"u"}; a {"command":"x"}"#);
    }

    #[test]
    fn what_is_no_entry_says_why() {
        let none = "this is neither a server's entry (with `command` or `url`) nor a block of named entries";
        for text in ["[]", "1", "{}", r#"{"mcpServers": {}}"#, r#"{"a": 1}"#, r#"{"a": {"comand": "x"}}"#] {
            check(text, Some("a"), none);
        }
        check(r#"{"command": "x"}"#, None, "the entry needs a name");
        let two = r#"{"z": {"url": "u"}, "a": {"command": "x"}}"#;
        check(two, Some("n"), "there are 2 entries, so they keep the names that they have; leave the name out");
        check(r#"{"a": {"command": "x"}, "a": {"command": "y"}}"#, None, "the key `a` is there twice");
        check(r#"{"command": "x", "env": {"K": "1", "K": "2"}}"#, Some("a"), "the key `K` is there twice");
        check("{\n  \"command\": x}", Some("a"), "line 2, column 14: Unexpected token");
    }
}

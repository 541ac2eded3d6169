//! Changes of one server entry in the text of a config file. Refuses a file that it does not wholly understand, and
//! looks at its own result before anybody else does.

use super::problem::Problem;
use super::source::{BOM, Source};
use super::splice::{Layout, Splice, apply};
use super::walk::{any, join};
use super::{check_text, sorted};
use jsonc_parser::ast::{Object, ObjectProp, Value as Node};
use jsonc_parser::common::Ranged;
use serde_json::{Map, Value};
use std::path::Path;

/// A change of one entry in `mcpServers`.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// Adds an entry at the end.
    Add {
        /// Its name; there must be none of it yet.
        name: String,
        /// Its keys, in the order in which they are written.
        entry: Map<String, Value>,
    },
    /// Takes an entry out.
    Remove {
        /// Its name.
        name: String,
    },
    /// Marks an entry as disabled.
    Disable {
        /// Its name.
        name: String,
    },
    /// Takes that mark away.
    Enable {
        /// Its name.
        name: String,
    },
}

/// Why a file was not changed. Nothing was written then.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The file does not parse, or has a key twice so that it cannot be told which one counts.
    #[error("the config file has faults that must be mended first:\n{}", lines(.0))]
    Wrong(Vec<Problem>),
    /// There is such an entry.
    #[error("there is a server named {0} already")]
    Exists(String),
    /// There is no such entry.
    #[error("there is no server named {0}")]
    Unknown(String),
    /// The file would have faults that it does not have now.
    #[error("the entry is not right:\n{}", lines(.0))]
    WouldBreak(Vec<Problem>),
    /// The result would not have been what was asked for.
    #[error("the file cannot be changed without touching other entries; edit it by hand")]
    Unsure,
    /// Somebody else wrote the file at the same time.
    #[error("the file was changed by somebody else at this moment; try again")]
    Raced,
    /// It could not be read.
    #[error(transparent)]
    Read(#[from] super::ReadError),
    /// It could not be written.
    #[error("cannot write {}", .file.display())]
    Write {
        /// Which file.
        file: std::path::PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// A text after a change.
#[derive(Clone, Debug)]
pub struct Edited {
    /// The whole new text.
    pub text: String,
    /// What to know about the entry.
    pub warnings: Vec<Problem>,
}

impl Edit {
    /// The entry's name.
    pub fn name(&self) -> &str {
        match self {
            Edit::Add { name, .. } | Edit::Remove { name } | Edit::Disable { name } | Edit::Enable { name } => name,
        }
    }
}

/// Makes a change in a text that stands in `file`.
pub fn edit(file: &Path, text: &str, edit: &Edit) -> Result<Edited, EditError> {
    let source = Source::new(file, text);
    let tree = source.parse().map_err(|problem| EditError::Wrong(vec![problem]))?;
    let expect = expected(&source, &tree, edit)?;
    let mut new = source.text.to_owned();
    if let Edit::Add { .. } = edit
        && root(&tree).is_some_and(|root| root.get("mcpServers").is_none())
    {
        new = changed(file, &new, |layout, root| layout.insert(root, "mcpServers", &Value::Object(Map::new())))?;
    }
    new = changed(file, &new, |layout, root| splices(layout, root, edit))?;
    let new_source = Source::new(file, &new);
    if new_source.parse().map(|tree| any(&tree)) != Ok(expect) {
        return Err(EditError::Unsure);
    }
    if text.starts_with(BOM) {
        new.insert(0, BOM);
    }
    judge(file, text, new, edit.name())
}

/// The tree that must come out, made without looking at the text.
fn expected(source: &Source<'_>, tree: &Node<'_>, edit: &Edit) -> Result<Value, EditError> {
    let wrong =
        |offset, path: &str, message: &str| EditError::Wrong(vec![source.problem(offset, path, message.into())]);
    let root = root(tree).ok_or_else(|| wrong(tree.range().start, "", "must be an object"))?;
    let once = |object: &Object<'_>, key: &str, path: &str| {
        let again = object.properties.iter().filter(|property| property.name.as_str() == key).nth(1);
        again.map_or(Ok(()), |again| Err(wrong(again.range.start, path, "duplicate key")))
    };
    once(root, "mcpServers", "mcpServers")?;
    if let Some(servers) = root.get("mcpServers") {
        let start = servers.range.start;
        let servers = servers.value.as_object().ok_or_else(|| wrong(start, "mcpServers", "must be an object"))?;
        let path = join("mcpServers", edit.name());
        once(servers, edit.name(), &path)?;
        if let (Edit::Disable { .. } | Edit::Enable { .. }, Some(entry)) = (edit, servers.get(edit.name())) {
            let start = entry.range.start;
            let entry = entry.value.as_object().ok_or_else(|| wrong(start, &path, "must be an object"))?;
            once(entry, "disabled", &join(&path, "disabled"))?;
            once(entry, "enabled", &join(&path, "enabled"))?;
        }
    }
    let mut value = any(tree);
    let servers = value.as_object_mut().map(|root| root.entry("mcpServers").or_insert_with(|| Map::new().into()));
    let servers = servers.and_then(Value::as_object_mut).ok_or(EditError::Unsure)?;
    let name = edit.name();
    match (edit, servers.get_mut(name)) {
        (Edit::Add { .. }, Some(_)) => return Err(EditError::Exists(name.into())),
        (Edit::Add { entry, .. }, None) => drop(servers.insert(name.into(), entry.clone().into())),
        (_, None) => return Err(EditError::Unknown(name.into())),
        (Edit::Remove { .. }, Some(_)) => drop(servers.shift_remove(name)),
        (Edit::Disable { .. } | Edit::Enable { .. }, Some(entry)) => {
            let entry = entry.as_object_mut().ok_or(EditError::Unsure)?;
            for (key, value) in switches(edit, |key| entry.contains_key(key)) {
                entry.insert(key.into(), value.into());
            }
        }
    }
    Ok(value)
}

/// The keys by which an entry is switched on or off, and their new values: those that it has, else our own.
fn switches(edit: &Edit, has: impl Fn(&str) -> bool) -> Vec<(&'static str, bool)> {
    let off = matches!(edit, Edit::Disable { .. });
    let mut keys = Vec::new();
    if has("enabled") {
        keys.push(("enabled", !off));
    }
    if has("disabled") || (off && keys.is_empty()) {
        keys.push(("disabled", off));
    }
    keys
}

fn splices(layout: &Layout<'_>, root: &Object<'_>, edit: &Edit) -> Vec<Splice> {
    let Some(servers) = root.get("mcpServers").and_then(|servers| servers.value.as_object()) else { return Vec::new() };
    let found = servers.properties.iter().position(|property| property.name.as_str() == edit.name());
    match (edit, found) {
        (Edit::Add { name, entry }, _) => layout.insert(servers, name, &Value::Object(entry.clone())),
        (Edit::Remove { .. }, Some(at)) => layout.remove(servers, at),
        (Edit::Disable { .. } | Edit::Enable { .. }, Some(at)) => {
            let Some(entry) = servers.properties[at].value.as_object() else { return Vec::new() };
            let set = |(key, value): (&str, bool)| match entry.get(key) {
                Some(property) => vec![replaced(property, value)],
                None => layout.insert(entry, key, &value.into()),
            };
            switches(edit, |key| entry.get(key).is_some()).into_iter().flat_map(set).collect()
        }
        (Edit::Remove { .. } | Edit::Disable { .. } | Edit::Enable { .. }, None) => Vec::new(),
    }
}

fn replaced(property: &ObjectProp<'_>, value: bool) -> Splice {
    let range = property.value.range();
    Splice { start: range.start, end: range.end, text: value.to_string() }
}

fn changed(
    file: &Path,
    text: &str,
    change: impl FnOnce(&Layout<'_>, &Object<'_>) -> Vec<Splice>,
) -> Result<String, EditError> {
    let tree = Source::new(file, text).parse().map_err(|_| EditError::Unsure)?;
    let root = root(&tree).ok_or(EditError::Unsure)?;
    Ok(apply(text, change(&Layout::of(text, root), root)))
}

fn root<'a, 'b>(tree: &'b Node<'a>) -> Option<&'b Object<'a>> {
    tree.as_object()
}

/// Faults that the file has anyway are no reason to refuse; new ones are.
fn judge(file: &Path, old: &str, new: String, name: &str) -> Result<Edited, EditError> {
    let before = check_text(file, old).err().unwrap_or_default();
    let known =
        |problem: &Problem| before.iter().any(|b| (&b.key_path, &b.message) == (&problem.key_path, &problem.message));
    let warnings = match check_text(file, &new) {
        Ok(loaded) => {
            let own = join("mcpServers", name);
            let is_own =
                |path: &str| path.strip_prefix(&own).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
            loaded.warnings.into_iter().filter(|warning| is_own(&warning.key_path)).collect()
        }
        Err(after) => {
            let fresh: Vec<Problem> = after.into_iter().filter(|problem| !known(problem)).collect();
            if !fresh.is_empty() {
                return Err(EditError::WouldBreak(sorted(fresh)));
            }
            Vec::new()
        }
    };
    Ok(Edited { text: new, warnings })
}

fn lines(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}

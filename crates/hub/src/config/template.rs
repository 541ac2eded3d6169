//! Substitutions in config values: `${home}`, `${env:NAME:-default}`, `${secret:NAME}` and kin, `$$` for `$`.
//! One rule for all fields. A value that was filled in is never looked at again, and never part of a message.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A text with substitutions, known to be well formed.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("x-substitutions" = true))]
pub struct Template {
    source: String,
    parts: Vec<Part>,
}

/// One stretch of a template.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// As it stands, `$$` already made `$`.
    Literal(String),
    /// To be filled in.
    Slot(Slot),
}

/// What is to be filled in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// The user's home folder.
    Home,
    /// A port that the hub holds for this server; None is the unnamed one.
    Port(Option<String>),
    /// The first root of the session that the process serves.
    Root,
    /// A variable of the hub's environment.
    Variable {
        /// Its name.
        name: String,
        /// What stands in for it when it is unset or empty.
        default: Option<String>,
    },
    /// A secret of the keychain.
    Secret(String),
}

/// Why a text is no template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Malformed {
    /// Byte offset of the `$` in the text.
    pub offset: usize,
    /// What is wrong.
    pub message: String,
}

impl Template {
    /// The text as written, with nothing filled in.
    pub fn source(&self) -> &str {
        &self.source
    }
    /// Its stretches in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }
    /// What is to be filled in, in order.
    pub fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.parts.iter().filter_map(|part| match part {
            Part::Slot(slot) => Some(slot),
            Part::Literal(_) => None,
        })
    }
    /// The text itself, where nothing is to be filled in.
    pub fn literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }
    /// Fills in every slot once.
    pub fn expand<E>(&self, mut fill: impl FnMut(&Slot) -> Result<String, E>) -> Result<String, E> {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(text) => out.push_str(text),
                Part::Slot(slot) => out.push_str(&fill(slot)?),
            }
        }
        Ok(out)
    }
}

/// A literal may be a secret that was pasted in.
impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.slots()).finish()
    }
}

impl From<Template> for String {
    fn from(template: Template) -> String {
        template.source
    }
}

impl TryFrom<String> for Template {
    type Error = Malformed;
    fn try_from(source: String) -> Result<Template, Malformed> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut at = 0;
        while let Some(found) = source[at..].find('$') {
            literal.push_str(&source[at..at + found]);
            at += found;
            let rest = &source[at..];
            if rest.starts_with("$$") {
                literal.push('$');
                at += 2;
            } else if let Some(inside) = rest.strip_prefix("${") {
                let wrong = |message: String| Malformed { offset: at, message };
                let end = inside
                    .find('}')
                    .ok_or_else(|| wrong("`${` without a closing `}` (write `$$` for a `$`)".into()))?;
                let slot = Slot::parse(&inside[..end]).map_err(wrong)?;
                if !literal.is_empty() {
                    parts.push(Part::Literal(std::mem::take(&mut literal)));
                }
                parts.push(Part::Slot(slot));
                at += end + 3;
            } else {
                literal.push('$');
                at += 1;
            }
        }
        literal.push_str(&source[at..]);
        if !literal.is_empty() {
            parts.push(Part::Literal(literal));
        }
        Ok(Template { source, parts })
    }
}

/// Substitutions of other hosts, and what to write instead.
const FOREIGN: [(&str, &str); 6] = [
    ("userHome", "write `${home}`"),
    ("workspaceFolder", "write `${root}` and `\"share\": \"session\"`"),
    ("workspaceFolderBasename", "there is none here; `${root}` is the folder's whole path"),
    ("pathSeparator", "write the separator itself"),
    ("cwd", "write the folder, or `${root}` and `\"share\": \"session\"`"),
    ("/", "write the separator itself"),
];

const KNOWN: &str = "known are `${home}`, `${port}`, `${port:NAME}`, `${root}`, `${env:NAME}`, `${env:NAME:-default}`, \
    `${secret:NAME}`, `${NAME}` and `${NAME:-default}` (write `$$` for a `$`)";

impl Slot {
    fn parse(inside: &str) -> Result<Slot, String> {
        match inside {
            "home" => return Ok(Slot::Home),
            "port" => return Ok(Slot::Port(None)),
            "root" => return Ok(Slot::Root),
            _ => {}
        }
        if let Some((_, advice)) = FOREIGN.iter().find(|(name, _)| *name == inside) {
            return Err(format!("`${{{inside}}}` is a substitution of another host: {advice}"));
        }
        if inside.contains("${") {
            return Err("a substitution cannot stand inside another one".into());
        }
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default.to_owned())),
            None => (inside, None),
        };
        match (name.split_once(':'), default) {
            (Some(("env", name)), default) if is_variable(name) => Ok(Slot::Variable { name: name.into(), default }),
            (None, default) if is_variable(name) => Ok(Slot::Variable { name: name.into(), default }),
            (Some(("port", name)), None) if is_label(name) => Ok(Slot::Port(Some(name.into()))),
            (Some(("secret", name)), None) if is_label(name) => Ok(Slot::Secret(name.into())),
            (Some(("input", _)), _) => {
                Err("`${input:…}` asks the user in another host; here: `${secret:NAME}` or `${env:NAME}`".into())
            }
            (Some((form @ ("env" | "port" | "secret"), _)), None) => Err(format!("`${{{form}:…}}` needs a plain name")),
            (Some((form @ ("port" | "secret"), _)), Some(_)) => Err(format!("`${{{form}:…}}` cannot have a default")),
            _ => Err(format!("unknown substitution: {KNOWN}")),
        }
    }
}

/// Names that every shell takes.
pub(super) fn is_variable(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Names of ports and secrets.
fn is_label(name: &str) -> bool {
    (1..=128).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-./@".contains(&b))
}

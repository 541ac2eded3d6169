//! Files of `NAME=value` lines. Values are taken as they stand: nothing in them is filled in. Never shows one of them.

use super::template::is_variable;
use crate::secrets;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What such a file held when it was read.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Variables(Arc<BTreeMap<String, String>>);

impl Variables {
    /// Names and values.
    pub fn all(&self) -> &BTreeMap<String, String> {
        &self.0
    }
    /// What a launch is known by (docs/policy.md, docs/servers-words.md): names, and each value that may steer the program. A token that is
    /// another one today launches nothing else: the value of a variable that is named as a secret is left out, and
    /// passwords in addresses.
    pub(crate) fn steering(&self) -> BTreeMap<&str, Option<String>> {
        self.0.iter().map(|(name, value)| (name.as_str(), secrets::steering(name, value))).collect()
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Why a file of variables cannot be used. Never quotes a line: it may hold a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} {message}")]
pub struct BadLine {
    /// From 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: &'static str,
}

/// Reads such a file. Empty lines, `# comments`, `export NAME=value`, quotes and `\n` inside double quotes are known.
pub(super) fn parse(text: &str) -> Result<Variables, BadLine> {
    let mut out = BTreeMap::new();
    for (at, line) in text.trim_start_matches(super::source::BOM).lines().enumerate() {
        let wrong = |message| BadLine { line: at + 1, message };
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=').ok_or_else(|| wrong("has no `=`"))?;
        let name = name.trim();
        if !is_variable(name) {
            return Err(wrong("has no valid name before the `=`"));
        }
        let value = unquote(value.trim()).map_err(wrong)?;
        if value.contains('\0') {
            return Err(wrong("contains a NUL character"));
        }
        out.insert(name.to_owned(), value);
    }
    Ok(Variables(Arc::new(out)))
}

fn unquote(value: &str) -> Result<String, &'static str> {
    if let Some(inside) = value.strip_prefix('\'') {
        let (text, rest) = inside.split_once('\'').ok_or("has a quote that does not end")?;
        return after(rest).map(|()| text.to_owned());
    }
    let Some(inside) = value.strip_prefix('"') else {
        // Only a `#` after white space begins a comment: values such as `a#b` are common.
        let end = value.find(" #").or_else(|| value.find("\t#")).unwrap_or(value.len());
        return Ok(value[..end].trim_end().to_owned());
    };
    let mut text = String::new();
    let mut chars = inside.chars();
    loop {
        match chars.next().ok_or("has a quote that does not end")? {
            '"' => return after(chars.as_str()).map(|()| text),
            '\\' => match chars.next().ok_or("has a quote that does not end")? {
                'n' => text.push('\n'),
                'r' => text.push('\r'),
                't' => text.push('\t'),
                other => text.push(other),
            },
            other => text.push(other),
        }
    }
}

fn after(rest: &str) -> Result<(), &'static str> {
    let rest = rest.trim_start();
    if rest.is_empty() || rest.starts_with('#') { Ok(()) } else { Err("goes on after its closing quote") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_env_files() {
        let check = |line: &str, expect: Result<&str, &'static str>| {
            let read = parse(&format!("# head\n\n{line}\n")).map(|vars| vars.all()["A"].clone());
            assert_eq!(read, expect.map(str::to_owned).map_err(|message| BadLine { line: 3, message }), "{line}");
        };
        check("A=1", Ok("1"));
        check("export A = x y ", Ok("x y"));
        check("A=", Ok(""));
        check("A=a#b", Ok("a#b"));
        check("A=a # b", Ok("a"));
        check("A='a # \"b\"' # c", Ok("a # \"b\""));
        check("A=\"a\\n\\\"b\\\\\"", Ok("a\n\"b\\"));
        check("A=${B} $$", Ok("${B} $$"));
        check("A=\"b", Err("has a quote that does not end"));
        check("A=\"b\"c", Err("goes on after its closing quote"));
        check("A", Err("has no `=`"));
        check("1A=b", Err("has no valid name before the `=`"));
    }
}

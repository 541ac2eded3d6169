//! What the adapter understands of its host's and its hub's messages: what a new hub must know, and the ids.

use bytes::Bytes;
use frame::object;

/// What the host has said that a new hub must know.
#[derive(Default)]
pub struct Memory {
    pub initialize: Option<Bytes>,
    pub level: Option<String>,
}

/// What a line of the host is.
pub struct Said {
    /// `initialize` goes to a new hub as itself, not as something said before.
    pub is_first: bool,
    /// The ids of its requests.
    pub ids: Vec<Bytes>,
}

impl Memory {
    /// Takes a message in.
    pub fn note(&mut self, text: &Bytes) -> Said {
        if text.trim_ascii_start().first() == Some(&b'[') {
            let elements = object::elements(text).map(|range| text.slice(range));
            return Said { is_first: false, ids: elements.flat_map(|element| self.note(&element).ids).collect() };
        }
        let [id, method, params] = object::pick(text, ["id", "method", "params"]);
        let method = method.and_then(|range| object::text(&text[range]));
        let params = params.map(|range| text.slice(range));
        match method.as_deref() {
            Some("initialize") => self.initialize.clone_from(&params),
            Some("logging/setLevel") => {
                let level = params.and_then(|params| object::get(&params, "level"));
                self.level = level.and_then(|raw| object::text(&raw).map(String::from));
            }
            _ => {}
        }
        let id = id.filter(|_| method.is_some()).map(|range| text.slice(range));
        Said { is_first: method.as_deref() == Some("initialize"), ids: id.into_iter().collect() }
    }
}

/// The id of an answer in the form in which the hub writes answers.
pub fn answered(line: &Bytes) -> Option<Bytes> {
    const HEAD: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":";
    let rest = line.strip_prefix(HEAD)?;
    let end = if rest.first() == Some(&b'"') {
        let mut at = 1;
        while *rest.get(at)? != b'"' {
            at += if rest[at] == b'\\' { 2 } else { 1 };
        }
        at + 1
    } else {
        rest.iter().position(|&byte| byte == b',')?
    };
    rest[end..].starts_with(b",\"").then(|| line.slice(HEAD.len()..HEAD.len() + end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_an_answer_is_found_and_nothing_else() {
        let check = |line: &'static str, expect: Option<&'static str>| {
            let id = answered(&Bytes::from_static(line.as_bytes()));
            assert_eq!(id.as_deref(), expect.map(str::as_bytes), "{line}");
        };
        check(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, Some("7"));
        check(r#"{"jsonrpc":"2.0","id":"a\",b","error":{}}"#, Some(r#""a\",b""#));
        check(r#"{"jsonrpc":"2.0","id":"x"}"#, None);
        check(r#"{"jsonrpc":"2.0","method":"m"}"#, None);
        check(r#"{"jsonrpc":"2.0","id":"x"#, None);
    }
}

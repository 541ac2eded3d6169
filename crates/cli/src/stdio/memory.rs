//! What the adapter understands of its host's and its hub's messages: what a new hub must know, and the ids.

use bytes::Bytes;
use endpoint::socket::Question;
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
    /// Its requests by their ids.
    pub requests: Vec<(Bytes, Question)>,
    /// The id of a request that it gives up, and for which no answer will come.
    pub cancelled: Option<Bytes>,
}

impl Memory {
    /// Takes a message in.
    pub fn note(&mut self, text: &Bytes) -> Said {
        if text.trim_ascii_start().first() == Some(&b'[') {
            let elements = object::elements(text).map(|range| text.slice(range));
            let requests = elements.flat_map(|element| self.note(&element).requests).collect();
            return Said { is_first: false, requests, cancelled: None };
        }
        let [id, method, params] = object::pick(text, ["id", "method", "params"]);
        let method = method.and_then(|range| object::text(&text[range]));
        let params = params.map(|range| text.slice(range));
        match method.as_deref() {
            Some("initialize") => self.initialize.clone_from(&params),
            Some("logging/setLevel") => {
                let level = params.as_ref().and_then(|params| object::get(params, "level"));
                self.level = level.and_then(|raw| object::text(&raw).map(String::from));
            }
            _ => {}
        }
        let cancels = method.as_deref() == Some("notifications/cancelled");
        let question = method.as_deref().map(|method| Question::of(method, params.as_ref()));
        let cancelled = params.filter(|_| cancels).and_then(|params| object::get(&params, "requestId"));
        let request = id.zip(question).map(|(range, question)| (text.slice(range), question));
        let requests = request.into_iter().collect();
        Said { is_first: method.as_deref() == Some("initialize"), requests, cancelled }
    }
}

/// The ids of an answer, or of a batch of them, in the form in which the hub writes answers.
pub fn answered(line: &Bytes) -> Vec<Bytes> {
    if line.first() == Some(&b'[') {
        return object::elements(line).filter_map(|range| one(&line.slice(range))).collect();
    }
    one(line).into_iter().collect()
}

fn one(line: &Bytes) -> Option<Bytes> {
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
    fn the_ids_of_answers_are_found_and_nothing_else() {
        let check = |line: &'static str, expect: &[&str]| {
            let ids = answered(&Bytes::from_static(line.as_bytes()));
            assert_eq!(ids, expect, "{line}");
        };
        check(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, &["7"]);
        check(r#"{"jsonrpc":"2.0","id":"a\",b","error":{}}"#, &[r#""a\",b""#]);
        check(r#"{"jsonrpc":"2.0","id":"x"}"#, &[]);
        check(r#"{"jsonrpc":"2.0","method":"m"}"#, &[]);
        check(r#"{"jsonrpc":"2.0","id":"x"#, &[]);
        check(r#"[{"jsonrpc":"2.0","id":7,"result":{}},{"jsonrpc":"2.0","id":"a","error":{}}]"#, &["7", "\"a\""]);
    }

    #[test]
    fn what_is_cancelled_is_noticed() {
        let text = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}"#;
        let said = Memory::default().note(&Bytes::from_static(text.as_bytes()));
        assert_eq!((said.requests.len(), said.cancelled.as_deref()), (0, Some(&b"\"a\""[..])));
    }
}

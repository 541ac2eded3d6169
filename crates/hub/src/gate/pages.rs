//! Results that are over the bound: the first piece goes to the asker, the rest is a resource of the hub that only the
//! same client can read, for an hour (docs/servers-words.md).

use bytes::Bytes;
use contract::CallId;
use contract::answer::LEAD;
use frame::object;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// How long the rest of a result can be read.
const LIFE: Duration = Duration::from_secs(60 * 60);
/// Bytes of all such results; the oldest go first.
const MOST: usize = 64 << 20;
/// What such a resource's address begins with.
const PREFIX: &str = "callgate://result/";

/// What stands around a piece, in bytes at most.
const AROUND: usize = 512;
/// Bytes of a piece at least, as it is quoted.
const LEAST: usize = 256;

/// A result over the bound, in the form in which it is read piece by piece: the texts of one that holds nothing else of
/// any length, otherwise all of it. Nothing is left out but structured content that the text says as well.
pub(crate) struct Readable {
    text: Bytes,
    mime: &'static str,
    /// The members beside the text, each behind a comma: its asker gets them with the first piece.
    beside: String,
}

struct Long {
    call: CallId,
    client: Rc<str>,
    text: Bytes,
    mime: &'static str,
    most: usize,
    since: Instant,
}

/// All results that are kept in pieces.
#[derive(Default)]
pub(crate) struct Pages(RefCell<VecDeque<Long>>);

impl Pages {
    /// Keeps a result and gives what its asker gets of it: the first piece and where the rest is.
    pub(crate) fn keep(&self, call: CallId, client: &Rc<str>, result: Readable, most: usize) -> String {
        let Readable { text, mime, beside } = result;
        let long = Long { call, client: Rc::clone(client), text, mime, most, since: Instant::now() };
        let (first, next) = long.piece(0, beside.len());
        let note = match next {
            Some(next) => format!(
                "{LEAD} The result has {} bytes, more than are passed on at once. The rest can be read for an hour as \
                 the resource {next}",
                long.text.len()
            ),
            None => format!("{LEAD} The result was too large in its own form; this is its whole text."),
        };
        let blocks =
            [note.as_str(), first].map(|text| format!("{{\"type\":\"text\",\"text\":{}}}", object::quote(text)));
        let body = format!("{{\"content\":[{}]{beside}}}", blocks.join(","));
        let mut all = self.0.borrow_mut();
        // What is told again lives anew.
        all.retain(|other| other.call != call);
        all.push_back(long);
        while all.iter().map(|long| long.text.len()).sum::<usize>() > MOST && all.len() > 1 {
            all.pop_front();
        }
        body
    }

    /// The result of `resources/read` for one piece; None: this client has no such piece.
    pub(crate) fn read(&self, uri: &str, client: &str) -> Option<String> {
        let rest = uri.strip_prefix(PREFIX)?;
        let (call, offset) = rest.split_once("?offset=")?;
        let (call, offset): (CallId, usize) = (call.parse().ok()?, offset.parse().ok()?);
        let mut all = self.0.borrow_mut();
        all.retain(|long| long.since.elapsed() < LIFE);
        let long = all.iter().find(|long| long.call == call && *long.client == *client)?;
        if offset >= long.text.len() || !is_boundary(&long.text, offset) {
            return None;
        }
        let (text, next) = long.piece(offset, 0);
        let piece = format!(
            "{{\"uri\":{},\"mimeType\":\"{}\",\"text\":{}}}",
            object::quote(uri),
            long.mime,
            object::quote(text)
        );
        let next = next.map(|next| format!(",\"_meta\":{{\"dev.callgate/next\":{}}}", object::quote(&next)));
        Some(format!("{{\"contents\":[{piece}]{}}}", next.unwrap_or_default()))
    }
    /// Whether an address is one of the hub's own.
    pub(crate) fn is_own(uri: &str) -> bool {
        uri.starts_with(PREFIX)
    }
}

impl Long {
    /// The piece that begins there, with so many bytes beside it, and the address of the next one.
    fn piece(&self, offset: usize, beside: usize) -> (&str, Option<String>) {
        let room = self.most.saturating_sub(AROUND + beside).max(LEAST);
        let mut end = offset + quoted(&self.text[offset..], room);
        while !is_boundary(&self.text, end) {
            end -= 1;
        }
        let text = std::str::from_utf8(&self.text[offset..end]).unwrap_or_default();
        let next = (end < self.text.len()).then(|| format!("{PREFIX}{}?offset={end}", self.call));
        (text, next)
    }
}

fn is_boundary(text: &[u8], at: usize) -> bool {
    text.get(at).is_none_or(|byte| byte & 0xC0 != 0x80)
}

/// How many of these bytes, quoted, fit into that room.
fn quoted(text: &[u8], room: usize) -> usize {
    let mut taken = 0;
    text.iter()
        .position(|byte| {
            taken += match byte {
                b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0C => 2,
                ..0x20 => 6,
                _ => 1,
            };
            taken > room
        })
        .unwrap_or(text.len())
}

impl Readable {
    /// Reads the whole result: not on the relay thread where it is long.
    pub(crate) fn of(result: &Bytes, most: usize) -> Readable {
        let whole = |beside: String| Readable { text: result.clone(), mime: "application/json", beside };
        let failed = if object::is_true(result, "isError") { ",\"isError\":true" } else { ",\"isError\":false" };
        let Some(text) = texts(result) else { return whole(failed.to_owned()) };
        let mut beside = String::new();
        for member in object::members(result) {
            let (key, value) = (&result[member.key], &result[member.value]);
            let is_said = match &*object::text(key).unwrap_or_default() {
                "content" => true,
                "structuredContent" => is_same(text.as_bytes(), value),
                _ => false,
            };
            if !is_said {
                for part in [&b","[..], key, b":", value] {
                    beside.push_str(&String::from_utf8_lossy(part));
                }
            }
        }
        // Long enough to be read in pieces itself: then everything is.
        if beside.len() > most / 4 {
            return whole(failed.to_owned());
        }
        Readable { text: text.into(), mime: "text/plain", beside }
    }
}

/// Whether two JSON texts differ by white space only.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    fn ink(text: &[u8]) -> impl Iterator<Item = u8> {
        let (mut is_inside, mut is_escaped) = (false, false);
        text.iter().copied().filter(move |&byte| {
            let counts = is_inside || !byte.is_ascii_whitespace();
            if is_inside && !is_escaped && byte == b'\\' {
                is_escaped = true;
            } else {
                is_inside ^= byte == b'"' && !is_escaped;
                is_escaped = false;
            }
            counts
        })
    }
    ink(one).eq(ink(other))
}

/// The texts of a result that holds nothing else.
fn texts(result: &Bytes) -> Option<String> {
    let content = object::get(result, "content")?;
    let mut all = String::new();
    for range in object::elements(&content) {
        let block = content.slice(range);
        let kind = object::get(&block, "type")?;
        if object::text(&kind).as_deref() != Some("text") {
            return None;
        }
        let text = object::get(&block, "text")?;
        all.push_str(&object::text(&text)?);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn walk(result: String, most: usize) -> (String, usize) {
        let (pages, client) = (Pages::default(), Rc::<str>::from("cursor"));
        let first = pages.keep(CallId::new(7), &client, Readable::of(&Bytes::from(result), most), most);
        assert!((most / 2..=most).contains(&first.len()), "{}", first.len());
        let first: serde_json::Value = serde_json::from_str(&first).unwrap();
        let mut whole = first["content"][1]["text"].as_str().unwrap().to_owned();
        let note = first["content"][0]["text"].as_str().unwrap();
        let mut next = note.split_whitespace().find(|word| word.starts_with(PREFIX)).map(str::to_owned);
        let mut pieces = 1;
        while let Some(uri) = next {
            assert!(pages.read(&uri, "zed").is_none(), "another client");
            let page = pages.read(&uri, "cursor").unwrap();
            assert!(page.len() <= most, "{}", page.len());
            let page: serde_json::Value = serde_json::from_str(&page).unwrap();
            whole.push_str(page["contents"][0]["text"].as_str().unwrap());
            next = page["_meta"]["dev.callgate/next"].as_str().map(str::to_owned);
            pieces += 1;
        }
        (whole, pieces)
    }

    #[test]
    fn what_stands_beside_a_text_comes_with_its_first_piece() {
        let check = |structured: &str, expect: Option<serde_json::Value>| {
            let text = format!("{{\"a\": \"{}\"}}", "x y".repeat(2000));
            let text = serde_json::Value::from(text);
            let structured = structured.replace("TEXT", text.as_str().unwrap());
            let result = format!(
                "{{\"content\":[{{\"type\":\"text\",\"text\":{text}}}],\"structuredContent\":{structured},\"isError\":true}}"
            );
            let first = Readable::of(&result.into(), 4096);
            assert_eq!((&first.text[..], first.mime), (text.as_str().unwrap().as_bytes(), "text/plain"));
            let beside: serde_json::Value = serde_json::from_str(&format!("{{\"x\":0{}}}", first.beside)).unwrap();
            assert_eq!((beside.get("structuredContent"), &beside["isError"]), (expect.as_ref(), &true.into()));
        };
        check("{\"n\":3}", Some(serde_json::json!({ "n": 3 })));
        check(" TEXT", None);
        assert!(is_same(b"{\"a b\": [1, 2]}", b"{\"a b\":[1,2]}") && !is_same(b"\"a b\"", b"\"ab\""));
        assert!(!is_same(b"\"\\\" a\"", b"\"\\\"a\"") && is_same(b"\"\\\\\" ", b"\"\\\\\""));
    }

    #[test]
    fn all_pieces_make_the_whole_and_none_is_another_clients() {
        let text: String = "a\"ä€😀\n".repeat(2_000);
        let result = serde_json::json!({ "content": [{ "type": "text", "text": text }] }).to_string();
        let (whole, pieces) = walk(result, 8192);
        assert_eq!(whole, text);
        assert!(pieces > 3);
        let mixed =
            serde_json::json!({ "content": [{ "type": "image", "data": "A".repeat(9000), "mimeType": "image/png" }] });
        let (whole, _) = walk(mixed.to_string(), 8192);
        assert_eq!(whole, mixed.to_string());
        // What no text says is never left out.
        for beside in ["structuredContent", "_meta"] {
            let content = serde_json::json!([{ "type": "text", "text": "hi" }]);
            let long = serde_json::json!({ "content": content, (beside): { "a": "Z\"".repeat(9000) } }).to_string();
            assert_eq!(walk(long.clone(), 2048).0, long);
        }
        let pages = Pages::default();
        for uri in
            ["callgate://result/c-7?offset=0", "callgate://result/c-7", "callgate://result/x?offset=0", "file:///x"]
        {
            assert_eq!(pages.read(uri, "cursor"), None, "{uri}");
        }
    }
}

//! Results that are over the bound: the first piece goes to the asker, the rest is a resource of the hub that only the
//! same client can read, for an hour (rules.md 10).

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

struct Long {
    call: CallId,
    client: Rc<str>,
    text: Bytes,
    mime: &'static str,
    piece: usize,
    since: Instant,
}

/// All results that are kept in pieces.
#[derive(Default)]
pub(crate) struct Pages(RefCell<VecDeque<Long>>);

impl Pages {
    /// Keeps a result and gives what its asker gets of it: the first piece and where the rest is.
    pub(crate) fn keep(&self, call: CallId, client: &Rc<str>, result: &Bytes, most: usize) -> String {
        let (text, mime) = match texts(result) {
            Some(text) => (Bytes::from(text), "text/plain"),
            None => (result.clone(), "application/json"),
        };
        // Room for quoting, which may double a text, and for what stands around it.
        let piece = (most / 2).saturating_sub(1024).max(256);
        let long = Long { call, client: Rc::clone(client), text, mime, piece, since: Instant::now() };
        let failed = object::is_true(result, "isError");
        let (first, next) = long.piece(0);
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
        let body = format!("{{\"content\":[{}],\"isError\":{failed}}}", blocks.join(","));
        let mut all = self.0.borrow_mut();
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
        let (text, next) = long.piece(offset);
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
    /// The piece that begins there, and the address of the next one.
    fn piece(&self, offset: usize) -> (&str, Option<String>) {
        let mut end = (offset + self.piece).min(self.text.len());
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
        let first = pages.keep(CallId::new(7), &client, &Bytes::from(result), most);
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
        let pages = Pages::default();
        for uri in
            ["callgate://result/c-7?offset=0", "callgate://result/c-7", "callgate://result/x?offset=0", "file:///x"]
        {
            assert_eq!(pages.read(uri, "cursor"), None, "{uri}");
        }
    }
}

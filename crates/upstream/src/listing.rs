//! Everything a server lists, page by page, as it was sent. Guards against lists without end.

use crate::waiter::Failure;
use crate::wired::List;
use bytes::Bytes;
use frame::{Answer, FaultKind, Frame, Version, object};

/// Pages read of one list at most; an unknown cursor is answered with the whole list again by many servers.
const MAX_PAGES: usize = 1_000;
/// Bytes read of one list at most.
const MAX_BYTES: usize = 64 << 20;

/// What a server offers, as of one moment. Entries are the received bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The revision spoken with it.
    pub version: Version,
    /// Its capabilities object.
    pub capabilities: Bytes,
    /// Its `serverInfo` object.
    pub server_info: Bytes,
    /// Its instructions.
    pub instructions: Option<String>,
    /// Tool definitions.
    pub tools: Vec<Bytes>,
    /// Prompt definitions.
    pub prompts: Vec<Bytes>,
    /// Resource descriptions.
    pub resources: Vec<Bytes>,
    /// Resource template descriptions.
    pub templates: Vec<Bytes>,
    /// Lists that could not be read whole, with the reason.
    pub problems: Vec<String>,
}

/// The methods that read one list, with the key of their entries.
pub(crate) const fn methods(list: List) -> &'static [(&'static str, &'static str)] {
    match list {
        List::Tools => &[("tools/list", "tools")],
        List::Prompts => &[("prompts/list", "prompts")],
        List::Resources => &[("resources/list", "resources"), ("resources/templates/list", "resourceTemplates")],
    }
}

/// The capability that says that a list exists.
pub(crate) const fn capability(list: List) -> &'static str {
    match list {
        List::Tools => "tools",
        List::Prompts => "prompts",
        List::Resources => "resources",
    }
}

/// Collects the pages of one list.
#[derive(Default)]
pub(crate) struct Pages {
    entries: Vec<Bytes>,
    cursors: Vec<Bytes>,
    bytes: usize,
    problems: Vec<String>,
}

/// What to do after a page.
pub(crate) enum Next {
    /// Ask for the page of these params.
    Page(Bytes),
    /// All there is; with what was wrong.
    End(Vec<Bytes>, Vec<String>),
    /// The server did not give it, or not to its end; with the reason.
    Broken(String),
}

impl Pages {
    /// Takes the answer to one page.
    pub(crate) fn take(mut self, method: &str, key: &str, answer: Result<Answer, Failure>) -> (Self, Next) {
        let end = |mut pages: Self, problem: Option<String>| {
            pages.problems.extend(problem);
            (Pages::default(), Next::End(pages.entries, pages.problems))
        };
        let broken = |problem: String| (Pages::default(), Next::Broken(problem));
        let (body, left_out) = match answer {
            Ok(Answer::Result { body, .. }) => (body.join(), Vec::new()),
            // Many servers declare resources or prompts and then do not know the method: that is an empty list.
            Ok(Answer::Error(error)) if wire::era::error_code(&error.join()) == Some(-32601) => return end(self, None),
            Ok(Answer::Error(error)) => {
                let text = String::from_utf8_lossy(&error.join()).chars().take(200).collect::<String>();
                return broken(format!("{method} failed: {text}"));
            }
            Err(Failure::TooDeep(text)) => match without_deep(&text, key) {
                Ok(found) => found,
                Err(kind) => return broken(format!("{method} failed: the answer is no valid message: {kind}")),
            },
            Err(failure) => return broken(format!("{method} failed: {failure}")),
        };
        self.bytes += body.len();
        let [entries, cursor] = object::pick(&body, [key, "nextCursor"]);
        let Some(entries) = entries.filter(|range| body[range.start] == b'[') else {
            return broken(format!("{method} answered without `{key}`"));
        };
        for (_, entry) in &left_out {
            let (name, why) = (label(entry), FaultKind::TooDeep);
            self.problems.push(format!("{method}: {name} was left out: {why}"));
        }
        let entries = body.slice(entries);
        let all = object::elements(&entries).map(|range| entries.slice(range));
        let stays = |place: usize| left_out.iter().all(|(out, _)| *out != place);
        self.entries.extend(all.enumerate().filter(|(place, _)| stays(*place)).map(|(_, entry)| entry));
        let Some(cursor) = cursor.map(|range| body.slice(range)).filter(|cursor| cursor.first() == Some(&b'"')) else {
            return end(self, None);
        };
        if self.cursors.contains(&cursor) || self.cursors.len() == MAX_PAGES || self.bytes > MAX_BYTES {
            let cut = format!("{method} never ends; it was cut after {} pages", 1 + self.cursors.len());
            return end(self, Some(cut));
        }
        self.cursors.push(cursor.clone());
        let mut params = b"{\"cursor\":".to_vec();
        params.extend_from_slice(&cursor);
        params.push(b'}');
        (self, Next::Page(params.into()))
    }
}

/// The result of an answer that is nested too deep, with `null` for the entries that make it so; and their places and
/// texts.
fn without_deep(text: &Bytes, key: &str) -> Result<(Bytes, Vec<(usize, Bytes)>), FaultKind> {
    let too_deep = FaultKind::TooDeep;
    let result = object::get(text, "result").ok_or(too_deep)?;
    let entries = object::get(&result, key).ok_or(too_deep)?;
    let (mut shallow, mut left_out) = (Vec::with_capacity(text.len()), Vec::new());
    // All of them are slices of one buffer.
    let offset = entries.as_ptr().addr() - text.as_ptr().addr();
    let mut done = 0;
    for (place, element) in object::elements(&entries).enumerate() {
        let entry = entries.slice(element.clone());
        if is_too_deep(&entry, key) {
            shallow.extend_from_slice(&text[done..offset + element.start]);
            shallow.extend_from_slice(b"null");
            done = offset + element.end;
            left_out.push((place, entry));
        }
    }
    shallow.extend_from_slice(&text[done..]);
    // Nothing has checked the rest of the text yet.
    let frame = Frame::parse(shallow.into()).map_err(|fault| fault.kind)?;
    Ok((frame.body().ok_or(too_deep)?, left_out))
}

/// Whether this entry alone, in its place in an answer, is nested too deep.
fn is_too_deep(entry: &Bytes, key: &str) -> bool {
    let alone = [b"{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"", key.as_bytes(), b"\":[", entry, b"]}}"].concat();
    Frame::parse(alone.into()).is_err_and(|fault| fault.kind == FaultKind::TooDeep)
}

/// How an entry that can't be read is called.
fn label(entry: &Bytes) -> String {
    let name = ["name", "uri", "uriTemplate"].iter().find_map(|key| object::get(entry, key));
    match name.and_then(|quoted| object::text(&quoted).map(String::from)) {
        Some(name) => format!("`{}`", contract::visible::escape(&name).chars().take(80).collect::<String>()),
        None => "an entry without a name".into(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn nested(depth: usize) -> String {
        format!("{}1{}", "[".repeat(depth), "]".repeat(depth))
    }

    fn answer(entries: &[String], more: &str) -> Bytes {
        format!("{{\"id\":7,\"result\":{{\"tools\":[{}]{more}}},\"jsonrpc\":\"2.0\"}}", entries.join(" , ")).into()
    }

    #[test]
    fn an_entry_that_is_nested_too_deep_costs_only_itself() {
        let good = "{\"name\":\"a\"}".to_owned();
        let edge = format!("{{\"name\":\"b\",\"x\":{}}}", nested(123));
        let deep = format!("{{\"name\":\"c\\u001b\",\"x\":{}}}", nested(124));
        let abyss = format!("{{\"x\":{}}}", nested(100_000));
        let text = answer(&[good.clone(), deep, "null".into(), edge.clone(), abyss], ",\"nextCursor\":\"n\"");
        assert_eq!(Frame::parse(text.clone()).unwrap_err().kind, FaultKind::TooDeep);
        let (pages, next) = Pages::default().take("tools/list", "tools", Err(Failure::TooDeep(text)));
        assert!(matches!(next, Next::Page(params) if params == "{\"cursor\":\"n\"}"));
        let last = answer(std::slice::from_ref(&good), "");
        let body = Frame::parse(last).unwrap().body().unwrap().into();
        let (_, next) = pages.take("tools/list", "tools", Ok(Answer::Result { era: frame::Era::Legacy, body }));
        let Next::End(entries, problems) = next else { panic!("an end") };
        assert_eq!(entries, [good.clone(), "null".into(), edge, good]);
        let why = "was left out: it is nested deeper than 127 levels";
        assert_eq!(
            problems,
            [format!("tools/list: `c\\u{{1B}}` {why}"), format!("tools/list: an entry without a name {why}")]
        );
    }

    #[test]
    fn what_is_wrong_elsewhere_is_the_reason() {
        let check = |text: Bytes, expect: &str| {
            let (_, next) = Pages::default().take("tools/list", "tools", Err(Failure::TooDeep(text)));
            let Next::Broken(why) = next else { panic!("{expect}") };
            assert_eq!(why, format!("tools/list failed: the answer is no valid message: {expect}"));
        };
        let deep = || format!("{{\"x\":{}}}", nested(200));
        check(answer(&[deep()], &format!(",\"_meta\":{}", nested(200))), "it is nested deeper than 127 levels");
        check(answer(&[deep(), "nul".into()], ""), "it is not one complete JSON text");
        check(Bytes::from(nested(200)), "it is nested deeper than 127 levels");
    }

    /// A list is cut where its pages come again, where there is no end of them, and where they are too much.
    #[test]
    fn lists_without_an_end_are_cut_and_what_came_is_kept() {
        let read = |cursor: &dyn Fn(usize) -> String, filling: usize| {
            let (mut pages, mut turns) = (Pages::default(), 0);
            loop {
                let entry = format!("{{\"name\":\"t{turns}\",\"description\":\"{}\"}}", "x".repeat(filling));
                let body = format!("{{\"tools\":[{entry}],\"nextCursor\":\"{}\"}}", cursor(turns));
                let page = Ok(Answer::result(body));
                turns += 1;
                let (rest, next) = pages.take("tools/list", "tools", page);
                match next {
                    Next::Page(params) => {
                        assert_eq!(params, format!("{{\"cursor\":\"{}\"}}", cursor(turns - 1)));
                        pages = rest;
                    }
                    Next::End(entries, problems) => {
                        assert!(problems.len() == 1 && problems[0].contains("never ends"), "{problems:?}");
                        assert_eq!(entries.len(), turns);
                        return turns;
                    }
                    Next::Broken(why) => panic!("{why}"),
                }
            }
        };
        assert_eq!(read(&|_| "same".into(), 0), 2);
        assert_eq!(read(&|turn| turn.to_string(), 0), MAX_PAGES + 1);
        assert_eq!(read(&|turn| turn.to_string(), 1 << 20), 64);
    }
}

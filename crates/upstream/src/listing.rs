//! Everything a server lists, page by page, as it was sent. Guards against lists without end.

use crate::waiter::Failure;
use crate::wired::List;
use bytes::Bytes;
use frame::{Answer, Version, object};

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
}

/// What to do after a page.
pub(crate) enum Next {
    /// Ask for the page of these params.
    Page(Bytes),
    /// All there is; with what was wrong.
    End(Vec<Bytes>, Option<String>),
    /// The connection gave no more; with the reason.
    Broken(Vec<Bytes>, String),
}

impl Pages {
    /// Takes the answer to one page.
    pub(crate) fn take(mut self, method: &str, key: &str, answer: Result<Answer, Failure>) -> (Self, Next) {
        let end = |pages: Self, problem: Option<String>| {
            let entries = pages.entries;
            (Pages::default(), Next::End(entries, problem))
        };
        let body = match answer {
            Ok(Answer::Result { body, .. }) => body.join(),
            // Many servers declare resources or prompts and then do not know the method: that is an empty list.
            Ok(Answer::Error(error)) if wire::era::error_code(&error.join()) == Some(-32601) => return end(self, None),
            Ok(Answer::Error(error)) => {
                let text = String::from_utf8_lossy(&error.join()).chars().take(200).collect::<String>();
                return end(self, Some(format!("{method} failed: {text}")));
            }
            Err(failure) => {
                let entries = self.entries;
                return (Pages::default(), Next::Broken(entries, format!("{method} failed: {failure}")));
            }
        };
        self.bytes += body.len();
        let [entries, cursor] = object::pick(&body, [key, "nextCursor"]);
        let Some(entries) = entries.filter(|range| body[range.start] == b'[') else {
            return end(self, Some(format!("{method} answered without `{key}`")));
        };
        let entries = body.slice(entries);
        self.entries.extend(object::elements(&entries).map(|range| entries.slice(range)));
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

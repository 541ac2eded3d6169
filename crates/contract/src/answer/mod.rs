//! What a server answered, before it is passed on: cleaned of what it must not say (docs/servers-words.md), checked against the
//! schema that it promised, and looked at. Everything else keeps its bytes.

mod ansi;
mod clean;
mod levels;
mod look;
mod marks;
mod output;
mod quick;
mod secrets;
mod view;

pub use look::look;
pub use output::{Costly, Inner, OutputCheck, check_output, inner};

use crate::tree::TextFault;
use quick::Quick;
pub use secrets::REMOVED;
use secrets::Secrets;
use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

/// What begins every sentence that the hub puts into a server's result. No server's text keeps it.
pub const LEAD: &str = "[callgate]";

/// What the names of the hub's own members of `_meta` begin with.
pub const PREFIX: &str = "dev.callgate/";

/// How many things were changed in a result, by kind; zero where there were none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Known secrets that were taken out of text.
    pub secrets: u32,
    /// Members of a `_meta` whose names are the hub's own.
    pub names: u32,
    /// Texts and objects that looked like the hub's own words.
    pub markers: u32,
    /// Unicode tag characters.
    pub tags: u32,
    /// Terminal escape sequences.
    pub ansi: u32,
    /// Halves of surrogate pairs, now U+FFFD.
    pub surrogates: u32,
}

impl Changes {
    /// Whether nothing was changed.
    pub fn is_none(&self) -> bool {
        *self == Changes::default()
    }
    /// The counts that are not zero as a JSON object.
    pub fn object(&self) -> String {
        let Changes { secrets, names, markers, tags, ansi, surrogates } = *self;
        let all = [
            ("secrets", secrets),
            ("names", names),
            ("markers", markers),
            ("tags", tags),
            ("ansi", ansi),
            ("surrogates", surrogates),
        ];
        let some = all.iter().filter(|(_, count)| *count > 0);
        let members: Vec<String> = some.map(|(name, count)| format!("\"{name}\":{count}")).collect();
        format!("{{{}}}", members.join(","))
    }
}

/// A result after cleaning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// The changed text; None where nothing was to be done, so that the received bytes are passed on.
    pub body: Option<Vec<u8>>,
    /// What was changed.
    pub changes: Changes,
}

/// What is taken out of the results of one server.
#[derive(Clone, Debug)]
pub struct Cleaner {
    secrets: Secrets,
    quick: Arc<Quick>,
}

impl Cleaner {
    /// For a server that knows these secrets: their values. Those under 8 bytes are left alone.
    pub fn new<'s>(secrets: impl IntoIterator<Item = &'s str>) -> Cleaner {
        // Most servers know none, and what is looked for then is made once.
        static OF_NONE: LazyLock<Arc<Quick>> = LazyLock::new(|| Arc::new(Quick::new(&Secrets::new([]))));
        let secrets = Secrets::new(secrets);
        let quick = if secrets.longest == 0 { Arc::clone(&OF_NONE) } else { Arc::new(Quick::new(&secrets)) };
        Cleaner { secrets, quick }
    }

    /// A plain text, such as a line of a server's log, without known secrets.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let found = self.secrets.find(text.as_bytes());
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let mut done = 0;
        for part in found {
            out.push_str(&text[done..part.start]);
            out.push_str(secrets::REMOVED);
            done = part.end;
        }
        out.push_str(&text[done..]);
        Cow::Owned(out)
    }

    /// A JSON text that a person is shown, with known secrets taken out of its strings and nothing else changed.
    pub fn mask<'t>(&self, json: &'t [u8]) -> Cow<'t, [u8]> {
        if !self.quick.is_suspect(json) {
            return Cow::Borrowed(json);
        }
        match clean::mask(self, json) {
            Ok(masked) => masked.map_or(Cow::Borrowed(json), Cow::Owned),
            Err(_) => Cow::Owned(self.redact(&String::from_utf8_lossy(json)).into_owned().into_bytes()),
        }
    }

    /// Where a piece of a longer text can be cut so that no known secret is divided, at least half of the piece.
    pub fn cut(&self, piece: &[u8]) -> usize {
        let at = piece.len() - self.secrets.longest.saturating_sub(1).min(piece.len() / 2);
        let divided = self.secrets.find(piece).into_iter().find(|part| part.start < at && at < part.end);
        divided.map_or(at, |part| part.end)
    }

    /// Whether it knows no secret.
    pub fn knows_none(&self) -> bool {
        self.secrets.longest == 0
    }

    /// Whether something in a body may have to be changed, so that cleaning it means reading it: some milliseconds for a
    /// megabyte, which need not be spent on the relay thread.
    pub fn is_suspect(&self, body: &[u8]) -> bool {
        self.quick.is_suspect(body)
    }

    /// Cleans the result, error or params object of one message. Where nothing is suspect that costs one look at its
    /// bytes (about 5 µs for 64 KB).
    ///
    /// # Errors
    /// Where it had to be read and is no JSON text; it must not be passed on then.
    pub fn clean(&self, body: &[u8]) -> Result<Cleaned, TextFault> {
        let mut cleaned = Cleaned::default();
        if self.quick.is_suspect(body) {
            cleaned.body = clean::clean(self, body, &mut cleaned.changes)?;
        }
        Ok(cleaned)
    }
}

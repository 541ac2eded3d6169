//! The adapter: copies lines between a host and a hub, remembers what is open, and carries the host over to another
//! hub. How bytes are waited for is the system's own file. Nothing but MCP goes to stdout.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use super::start;
use bytes::{Bytes, BytesMut};
use endpoint::socket::{Attach, Hello};
use frame::{Line, LineBuf, object};
use hub::config::Places;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::{Duration, Instant, SystemTime};

/// Longest message in bytes; the hub's own limit refuses it with an answer, so ours is wider.
const MAX_LINE: usize = 64 << 20;
/// Longest wait between two looks for a hub that has gone.
const LONGEST_LOOK: Duration = Duration::from_secs(5);

/// What the host has said that a new hub must know.
#[derive(Default)]
struct Memory {
    initialize: Option<Bytes>,
    level: Option<String>,
}

/// One adapter.
pub struct Pump<'a> {
    places: &'a Places,
    attach: Attach,
    launched: SystemTime,
    hub: Option<system::Hub>,
    from_host: LineBuf,
    from_hub: LineBuf,
    to_host: BytesMut,
    to_hub: BytesMut,
    /// Requests of the host without an answer, by raw id.
    open: BTreeMap<Bytes, ()>,
    memory: Memory,
    greeted: bool,
    look_at: Option<Instant>,
    look_wait: Duration,
    ears: system::Ears,
}

/// Why the adapter ends.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// The host closed its side.
    HostLeft,
    /// The hub does not let us in.
    Refused(String),
}

impl<'a> Pump<'a> {
    /// An adapter that has not met a hub yet.
    pub fn new(places: &'a Places, attach: Attach, launched: SystemTime) -> Pump<'a> {
        Pump {
            places,
            attach,
            launched,
            hub: None,
            from_host: LineBuf::new(MAX_LINE),
            from_hub: LineBuf::new(MAX_LINE),
            to_host: BytesMut::new(),
            to_hub: BytesMut::new(),
            open: BTreeMap::new(),
            memory: Memory::default(),
            greeted: false,
            look_at: None,
            look_wait: Duration::from_millis(50),
            ears: system::Ears::new(),
        }
    }

    /// What the host has said, as far as it is whole.
    fn host_lines(&mut self) {
        while let Some(line) = self.from_host.next_line() {
            match line {
                Line::Whole(text) => self.host_said(&text),
                Line::TooLong { head, .. } => {
                    let [id] = object::pick(&head, ["id"]);
                    let id = id.map_or_else(|| Bytes::from_static(b"null"), |range| head.slice(range));
                    self.fail(&id, "the message is too long");
                }
            }
        }
    }

    /// What the hub has said, as far as it is whole. Some: why it does not let us in.
    fn hub_lines(&mut self) -> Option<String> {
        while let Some(line) = self.from_hub.next_line() {
            let Line::Whole(text) = line else { continue };
            if !self.greeted {
                self.greeted = true;
                let hello: Result<Hello<endpoint::socket::Attached>, _> = serde_json::from_slice(&text);
                if let Ok(Hello { callgate: attached }) = hello {
                    if attached.refused.is_some() {
                        return attached.refused;
                    }
                    continue;
                }
            }
            if let Some(id) = answered(&text) {
                self.open.remove(&id);
            }
            self.to_host.extend_from_slice(&text);
            self.to_host.extend_from_slice(b"\n");
        }
        None
    }

    fn host_said(&mut self, text: &Bytes) {
        let [id, method, params] = object::pick(text, ["id", "method", "params"]);
        let method = method.and_then(|range| object::text(&text[range]).map(|name| name.into_owned()));
        let params = params.map(|range| text.slice(range));
        match method.as_deref() {
            Some("initialize") => self.memory.initialize.clone_from(&params),
            Some("logging/setLevel") => {
                let level = params.and_then(|params| object::get(&params, "level"));
                self.memory.level = level.and_then(|raw| object::text(&raw).map(String::from));
            }
            _ => {}
        }
        // `initialize` goes to the new hub as itself, not as something said before.
        let is_first = method.as_deref() == Some("initialize");
        let id = id.filter(|_| method.is_some()).map(|range| text.slice(range));
        if self.hub.is_none() {
            match start::reach(self.places, self.launched) {
                Ok(stream) => self.adopt(stream, is_first),
                Err(why) => {
                    tracing_line(&why);
                    if let Some(id) = id {
                        self.fail(&id, &why);
                    }
                    return;
                }
            }
        }
        if let Some(id) = id {
            self.open.insert(id, ());
        }
        self.to_hub.extend_from_slice(text);
        self.to_hub.extend_from_slice(b"\n");
    }

    /// Greets a hub: who we are, and what the host had said to the one before.
    fn adopt(&mut self, stream: start::Stream, is_first: bool) {
        let Ok(hub) = self.ears.listen(stream) else { return };
        self.attach.initialize = None;
        self.attach.level = None;
        if !is_first {
            let said = self.memory.initialize.as_ref().and_then(|params| std::str::from_utf8(params).ok());
            self.attach.initialize =
                said.and_then(|params| serde_json::value::RawValue::from_string(params.to_owned()).ok());
            self.attach.level.clone_from(&self.memory.level);
        }
        self.to_hub.clear();
        self.from_hub = LineBuf::new(MAX_LINE);
        self.greeted = false;
        if let Ok(line) = serde_json::to_vec(&Hello { callgate: &self.attach }) {
            self.to_hub.extend_from_slice(&line);
            self.to_hub.extend_from_slice(b"\n");
        }
        self.hub = Some(hub);
        self.look_at = None;
        self.look_wait = Duration::from_millis(50);
    }

    /// Looks whether there is a hub again, without starting one.
    fn look(&mut self) {
        self.look_at = None;
        if self.hub.is_some() {
            return;
        }
        match start::connect(self.places) {
            Ok(stream) => self.adopt(stream, false),
            Err(_) => {
                self.look_at = Some(Instant::now() + self.look_wait);
                self.look_wait = LONGEST_LOOK.min(self.look_wait * 2);
            }
        }
    }

    /// The hub has gone: everything open is answered, nothing is said twice.
    fn lose_hub(&mut self) {
        self.hub = None;
        self.to_hub.clear();
        for (id, ()) in std::mem::take(&mut self.open) {
            self.fail(&id, "the hub ended while this was running; whether it was executed is unknown");
        }
        self.look_at = Some(Instant::now() + self.look_wait);
    }

    fn fail(&mut self, id: &[u8], why: &str) {
        self.to_host.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        self.to_host.extend_from_slice(id);
        let text = object::quote(why);
        self.to_host.extend_from_slice(format!(",\"error\":{{\"code\":-32603,\"message\":{text}}}}}\n").as_bytes());
    }
}

/// The id of an answer in the form in which the hub writes answers.
fn answered(line: &Bytes) -> Option<Bytes> {
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

/// One line on stderr, where a host's log shows it.
fn tracing_line(text: &str) {
    let _ = writeln!(io::stderr(), "callgate: {text}");
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

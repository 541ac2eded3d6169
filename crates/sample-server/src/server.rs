//! Reads messages and answers them: lifecycle, lists, resources, prompts, notices. The tools are in `calls`.

use crate::calls::Open;
use crate::catalog::{self, Tool};
use crate::out::{self, Out, Seat, To};
use crate::request::{self, Request, SERVER_INFO_KEY, SUBSCRIPTION_KEY};
use crate::settings::{Eras, Settings};
use crate::{offers, warn};
use bytes::Bytes;
use frame::{Fault, FaultKind, Frame, Kind, Level, Version, object};
use std::time::Instant;

/// The whole state of one process.
pub(crate) struct Server {
    pub(crate) settings: Settings,
    pub(crate) tools: Vec<Tool>,
    /// The whole `tools` member, ready to be sent.
    listed: String,
    /// Calls that are not finished.
    pub(crate) open: Vec<Open>,
    listens: Vec<Listen>,
    /// URIs that legacy clients subscribed to.
    subscribed: Vec<String>,
    /// What legacy clients want to be told.
    pub(crate) level: Level,
    /// A modern client has been here: on stdio the era is settled.
    discovered: bool,
    /// The process shall end with this code.
    pub(crate) ends: Option<u8>,
}

/// An open `subscriptions/listen`.
struct Listen {
    to: To,
    tools: bool,
    uris: Vec<String>,
}

/// What a door does after a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// A request: its answer is written or will be.
    Request,
    /// A notification or an answer: nothing will be written.
    Quiet,
}

impl Server {
    pub(crate) fn new(settings: Settings) -> Server {
        let tools = catalog::tools(&settings);
        let mut server = Server {
            settings,
            tools,
            listed: String::new(),
            open: Vec::new(),
            listens: Vec::new(),
            subscribed: Vec::new(),
            level: Level::Info,
            discovered: false,
            ends: None,
        };
        server.list_anew();
        server
    }

    /// Takes one message.
    pub(crate) fn take(&mut self, raw: Bytes, seat: Seat, session: u64, now: Instant, out: &mut impl Out) -> Taken {
        if self.settings.hang_start {
            return Taken::Request;
        }
        let frame = match Frame::parse(raw) {
            Ok(frame) => frame,
            Err(fault) => return refuse(&fault, seat, out),
        };
        match frame.kind() {
            Kind::Request => {
                let mut request = Request::read(&frame, seat, session);
                match self.claim(&request) {
                    Ok(modern) => request.to.modern = modern,
                    Err((code, message, data)) => {
                        out::error(out, seat, &request.to.id, code, message, &data);
                        return Taken::Request;
                    }
                }
                let method = frame.method();
                if method == "tools/call" {
                    self.call(&request, now, out);
                } else {
                    self.request(&method, &request, out);
                }
                Taken::Request
            }
            Kind::Notification => {
                if frame.method() == "notifications/cancelled"
                    && let Some(id) = object::get(&frame.params(), "requestId")
                {
                    // Without a session an id means something on its own connection only.
                    let meant = |to: &To| to.id == id && to.session == session && (session != 0 || to.seat == seat);
                    self.open.retain(|open| !meant(&open.to));
                    self.listens.retain(|listen| !meant(&listen.to));
                }
                Taken::Quiet
            }
            Kind::Response | Kind::Error => Taken::Quiet,
        }
    }

    /// A connection is gone, and with it whatever was to be answered on it.
    pub(crate) fn gone(&mut self, seat: Seat) {
        self.open.retain(|open| open.to.seat != seat);
        self.listens.retain(|listen| listen.to.seat != seat);
    }

    /// Whether a request is modern, or the error that refuses its version.
    fn claim(&self, request: &Request) -> Result<bool, (i32, &'static str, String)> {
        let asked = match (&request.version, self.settings.eras) {
            (None, Eras::Modern) => return Err((-32022, "this server speaks 2026-07-28 only", supported("null"))),
            (None, _) | (Some(_), Eras::Legacy) => return Ok(false),
            (Some(asked), Eras::Modern | Eras::Both) => asked,
        };
        if object::text(asked).as_deref() == Some(Version::V2026.as_str()) {
            Ok(true)
        } else {
            Err((-32022, "unsupported protocol version", supported(&String::from_utf8_lossy(asked))))
        }
    }

    fn request(&mut self, method: &str, request: &Request, out: &mut impl Out) {
        let to = &request.to;
        match method {
            // What a probe is met with.
            "server/discover" if self.settings.exit_on_discover => self.ends = Some(1),
            "server/discover" if self.settings.silent_on_discover => {}
            "initialize" if !to.modern => self.initialize(request, out),
            "server/discover" if to.modern => self.discover(to, out),
            "ping" if !to.modern => out::result(out, to, |_| {}),
            "logging/setLevel" if !to.modern => match request.text("level").and_then(|level| Level::parse(&level)) {
                Some(level) => {
                    self.level = level;
                    out::result(out, to, |_| {});
                }
                None => out::error(out, to.seat, &to.id, -32602, "no such level", ""),
            },
            "tools/list" if self.settings.page.is_none() => {
                out::result(out, to, |text| {
                    text.extend_from_slice(self.listed.as_bytes());
                    hints(text, to);
                });
            }
            "tools/list" => {
                let tools: Vec<&str> = self.tools.iter().map(|tool| tool.json.as_str()).collect();
                self.list("tools", &tools, request, out);
            }
            "resources/list" => self.list("resources", &offers::RESOURCES, request, out),
            "resources/templates/list" => self.list("resourceTemplates", &offers::TEMPLATES, request, out),
            "prompts/list" => self.list("prompts", &offers::PROMPTS, request, out),
            "resources/read" => self.read(request, out),
            "resources/subscribe" | "resources/unsubscribe" if !to.modern => {
                let uri = request.text("uri").unwrap_or_default();
                self.subscribed.retain(|other| *other != uri);
                if method == "resources/subscribe" {
                    self.subscribed.push(uri);
                }
                out::result(out, to, |_| {});
            }
            "prompts/get" => {
                let arguments = request.arguments();
                let name = request.text("name").unwrap_or_default();
                match offers::prompt(&name, |key| request::text(&arguments, key)) {
                    Ok(members) => out::result(out, to, |text| text.extend_from_slice(members.as_bytes())),
                    Err(why) => out::error(out, to.seat, &to.id, -32602, &why, ""),
                }
            }
            "completion/complete" => {
                let argument = object::get(&request.params, "argument").unwrap_or_default();
                let [name, begun] = ["name", "value"].map(|key| request::text(&argument, key).unwrap_or_default());
                let members = offers::completions(&name, &begun);
                out::result(out, to, |text| text.extend_from_slice(members.as_bytes()));
            }
            "subscriptions/listen" if to.modern => self.listen(request, out),
            other => out::error(out, to.seat, &to.id, -32601, &format!("no method {other}"), ""),
        }
    }

    fn initialize(&mut self, request: &Request, out: &mut impl Out) {
        let to = &request.to;
        if self.discovered {
            return out::error(out, to.seat, &to.id, -32022, "this connection is a modern one", &supported("null"));
        }
        let asked = request.text("protocolVersion").and_then(|version| Version::parse(&version));
        let version = asked.filter(|version| *version <= Version::LEGACY).unwrap_or(Version::LEGACY).as_str();
        let info = self.server_info();
        out::result(out, to, |text| {
            text.extend_from_slice(
                format!(
                    "\"protocolVersion\":\"{version}\",\"capabilities\":{{\"tools\":{{\"listChanged\":true}},\
                     \"resources\":{{\"subscribe\":true,\"listChanged\":false}},\"prompts\":{{\"listChanged\":false}},\
                     \"completions\":{{}},\"logging\":{{}}}},\"serverInfo\":{info},\"instructions\":\"{INSTRUCTIONS}\""
                )
                .as_bytes(),
            );
        });
    }

    fn discover(&mut self, to: &To, out: &mut impl Out) {
        // HTTP has no connection that could be of one era.
        self.discovered = self.settings.http.is_none();
        let info = self.server_info();
        out::result(out, to, |text| {
            text.extend_from_slice(
                format!(
                    "\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{{\"tools\":{{\"listChanged\":true}},\
                     \"resources\":{{\"subscribe\":true}},\"prompts\":{{}},\"completions\":{{}},\"logging\":{{}}}},\
                     \"instructions\":\"{INSTRUCTIONS}\",\"_meta\":{{\"{SERVER_INFO_KEY}\":{info}}}"
                )
                .as_bytes(),
            );
            hints(text, to);
        });
    }

    fn server_info(&self) -> String {
        format!(
            "{{\"name\":{},\"title\":\"Sample server\",\"version\":\"{}\"}}",
            object::quote(&self.settings.name),
            env!("CARGO_PKG_VERSION")
        )
    }

    fn list(&self, key: &str, entries: &[&str], request: &Request, out: &mut impl Out) {
        let to = &request.to;
        let cursor = object::get(&request.params, "cursor");
        let cursor = cursor.as_ref().map(|cursor| object::text(cursor).unwrap_or_default());
        let Some((range, next)) = catalog::page(entries.len(), self.settings.page, cursor.as_deref()) else {
            return out::error(out, to.seat, &to.id, -32602, "no such cursor", "");
        };
        out::result(out, to, |text| {
            text.extend_from_slice(format!("\"{key}\":[{}]", entries[range].join(",")).as_bytes());
            if let Some(next) = next {
                text.extend_from_slice(format!(",\"nextCursor\":{}", object::quote(&next)).as_bytes());
            }
            hints(text, to);
        });
    }

    fn read(&self, request: &Request, out: &mut impl Out) {
        let to = &request.to;
        let uri = request.text("uri").unwrap_or_default();
        match offers::resource(&uri, || self.lines()) {
            Some(contents) => out::result(out, to, |text| {
                text.extend_from_slice(format!("\"contents\":[{contents}]").as_bytes());
                hints(text, to);
            }),
            None => {
                let code = if to.modern { -32602 } else { -32002 };
                let data = format!(",\"data\":{{\"uri\":{}}}", object::quote(&uri));
                out::error(out, to.seat, &to.id, code, "no such resource", &data);
            }
        }
    }

    fn listen(&mut self, request: &Request, out: &mut impl Out) {
        let to = request.to.clone();
        let filter = object::get(&request.params, "notifications").unwrap_or_default();
        let tools = object::get(&filter, "toolsListChanged").as_deref() == Some(b"true");
        let asked = object::get(&filter, "resourceSubscriptions").unwrap_or_default();
        let uris: Vec<String> =
            object::elements(&asked).filter_map(|uri| Some(object::text(&asked[uri])?.into_owned())).collect();
        let mut accepted = format!("\"toolsListChanged\":{tools}");
        if !uris.is_empty() {
            let quoted: Vec<String> = uris.iter().map(|uri| object::quote(uri)).collect();
            accepted.push_str(&format!(",\"resourceSubscriptions\":[{}]", quoted.join(",")));
        }
        let key = SUBSCRIPTION_KEY.as_bytes();
        let params = [b"\"_meta\":{\"", key, b"\":", &to.id, b"},\"notifications\":{", accepted.as_bytes(), b"}"];
        out::notice(out, to.seat, "notifications/subscriptions/acknowledged", &params);
        self.listens.push(Listen { to, tools, uris });
    }

    fn list_anew(&mut self) {
        let tools: Vec<&str> = self.tools.iter().map(|tool| tool.json.as_str()).collect();
        self.listed = format!("\"tools\":[{}]", tools.join(","));
    }

    /// Adds a tool and tells everybody who wants to know.
    pub(crate) fn add_tool(&mut self, out: &mut impl Out) -> String {
        let tool = catalog::extra(self.tools.len() + 1);
        let name = tool.name.clone();
        self.tools.push(tool);
        self.list_anew();
        for seat in out.listeners().into_iter().filter(|_| !self.discovered) {
            out::notice(out, seat, "notifications/tools/list_changed", &[]);
        }
        for listen in self.listens.iter().filter(|listen| listen.tools) {
            out::notice(
                out,
                listen.to.seat,
                "notifications/tools/list_changed",
                &[b"\"_meta\":{\"", SUBSCRIPTION_KEY.as_bytes(), b"\":", &listen.to.id, b"}"],
            );
        }
        name
    }

    /// The file of the writing tools has changed.
    pub(crate) fn lines_changed(&self, out: &mut impl Out) {
        let uri = object::quote(offers::LINES);
        if self.subscribed.iter().any(|uri| uri == offers::LINES) {
            for seat in out.listeners() {
                out::notice(out, seat, "notifications/resources/updated", &[b"\"uri\":", uri.as_bytes()]);
            }
        }
        for listen in self.listens.iter().filter(|listen| listen.uris.iter().any(|uri| uri == offers::LINES)) {
            out::notice(
                out,
                listen.to.seat,
                "notifications/resources/updated",
                &[
                    b"\"uri\":",
                    uri.as_bytes(),
                    b",\"_meta\":{\"",
                    SUBSCRIPTION_KEY.as_bytes(),
                    b"\":",
                    &listen.to.id,
                    b"}",
                ],
            );
        }
    }

    fn lines(&self) -> String {
        self.settings.file.as_ref().and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default()
    }
}

const INSTRUCTIONS: &str = "Every tool does what its description says and nothing else.";

/// The cache hints that modern lists and reads must have.
fn hints(text: &mut Vec<u8>, to: &To) {
    if to.modern {
        text.extend_from_slice(b",\"ttlMs\":0,\"cacheScope\":\"private\"");
    }
}

fn supported(asked: &str) -> String {
    format!(",\"data\":{{\"supported\":[\"2026-07-28\"],\"requested\":{asked}}}")
}

fn refuse(fault: &Fault, seat: Seat, out: &mut impl Out) -> Taken {
    let code = match fault.kind {
        FaultKind::NotJson | FaultKind::BadUtf8 => -32700,
        FaultKind::BadParams => -32602,
        _ => -32600,
    };
    let id = fault.id.clone().unwrap_or_default();
    // A whole text with an id and no method was meant as an answer to us, who never ask.
    if code == -32600 && !fault.has_method && !id.is_empty() {
        warn(&format!("a broken answer: {:?}", fault.kind));
        return Taken::Quiet;
    }
    out::error(out, seat, &id, code, &format!("no usable message: {:?}", fault.kind), "");
    Taken::Request
}

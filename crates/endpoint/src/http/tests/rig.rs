//! The door on a real loopback port, and a client that writes and reads plain HTTP.

pub use super::super::Tokens;
use super::super::{Bounds, HttpDoor, Token};
use super::fake::{FakeHub, State};
use contract::Hash;
use serde_json::Value;
use std::collections::HashMap;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use wire::http::server::Limits;

pub fn token(name: &str) -> Token {
    Token { name: name.into(), hash: Hash::of(format!("secret-{name}").as_bytes()) }
}

/// The body bound of every rig's door, in bytes.
pub const MAX_BODY: usize = 64 << 10;

pub struct Rig {
    pub port: u16,
    pub hub: Rc<State>,
    pub door: Rc<HttpDoor>,
    pub stop: oneshot::Sender<()>,
}

/// Runs a test against a fresh door; a test that hangs fails.
pub fn run<F: Future<Output = ()>>(bounds: Bounds, test: impl FnOnce(Rig) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let hub = Rc::new(State::default());
        let tokens = Tokens::new(vec![token("cursor"), token("zed")]);
        let door = Rc::new(HttpDoor::with(Rc::new(FakeHub(hub.clone())), tokens, port, bounds));
        let (stop, stopped) = oneshot::channel();
        let limits = Limits { max_body: MAX_BODY, comment_time: Duration::from_millis(100), ..Limits::default() };
        let served = door.clone();
        let server = wire::task::spawn("test", async move {
            served
                .serve(listener, limits, async {
                    // A test that only ends drops the sender; it does not mean to stop.
                    if stopped.await.is_err() {
                        std::future::pending::<()>().await;
                    }
                })
                .await;
        });
        tokio::time::timeout(Duration::from_secs(20), test(Rig { port, hub, door, stop }))
            .await
            .expect("the test hangs");
        server.abort();
    });
}

/// A request as it is written; a header given twice stands twice, one with the value `-` not at all.
#[derive(Clone)]
pub struct Req {
    method: String,
    path: String,
    defaults: Vec<(String, String)>,
    fields: Vec<(String, String)>,
    body: String,
}

impl Req {
    pub fn new(rig: &Rig, method: &str, path: &str) -> Req {
        let defaults = [
            ("Host", format!("127.0.0.1:{}", rig.port)),
            ("Authorization", "Bearer secret-cursor".to_owned()),
            ("Content-Type", "application/json".to_owned()),
            ("Accept", "application/json, text/event-stream".to_owned()),
        ];
        Req {
            method: method.into(),
            path: path.into(),
            defaults: defaults.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            fields: Vec::new(),
            body: String::new(),
        }
    }
    pub fn post(rig: &Rig, body: impl Into<String>) -> Req {
        let mut req = Req::new(rig, "POST", "/mcp");
        req.body = body.into();
        req
    }
    pub fn at(mut self, path: &str) -> Req {
        self.path = path.into();
        self
    }
    pub fn with(mut self, name: &str, value: &str) -> Req {
        self.fields.push((name.into(), value.into()));
        self
    }
    pub fn withs(self, fields: &[(&str, &str)]) -> Req {
        fields.iter().fold(self, |req, (name, value)| req.with(name, value))
    }
    pub fn head(&self) -> String {
        let given = |name: &str| self.fields.iter().any(|(field, _)| field.eq_ignore_ascii_case(name));
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        let defaults = self.defaults.iter().filter(|(name, _)| !given(name));
        for (name, value) in defaults.chain(self.fields.iter().filter(|(_, value)| value != "-")) {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if !given("Content-Length") && self.method == "POST" {
            text.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        text + "\r\n"
    }
    /// Sends it on a connection of its own and reads the whole answer.
    pub async fn send(self, rig: &Rig) -> Res {
        let mut wire = Wire::open(rig).await;
        wire.write(&self).await;
        wire.response().await
    }
    /// The same, until the answer's head is there.
    pub async fn stream(self, rig: &Rig) -> Wire {
        let mut wire = Wire::open(rig).await;
        wire.write(&self).await;
        wire.begin().await;
        wire
    }
    /// The same, without waiting for anything.
    pub async fn start(self, rig: &Rig) -> Wire {
        let mut wire = Wire::open(rig).await;
        wire.write(&self).await;
        wire
    }
}

#[derive(Clone, Debug)]
pub struct Res {
    pub status: u16,
    pub fields: HashMap<String, String>,
    pub body: String,
}

impl Res {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str)
    }
    pub fn code(&self) -> i64 {
        self.json()["error"]["code"].as_i64().unwrap_or(0)
    }
}

/// One connection.
pub struct Wire {
    stream: TcpStream,
    buf: Vec<u8>,
    /// Of the answer that is being read.
    pub head: Res,
    text: String,
}

impl Wire {
    pub async fn open(rig: &Rig) -> Wire {
        let stream = TcpStream::connect(("127.0.0.1", rig.port)).await.unwrap();
        let head = Res { status: 0, fields: HashMap::new(), body: String::new() };
        Wire { stream, buf: Vec::new(), head, text: String::new() }
    }
    pub async fn write(&mut self, req: &Req) {
        self.raw(&(req.head() + &req.body)).await;
    }
    pub async fn raw(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }
    pub async fn bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }
    async fn more(&mut self) -> bool {
        self.stream.read_buf(&mut self.buf).await.unwrap_or(0) > 0
    }
    async fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.buf.windows(2).position(|pair| pair == b"\r\n") {
                let line: Vec<u8> = self.buf.drain(..end + 2).collect();
                return Some(String::from_utf8(line[..end].to_vec()).unwrap());
            }
            if !self.more().await {
                return None;
            }
        }
    }
    async fn exactly(&mut self, length: usize) -> Vec<u8> {
        while self.buf.len() < length && self.more().await {}
        let length = length.min(self.buf.len());
        self.buf.drain(..length).collect()
    }
    /// Reads the head of an answer.
    pub async fn begin(&mut self) -> &Res {
        let first = self.line().await.expect("an answer");
        let status = first.split(' ').nth(1).unwrap().parse().unwrap();
        let mut fields = HashMap::new();
        while let Some(line) = self.line().await.filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').unwrap();
            fields.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        self.head = Res { status, fields, body: String::new() };
        &self.head
    }
    async fn chunk(&mut self) -> Option<Vec<u8>> {
        let size = usize::from_str_radix(&self.line().await?, 16).unwrap();
        let data = self.exactly(size).await;
        self.line().await;
        (size > 0).then_some(data)
    }
    /// Reads a whole answer.
    pub async fn response(&mut self) -> Res {
        self.begin().await;
        let mut body = Vec::new();
        if let Some(length) = self.head.field("content-length") {
            body = self.exactly(length.parse().unwrap()).await;
        } else if self.head.field("transfer-encoding").is_some() {
            while let Some(chunk) = self.chunk().await {
                body.extend(chunk);
            }
        }
        Res { body: String::from_utf8(body).unwrap(), ..self.head.clone() }
    }
    /// The next event or comment; None at the end of the stream.
    async fn block(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                return Some(self.text.drain(..end + 2).collect());
            }
            let chunk = self.chunk().await?;
            self.text.push_str(&String::from_utf8(chunk).unwrap());
        }
    }
    /// The next event's data; None at the end of the stream.
    pub async fn event(&mut self) -> Option<String> {
        loop {
            let block = self.block().await?;
            let data: Vec<_> = block.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
            if !data.is_empty() {
                return Some(data.join("\n"));
            }
        }
    }
    /// Waits for a comment, which shows that the stream lives.
    pub async fn beat(&mut self) {
        let block = self.block().await;
        assert!(block.as_ref().is_some_and(|block| block.starts_with(':')), "{block:?}");
    }
    pub async fn message(&mut self) -> Value {
        let event = self.event().await.expect("an event");
        serde_json::from_str(&event).unwrap()
    }
}

/// Begins a session and gives its id.
pub async fn initialize(rig: &Rig, version: &str) -> String {
    initialize_as(rig, version, "secret-cursor", "/mcp").await
}

pub async fn initialize_as(rig: &Rig, version: &str, secret: &str, path: &str) -> String {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"vscode","version":"1"}}}}}}"#
    );
    let req = Req::post(rig, body).at(path).with("Authorization", &format!("Bearer {secret}"));
    let res = req.send(rig).await;
    assert_eq!(res.status, 200, "{res:?}");
    res.field("mcp-session-id").unwrap().to_owned()
}

/// A POST within a session.
pub fn in_session(rig: &Rig, session: &str, body: impl Into<String>) -> Req {
    Req::post(rig, body).with("Mcp-Session-Id", session)
}

/// A legacy request.
pub fn rpc(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// A modern request whose headers agree with its body. `params` are members, with a comma in front where there are any.
pub fn modern(rig: &Rig, id: &str, method: &str, members: &str) -> Req {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"x","version":"1"}},"io.modelcontextprotocol/clientCapabilities":{{}},"progressToken":"p"}}{members}}}}}"#
    );
    Req::post(rig, body).with("MCP-Protocol-Version", "2026-07-28").with("Mcp-Method", method)
}

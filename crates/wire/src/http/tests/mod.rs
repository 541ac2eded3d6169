#![allow(clippy::unwrap_used, clippy::expect_used)]
//! The link against servers whose every byte a test writes.

mod bad;
mod legacy;
mod modern;

use super::carrier::Carrier;
use super::target::Target;
use super::{HttpLimits, HttpLink, PlainHttp};
use crate::link::{Inbox, Link, Message, Text};
use frame::{Fault, Frame, Rope, Version};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// What a link told its inbox.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Message(String, Option<u64>),
    Noise(String),
    Failed(u64, String, bool),
    SessionLost,
    Closed,
}

#[derive(Default)]
struct Ear {
    told: RefCell<VecDeque<Told>>,
    news: Notify,
}

impl Ear {
    fn hear(&self, told: Told) {
        self.told.borrow_mut().push_back(told);
        self.news.notify_one();
    }
    async fn next(&self) -> Told {
        loop {
            if let Some(told) = self.told.borrow_mut().pop_front() {
                return told;
            }
            self.news.notified().await;
        }
    }
    /// The next failure: its request, text and whether the server may have acted.
    async fn failure(&self) -> (u64, String, bool) {
        match self.next().await {
            Told::Failed(id, why, sent) => (id, why, sent),
            other => panic!("{other:?}"),
        }
    }
    fn is_empty(&self) -> bool {
        self.told.borrow().is_empty()
    }
}

impl Inbox for Ear {
    fn message(&self, frame: Frame, during: Option<u64>) {
        self.hear(Told::Message(String::from_utf8(frame.raw().to_vec()).unwrap(), during));
    }
    fn noise(&self, _: Fault, head: &bytes::Bytes) {
        self.hear(Told::Noise(String::from_utf8_lossy(head).into_owned()));
    }
    fn too_long(&self, _: &[u8], length: u64) {
        panic!("lines only: {length}");
    }
    fn failed(&self, id: u64, why: &str, sent: bool) {
        self.hear(Told::Failed(id, why.to_owned(), sent));
    }
    fn session_lost(&self) {
        self.hear(Told::SessionLost);
    }
    fn closed(&self, _: &str) {
        self.hear(Told::Closed);
    }
}

/// A server that does what the test writes.
struct Fake {
    listener: TcpListener,
    address: SocketAddr,
}

/// One request that it received, and the connection to answer on.
struct Call {
    head: String,
    body: String,
    stream: TcpStream,
}

impl Fake {
    async fn new() -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Fake { address: listener.local_addr().unwrap(), listener }
    }
    fn url(&self) -> String {
        format!("http://{}/mcp?key=secret-in-url", self.address)
    }
    /// The next request on a new connection.
    async fn next(&self) -> Call {
        Call::on(self.listener.accept().await.unwrap().0).await
    }
}

impl Call {
    async fn on(mut stream: TcpStream) -> Call {
        let mut read = Vec::new();
        loop {
            if let Some(end) = memchr::memmem::find(&read, b"\r\n\r\n") {
                let head = String::from_utf8(read[..end].to_vec()).unwrap().to_ascii_lowercase();
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
                let length: usize = length.parse().unwrap();
                while read.len() < end + 4 + length {
                    assert!(stream.read_buf(&mut read).await.unwrap() > 0, "cut off");
                }
                let body = String::from_utf8(read[end + 4..].to_vec()).unwrap();
                return Call { head, body, stream };
            }
            assert!(stream.read_buf(&mut read).await.unwrap() > 0, "no request");
        }
    }
    async fn write(&mut self, text: impl AsRef<[u8]>) {
        // The link may have closed it on purpose.
        let _ = self.stream.write_all(text.as_ref()).await;
    }
    /// Answers and closes.
    async fn answer(mut self, status: &str, fields: &str, body: &str) {
        let length = body.len();
        let head = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n{fields}\r\n");
        self.write(head + body).await;
    }
    async fn json(self, fields: &str, body: &str) {
        self.answer("200 OK", &format!("content-type: application/json\r\n{fields}"), body).await;
    }
    /// Begins a stream of events that ends with the connection.
    async fn stream(&mut self, fields: &str) {
        self.write(format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n{fields}\r\n"))
            .await;
    }
    fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
    fn verb(&self) -> &str {
        self.head.split(' ').next().unwrap()
    }
    /// Waits until the other side has closed.
    async fn left(mut self) {
        let mut rest = Vec::new();
        let _ = self.stream.read_to_end(&mut rest).await;
    }
}

fn quick() -> HttpLimits {
    let quick = Duration::from_millis(10);
    HttpLimits { max_message: 100_000, retry_time: quick, ..HttpLimits::default() }
}

struct Setup {
    fake: Fake,
    ear: Rc<Ear>,
    link: HttpLink,
}

impl Setup {
    /// Sends a request with this id.
    fn ask(&self, id: u64, method: &str) {
        let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\"}}");
        let message = Message { id: Some(id), method, name: None, headers: &[], text: Text::Whole(&text.into()) };
        self.link.send(&message).unwrap();
    }
    fn notify(&self, method: &str, params: &str) {
        let params = Rope::from(params.to_owned());
        self.link.send(&Message { id: None, method, name: None, headers: &[], text: Text::Params(&params) }).unwrap();
    }
    /// Goes through `initialize`; gives the GET that asks for the session's stream.
    async fn initialize(&self, id: u64, session: &str) -> Call {
        self.ask(id, "initialize");
        let call = self.fake.next().await;
        assert_eq!((call.field("mcp-session-id"), call.field("mcp-protocol-version")), (None, None));
        call.json(&format!("Mcp-Session-Id: {session}\r\n"), &result(id)).await;
        assert_eq!(self.ear.next().await, Told::Message(result(id), Some(id)));
        self.link.set_version(Version::V2025Nov);
        self.notify("notifications/initialized", "{}");
        let call = self.fake.next().await;
        assert_eq!((call.verb(), call.field("mcp-session-id")), ("post", Some(session)));
        call.answer("202 Accepted", "", "").await;
        let get = self.fake.next().await;
        assert_eq!(
            (get.verb(), get.field("mcp-session-id"), get.field("accept")),
            ("get", Some(session), Some("text/event-stream"))
        );
        get
    }
}

fn result(id: u64) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}")
}

fn event(text: &str) -> String {
    format!("data: {text}\n\n")
}

fn fields() -> Vec<(String, String)> {
    [("Authorization", "Bearer secret-token"), ("Mcp-Session-Id", "forged"), ("Host", "elsewhere")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}

/// Runs a story over our own connections, and again over the client for other machines.
fn both<F: Future<Output = ()>>(limits: HttpLimits, story: impl Fn(Setup) -> F) {
    run(limits.clone(), Carrier::new, &story);
    run(limits, |_| Carrier::Remote, &story);
}

fn run<F: Future<Output = ()>>(limits: HttpLimits, carrier: impl Fn(&Target) -> Carrier, story: impl Fn(Setup) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let fake = Fake::new().await;
        let ear: Rc<Ear> = Rc::default();
        let target = Target::new(&fake.url(), &fields(), PlainHttp::Loopback).unwrap();
        let link = HttpLink::with(carrier(&target), target, limits, ear.clone());
        let story = story(Setup { fake, ear, link });
        tokio::time::timeout(Duration::from_secs(20), story).await.expect("the story came to its end");
    });
}

#![allow(clippy::unwrap_used, clippy::expect_used)]
//! The server against clients that are plain sockets: what they may do, and what closes them.

use super::*;
use frame::Rope;
use http::{HeaderMap, Method, StatusCode};
use std::cell::RefCell;
use std::collections::VecDeque;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;

/// Answers by path; `/hold` and `/stream` hand their responder to the test.
#[derive(Default)]
struct Script {
    held: RefCell<VecDeque<(Request, Responder)>>,
    arrived: Notify,
}

impl Script {
    async fn next(&self) -> (Request, Responder) {
        loop {
            if let Some(held) = self.held.borrow_mut().pop_front() {
                return held;
            }
            self.arrived.notified().await;
        }
    }
}

impl Handler for Script {
    fn refusal(&self, head: &Head) -> Option<Answer> {
        (head.uri.path() == "/no").then(|| Answer::text(StatusCode::UNAUTHORIZED, "no"))
    }
    fn handle(&self, request: Request, responder: Responder) {
        match request.head.uri.path() {
            "/echo" => {
                let mut body = Rope::from("<");
                body.push(request.body);
                body.push_static(">");
                responder.send(Answer::json(StatusCode::OK, body));
            }
            "/forget" => drop(responder),
            _ => {
                self.held.borrow_mut().push_back((request, responder));
                self.arrived.notify_one();
            }
        }
    }
}

struct Bench {
    script: Rc<Script>,
    address: SocketAddr,
    stop: Rc<Notify>,
    done: Rc<Notify>,
}

impl Bench {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }
    async fn send(&self, text: &str) -> TcpStream {
        let mut client = self.connect().await;
        client.write_all(text.as_bytes()).await.unwrap();
        client
    }
}

fn run<F: Future<Output = ()>>(limits: Limits, story: impl FnOnce(Rc<Bench>) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let bench = Rc::new(Bench {
            script: Rc::default(),
            address: listener.local_addr().unwrap(),
            stop: Rc::default(),
            done: Rc::default(),
        });
        let (stop, done, script) = (bench.stop.clone(), bench.done.clone(), bench.script.clone());
        let server = crate::task::spawn("test", async move {
            serve(listener, limits, script, async move { stop.notified().await }).await;
            done.notify_one();
        });
        tokio::time::timeout(Duration::from_secs(20), story(bench)).await.expect("the story came to its end");
        server.abort();
    });
}

/// Everything until the server closes.
async fn rest(client: &mut TcpStream) -> String {
    let mut all = Vec::new();
    let _ = client.read_to_end(&mut all).await;
    String::from_utf8_lossy(&all).into_owned()
}

/// At least until `end` has come.
async fn until(client: &mut TcpStream, end: &str) -> String {
    let mut all = Vec::new();
    while memchr::memmem::find(&all, end.as_bytes()).is_none() {
        let read = client.read_buf(&mut all).await.unwrap();
        assert!(read > 0, "closed after {:?}", String::from_utf8_lossy(&all));
    }
    String::from_utf8(all).unwrap()
}

fn post(path: &str, body: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

const CLOSE: &str = "GET /echo HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";

fn short() -> Limits {
    let short = Duration::from_millis(80);
    Limits { head_time: short, body_time: short, idle_time: short, stall_time: short, ..Limits::default() }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    run(Limits::default(), |bench| async move {
        let mut client = bench.send(&[post("/hold", "1"), post("/echo", "2"), CLOSE.into()].concat()).await;
        let (request, responder) = bench.script.next().await;
        assert_eq!((&*request.body, request.head.method), (&b"1"[..], Method::POST));
        responder.send(Answer::json(StatusCode::ACCEPTED, "first"));
        let all = rest(&mut client).await;
        let bodies: Vec<usize> = ["first", "<2>", "<>"].iter().map(|body| all.find(body).unwrap()).collect();
        assert!(bodies.is_sorted() && all.starts_with("HTTP/1.1 202 "), "{all}");
    });
}

#[test]
fn refusals_say_why() {
    let limits = Limits { max_body: 100_000, max_head: 8 << 10, ..Limits::default() };
    run(limits, |bench| async move {
        let chunks = format!("{:x}\r\n{}\r\n", 60_000, "x".repeat(60_000)).repeat(2);
        let head = "POST /echo HTTP/1.1\r\nhost: x\r\nconnection: close\r\n";
        let table = [
            (post("/no", ""), "401"),
            (format!("{head}content-length: 100001\r\n\r\n{}", "x".repeat(100_001)), "413"),
            (format!("{head}content-length: 99999999\r\n\r\n{}", "x".repeat(100_001)), "413"),
            (format!("{head}transfer-encoding: chunked\r\n\r\n{chunks}0\r\n\r\n"), "413"),
            (format!("{head}transfer-encoding: chunked\r\n\r\nzz\r\n"), "400"),
            (format!("{head}x: {}\r\n\r\n", "x".repeat(9 << 10)), "431"),
            ("nonsense\r\n\r\n".into(), "400"),
            (post("/forget", ""), "500"),
        ];
        for (text, status) in table {
            let mut client = bench.send(&text).await;
            let answer = until(&mut client, "\r\n\r\n").await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{status}: {answer}");
        }
    });
}

#[test]
fn a_body_in_pieces_is_joined_and_all_bodies_are_bounded_together() {
    let limits = Limits { max_bodies: 150_000, ..Limits::default() };
    run(limits, |bench| async move {
        let body = "x".repeat(90_000);
        let mut first = bench.send(&post("/echo", &body)[..80_000]).await;
        let mut second = bench.send(&post("/echo", &body)).await;
        assert!(until(&mut second, "\r\n\r\n").await.starts_with("HTTP/1.1 503 "));
        first.write_all(&post("/echo", &body).as_bytes()[80_000..]).await.unwrap();
        assert!(until(&mut first, ">").await.ends_with(&format!("<{body}>")));
        let mut third = bench.send(&post("/echo", &body)).await;
        assert!(until(&mut third, ">").await.ends_with(&format!("<{body}>")));
    });
}

#[test]
fn whoever_is_slow_is_closed_and_nobody_else() {
    run(short(), |bench| async move {
        let mut steady = bench.send(&post("/hold", "")).await;
        let (_, responder) = bench.script.next().await;
        for text in ["", "GET /ec", "POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nx"] {
            assert_eq!(rest(&mut bench.send(text).await).await, "", "{text:?}");
        }
        responder.send(Answer::json(StatusCode::OK, "patience"));
        assert!(until(&mut steady, "patience").await.contains(" 200 "));
        assert_eq!(rest(&mut steady).await, "");
    });
}

#[test]
fn the_one_that_idles_longest_makes_room() {
    run(Limits { max_connections: 2, ..Limits::default() }, |bench| async move {
        let mut oldest = bench.send(&post("/echo", "a")).await;
        until(&mut oldest, "<a>").await;
        let mut busy = bench.send(&post("/hold", "")).await;
        let (_, responder) = bench.script.next().await;
        let mut newest = bench.send(&post("/hold", "")).await;
        let (_, held) = bench.script.next().await;
        assert_eq!(rest(&mut oldest).await, "");
        let mut refused = bench.connect().await;
        assert!(rest(&mut refused).await.starts_with("HTTP/1.1 503 "));
        responder.send(Answer::json(StatusCode::OK, "one"));
        held.send(Answer::json(StatusCode::OK, "two"));
        until(&mut busy, "one").await;
        until(&mut newest, "two").await;
    });
}

#[test]
fn those_who_have_asked_for_nothing_make_room_first() {
    run(Limits { max_connections: 3, ..Limits::default() }, |bench| async move {
        let mut known = bench.send(&post("/echo", "a")).await;
        until(&mut known, "<a>").await;
        let mut first = bench.send("POST /echo HTTP/1.1\r\nhost: ").await;
        let mut refused = bench.send(&post("/no", "")).await;
        until(&mut refused, "\r\n\r\n").await;
        let mut others = Vec::new();
        for text in ["b", "c", "d"] {
            others.push(bench.send("GET /ec").await);
            let mut next = bench.send(&post("/echo", text)).await;
            until(&mut next, &format!("<{text}>")).await;
            drop(next);
        }
        assert_eq!(rest(&mut first).await, "");
        known.write_all(post("/echo", "still here").as_bytes()).await.unwrap();
        until(&mut known, "<still here>").await;
    });
}

#[test]
fn a_stream_carries_events_and_comments_and_ends() {
    run(Limits { comment_time: Duration::from_millis(20), ..Limits::default() }, |bench| async move {
        let mut client = bench.send(&post("/stream", "")).await;
        let (_, responder) = bench.script.next().await;
        let events = responder.stream(HeaderMap::new());
        events.event(&"{\"a\":\n1}".into()).unwrap();
        let head = until(&mut client, "data: {\"a\":\ndata: 1}\n\n\r\n").await;
        assert!(head.contains("content-type: text/event-stream"), "{head}");
        until(&mut client, ":\n\n\r\n").await;
        events.event(&"{}".into()).unwrap();
        drop(events);
        assert!(until(&mut client, "0\r\n\r\n").await.contains("data: {}\n\n"));
        client.write_all(post("/echo", "again").as_bytes()).await.unwrap();
        until(&mut client, "<again>").await;
    });
}

#[test]
fn a_client_that_does_not_read_its_events_fills_its_own_buffer_only() {
    run(Limits { max_events: 100_000, ..Limits::default() }, |bench| async move {
        let _client = bench.send(&post("/stream", "")).await;
        let (_, responder) = bench.script.next().await;
        let events = responder.stream(HeaderMap::new());
        let text = Rope::from(Bytes::from(vec![b'x'; 50_000]));
        let mut sent = 0;
        while events.event(&text).is_ok() {
            sent += 1;
            assert!(sent < 1000, "bounded");
            tokio::task::yield_now().await;
        }
        assert_eq!(events.event(&text), Err(Refused::Full));
    });
}

#[test]
fn leaving_is_told_once_and_only_to_whom_it_concerns() {
    run(short(), |bench| async move {
        let told = Rc::new(RefCell::new(Vec::new()));
        let leave = Rc::new(Notify::new());
        let watch = |name: &'static str| -> Callback {
            let (told, leave) = (told.clone(), leave.clone());
            Box::new(move || {
                told.borrow_mut().push(name);
                leave.notify_one();
            })
        };
        let mut delivered = bench.send(&post("/hold", "")).await;
        let (_, responder) = bench.script.next().await;
        responder.on_closed(watch("delivered"));
        responder.send(Answer::json(StatusCode::OK, "all"));
        until(&mut delivered, "all").await;
        drop(delivered);

        let waiting = bench.send(&post("/hold", "")).await;
        let (_, responder) = bench.script.next().await;
        responder.on_closed(watch("waiting"));
        drop(waiting);
        leave.notified().await;
        assert!(responder.is_closed());
        responder.send(Answer::empty(StatusCode::OK));

        let streaming = bench.send(&post("/stream", "")).await;
        let (_, responder) = bench.script.next().await;
        let events = responder.stream(HeaderMap::new());
        events.on_closed(watch("streaming"));
        drop(streaming);
        leave.notified().await;
        assert_eq!(events.event(&"{}".into()), Err(Refused::Gone));

        let _deaf = bench.send(&post("/hold", "")).await;
        let (_, responder) = bench.script.next().await;
        responder.on_closed(watch("deaf"));
        responder.send(Answer::json(StatusCode::OK, Bytes::from(vec![b'x'; 32 << 20])));
        leave.notified().await;
        assert_eq!(*told.borrow(), ["waiting", "streaming", "deaf"]);
    });
}

#[test]
fn stopping_closes_who_waits_and_lets_answers_end() {
    run(Limits::default(), |bench| async move {
        let mut idle = bench.send(&post("/echo", "a")).await;
        until(&mut idle, "<a>").await;
        let mut busy = bench.send(&post("/hold", "")).await;
        let (_, responder) = bench.script.next().await;
        bench.stop.notify_one();
        assert_eq!(rest(&mut idle).await, "");
        responder.send(Answer::json(StatusCode::OK, "last"));
        assert!(rest(&mut busy).await.ends_with("last"));
        bench.done.notified().await;
        assert!(TcpStream::connect(bench.address).await.is_err());
    });
}

#[test]
fn a_head_request_gets_no_body() {
    run(Limits::default(), |bench| async move {
        let mut client = bench.send("HEAD /echo HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
        let all = rest(&mut client).await;
        assert!(all.starts_with("HTTP/1.1 200 ") && all.ends_with("\r\n\r\n"), "{all}");
    });
}

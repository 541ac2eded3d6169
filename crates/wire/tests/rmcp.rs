#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]
//! The link against a real server of the official SDK, in both eras.

use frame::{Fault, Frame, Kind, Version, object};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rmcp::handler::server::tool::ToolRouter;
use rmcp::model::{ProgressNotificationParam, RequestMetaObject};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{Peer, RoleServer, ServerHandler, tool, tool_handler, tool_router};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use wire::http::{HttpLimits, HttpLink, PlainHttp};
use wire::link::{Inbox, Link, Message, Text};

struct Counter {
    #[expect(dead_code, reason = "the macro reads it")]
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Counter {
    #[tool(description = "Counts to twenty")]
    async fn count(meta: RequestMetaObject, client: Peer<RoleServer>) -> Result<String, rmcp::ErrorData> {
        let token = meta.get_progress_token().ok_or(rmcp::ErrorData::invalid_params("no token", None))?;
        for step in 1..=20 {
            let _ = client.notify_progress(ProgressNotificationParam::new(token.clone(), f64::from(step))).await;
        }
        Ok("counted".to_owned())
    }
}

#[tool_handler]
impl ServerHandler for Counter {}

type Service = StreamableHttpService<Counter, LocalSessionManager>;

fn service() -> Service {
    let counter = || Ok(Counter { tool_router: Counter::tool_router() });
    StreamableHttpService::new(counter, Arc::default(), StreamableHttpServerConfig::default())
}

/// A server in a thread of its own; what is put into `current` takes over, as after a restart.
fn start(current: Arc<Mutex<Service>>) -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async move {
            let listener = TcpListener::from_std(listener).unwrap();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let current = current.clone();
                wire::task::spawn("test", async move {
                    let answer = service_fn(|request| {
                        let service = current.lock().unwrap().clone();
                        async move { Ok::<_, std::convert::Infallible>(service.handle(request).await) }
                    });
                    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
                });
            }
        });
    });
    port
}

#[derive(Debug)]
enum Told {
    Message(Frame),
    Failed(bool),
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
    async fn result(&self) -> String {
        match self.next().await {
            Told::Message(frame) if frame.kind() == Kind::Response => {
                String::from_utf8(frame.body().unwrap().to_vec()).unwrap()
            }
            other => panic!("{other:?}"),
        }
    }
}

impl Inbox for Ear {
    fn message(&self, frame: Frame, _: Option<u64>) {
        self.hear(Told::Message(frame));
    }
    fn noise(&self, fault: Fault, head: &bytes::Bytes) {
        panic!("{fault:?}: {}", String::from_utf8_lossy(head));
    }
    fn too_long(&self, _: &[u8], length: u64) {
        panic!("{length}");
    }
    fn failed(&self, _: u64, _: &str, sent: bool) {
        self.hear(Told::Failed(sent));
    }
    fn session_lost(&self) {
        self.hear(Told::SessionLost);
    }
    fn closed(&self, _: &str) {
        self.hear(Told::Closed);
    }
}

fn send(link: &HttpLink, id: Option<u64>, method: &str, name: Option<&str>, params: &str) {
    let params = params.to_owned().into();
    link.send(&Message { id, method, name, headers: &[], text: Text::Params(&params) }).unwrap();
}

async fn twenty_then_the_answer(ear: &Ear) {
    for step in 1..=20 {
        let Told::Message(frame) = ear.next().await else { panic!("no progress") };
        assert_eq!(frame.method(), "notifications/progress");
        let progress = object::get(&frame.params(), "progress").unwrap();
        assert_eq!(String::from_utf8_lossy(&progress).parse::<f64>().unwrap(), f64::from(step));
    }
    assert!(ear.result().await.contains("counted"));
}

fn run<F: Future<Output = ()>>(story: impl FnOnce(HttpLink, Rc<Ear>, Arc<Mutex<Service>>) -> F) {
    let current = Arc::new(Mutex::new(service()));
    let port = start(current.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let ear: Rc<Ear> = Rc::default();
        let url = format!("http://localhost:{port}/mcp");
        let link = HttpLink::new(&url, &[], PlainHttp::Loopback, HttpLimits::default(), ear.clone()).unwrap();
        tokio::time::timeout(Duration::from_secs(20), story(link, ear, current)).await.expect("came to its end");
    });
}

async fn initialize(link: &HttpLink, ear: &Ear, id: u64) {
    let params = r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}"#;
    send(link, Some(id), "initialize", None, params);
    assert!(ear.result().await.contains("2025-11-25"));
    assert!(link.has_session());
    link.set_version(Version::V2025Nov);
    send(link, None, "notifications/initialized", None, "{}");
}

#[test]
fn a_session_of_the_earlier_revisions() {
    run(|link, ear, current| async move {
        initialize(&link, &ear, 1).await;
        send(&link, Some(2), "tools/list", None, "{}");
        assert!(ear.result().await.contains("Counts to twenty"));
        let call = r#"{"name":"count","arguments":{},"_meta":{"progressToken":"p"}}"#;
        send(&link, Some(3), "tools/call", Some("count"), call);
        twenty_then_the_answer(&ear).await;

        // The server starts anew and knows no session.
        *current.lock().unwrap() = service();
        send(&link, Some(4), "tools/list", None, "{}");
        assert!(matches!(ear.next().await, Told::SessionLost));
        assert!(matches!(ear.next().await, Told::Failed(false)));
        initialize(&link, &ear, 5).await;
        send(&link, Some(6), "tools/list", None, "{}");
        assert!(ear.result().await.contains("Counts to twenty"));
        link.close();
        assert!(matches!(ear.next().await, Told::Closed));
    });
}

#[test]
fn requests_of_the_stateless_revision() {
    run(|link, ear, _| async move {
        link.set_version(Version::V2026);
        let meta = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}"#;
        send(&link, Some(1), "server/discover", None, &format!("{{\"_meta\":{{{meta}}}}}"));
        assert!(ear.result().await.contains("2026-07-28"));
        let call = format!("{{\"name\":\"count\",\"arguments\":{{}},\"_meta\":{{\"progressToken\":\"p\",{meta}}}}}");
        send(&link, Some(2), "tools/call", Some("count"), &call);
        twenty_then_the_answer(&ear).await;
        assert!(!link.has_session());

        // A header that says something else than the body is refused in a body that is read.
        send(&link, Some(3), "tools/call", Some("other"), &call);
        let Told::Message(frame) = ear.next().await else { panic!("no error") };
        assert!(frame.kind() == Kind::Error && String::from_utf8_lossy(frame.raw()).contains("-32020"));
    });
}

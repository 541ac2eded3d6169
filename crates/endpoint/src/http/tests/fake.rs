//! A scripted hub: answers lists at once, keeps everything else until a test answers it.

use super::super::place::{Hub, Place, Running};
use bytes::Bytes;
use frame::{Answer, Ask, Level, Origin, Progress, Reply};
use hub::agent::{Description, Identity, Notice, Notices, UnknownView, View, Watched};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use tokio::sync::Notify;

/// Input schema of the tool `mirrored`.
const SCHEMA: &str = r#"{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}"#;

/// One request that waits for its answer.
pub struct Exchange {
    number: u64,
    place: u64,
    pub ask: Ask,
    reply: Box<dyn Reply>,
}

impl Exchange {
    pub fn progress(&mut self, number: u32) {
        let params = format!("{{\"progressToken\":99,\"progress\":{number}}}");
        let start = params.find("99").unwrap();
        self.reply.progress(&Progress { params: params.into(), token: start..start + 2 });
    }
    pub fn log(&mut self, level: Level, text: &str) {
        let params = format!("{{\"level\":\"{}\",\"data\":\"{text}\"}}", level.as_str());
        self.reply.log(level, &params.into());
    }
    pub fn result(self, body: impl Into<Bytes>) {
        let body: Bytes = body.into();
        self.reply.done(Answer::result(body));
    }
    pub fn error(self, code: i32, message: &str) {
        self.reply.done(Answer::error(code, message));
    }
}

#[derive(Default)]
pub struct State {
    waiting: RefCell<VecDeque<Exchange>>,
    arrived: Notify,
    cancelled: RefCell<VecDeque<String>>,
    cancel: Notify,
    last: Cell<u64>,
    /// Everyone who came in.
    pub joined: RefCell<Vec<(Identity, View)>>,
    /// How many have left.
    pub left: Cell<usize>,
    sinks: RefCell<Vec<Rc<dyn Notices>>>,
    /// Levels that were set, newest last.
    pub levels: RefCell<Vec<Option<Level>>>,
    /// Methods that have come in, and what every one of them held.
    pub asked: RefCell<Vec<(String, String)>>,
}

impl State {
    /// The next request that waits.
    pub async fn next(&self) -> Exchange {
        loop {
            if let Some(exchange) = self.waiting.borrow_mut().pop_front() {
                return exchange;
            }
            self.arrived.notified().await;
        }
    }
    /// The params of the next request that was cancelled.
    pub async fn next_cancelled(&self) -> String {
        loop {
            if let Some(params) = self.cancelled.borrow_mut().pop_front() {
                return params;
            }
            self.cancel.notified().await;
        }
    }
    pub fn no_cancels(&self) -> bool {
        self.cancelled.borrow().is_empty()
    }
    /// Tells everyone.
    pub fn notice(&self, notice: &Notice) {
        let sinks = self.sinks.borrow().clone();
        sinks.iter().for_each(|sink| sink.notice(notice));
    }
}

pub struct FakeHub(pub Rc<State>);

impl Hub for FakeHub {
    fn knows(&self, view: &View) -> bool {
        match view {
            View::All => true,
            View::Server(name) => matches!(&**name, "files" | "my files"),
            View::Profile(name) => &**name == "small",
        }
    }
    fn join(&self, identity: Identity, view: View, notices: Rc<dyn Notices>) -> Result<Box<dyn Place>, UnknownView> {
        if !self.knows(&view) {
            return Err(UnknownView);
        }
        let mut joined = self.0.joined.borrow_mut();
        joined.push((identity, view));
        self.0.sinks.borrow_mut().push(notices);
        Ok(Box::new(FakePlace { state: self.0.clone(), number: joined.len() as u64 }))
    }
}

struct FakePlace {
    state: Rc<State>,
    number: u64,
}

impl Place for FakePlace {
    fn describe(&self) -> Description {
        Description {
            capabilities: r#"{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{}}"#.into(),
            instructions: Some("be kind".into()),
            server_info: r#"{"name":"fake","version":"1"}"#.into(),
        }
    }
    fn input_schema(&self, tool: &str) -> Option<Bytes> {
        (tool == "mirrored").then(|| SCHEMA.into())
    }
    fn set_level(&self, level: Option<Level>) {
        self.state.levels.borrow_mut().push(level);
    }
    /// It has no tasks.
    fn watch(&self, _: &Origin, _: &Bytes, _: Rc<dyn Fn(&str)>) -> Result<Watched, Answer> {
        Ok(Watched::default())
    }
    fn ask(&self, ask: Ask, reply: Box<dyn Reply>) -> Box<dyn Running> {
        let params = String::from_utf8(ask.params.text().to_vec()).unwrap();
        self.state.asked.borrow_mut().push((ask.method.to_string(), params.clone()));
        let number = self.state.last.get() + 1;
        self.state.last.set(number);
        let exchange = Exchange { number, place: self.number, ask, reply };
        match &*exchange.ask.method {
            "tools/list" => exchange.result(r#"{"tools":[]}"#),
            "no/such" => exchange.error(-32601, "there is no such method"),
            _ => {
                self.state.waiting.borrow_mut().push_back(exchange);
                self.state.arrived.notify_one();
            }
        }
        Box::new(FakeRunning { state: self.state.clone(), number, params })
    }
}

impl Drop for FakePlace {
    fn drop(&mut self) {
        self.state.left.set(self.state.left.get() + 1);
        let mut waiting = self.state.waiting.borrow_mut();
        let (gone, stay): (VecDeque<_>, VecDeque<_>) = waiting.drain(..).partition(|one| one.place == self.number);
        *waiting = stay;
        drop(waiting);
        drop(gone);
    }
}

struct FakeRunning {
    state: Rc<State>,
    number: u64,
    params: String,
}

impl Running for FakeRunning {
    fn cancel(&self) {
        let mut waiting = self.state.waiting.borrow_mut();
        let place = waiting.iter().position(|one| one.number == self.number);
        let gone = place.and_then(|place| waiting.remove(place));
        drop(waiting);
        drop(gone);
        self.state.cancelled.borrow_mut().push_back(self.params.clone());
        self.state.cancel.notify_one();
    }
}

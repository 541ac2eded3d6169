//! A door for the person that only pretends: a queue in memory behind `run/operator.sock`, with the words of the real
//! one. It can refuse, lose races, go away and come back.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::{StreamExt, stream};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use operator::words::*;
use operator::{Problem, code};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use tokio::net::UnixListener;
use tokio::sync::{broadcast, oneshot};
use tokio::task::JoinSet;

/// What the pretended hub has.
#[derive(Default)]
pub struct Queue {
    /// Calls in the queue.
    pub items: Vec<ApprovalDetail>,
    /// Decisions made.
    pub decided: Vec<Decision>,
    /// The PIN, where one is set.
    pub pin: Option<String>,
    /// Why edited arguments are refused, if they are.
    pub unfit: Option<String>,
    /// Every operation that was asked for, with its body.
    pub asked: Vec<(String, String)>,
    /// Answers of the other operations, as JSON by name.
    pub answers: Vec<(&'static str, String)>,
}

#[derive(Clone)]
struct Shared {
    queue: Arc<Mutex<Queue>>,
    events: broadcast::Sender<Event>,
}

/// The door.
pub struct Door {
    socket: PathBuf,
    shared: Shared,
    running: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl Door {
    /// Opens a door at that socket.
    pub fn open(socket: PathBuf) -> Door {
        let shared = Shared { queue: Arc::default(), events: broadcast::channel(64).0 };
        let mut door = Door { socket, shared, running: None };
        door.come();
        door
    }

    /// Listens, also once more after it went.
    pub fn come(&mut self) {
        let (end, ended) = oneshot::channel();
        let (open, opened) = std::sync::mpsc::sync_channel(1);
        let (socket, shared) = (self.socket.clone(), self.shared.clone());
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let _ = std::fs::remove_file(&socket);
                let listener = UnixListener::bind(&socket).unwrap();
                open.send(()).unwrap();
                tokio::select! { () = serve(listener, shared) => {}, _ = ended => {} }
                let _ = std::fs::remove_file(&socket);
            });
        });
        opened.recv().unwrap();
        self.running = Some((end, thread));
    }

    /// Goes away, with every connection.
    pub fn go(&mut self) {
        if let Some((end, thread)) = self.running.take() {
            let _ = end.send(());
            thread.join().unwrap();
        }
    }

    /// What it has.
    pub fn queue(&self) -> MutexGuard<'_, Queue> {
        self.shared.queue.lock().unwrap()
    }

    /// Changes the queue and says so.
    pub fn change(&self, change: impl FnOnce(&mut Queue)) {
        let waiting = {
            let mut queue = self.queue();
            change(&mut queue);
            u32::try_from(queue.items.len()).unwrap()
        };
        self.tell(Event::Approvals { waiting });
    }

    /// Says something to everybody who listens.
    pub fn tell(&self, event: Event) {
        let _ = self.shared.events.send(event);
    }

    /// Decides in the place of somebody else.
    pub fn decide(&self, decision: Decision) {
        self.change(|queue| queue.take(&decision));
        self.tell(Event::Decision(decision));
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.go();
    }
}

async fn serve(listener: UnixListener, shared: Shared) {
    let router = Router::new().route("/op/{name}", post(operation)).route("/events", get(events)).with_state(shared);
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let service = TowerToHyperService::new(router.clone());
        connections
            .spawn(async move { drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await) });
    }
}

async fn events(State(shared): State<Shared>) -> Response {
    let opening = stream::once(async { Bytes::from_static(b": fake\n\n") });
    let events = stream::unfold(shared.events.subscribe(), |mut events| async move {
        let event = events.recv().await.ok()?;
        let text = format!("event: {}\ndata: {}\n\n", event.as_str(), serde_json::to_string(&event).unwrap());
        Some((Bytes::from(text), events))
    });
    let body = Body::from_stream(opening.chain(events).map(Ok::<_, Infallible>));
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

async fn operation(State(shared): State<Shared>, Path(name): Path<String>, body: Bytes) -> Response {
    let answer = {
        let mut queue = shared.queue.lock().unwrap();
        queue.asked.push((name.clone(), String::from_utf8(body.to_vec()).unwrap()));
        queue.answer(&name, &body)
    };
    match answer {
        Ok((body, event)) => {
            if let Some(event) = event {
                let _ = shared.events.send(event);
            }
            body.into_response()
        }
        Err(problem) => (StatusCode::BAD_REQUEST, serde_json::to_vec(&problem).unwrap()).into_response(),
    }
}

type Answer = Result<(Vec<u8>, Option<Event>), Problem>;

fn words<T: DeserializeOwned>(body: &[u8]) -> T {
    serde_json::from_slice(body).unwrap()
}

fn document(words: &impl Serialize) -> Answer {
    Ok((serde_json::to_vec(words).unwrap(), None))
}

impl Queue {
    fn answer(&mut self, name: &str, body: &[u8]) -> Answer {
        match name {
            "approval.list" => document(&ApprovalList {
                before: None,
                approvals: self.items.iter().map(|detail| detail.approval.clone()).collect(),
                pin_set: self.pin.is_some(),
                paused_since_ms: None,
                resting: Vec::new(),
            }),
            "approval.show" => document(self.item(&words::<ApprovalId>(body).id)?),
            "approval.approve" => {
                let asked: Approve = words(body);
                self.check_pin(asked.pin.as_ref())?;
                if let (Some(_), Some(why)) = (&asked.args, &self.unfit) {
                    return Err(Problem::new(code::INVALID_ARGUMENTS, why.as_str()));
                }
                self.settle(&asked.id, &asked.digest, |decision| {
                    decision.remember = asked.remember.or(Some(Scope::Once));
                    decision.edited = asked.args.is_some();
                })
            }
            "approval.deny" => {
                let asked: Deny = words(body);
                self.check_pin(asked.pin.as_ref())?;
                self.settle(&asked.id, &asked.digest, |decision| {
                    decision.kind = DecisionKind::Denied;
                    decision.reason = asked.reason;
                })
            }
            "approval.pin" => {
                let asked: PinChange = words(body);
                self.check_pin(asked.old.as_ref())?;
                self.pin = asked.new.map(|pin| pin.reveal().to_owned());
                document(&PinStatus { pin_set: self.pin.is_some() })
            }
            name => match self.answers.iter().find(|(known, _)| *known == name) {
                Some((_, answer)) => Ok((answer.clone().into_bytes(), None)),
                None => Err(Problem::new(code::NOT_OFFERED, format!("this hub does not offer {name} yet"))),
            },
        }
    }

    fn item(&self, id: &str) -> Result<&ApprovalDetail, Problem> {
        let unknown = || Problem::new(code::UNKNOWN_APPROVAL, format!("there is no approval {id}"));
        self.items.iter().find(|detail| detail.approval.id == id).ok_or_else(unknown)
    }

    fn check_pin(&self, given: Option<&PinCode>) -> Result<(), Problem> {
        match (&self.pin, given) {
            (None, _) => Ok(()),
            (Some(_), None) => Err(Problem::new(code::PIN_REQUIRED, "decisions need the PIN")),
            (Some(pin), Some(given)) if pin == given.reveal() => Ok(()),
            (Some(_), Some(_)) => Err(Problem::new(code::PIN_WRONG, "This is not the PIN; 4 tries are left")),
        }
    }

    fn settle(&mut self, id: &str, digest: &str, change: impl FnOnce(&mut Decision)) -> Answer {
        if let Some(decision) = self.decided.iter().find(|decision| decision.id == id) {
            let follows = Follows::Nothing;
            return document(&Decided {
                winner: Winner::Another,
                decision: decision.clone(),
                follows,
                keeps: None,
                unwritten: None,
            });
        }
        let item = &self.item(id)?.approval;
        if item.digest != digest {
            return Err(Problem::new(code::DIGEST_CHANGED, "the arguments are others than were shown"));
        }
        let mut decision = Decision {
            id: id.into(),
            call: item.call.clone(),
            kind: DecisionKind::Approved,
            by: "you".into(),
            at_ms: 1_796_032_800_000,
            remember: None,
            reason: None,
            edited: false,
        };
        change(&mut decision);
        let follows = match decision.kind {
            DecisionKind::Approved if item.waiters > 0 => Follows::Runs,
            DecisionKind::Approved => Follows::NextCall,
            DecisionKind::Denied | DecisionKind::Expired => Follows::Nothing,
        };
        self.take(&decision);
        let (body, _) = document(&Decided {
            winner: Winner::You,
            decision: decision.clone(),
            follows,
            keeps: None,
            unwritten: None,
        })?;
        Ok((body, Some(Event::Decision(decision))))
    }

    fn take(&mut self, decision: &Decision) {
        self.items.retain(|detail| detail.approval.id != decision.id);
        self.decided.push(decision.clone());
    }
}

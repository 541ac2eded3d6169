//! The Streamable HTTP door for agents, for clients of both eras. Runs on the relay thread. It never lets in a
//! browser's page or anybody without a token, never passes a token on, and can reach nothing that a person decides.

mod call;
mod delivery;
mod gate;
mod legacy;
mod mirror;
mod modern;
mod open;
mod outbox;
mod place;
mod post;
mod route;
mod session;
mod shared;
mod tokens;

pub use tokens::{Token, Tokens};

use self::gate::{Own, Refusal, Takes};
use self::open::Open;
use self::place::{Hub, Place};
use self::post::Post;
use self::session::{Holder, Sessions};
use self::shared::Places;
use ::contract::Hash;
use ::http::Method;
use ::hub::agent::{AgentHandle, Identity, Notices, UnknownView};
use ::hub::who::Who;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::time::Instant;
use wire::http::server::{self, Answer, Handler, Head, Limits, Request, Responder};

/// What one door bears.
#[derive(Clone, Debug)]
struct Bounds {
    /// Sessions of one token.
    sessions_per_token: usize,
    /// Sessions in all.
    sessions: usize,
    /// Time without use after which a session ends: longer than anything waits.
    session_idle: Duration,
    /// The same for the place of stateless requests, which costs its client nothing to get again.
    place_idle: Duration,
    /// Requests of one session, or of one token without one, that run at one time.
    running: usize,
    /// Listen streams of one token and view.
    listens: usize,
    /// Messages in one batch.
    batch: usize,
    /// Time for an answer to come as one JSON text; after it a stream begins, which can show that it lives.
    patience: Duration,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            sessions_per_token: 64,
            sessions: 512,
            session_idle: Duration::from_secs(24 * 3600),
            place_idle: Duration::from_secs(600),
            running: 1024,
            listens: 64,
            batch: 256,
            patience: Duration::from_secs(5),
        }
    }
}

/// How often unused sessions are looked for.
const SWEEP: Duration = Duration::from_secs(60);

/// Who sends a request: its token's name, and what it may hold.
#[derive(Clone)]
struct Caller {
    name: Rc<str>,
    holder: Holder,
}

/// Since when a session runs, and its key.
type Since = (Instant, Rc<str>);

/// How long approvals of one session of a token hold.
const TOKEN_SESSION: Duration = Duration::from_secs(12 * 60 * 60);

struct Door {
    hub: Rc<dyn Hub>,
    tokens: RefCell<Tokens>,
    /// Asked before each request: the tokens, where they are others than before.
    news: RefCell<Box<dyn FnMut() -> Option<Tokens>>>,
    own: Own,
    bounds: Bounds,
    sessions: Sessions,
    places: Places,
    /// Per token: since when its session runs, and its key.
    sessions_of_tokens: RefCell<FxHashMap<Hash, Since>>,
    open: Rc<Open>,
}

/// The door on one port.
pub struct HttpDoor {
    door: Rc<Door>,
}

impl HttpDoor {
    /// A door for the clients that hold one of these tokens, reached on that port of the loopback interface.
    pub fn new(hub: AgentHandle, tokens: Tokens, port: u16) -> HttpDoor {
        HttpDoor::with(Rc::new(hub), tokens, port, Bounds::default())
    }

    fn with(hub: Rc<dyn Hub>, tokens: Tokens, port: u16, bounds: Bounds) -> HttpDoor {
        let door = Door {
            hub,
            tokens: RefCell::new(tokens),
            news: RefCell::new(Box::new(|| None)),
            own: Own::new(port),
            bounds,
            sessions: Sessions::default(),
            places: Places::default(),
            sessions_of_tokens: RefCell::default(),
            open: Rc::default(),
        };
        HttpDoor { door: Rc::new(door) }
    }

    /// Asks `news` before each request is judged, so that a token counts from the moment in which it was made, and no
    /// longer when it was removed.
    pub fn ask_for_tokens(&self, news: impl FnMut() -> Option<Tokens> + 'static) {
        *self.door.news.borrow_mut() = Box::new(news);
    }

    /// From now on these tokens are valid; the sessions and streams of all others end.
    pub fn set_tokens(&self, tokens: Tokens) {
        self.door.tokens.replace(tokens);
        self.door.sweep();
    }

    /// Serves until `until` is done, then ends its streams in good order. Dropping the future closes everything.
    pub async fn serve(&self, listener: TcpListener, limits: Limits, until: impl Future<Output = ()>) {
        let door = self.door.clone();
        let until = async {
            until.await;
            door.places.close_streams();
            door.sessions.close_streams();
        };
        let handler: Rc<dyn Handler> = self.door.clone();
        tokio::select! {
            () = server::serve(listener, limits, handler, until) => {}
            () = self.door.tend() => {}
        }
    }
}

impl Door {
    fn join(&self, caller: &Caller, notices: Rc<dyn Notices>) -> Result<Box<dyn Place>, UnknownView> {
        let token = caller.holder.token;
        let session = self.session_of(token);
        let who = Who::token(&caller.name, &token);
        let identity = Identity { who, transport: "http", session, process: None };
        self.hub.join(identity, caller.holder.view.clone(), notices)
    }

    /// The session of a token: twelve hours from its first use.
    fn session_of(&self, token: Hash) -> Rc<str> {
        let mut known = self.sessions_of_tokens.borrow_mut();
        let fresh = || (Instant::now(), Rc::<str>::from(format!("token:{}", crate::fresh_key())));
        let (since, session) = known.entry(token).or_insert_with(fresh);
        if since.elapsed() > TOKEN_SESSION {
            (*since, *session) = fresh();
        }
        Rc::clone(session)
    }

    /// Who sends it and where to: no valid token comes before no such path.
    fn caller(&self, head: &Head) -> Result<Caller, Refusal> {
        let tokens = self.tokens.borrow();
        let token = gate::bearer(&head.headers).and_then(|token| tokens.find(token)).ok_or(Refusal::Token)?;
        let view = route::view(head.uri.path()).filter(|view| self.hub.knows(view)).ok_or(Refusal::Path)?;
        Ok(Caller { name: token.name.clone(), holder: Holder { token: token.hash, view } })
    }

    fn judge(&self, head: &Head) -> Result<(), Refusal> {
        self.own.judge(head)?;
        self.caller(head)?;
        match head.method {
            Method::POST => {
                gate::content(&head.headers)?;
                gate::takes(&head.headers).map(|_| ()).ok_or(Refusal::Accept)
            }
            Method::GET | Method::DELETE if modern::claims_modern(&head.headers) => Err(Refusal::Method("POST")),
            Method::GET => match gate::takes(&head.headers) {
                Some(Takes::Events | Takes::Either) => Ok(()),
                Some(Takes::Json) | None => Err(Refusal::Accept),
            },
            Method::DELETE => Ok(()),
            _ => Err(Refusal::Method("GET, POST, DELETE")),
        }
    }

    fn sweep(&self) {
        let now = Instant::now();
        let tokens = self.tokens.borrow().clone();
        self.sessions.sweep(now, &self.bounds, |hash| tokens.holds(hash));
        self.places.sweep(now, &self.bounds, |hash| tokens.holds(hash));
    }

    async fn tend(&self) {
        let step = self.bounds.patience / 5;
        let mut swept = Instant::now();
        loop {
            self.open.next(step, SWEEP).await;
            self.open.tick(self.bounds.patience);
            if swept.elapsed() >= SWEEP {
                swept = Instant::now();
                self.sweep();
            }
        }
    }
}

impl Handler for Door {
    fn refusal(&self, head: &Head) -> Option<Answer> {
        let news = (self.news.borrow_mut())();
        if let Some(tokens) = news {
            self.tokens.replace(tokens);
            self.sweep();
        }
        let refusal = self.judge(head).err()?;
        tracing::debug!(?refusal, "a request over HTTP is refused");
        Some(refusal.into())
    }

    fn handle(&self, request: Request, responder: Responder) {
        let Request { head, body, .. } = request;
        let caller = match self.caller(&head) {
            Ok(caller) => caller,
            // Its token or its view went while the body came.
            Err(refusal) => return responder.send(refusal.into()),
        };
        match head.method {
            Method::POST => {
                let takes = gate::takes(&head.headers).unwrap_or(Takes::Either);
                post::take(self, Post { caller, headers: head.headers, takes, responder }, body);
            }
            Method::GET => legacy::listen(self, &caller, &head, responder),
            _ => legacy::end(self, &caller, &head, responder),
        }
    }
}

#[cfg(test)]
mod tests;

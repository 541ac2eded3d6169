//! Which era a server speaks, and the beginning that this era asks for. Sends nothing but `server/discover`,
//! `initialize` and `notifications/initialized`.

use crate::server::Server;
use crate::session::Session;
use crate::waiter::{Failure, Waiter};
use bytes::Bytes;
use frame::{Answer, Era, Level, Progress, Version, object};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use wire::era::{error_code, legacy_server, modern_server};
use wire::http::FailureKind;
use wire::link::SendFault;

/// How long a server may be silent after `server/discover` before `initialize` is sent as well.
const SILENCE: Duration = Duration::from_secs(3);
/// The longest that any request of the hub's own is kept in mind.
const LONGEST: Duration = Duration::from_secs(600);

/// How long a server that does not read is waited for before the next try to tell it something.
const AGAIN: Duration = Duration::from_millis(100);

/// Why a handshake failed.
pub(crate) enum Unshaken {
    /// The connection ended.
    Died(String),
    /// The server answers, but not what is needed.
    Refused(String),
    /// Nobody answers there, or somebody who says that the server is not ready.
    NotYet(String),
}

/// What a server said of itself.
pub(crate) struct Hello {
    pub version: Version,
    pub capabilities: Bytes,
    pub server_info: Bytes,
    pub instructions: Option<String>,
}

pub(crate) type Outcome = Result<Answer, Failure>;

/// A waiter for the hub's own requests.
struct Told(oneshot::Sender<Outcome>);

impl Waiter for Told {
    fn sending(&mut self) -> bool {
        true
    }
    fn progress(&mut self, _progress: &Progress) {}
    fn log(&mut self, _level: Level, _params: &Bytes) {}
    fn done(self: Box<Self>, end: Outcome) {
        // A receiver that is gone has lost interest.
        let _ = self.0.send(end);
    }
}

/// Forgets a request when nobody waits for its answer any more.
struct Interest<'a> {
    session: &'a Session,
    id: u64,
}

impl Drop for Interest<'_> {
    fn drop(&mut self) {
        self.session.forget(self.id);
    }
}

/// Sends a request of the hub's own and waits for its answer.
pub(crate) async fn ask(server: &Server, session: &Session, method: &str, params: &Bytes, era: Era) -> Outcome {
    let (tell, told) = oneshot::channel();
    let id = server.id();
    let _interest = Interest { session, id };
    // The caller's own deadline is nearer; this one only keeps the entry from staying for ever.
    session.own_request(id, method, params, era, LONGEST, Box::new(Told(tell)));
    told.await.unwrap_or_else(|_| Err(Failure::Crashed("the connection was given up".into())))
}

/// Finds out the era, `memory` first, and begins as it asks for.
pub(crate) async fn handshake(server: &Server, session: &Session, memory: Option<Era>) -> Result<Hello, Unshaken> {
    if memory == Some(Era::Legacy) {
        match initialize(server, session).await {
            // It may have been replaced by one that knows no `initialize` any more.
            Err(Unshaken::Refused(_)) if server.ended.borrow().is_none() => {}
            shaken => return shaken,
        }
    }
    let empty = Bytes::from_static(b"{}");
    session.set_version(Version::V2026);
    let discover = ask(server, session, "server/discover", &empty, Era::Modern);
    tokio::pin!(discover);
    let first = timeout(SILENCE, &mut discover).await;
    let outcome = match first {
        Ok(outcome) => outcome,
        // Silent so far: whichever answers first decides; -32022 means that the first message has already decided.
        Err(_) => {
            session.set_version(Version::LEGACY);
            let classic = async {
                let params = legacy_server::initialize(env!("CARGO_PKG_VERSION")).join();
                ask(server, session, "initialize", &params, Era::Legacy).await
            };
            tokio::select! {
                outcome = &mut discover => outcome,
                outcome = classic => match outcome {
                    Ok(Answer::Error(error)) if error_code(&error.join()) == Some(-32022) => discover.await,
                    outcome => return legacy(session, outcome).await,
                },
            }
        }
    };
    match outcome {
        Ok(Answer::Result { body, .. }) => {
            let body = body.join();
            if modern_server::speaks_modern(&body) {
                session.era.set(Era::Modern);
                session.set_version(Version::V2026);
                return Ok(modern(&body));
            }
        }
        Ok(Answer::Error(_)) => {}
        Err(failure @ (Failure::Crashed(_) | Failure::Unavailable(_))) => {
            // A status, or an answer that is none, is what a server says that knows only `initialize`.
            let kind = session.trouble();
            if !matches!(kind, Some(FailureKind::Status(_))) {
                return Err(dead(kind, &failure));
            }
        }
        Err(_) => {}
    }
    initialize(server, session).await
}

/// The beginning of the revisions before 2026-07-28.
pub(crate) async fn initialize(server: &Server, session: &Session) -> Result<Hello, Unshaken> {
    session.set_version(Version::LEGACY);
    let params = legacy_server::initialize(env!("CARGO_PKG_VERSION")).join();
    let outcome = ask(server, session, "initialize", &params, Era::Legacy).await;
    legacy(session, outcome).await
}

fn dead(kind: Option<FailureKind>, failure: &Failure) -> Unshaken {
    match kind {
        Some(FailureKind::Unreachable | FailureKind::Broken) => Unshaken::NotYet(failure.to_string()),
        Some(FailureKind::Status(status)) if matches!(status.as_u16(), 502..=504) => {
            Unshaken::NotYet(failure.to_string())
        }
        Some(FailureKind::Status(_)) => Unshaken::Refused(format!("it refused `initialize`: {failure}")),
        Some(_) => Unshaken::Refused(failure.to_string()),
        None => Unshaken::Died(failure.to_string()),
    }
}

fn modern(body: &Bytes) -> Hello {
    let [capabilities, instructions, meta] = object::pick(body, ["capabilities", "instructions", "_meta"]);
    let info = meta.and_then(|range| object::get(&body.slice(range), wire::era::meta::SERVER_INFO));
    Hello {
        version: Version::V2026,
        capabilities: part(body, capabilities),
        server_info: info.unwrap_or_else(|| Bytes::from_static(b"{}")),
        instructions: instructions.and_then(|range| object::text(&body[range]).map(String::from)),
    }
}

fn part(body: &Bytes, range: Option<std::ops::Range<usize>>) -> Bytes {
    range
        .map(|range| body.slice(range))
        .filter(|text| text.first() == Some(&b'{'))
        .unwrap_or_else(|| Bytes::from_static(b"{}"))
}

async fn legacy(session: &Session, outcome: Outcome) -> Result<Hello, Unshaken> {
    let body = match outcome {
        Ok(Answer::Result { body, .. }) => body.join(),
        Ok(Answer::Error(error)) => {
            let text: String = String::from_utf8_lossy(&error.join()).chars().take(300).collect();
            return Err(Unshaken::Refused(format!("it refused `initialize`: {text}")));
        }
        Err(failure) => return Err(dead(session.trouble(), &failure)),
    };
    let [version, capabilities, info, instructions] =
        object::pick(&body, ["protocolVersion", "capabilities", "serverInfo", "instructions"]);
    let version = version.and_then(|range| object::text(&body[range]).and_then(|text| Version::parse(&text)));
    let Some(version) = version.filter(|version| version.era() == Era::Legacy) else {
        return Err(Unshaken::Refused("it answered `initialize` with a protocol version nobody knows".into()));
    };
    session.era.set(Era::Legacy);
    session.set_version(version);
    // Many servers answer nothing before they have seen it, so it must not be lost on a full pipe.
    while session.notify("notifications/initialized", None) == Err(SendFault::Full) {
        sleep(AGAIN).await;
    }
    Ok(Hello {
        version,
        capabilities: part(&body, capabilities),
        server_info: part(&body, info),
        instructions: instructions.and_then(|range| object::text(&body[range]).map(String::from)),
    })
}

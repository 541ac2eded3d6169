//! One message to a server and what the server makes of it.

use super::carrier::{Outgoing, Reply};
use super::headers;
use super::link::{Core, Job, Step};
use super::session::Ticket;
use super::sse;
use super::stream::{self, Reader};
use super::trouble::{Failure, FailureKind, NEEDS_SIGN_IN, SHOWN, visible};
use bytes::Bytes;
use frame::{FaultKind, Frame, Kind, object, own_id};
use http::{Method, StatusCode};

/// How much of an error's body is read to find a JSON-RPC error in it.
const MAX_ERROR: usize = 1 << 20;
/// How much of a body that nobody needs is read, so that its connection can be used again.
const MAX_IGNORED: usize = 64 << 10;

/// Sends one message. What comes back has been given to the inbox when this returns; a stream that may still hold
/// something after the answer is handed out.
pub async fn exchange(core: &Core, job: &Job) -> Result<Option<Reader>, Failure> {
    let mut headers = core.fields.clone();
    // A new session is asked for outside of any session, and before a revision has been agreed.
    if job.step == Step::Initialize {
        core.session.forget();
    } else {
        core.session.mark(&mut headers);
    }
    headers.extend(job.fields.iter().cloned());
    let ticket = core.session.ticket();
    let outgoing = Outgoing { method: Method::POST, headers, text: Some(&job.text), sent: job.sent.clone() };
    let mut reply = core.carrier.send(&core.target, outgoing).await?;
    if !reply.status.is_success() {
        return refused(core, job.id, reply, ticket).await.map(|()| None);
    }
    if job.step == Step::Initialize {
        core.session.begin(&reply.headers);
    }
    let Some(id) = job.id else {
        reply.head(MAX_IGNORED).await;
        return Ok(None);
    };
    if job.step == Step::Plain {
        core.session.prove(ticket);
    }
    if headers::is_media_type(&reply.headers, sse::MEDIA_TYPE) {
        let ticket = core.session.ticket();
        return stream::answer(core, reply, id, ticket).await.map(Some);
    }
    let bad = |text: String| Err(Failure::new(FailureKind::BadAnswer, text, true));
    if !headers::is_media_type(&reply.headers, headers::JSON) {
        return match visible(&reply.head(SHOWN + 1).await) {
            shown if shown.is_empty() => bad("the server took the request, but gave no answer".to_owned()),
            shown => bad(format!("the answer is neither JSON nor an event stream: {shown}")),
        };
    }
    let body = reply.whole(core.limits.max_message).await?;
    if reply.ends_with_its_connection() && is_half(&body) {
        let text = "the connection ended in the middle of the answer";
        return Err(Failure::new(FailureKind::Broken, text, true));
    }
    if stream::deliver(core, body, Some(id))? {
        Ok(None)
    } else {
        bad("what the server sent is not the answer".to_owned())
    }
}

/// Whether this is no whole JSON text.
fn is_half(body: &Bytes) -> bool {
    Frame::parse(body.clone()).is_err_and(|fault| fault.kind == FaultKind::NotJson)
}

/// A status that is no success: a JSON-RPC error in the body is the answer, everything else a failure.
async fn refused(core: &Core, id: Option<u64>, mut reply: Reply, ticket: Ticket) -> Result<(), Failure> {
    let status = reply.status;
    let has_challenge = core.keep_challenge(&reply.headers);
    if status == StatusCode::UNAUTHORIZED || (status == StatusCode::FORBIDDEN && has_challenge) {
        reply.head(MAX_IGNORED).await;
        return Err(Failure::new(FailureKind::SignIn, NEEDS_SIGN_IN, false));
    }
    let body = reply.head(MAX_ERROR).await;
    // Servers made after the reference examples answer 400 for a session they do not know.
    if (status == StatusCode::NOT_FOUND || (status == StatusCode::BAD_REQUEST && names_session(&body)))
        && let Some(lost) = core.session_lost(ticket)
    {
        if denies_session(&body) {
            return Err(lost);
        }
        // It may be the word of a tool, which ran.
        let Failure { text, .. } = Failure::status(status, &body);
        return Err(Failure::new(FailureKind::SessionLost, text, true));
    }
    if let Some(id) = id
        && headers::is_media_type(&reply.headers, headers::JSON)
        && let Some(frame) = error_for(&body, id)
    {
        core.inbox.message(frame, Some(id));
        return Ok(());
    }
    Err(Failure::status(status, &body))
}

/// Whether a body is the server's word at the door that it does not know the session, as SDKs say it: an error for no
/// request in particular, or one sentence of plain text.
fn denies_session(body: &Bytes) -> bool {
    const SENTENCES: [&str; 10] = [
        "session not found",
        "session expired",
        "session has expired",
        "session terminated",
        "no such session",
        "unknown session",
        "no valid session id",
        "missing session id",
        "invalid session",
        "invalid or expired session",
    ];
    let said = match object::get(body, "error") {
        Some(error) => {
            let is_for_all = object::get(body, "id").is_none_or(|id| &id[..] == b"null" || id.starts_with(b"\""));
            let message = object::get(&error, "message").filter(|_| is_for_all);
            return message.is_some_and(|message| names_session(&message));
        }
        None => String::from_utf8_lossy(body).trim().to_lowercase(),
    };
    let door = ["bad request: ", "not found: ", "unauthorized: "];
    let said = door.iter().find_map(|door| said.strip_prefix(door)).unwrap_or(&said);
    said.len() <= SHOWN && names_session(said.as_bytes()) && SENTENCES.iter().any(|begin| said.starts_with(begin))
}

fn names_session(text: &[u8]) -> bool {
    memchr::memmem::find(&text.to_ascii_lowercase(), b"session").is_some()
}

/// The JSON-RPC error in a body, under the id of the request it answers: who refuses early often can't name it.
fn error_for(body: &Bytes, id: u64) -> Option<Frame> {
    if let Ok(frame) = Frame::parse(body.clone())
        && frame.kind() == Kind::Error
        && own_id(&frame.id()) == Some(id)
    {
        return Some(frame);
    }
    let error = object::get(body, "error")?;
    // An OAuth error has a text here; a JSON-RPC error is an object with a code.
    object::get(&error, "code")?;
    let mut text = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":").into_bytes();
    text.extend_from_slice(&error);
    text.push(b'}');
    Frame::parse(text.into()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_door_s_own_word_says_that_a_session_is_not_known() {
        let check = |body: &'static str, expect: bool| {
            assert_eq!(denies_session(&Bytes::from_static(body.as_bytes())), expect, "{body}");
        };
        check(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}"#, true);
        check(
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}"#,
            true,
        );
        check(r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Invalid session ID"}}"#, true);
        check("Session not found\n", true);
        check("Bad Request: No valid session ID provided", true);
        check("Not Found: Invalid or expired session ID", true);
        check(r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32001,"message":"Session not found"}}"#, false);
        check(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"not found"}}"#, false);
        check(r#"{"detail":"Session not found"}"#, false);
        check("the shell's session not found", false);
        check("invalid order of the session", false);
        check("oops", false);
        check("", false);
    }

    #[test]
    fn an_error_is_found_under_whatever_id() {
        let check = |body: &'static str, expect: Option<&str>| {
            let seen = error_for(&Bytes::from_static(body.as_bytes()), 7).and_then(|frame| frame.body());
            assert_eq!(seen.as_deref(), expect.map(str::as_bytes), "{body}");
        };
        check(r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32022}}"#, Some(r#"{"code":-32022}"#));
        check(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32601}}"#, Some(r#"{"code":-32601}"#));
        check(r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":1}}"#, Some(r#"{"code":1}"#));
        check(r#"{"error":"invalid_token"}"#, None);
        check(r#"{"error":{"message":"no"}}"#, None);
        check(r#"{"error":{"code":1}"#, Some(r#"{"code":1}"#));
        check("not found", None);
    }
}

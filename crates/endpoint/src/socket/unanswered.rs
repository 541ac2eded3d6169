//! What an adapter says where no hub can: its hub ended before it answered, or there is none. It knows what was asked and
//! not what became of it, so it says how to find out: the next hub answers the identical call from its records. Never
//! says that something did or did not run.

use bytes::Bytes;
use contract::outcome::{Code, Output, Refusal};
use frame::{Answer, object};
use wire::era::{Out, legacy_host, meta, modern_host};

/// An open request, as far as the form of its answer hangs on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// A call of a tool.
    Call,
    /// The same of a client of 2026-07-28.
    ModernCall,
    /// Anything else.
    Other,
}

/// Why the adapter answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence<'a> {
    /// The hub that had it ended.
    HubEnded,
    /// The hub let go of a host that does not read what it is told.
    Unread,
    /// No hub was told of it, for this reason.
    NoHub(&'a str),
    /// It is longer than anything that is passed on.
    TooLong,
}

impl Silence<'_> {
    /// Why a call was not answered, up to what follows from it.
    const fn of_call(self) -> &'static str {
        match self {
            Silence::Unread => {
                "This host left more unread than the hub keeps, so that the hub closed its connection before it answered \
                 this call;"
            }
            Silence::HubEnded | Silence::NoHub(_) | Silence::TooLong => "The hub ended before it answered this call;",
        }
    }
}

/// What becomes of a call that is made again after its hub has ended (docs/approvals.md).
const AGAIN: &str = "what became of it is not known here, but the hub knows. Call again with the same arguments: what \
                     waits for a person goes on waiting, what was not sent or only reads is done, and if it may have \
                     run already you are told so first.";

impl Question {
    /// What a request of this method is.
    pub fn of(method: &str, params: Option<&Bytes>) -> Question {
        let is_modern =
            |params: &Bytes| object::get(params, "_meta").is_some_and(|bag| object::get(&bag, meta::VERSION).is_some());
        match method {
            "tools/call" if params.is_some_and(is_modern) => Question::ModernCall,
            "tools/call" => Question::Call,
            _ => Question::Other,
        }
    }

    /// Members of a request that is of the same kind.
    pub(super) const fn members(self) -> &'static str {
        match self {
            Question::Call => "\"method\":\"tools/call\"",
            Question::ModernCall => {
                "\"method\":\"tools/call\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"\"}}"
            }
            Question::Other => "\"method\":\"open\"",
        }
    }

    /// The answer, as one line with its end.
    pub fn answer(self, id: &[u8], silence: Silence<'_>) -> Vec<u8> {
        let refusal = match silence {
            Silence::HubEnded | Silence::Unread => {
                Refusal::new(Code::OutcomeUnknown, format!("{} {AGAIN}", silence.of_call()))
            }
            Silence::NoHub(why) => {
                Refusal::new(Code::ServerUnavailable, format!("{}. Nothing was executed.", sentence(why)))
            }
            Silence::TooLong => return line(id, &error("the message is too long")),
        };
        // Whether the tool has an output schema is not known here: nothing structured, then.
        let result = || Answer::result(refusal.tool_result(Output::Declared));
        line(
            id,
            &match (self, silence) {
                (Question::Call, _) => legacy_host::answer(result(), "tools/call"),
                (Question::ModernCall, _) => modern_host::answer(result(), "tools/call"),
                (Question::Other, Silence::NoHub(why)) => error(why),
                (Question::Other, Silence::Unread) => error(
                    "this host left more unread than the hub keeps, so that the hub closed its connection; ask again",
                ),
                (Question::Other, Silence::HubEnded | Silence::TooLong) => {
                    error("the hub ended before it answered this; ask again")
                }
            },
        )
    }
}

fn error(message: &str) -> Out {
    legacy_host::answer(Answer::error(-32603, message), "")
}

fn line(id: &[u8], out: &Out) -> Vec<u8> {
    let mut line = Vec::new();
    out.write(&Bytes::copy_from_slice(id), &mut line);
    line.push(b'\n');
    line
}

/// With a capital at its beginning.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn of(request: &str) -> Question {
        let request = Bytes::copy_from_slice(request.as_bytes());
        let method = object::get(&request, "method").unwrap();
        Question::of(&object::text(&method).unwrap(), object::get(&request, "params").as_ref())
    }

    #[test]
    fn a_call_is_answered_by_a_tool_result_of_its_era_and_anything_else_by_an_error() {
        let modern = r#""params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
        let check = |request: &str, expect: Question| {
            let question = of(request);
            assert_eq!(question, expect);
            // What stands for it in the record of a loan is the same to an adapter.
            assert_eq!(of(&format!("{{{}}}", question.members())), expect);
            let line = question.answer(b"7", Silence::HubEnded);
            let answer: Value = serde_json::from_slice(&line).unwrap();
            assert_eq!((&answer["id"], line.last()), (&7.into(), Some(&b'\n')));
            let outcome = &answer["result"]["_meta"]["dev.callgate/outcome"];
            let is_call = expect != Question::Other;
            assert_eq!(
                (outcome["error"] == "outcome_unknown", answer["result"]["isError"] == true),
                (is_call, is_call)
            );
            assert_eq!(answer["result"]["resultType"] == "complete", expect == Question::ModernCall);
            assert_eq!(answer["error"]["code"] == -32603, !is_call);
        };
        check(r#"{"method":"tools/call","params":{"name":"x","arguments":{}}}"#, Question::Call);
        check(r#"{"method":"tools/call"}"#, Question::Call);
        check(&format!(r#"{{"method":"tools/call",{modern}}}"#), Question::ModernCall);
        check(&format!(r#"{{"method":"prompts/get",{modern}}}"#), Question::Other);
        check(r#"{"method":"initialize","params":{}}"#, Question::Other);
    }

    #[test]
    fn where_there_is_no_hub_nothing_was_executed() {
        let line = Question::Call.answer(b"\"a\"", Silence::NoHub("the hub was stopped"));
        let answer: Value = serde_json::from_slice(&line).unwrap();
        let outcome = &answer["result"]["_meta"]["dev.callgate/outcome"];
        assert_eq!(outcome["error"], "server_unavailable");
        assert_eq!(outcome["message"], "The hub was stopped. Nothing was executed.");
    }
}

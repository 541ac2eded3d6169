//! What the relay has written down that is no row of a call on its way: call records, decisions, settings, approvals,
//! what is remembered of servers. In order with the rows; decides nothing.

use super::{Audit, Record};
use crate::backend::Backend;
use crate::catalog::facts::Known;
use crate::catalog::remembered;
use crate::config::Payloads;
use crate::views::millis;
use bytes::Bytes;
use contract::answer::Cleaner;
use frame::Answer;
use std::rc::Rc;
use std::time::SystemTime;
use store::{CallNumber, CallRecord, Grants, Job, Kind, Note, Outcome, Unshown, Values, Vault};
use tokio::sync::oneshot;
use upstream::Listing;

/// Longest arguments that are kept, in bytes.
const MOST_ARGUMENTS: usize = 64 << 10;
/// Longest result that is kept, in bytes.
const MOST_RESULT: usize = 256 << 10;

impl Audit {
    /// A row about a call record.
    pub(crate) fn case_note(&self, row: &CallRecord, kind: Kind, outcome: Outcome) -> Note {
        let mut detail = serde_json::Map::new();
        let mut say = |key: &str, text: &str| {
            if !text.is_empty() {
                detail.insert(key.into(), text.into());
            }
        };
        say("state", row.state.as_str());
        say("tool", if row.tool == row.name { "" } else { &row.tool });
        say("tier", row.tier.as_str());
        say("reason", &row.reason);
        say("edited", if row.edited.is_some() { "true" } else { "" });
        say("rule", &row.rule);
        say("why", &row.why);
        say("by", &row.decided_by);
        say("scope", row.scope.map_or("", policy::Scope::as_str));
        say("asked", &row.asked.map(|hash| hash.to_string()).unwrap_or_default());
        say("sent", &row.sent.map(|hash| hash.to_string()).unwrap_or_default());
        say("policy", &row.policy.map(|hash| hash.to_string()).unwrap_or_default());
        Note {
            kind,
            at_ms: millis(SystemTime::now()),
            call: row.call,
            client: row.client.clone(),
            server: row.server.clone(),
            item: row.name.clone(),
            definition: row.definition.map(|hash| hash.to_string()).unwrap_or_default(),
            method: row.method,
            effect: Some(row.effect),
            outcome,
            detail: serde_json::Value::Object(detail).to_string(),
            arguments: Unshown(row.edited.clone().or_else(|| row.arguments.clone())),
        }
    }

    /// What is too large to be read at start.
    pub(crate) fn vault(&self) -> Vault {
        self.vault.clone()
    }
    /// What a call with a key ended with; None where its body is no longer kept, or cannot be read.
    pub(crate) fn result(&self, call: CallNumber) -> impl Future<Output = Option<Bytes>> + use<> {
        let vault = self.vault.clone();
        let reading = tokio::task::spawn_blocking(move || vault.result(call));
        async move {
            match reading.await {
                Ok(Ok(result)) => result,
                Ok(Err(fault)) => {
                    tracing::error!(%fault, "a result that is kept cannot be read");
                    None
                }
                Err(_) => None,
            }
        }
    }

    /// The row of a setting that was changed, in a sentence, and by whom.
    pub(crate) fn setting(which: &str, what: &str, by: &str) -> Note {
        let detail = serde_json::json!({ "change": what, "by": by }).to_string();
        Note { item: which.into(), detail, ..Note::new(Kind::Setting, millis(SystemTime::now())) }
    }

    /// Remembers an approval and waits for its commit.
    pub(crate) fn remember_grant(&self, grant: policy::Grant) -> impl Future<Output = Result<(), String>> + use<> {
        let mut detail = serde_json::json!({ "scope": grant.scope().as_str(), "by": grant.by });
        if let Some(call) = grant.call {
            detail["approval"] = call.to_string().into();
        }
        let detail = detail.to_string();
        let note = Note {
            client: grant.client.to_string(),
            server: grant.server.to_string(),
            item: grant.tool.to_string(),
            definition: grant.definition.to_string(),
            effect: Some(grant.effect),
            detail,
            ..Note::new(Kind::Grant, grant.at_ms)
        };
        self.written(Job::Remember { grant, note: Some(note) })
    }

    /// Forgets approvals that were remembered with one call, `first` among them, and waits for its commit. Where it fails it
    /// is tried again, for which nobody waits.
    pub(crate) fn forget_grants(
        self: &Rc<Self>,
        first: &policy::Grant,
        by: &str,
    ) -> impl Future<Output = Result<(), String>> + use<> {
        let call = CallNumber(first.call.map_or(0, contract::CallId::row));
        let why = format!("not remembered any more: {}", super::grant_in_words(first));
        let mut detail =
            serde_json::json!({ "scope": first.scope().as_str(), "by": by, "why": why, "given_by": first.by });
        if let Some(call) = first.call {
            detail["approval"] = call.to_string().into();
        }
        let note = Note {
            call,
            client: first.client.to_string(),
            server: first.server.to_string(),
            item: first.tool.to_string(),
            definition: first.definition.to_string(),
            effect: Some(first.effect),
            detail: detail.to_string(),
            ..Note::new(Kind::Grant, millis(SystemTime::now()))
        };
        let which = Grants {
            client: Some(first.client.to_string()),
            server: Some(first.server.to_string()),
            tool: Some(first.tool.to_string()),
            session: None,
            call: Some(call),
        };
        let job = Job::ForgetGrants { which, note: Some(note) };
        let (audit, written) = (Rc::clone(self), self.written(job.clone()));
        async move {
            let written = written.await;
            if let Err(cause) = &written {
                tracing::error!(%cause, "that an approval is forgotten could not be written down yet");
                audit.job(job);
            }
            written
        }
    }

    /// From now on these values of calls are kept.
    pub(crate) fn set_payloads(&self, payloads: Payloads) {
        self.payloads.set(payloads);
    }
    /// Whether any values of calls are kept.
    pub(crate) fn keeps_values(&self) -> bool {
        self.payloads.get() != Payloads::None
    }
    /// Keeps values of a call that was sent, as far as the config wants it and they are no longer than is kept.
    pub(crate) fn keep_values(&self, record: &Record, about: Note, cleaner: &Cleaner, answer: Option<&Answer>) {
        if !record.was_sent() {
            return;
        }
        let mut left_out = Vec::new();
        let mut fit = |what: &str, text: Bytes, most: usize| {
            let fits = text.len() <= most;
            if !fits {
                left_out.push(what.to_owned());
            }
            fits.then_some(text)
        };
        let raw = record.arguments.clone().and_then(|text| fit("arguments", text, MOST_ARGUMENTS));
        // What can be read in two ways is not kept: a secret could hide in it.
        let arguments = raw.and_then(|text| {
            let cleaned = cleaner.clean(&text).ok()?;
            Some(cleaned.body.map_or(text, Bytes::from))
        });
        let result = answer.filter(|_| self.payloads.get() == Payloads::All).and_then(|answer| {
            let (Answer::Result { body, .. } | Answer::Error(body)) = answer;
            fit("result", body.join(), MOST_RESULT)
        });
        if arguments.is_none() && result.is_none() && left_out.is_empty() {
            return;
        }
        let detail = match left_out.is_empty() {
            true => String::new(),
            false => serde_json::json!({ "left_out": left_out.join(", ") }).to_string(),
        };
        let note = Note { call: record.number(), detail, ..about };
        let (arguments, result) = (Unshown(arguments), Unshown(result));
        self.job(Job::Values(Box::new(Values { note, arguments, result })));
    }

    /// Hands over a job in its order among the rows; nobody waits for it.
    pub(crate) fn job(&self, job: Job) {
        let due = self.ledger.borrow_mut().submit(job, None);
        self.due(due);
    }
    /// Writes a call record; nobody waits for it.
    pub(crate) fn save_call(&self, record: CallRecord) {
        self.job(Job::PutCall { record: Box::new(record), note: None });
    }
    /// Writes a call record and waits for its commit; the error says why there is none.
    pub(crate) fn put_call(
        &self,
        record: CallRecord,
        note: Option<Note>,
    ) -> impl Future<Output = Result<(), String>> + use<> {
        self.written(Job::PutCall { record: Box::new(record), note })
    }
    /// The same of any job. It is in the queue when this returns.
    pub(crate) fn written(&self, job: Job) -> impl Future<Output = Result<(), String>> + use<> {
        let (tell, told) = oneshot::channel();
        let done = move |result: Result<(), store::JobFault>| {
            // Whoever asked may have gone.
            let _ = tell.send(result.map_err(|fault| fault.to_string()));
        };
        let due = self.ledger.borrow_mut().submit(job, Some(Box::new(done)));
        self.due(due);
        async move { told.await.unwrap_or_else(|_| Err("the committer is gone".into())) }
    }

    /// Remembers a server's lists and era for the next start.
    pub(crate) fn remember(&self, backend: &Backend, listing: &Listing, known: &Known) {
        let (era, snapshot) = remembered::rows(backend, listing, known);
        self.committer.submit(Job::SaveEra(era), None);
        self.committer.submit(Job::SaveSnapshot(Box::new(snapshot)), None);
    }
}

//! What a client asks for: a tool, or a prompt, a resource, a method of one server. One shape for the gate, so that all
//! of them are judged, wait and run in one way. Never says whether it may.

use crate::agent::SeatCore;
use crate::backend::Backend;
use crate::catalog::{Entry, ToolEntry};
use crate::record::{About, Audit, Record};
use crate::road::Plan;
use bytes::Bytes;
use contract::outcome::{Code, Pending as Wait, Refusal};
use contract::{Arguments, Hash};
use frame::{Answer, object};
use policy::{Effect, Judgement, Profile, Target};
use std::rc::Rc;
use store::{Method, Subject};
use tokio::time::Instant;

/// What is asked for.
#[derive(Clone)]
pub(crate) enum Thing {
    /// A tool of the catalog.
    Tool(Rc<ToolEntry>),
    /// What is no tool.
    Other(Rc<Other>),
}

/// What is asked for that is no tool, as it stands in the catalog and the request.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub target: Target,
    pub backend: &'a Rc<Backend>,
    /// Name in the aggregate, URI or method: what rules match.
    pub name: &'a str,
    /// The server's own name of it.
    pub own: &'a str,
    /// Its entry, where it is listed or fits a template.
    pub entry: Option<&'a Rc<Entry>>,
}

/// The same where it outlives the request.
pub(crate) struct Other {
    target: Target,
    backend: Rc<Backend>,
    name: String,
    own: Rc<str>,
    /// What records and rows call it, by its own name and in the aggregate. Never more of a URI than its server has
    /// listed: the rest is an argument, which is kept sealed only (docs/approvals.md).
    label: Rc<str>,
    shown: String,
    definition: Hash,
    /// The params as they would be sent, without `_meta`.
    params: Bytes,
}

impl Other {
    /// What rules may know of it.
    pub(crate) fn profile(&self) -> Profile<'_> {
        Profile::bare(self.target, &self.name, &self.own, self.backend.key(), effect(self.target))
    }
}

impl Asked<'_> {
    /// Effect class: an unknown method may do what a tool without hints may (crates/ARCHITECTURE.md).
    pub(crate) fn effect(&self) -> Effect {
        effect(self.target)
    }
    /// How rows name its method.
    pub(crate) fn method(&self) -> Method {
        method(self.target)
    }
    /// What rules may know of it.
    pub(crate) fn profile(&self) -> Profile<'_> {
        Profile::bare(self.target, self.name, self.own, self.backend.key(), self.effect())
    }
    /// What records call it.
    pub(crate) fn label(&self) -> &str {
        match (self.target, self.entry) {
            (Target::Resource, Some(entry)) => &entry.read.own,
            (Target::Resource, None) => match crate::catalog::origin(self.own) {
                with_user if with_user.contains('@') => "resource",
                origin => origin,
            },
            (Target::Tool | Target::Prompt | Target::Method, _) => self.own,
        }
    }
    /// The same to be kept; `params` has the server's own names.
    pub(crate) fn to_thing(self, params: &Bytes) -> Thing {
        let listed = self.entry.map(|entry| entry.read.hash.to_string()).unwrap_or_default();
        // A hash of its own kind: nothing that was approved as one thing is approved as another.
        let definition = format!("{}\n{}\n{listed}", self.method().as_str(), self.own);
        Thing::Other(Rc::new(Other {
            target: self.target,
            backend: Rc::clone(self.backend),
            name: self.name.to_owned(),
            own: self.own.into(),
            label: self.label().into(),
            shown: if self.target == Target::Resource { self.label() } else { self.name }.to_owned(),
            definition: Hash::of(definition.as_bytes()),
            params: object::Edit::new().remove("_meta").apply(params).join(),
        }))
    }
}

const fn effect(target: Target) -> Effect {
    match target {
        Target::Prompt | Target::Resource => Effect::Read,
        Target::Method | Target::Tool => Effect::Write,
    }
}

const fn method(target: Target) -> Method {
    match target {
        Target::Tool => Method::ToolCall,
        Target::Prompt => Method::PromptGet,
        Target::Resource => Method::ResourceRead,
        Target::Method => Method::Other,
    }
}

impl Thing {
    pub(crate) fn backend(&self) -> &Rc<Backend> {
        match self {
            Thing::Tool(tool) => &tool.backend,
            Thing::Other(other) => &other.backend,
        }
    }
    pub(crate) fn tool(&self) -> Option<&Rc<ToolEntry>> {
        match self {
            Thing::Tool(tool) => Some(tool),
            Thing::Other(_) => None,
        }
    }
    /// How rows name its method.
    pub(crate) fn method(&self) -> Method {
        match self {
            Thing::Tool(_) => Method::ToolCall,
            Thing::Other(other) => method(other.target),
        }
    }
    /// What records call it: its own name.
    pub(crate) fn label(&self) -> &Rc<str> {
        match self {
            Thing::Tool(tool) => tool.own_name(),
            Thing::Other(other) => &other.label,
        }
    }
    /// The same as people know it.
    pub(crate) fn shown(&self) -> &str {
        match self {
            Thing::Tool(tool) => &tool.read.exposed,
            Thing::Other(other) => &other.shown,
        }
    }
    pub(crate) fn effect(&self) -> Effect {
        match self {
            Thing::Tool(tool) => tool.read.effect,
            Thing::Other(other) => effect(other.target),
        }
    }
    /// Hash of its definition as of now.
    pub(crate) fn definition(&self) -> Hash {
        match self {
            Thing::Tool(tool) => tool.read.stands_for,
            Thing::Other(other) => other.definition,
        }
    }

    /// The same as the catalog has it now.
    pub(crate) fn as_of_now(&self, seat: &SeatCore, params: &frame::Params) -> Thing {
        let catalog = seat.core.catalog(&seat.view);
        let name = || params.string("name").unwrap_or_default();
        let other = match self {
            Thing::Tool(_) => {
                return catalog.tool(&name()).map_or_else(|| self.clone(), |tool| Thing::Tool(Rc::clone(tool)));
            }
            Thing::Other(other) => other,
        };
        let entry = match other.target {
            Target::Prompt => catalog.prompt(&name()),
            Target::Resource => catalog.resource(&other.own),
            Target::Tool | Target::Method => None,
        };
        let backend = entry.map_or(&other.backend, |entry| &entry.backend);
        let backend = seat.core.backend(backend.key()).unwrap_or_else(|| Rc::clone(backend));
        let asked = Asked { target: other.target, backend: &backend, name: &other.name, own: &other.own, entry };
        asked.to_thing(&other.params)
    }

    /// What a person decides about: the arguments of a tool, else the params; None where there are none.
    pub(crate) fn arguments(&self, params: &frame::Params) -> Option<Bytes> {
        match self {
            Thing::Tool(_) => params.get("arguments"),
            Thing::Other(other) => Some(other.params.clone()),
        }
    }
    /// The keyed digest of that; None where it cannot be read, which the check will say.
    pub(crate) fn digest(&self, raw: Option<&Bytes>, audit: &Audit) -> Option<Hash> {
        match self {
            Thing::Tool(tool) => digest_of(raw, tool, audit),
            Thing::Other(_) => plain_digest(raw, None).map(|plain| audit.keyed(plain)),
        }
    }
    /// The params that its server gets for these arguments.
    pub(crate) fn params(&self, asked: &frame::Params, arguments: &Bytes) -> Bytes {
        match self {
            Thing::Tool(tool) => {
                let name = object::quote(&tool.read.tool.name);
                asked.with([("name", name.as_bytes()), ("arguments", &arguments[..])])
            }
            Thing::Other(_) => match asked.get("_meta") {
                Some(meta) => object::Edit::new().set("_meta", meta).apply(arguments).join(),
                None => arguments.clone(),
            },
        }
    }

    /// The same with nothing in them but what was decided about, the client's reply to what its server asked, and of `_meta`
    /// what belongs to the protocol and to tracing.
    pub(crate) fn bare_params(
        &self,
        asked: &frame::Params,
        arguments: &Bytes,
        reply: &[(&'static str, Bytes)],
    ) -> Bytes {
        let (mut out, rest) = match self {
            Thing::Tool(tool) => {
                let name = object::quote(&tool.read.tool.name);
                (format!("{{\"name\":{name},\"arguments\":").into_bytes(), &b"}"[..])
            }
            Thing::Other(_) => (Vec::new(), &b""[..]),
        };
        out.extend_from_slice(arguments);
        out.extend_from_slice(rest);
        let bare = Bytes::from(out);
        let mut edit = object::Edit::new();
        for (name, value) in reply {
            edit = edit.set(name, value.clone());
        }
        match asked.get("_meta").and_then(|meta| known_meta(&meta)) {
            Some(meta) => edit.set("_meta", meta).apply(&bare).join(),
            None if reply.is_empty() => bare,
            None => edit.apply(&bare).join(),
        }
    }

    /// Its name in the audit.
    pub(crate) fn subject(&self, audit: &Audit) -> Subject {
        match self {
            Thing::Tool(tool) => tool.subject(audit),
            Thing::Other(other) => audit.subject(&other.shown),
        }
    }
    /// Begins the record of one request for it.
    pub(crate) fn record(&self, seat: &SeatCore, received: Instant) -> Record {
        let about = About { item: Some(self.subject(&seat.core.ledger)), method: self.method(), effect: self.effect() };
        Record::begin(seat, self.backend(), about, received)
    }
    /// What rows say of why it was let through.
    pub(crate) fn verdict(&self, audit: &Audit, judgement: &Judgement) -> Subject {
        match self {
            Thing::Tool(tool) => tool.verdict(audit, judgement),
            Thing::Other(_) => audit.detail(judgement.rule().map(|rule| &**rule), &judgement.sentence()),
        }
    }
    /// How it is sent.
    pub(crate) fn plan(self, method: &str) -> Plan {
        match self {
            Thing::Tool(tool) => Plan {
                backend: Rc::clone(&tool.backend),
                effect: tool.read.effect,
                lane: tool.lane.clone(),
                tool: Some(tool),
            },
            Thing::Other(other) => {
                let effect = effect(other.target);
                let lane = effect.is_serial().then(|| other.backend.lane_of(method));
                Plan { backend: Rc::clone(&other.backend), tool: None, effect, lane }
            }
        }
    }

    /// A refusal in the form that fits.
    pub(crate) fn refused(&self, refusal: &Refusal) -> Answer {
        match self {
            Thing::Tool(tool) => Answer::result(refusal.tool_result(tool.output())),
            Thing::Other(_) => refused(refusal),
        }
    }
    /// That it waits for a person, in the form that fits.
    pub(crate) fn waits(&self, wait: &Wait) -> Answer {
        match self {
            Thing::Tool(tool) => Answer::result(wait.tool_result(tool.output())),
            Thing::Other(_) => error(-32602, &wait.message, &wait.object()),
        }
    }
}

/// Of `_meta` what belongs to the protocol and to tracing; None where nothing does.
fn known_meta(meta: &Bytes) -> Option<Bytes> {
    let is_known = |key: &str| {
        key.starts_with("io.modelcontextprotocol/")
            || matches!(key, "progressToken" | "traceparent" | "tracestate" | "baggage")
    };
    let mut out = Vec::new();
    for member in object::members(meta) {
        let key = &meta[member.key];
        if object::text(key).is_some_and(|key| is_known(&key)) {
            out.push(if out.is_empty() { b'{' } else { b',' });
            out.extend_from_slice(key);
            out.push(b':');
            out.extend_from_slice(&meta[member.value]);
        }
    }
    (!out.is_empty()).then(|| {
        out.push(b'}');
        out.into()
    })
}

/// The keyed digest of raw arguments of a tool; None where they cannot be read, which the check will say.
pub(crate) fn digest_of(raw: Option<&Bytes>, tool: &ToolEntry, audit: &Audit) -> Option<Hash> {
    plain_digest(raw, left_out(tool)).map(|plain| audit.keyed(plain))
}

/// The argument of a tool that is an idempotency key, and no part of any digest.
pub(crate) fn left_out(tool: &ToolEntry) -> Option<&str> {
    let named = &tool.backend.rules().idempotency_argument;
    tool.read.tool.takes(named).then_some(&**named)
}

/// The digest of raw arguments before it is keyed, which nobody outside may see.
pub(crate) fn plain_digest(raw: Option<&Bytes>, leave_out: Option<&str>) -> Option<Hash> {
    Some(Arguments::read(raw.map(|raw| &raw[..])).ok()?.digest(leave_out))
}

/// The refusal of what is no tool: a JSON-RPC error with the same object as its data (docs/policy.md).
pub(crate) fn refused(refusal: &Refusal) -> Answer {
    let number = match refusal.error {
        Code::InvalidArguments
        | Code::UnknownTool
        | Code::Denied
        | Code::ApprovalExpired
        | Code::DefinitionChanged
        | Code::Quarantined
        | Code::IdempotencyConflict
        | Code::OutcomeUnknown
        | Code::AlreadyRan => -32602,
        // Not about the request: a failure on the way.
        Code::Timeout
        | Code::ServerUnavailable
        | Code::ServerCrashed
        | Code::InvalidResult
        | Code::ResultTooLarge
        | Code::QueueFull
        | Code::SecretUnavailable
        | Code::AuditUnavailable
        | Code::Cancelled => -32603,
    };
    error(number, &refusal.message, &refusal.object())
}

fn error(number: i32, message: &str, data: &str) -> Answer {
    let message = object::quote(message);
    Answer::Error(format!("{{\"code\":{number},\"message\":{message},\"data\":{data}}}").into())
}

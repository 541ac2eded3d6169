//! `callgate approval …`, `pause`, `resume`

use super::fault::{Exit, Fault};
use super::out::Out;
use super::pin;
use super::tool::read;
use crate::args::{Approval, Approve, Deny, Remember};
use crate::show::{approvals as show, remembered};
use operator::client::blocking::Client;
use operator::op;
use operator::words::{
    ApprovalFilter, ApprovalId, ApprovalPart, Approve as Words, Decided, DecisionKind, Deny as DenyWords, Forget,
    Nothing, PinChange, RememberedFilter, Resume, Scope, Winner,
};

/// Does one of them; `watch` has its own place.
pub fn approval(command: Approval, hub: &Client, out: &Out) -> Result<Exit, Fault> {
    match command {
        Approval::List { decided, before, limit, server, client } => {
            let part = if decided { ApprovalPart::Decided } else { ApprovalPart::Queue };
            let list = hub.call::<op::ApprovalList>(&ApprovalFilter { server, client, part, before, limit })?;
            out.document(&list, |screen| match part {
                ApprovalPart::Queue => show::list(&list, screen),
                ApprovalPart::Decided => show::past(&list, screen),
            })
        }
        Approval::Show { id } => {
            let detail = hub.call::<op::ApprovalShow>(&ApprovalId { id })?;
            out.document(&detail, |screen| show::detail(&detail, screen))
        }
        Approval::Approve(args) => approve(args, hub, out),
        Approval::Deny(args) => deny(args, hub, out),
        Approval::Remembered { server, client } => {
            let filter = RememberedFilter { server, client };
            let list = hub.call::<op::ApprovalRemembered>(&filter)?;
            out.document(&list, |screen| remembered::list(&list, &filter, screen))
        }
        Approval::Forget { ids, all } => {
            let forgotten = hub.call::<op::ApprovalForget>(&Forget { ids, all })?;
            out.document(&forgotten, |screen| remembered::forgotten(&forgotten, screen))
        }
        Approval::Watch => crate::watch::watch(hub.socket(), out),
        Approval::Pin { remove } => change_pin(remove, hub, out),
    }
}

fn approve(args: Approve, hub: &Client, out: &Out) -> Result<Exit, Fault> {
    let edited = args.args.map(|text| read(&text, std::io::stdin())).transpose()?;
    let edited = edited.map(|raw| raw.get().to_owned());
    let remember = args.remember.map(|remember| match remember {
        Remember::Once => Scope::Once,
        Remember::Session => Scope::Session,
        Remember::Tool => Scope::Tool,
    });
    let (id, digest) = named(args.id, args.digest, hub)?;
    let decided = pin::decide::<op::ApprovalApprove>(hub, |pin| Words {
        id: id.clone(),
        digest: digest.clone(),
        args: edited.clone(),
        remember,
        pin,
    })?;
    tell(&decided, DecisionKind::Approved, out)
}

fn deny(args: Deny, hub: &Client, out: &Out) -> Result<Exit, Fault> {
    let (id, digest) = named(args.id, args.digest, hub)?;
    let decided = pin::decide::<op::ApprovalDeny>(hub, |pin| DenyWords {
        id: id.clone(),
        digest: digest.clone(),
        reason: args.reason.clone(),
        pin,
    })?;
    tell(&decided, DecisionKind::Denied, out)
}

/// The approval's own id and the digest that the decision is about: the one that was seen, or else today's.
fn named(id: String, digest: Option<String>, hub: &Client) -> Result<(String, String), Fault> {
    match digest {
        Some(digest) => Ok((id, digest)),
        None => {
            let approval = hub.call::<op::ApprovalShow>(&ApprovalId { id })?.approval;
            Ok((approval.id, approval.digest))
        }
    }
}

fn tell(decided: &Decided, wanted: DecisionKind, out: &Out) -> Result<Exit, Fault> {
    out.document(decided, |screen| show::outcome(decided, screen))?;
    Ok(match (decided.winner, decided.decision.kind) {
        (Winner::You, _) => Exit::Done,
        // What was wanted holds, whoever came first.
        (Winner::Another, kind) if kind == wanted => Exit::Done,
        (Winner::Another, DecisionKind::Denied | DecisionKind::Expired) => Exit::Refused,
        (Winner::Another, DecisionKind::Approved) => Exit::Failed,
    })
}

fn change_pin(remove: bool, hub: &Client, out: &Out) -> Result<Exit, Fault> {
    let is_set = hub.call::<op::ApprovalList>(&ApprovalFilter::default())?.pin_set;
    let old = if is_set { Some(pin::ask("PIN so far: ")?) } else { None };
    let new = match remove {
        true => None,
        false => Some(pin::ask_twice()?),
    };
    let status = hub.call::<op::ApprovalPin>(&PinChange { old, new })?;
    out.document(&status, |_| show::pin(status))
}

/// Holds all risky calls.
pub fn pause(hub: &Client, out: &Out) -> Result<Exit, Fault> {
    let state = hub.call::<op::Pause>(&Nothing {})?;
    out.document(&state, |screen| show::pause(&state, screen))
}

/// Ends that hold, or the rest of a server.
pub fn resume(server: Option<String>, hub: &Client, out: &Out) -> Result<Exit, Fault> {
    let state = pin::decide::<op::Resume>(hub, |pin| Resume { pin, server: server.clone() })?;
    out.document(&state, |screen| match &server {
        Some(server) => show::resumed(server, &state, screen),
        None => show::pause(&state, screen),
    })
}

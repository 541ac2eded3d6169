//! The hub as the screen hears it: questions that are answered some time, and an ear that comes back by itself.

use super::machine::{Effect, Said};
use operator::client::{Client, Events};
use operator::words::{ApprovalFilter, ApprovalId, Approve, Deny};
use operator::{ClientError, Problem, op};
use std::pin::Pin;
use std::time::Duration;

/// An answer that will come.
pub type Answer = Pin<Box<dyn Future<Output = Said>>>;

/// First and longest wait before the hub is looked for again.
const WAITS: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(3));

/// Asks what an effect wants to know; None where it is nothing to be asked.
pub fn ask(client: &Client, effect: Effect) -> Option<Answer> {
    let client = client.clone();
    Some(match effect {
        Effect::Queue => Box::pin(async move {
            match client.call::<op::ApprovalList>(&ApprovalFilter::default()).await {
                Ok(list) => Said::Queue(Ok(list)),
                Err(error) => told(error, |problem| Said::Queue(Err(problem))),
            }
        }),
        Effect::Detail(id) => Box::pin(async move {
            match client.call::<op::ApprovalShow>(&ApprovalId { id: id.clone() }).await {
                Ok(detail) => Said::Detail(id, Box::new(Ok(detail))),
                Err(error) => told(error, |problem| Said::Detail(id, Box::new(Err(problem)))),
            }
        }),
        Effect::Approve(approve) => Box::pin(self::approve(client, approve)),
        Effect::Deny(deny) => Box::pin(self::deny(client, deny)),
        Effect::Edit { .. } | Effect::Suspend | Effect::Redraw | Effect::Leave => return None,
    })
}

async fn approve(client: Client, approve: Approve) -> Said {
    match client.call::<op::ApprovalApprove>(&approve).await {
        Ok(decided) => Said::Decided(approve.id, Ok(decided)),
        Err(error) => unanswered(approve.id, error),
    }
}

async fn deny(client: Client, deny: Deny) -> Said {
    match client.call::<op::ApprovalDeny>(&deny).await {
        Ok(decided) => Said::Decided(deny.id, Ok(decided)),
        Err(error) => unanswered(deny.id, error),
    }
}

fn unanswered(id: String, error: ClientError) -> Said {
    match error {
        ClientError::Refused(problem) => Said::Decided(id, Err(problem)),
        ClientError::NoHub { .. } => {
            Said::Decided(id, Err(Problem::new("no_hub", "The hub is not there: nothing was decided.")))
        }
        _ => Said::Unanswered(id),
    }
}

/// A problem that the hub tells, or that it is not there.
fn told(error: ClientError, say: impl FnOnce(Problem) -> Said) -> Said {
    match error {
        ClientError::Refused(problem) => say(problem),
        other => Said::Down(crate::commands::sentence(&other)),
    }
}

type Coming = Pin<Box<dyn Future<Output = Result<Events, ClientError>>>>;

/// Listens, and looks for the hub again when it goes.
pub struct Ear {
    client: Client,
    events: Option<Events>,
    coming: Option<Coming>,
    wait: Duration,
}

impl Ear {
    /// An ear for that hub.
    pub fn new(client: Client) -> Ear {
        Ear { client, events: None, coming: None, wait: Duration::ZERO }
    }

    /// The next thing that is heard. Nothing is lost or begun anew where this is dropped and called again.
    pub async fn next(&mut self) -> Said {
        if let Some(events) = &mut self.events {
            match events.next().await {
                Ok(Some(event)) => return Said::Event(event),
                Ok(None) | Err(_) => self.events = None,
            }
            return Said::Down("it ended the stream of events".into());
        }
        let (client, wait) = (self.client.clone(), self.wait);
        let coming = self.coming.get_or_insert_with(|| {
            Box::pin(async move {
                tokio::time::sleep(wait).await;
                client.events().await
            })
        });
        let came = coming.await;
        self.coming = None;
        match came {
            Ok(events) => {
                self.events = Some(events);
                self.wait = WAITS.0;
                Said::Up
            }
            Err(error) => {
                self.wait = (self.wait * 2).clamp(WAITS.0, WAITS.1);
                Said::Down(crate::commands::sentence(&error))
            }
        }
    }
}

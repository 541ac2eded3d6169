//! Whose hosts were attached: the process of one that is gone is remembered for as long as it lives, so that nobody becomes
//! a person by ending the adapter. A terminal's own shell is forgotten: it is the person's when nothing is attached there.

use super::processes::{Here, Processes};
use super::tree::{self, Attached, Caller};
use crate::ControlParts;
use hub::operate::Event;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::broadcast::error::RecvError;

/// So many are remembered; the earliest go first.
const MOST: usize = 1_024;

/// One host that was attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its client's name.
    pub name: String,
    /// Its topmost process.
    pub process: Caller,
}

/// All that are known and still run.
#[derive(Default)]
pub struct Hosts(Mutex<Vec<Known>>);

impl Hosts {
    /// Remembers the hosts of these clients, forgets those that have ended, and gives all.
    pub fn look(&self, table: &dyn Processes, attached: &[Attached]) -> Vec<Known> {
        let new: Vec<Known> = attached
            .iter()
            .filter_map(|client| {
                let process = tree::root(table, client)?;
                (!tree::is_prompt(table, process.pid)).then(|| Known { name: client.name.clone(), process })
            })
            .collect();
        // Nothing in here is left half done by a panic.
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|known| Caller::of(table, known.process.pid) == Some(known.process));
        for known in new {
            if !all.iter().any(|other| other.process == known.process) {
                all.push(known);
            }
        }
        let over = all.len().saturating_sub(MOST);
        all.drain(..over);
        all.clone()
    }
}

/// Looks at each client's host as soon as it is attached; for ever.
pub async fn follow(parts: ControlParts, hosts: Arc<Hosts>) {
    let mut events = parts.hub.events();
    loop {
        if let Ok(status) = parts.hub.status().await {
            let (hosts, attached) = (Arc::clone(&hosts), super::attached(&status.clients));
            let _ = tokio::task::spawn_blocking(move || hosts.look(&Here, &attached)).await;
        }
        loop {
            match events.recv().await {
                Ok(Event::Clients) | Err(RecvError::Lagged(_)) => break,
                Ok(_) => {}
                Err(RecvError::Closed) => return std::future::pending().await,
            }
        }
    }
}

//! Whose hosts were attached: the process of one that is gone is remembered for as long as it lives, also by the next hub, so
//! that nobody becomes a person by ending the adapter or the hub. A terminal's own shell is forgotten: it is the person's when
//! nothing is attached there.

use super::processes::{Here, Processes};
use super::tree::{self, Attached, Caller};
use crate::ControlParts;
use hub::config::Places;
use hub::operate::Event;
use hub::private_file::PrivateFile;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::broadcast::error::RecvError;

/// So many are remembered; the earliest go first.
const MOST: usize = 1_024;
/// Bytes of their file that are read.
const LARGEST: u64 = 1 << 20;

/// One host that was attached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// Its client's name.
    pub name: String,
    /// Its topmost process.
    pub process: Caller,
}

/// All that are known and still run.
#[derive(Default)]
pub struct Hosts {
    all: Mutex<Vec<Known>>,
    /// Where they outlive the hub.
    file: Option<PrivateFile>,
}

impl Hosts {
    /// Those that an earlier hub knew. They are kept in `run/hosts.json`.
    pub fn kept(places: &Places) -> Hosts {
        let file = PrivateFile::new(&places.run.join("hosts.json"), "a list of hosts", LARGEST);
        let all = file.read(|_: &Vec<Known>| Ok(())).unwrap_or_else(|fault| {
            tracing::warn!(%fault, "hosts of an earlier run are not known");
            None
        });
        Hosts { all: Mutex::new(all.unwrap_or_default()), file: Some(file) }
    }

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
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let before = all.clone();
        all.retain(|known| Caller::of(table, known.process.pid) == Some(known.process));
        for known in new {
            if !all.iter().any(|other| other.process == known.process) {
                all.push(known);
            }
        }
        let over = all.len().saturating_sub(MOST);
        all.drain(..over);
        if let Some(file) = self.file.as_ref().filter(|_| *all != before)
            && let Err(fault) = file.note(&*all)
        {
            tracing::warn!(%fault, "the next hub will not know which hosts were attached");
        }
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

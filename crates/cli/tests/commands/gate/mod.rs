//! Commands of the gate, against a door that pretends.

mod commands;
pub mod door;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(target_os = "linux")]
mod tmux;

use crate::fake::Home;
use door::Door;
use operator::words::*;
use std::os::unix::fs::DirBuilderExt;
use std::time::{SystemTime, UNIX_EPOCH};

/// A home with that door in it.
pub struct Gate {
    pub home: Home,
    pub door: Door,
}

impl Gate {
    pub fn open() -> Gate {
        let home = Home::new();
        let run = home.path().join("run");
        std::fs::DirBuilder::new().mode(0o700).create(&run).unwrap();
        let door = Door::open(run.join("operator.sock"));
        Gate { home, door }
    }

    /// With these calls waiting.
    pub fn with(items: Vec<ApprovalDetail>) -> Gate {
        let gate = Gate::open();
        gate.door.queue().items = items;
        gate
    }

    /// The bodies with which an operation was asked for.
    pub fn asked(&self, name: &str) -> Vec<String> {
        self.door.queue().asked.iter().filter(|(asked, _)| asked == name).map(|(_, body)| body.clone()).collect()
    }
}

pub fn now_ms() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// A call that waits, with those arguments.
pub fn waiting(id: &str, name: &str, arguments: &str) -> ApprovalDetail {
    let (server, tool) = name.split_once("__").unwrap();
    let approval = Approval {
        id: id.into(),
        call: id.into(),
        state: ApprovalState::Waiting,
        client: "cursor (unverified)".into(),
        unverified: true,
        server: server.into(),
        kind: ApprovalKind::Tool,
        tool: tool.into(),
        name: name.into(),
        task: false,
        effect: Effect::Write,
        tier: Tier::Once,
        rule: None,
        why: "No rule names it, and its server does not say that it only reads.".into(),
        most: Scope::Tool,
        asked_ms: now_ms() - 40_000,
        expires_ms: now_ms() + 860_500,
        waiters: 1,
        preview: arguments.chars().take(400).collect(),
        arguments_bytes: arguments.len() as u64,
        digest: format!("sha256:{:0>64}", id.bytes().map(|byte| format!("{byte:02x}")).collect::<String>()),
        definition_hash: None,
        definition: PinState::Approved,
        asked_before: 0,
        denied_before: 0,
        edited: false,
        again: None,
        keeps: None,
        unreadable: false,
    };
    ApprovalDetail {
        approval,
        arguments: arguments.into(),
        original: None,
        description: None,
        schema: None,
        changes: vec![],
        remembered: vec![],
        decision: None,
        fields: vec![],
        outcome: None,
        ended_ms: None,
    }
}

//! The hub dies at every point of the road, under every kind of call. Afterwards nothing ran twice, no approval is lost,
//! what may have run is said to be unknown, and the log proves itself whole.

use hub::abort::Point;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Mutex;
use stories::{Client, Home, eventually, is_alive, sample};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
    Held,
    Keyed,
}

const KINDS: [Kind; 4] = [Kind::Read, Kind::Write, Kind::Held, Kind::Keyed];

struct Trial {
    home: Home,
    kind: Kind,
    point: Point,
}

fn outcome(answer: &Value) -> String {
    let outcome = &answer["result"]["_meta"]["dev.callgate/outcome"];
    let word = outcome["error"].as_str().or(outcome["status"].as_str());
    match (word, answer.get("error")) {
        (Some(word), _) => word.to_owned(),
        (None, Some(_)) => "cut off".to_owned(),
        (None, None) => "ran".to_owned(),
    }
}

impl Trial {
    fn new(kind: Kind, point: Point) -> Trial {
        let home = Home::new();
        let lines = home.path("lines").display().to_string();
        let policy = match kind {
            Kind::Held => json!({ "default": "ask", "approval": { "holdSeconds": 0, "holdSecondsWithProgress": 0 } }),
            Kind::Read | Kind::Write | Kind::Keyed => json!({ "default": "allow" }),
        };
        home.configure(&json!({ "mcpServers": { "s": sample(&["--file", &lines]) }, "policy": policy }));
        Trial { home, kind, point }
    }

    fn tool(&self) -> &'static str {
        if self.kind == Kind::Read { "count_lines" } else { "append_line" }
    }

    fn call(&self) -> Value {
        let name = format!("s__{}", self.tool());
        match self.kind {
            Kind::Read => json!({ "name": name, "arguments": {} }),
            Kind::Write | Kind::Held => json!({ "name": name, "arguments": { "text": "x" } }),
            Kind::Keyed => {
                json!({ "name": name, "arguments": { "text": "x" }, "_meta": { "dev.callgate/idempotencyKey": "k" } })
            }
        }
    }

    fn lines(&self) -> usize {
        std::fs::read_to_string(self.home.path("lines")).unwrap_or_default().lines().count()
    }

    /// Calls, and decides where it waits; whether a person was told that it is approved, and the last outcome.
    fn go(&self, client: &mut Client) -> (bool, String) {
        let mut told = outcome(&client.ask("tools/call", self.call()));
        let mut approved = false;
        if self.kind == Kind::Held && told == "pending" {
            approved = self.approve();
            if approved {
                told = outcome(&client.ask("tools/call", self.call()));
            }
        }
        (approved, told)
    }

    /// Whether the command said that it is approved.
    fn approve(&self) -> bool {
        let (code, list, _) = self.home.run(&["approval", "list", "--json"]);
        let list: Value = serde_json::from_str(&list).unwrap_or_default();
        let waiting = list["approvals"].as_array().into_iter().flatten().find(|it| it["state"] == "waiting");
        let Some(id) = waiting.filter(|_| code == 0).and_then(|it| it["id"].as_str()) else { return false };
        self.home.run(&["approval", "approve", id, "--remember", "once"]).0 == 0
    }

    /// Whether the hub died on the way.
    fn run(&self) -> bool {
        let what = format!("{:?} at {}", self.kind, self.point.as_str());
        let at = format!("{}:{}", self.point.as_str(), self.tool());
        let mut first = self.home.serve_with(&[("CALLGATE_ABORT_AT", &at)]);
        let mut client = self.home.stdio(&["--host", "cursor"]);
        client.initialize("2025-11-25");
        client.await_tool("s__append_line");
        let (approved, told) = self.go(&mut client);
        let before = self.lines();
        assert!(before <= 1, "{what}: it ran {before} times before the crash");
        if told == "ran" {
            assert!(self.kind == Kind::Read || before == 1, "{what}: said to have run");
        }
        // Not every point is on the road of every kind of call.
        let died = !is_alive(first.pid());
        first.kill();
        let _second = self.home.serve();
        client.await_tool("s__append_line");
        self.afterwards(&what, &mut client, approved, &told, before);
        let verified = self.home.run(&["audit", "verify"]);
        assert_eq!(verified.0, 0, "{what}: {}{}", verified.1, verified.2);
        died
    }

    /// What an identical call finds.
    fn afterwards(&self, what: &str, client: &mut Client, approved: bool, told: &str, before: usize) {
        match self.kind {
            Kind::Read => assert_eq!(outcome(&client.ask("tools/call", self.call())), "ran", "{what}"),
            // Without a key a second call is a second wish; but where nobody knows of the first, that is said first.
            Kind::Write => {
                let mut again = outcome(&client.ask("tools/call", self.call()));
                assert!(again == "outcome_unknown" || told == "ran" || before == 0, "{what}: repeated unasked");
                if again == "outcome_unknown" {
                    assert_eq!(self.lines(), before, "{what}");
                    again = outcome(&client.ask("tools/call", self.call()));
                }
                assert_eq!((again.as_str(), self.lines()), ("ran", before + 1), "{what}: {told}");
            }
            Kind::Keyed => {
                let again = outcome(&client.ask("tools/call", self.call()));
                let lines = self.lines();
                assert!(lines <= 1, "{what}: {lines} executions under one key");
                match again.as_str() {
                    "ran" | "already_ran" => assert_eq!(lines, 1, "{what}"),
                    "outcome_unknown" => assert_eq!(lines, before, "{what}"),
                    other => panic!("{what}: a retry is told {other}"),
                }
            }
            Kind::Held => {
                let again = outcome(&client.ask("tools/call", self.call()));
                let lines = self.lines();
                if approved && told != "ran" && before == 0 {
                    // A person was told that it may run, and it surely has not.
                    assert!(
                        matches!(again.as_str(), "ran" | "outcome_unknown"),
                        "{what}: the approval is lost: {again}"
                    );
                }
                assert!(lines <= 1, "{what}: {lines} executions of one approval");
                let waits = eventually("a list", || {
                    let (code, list, _) = self.home.run(&["approval", "list", "--json"]);
                    (code == 0).then(|| serde_json::from_str::<Value>(&list).ok()).flatten()
                });
                assert!(waits["approvals"].is_array(), "{what}");
            }
        }
    }
}

#[test]
fn a_hub_that_dies_anywhere_runs_nothing_twice_and_forgets_no_approval() {
    let trials: Vec<Trial> = KINDS.iter().flat_map(|&kind| Point::ALL.map(|point| Trial::new(kind, point))).collect();
    let reached = Mutex::new(HashSet::new());
    let (next, all) = (std::sync::atomic::AtomicUsize::new(0), &trials);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(trial) = all.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    if trial.run() {
                        reached.lock().unwrap().insert((format!("{:?}", trial.kind), trial.point.as_str()));
                    }
                }
            });
        }
    });
    let reached = reached.into_inner().unwrap();
    for point in Point::ALL {
        assert!(reached.iter().any(|(_, at)| *at == point.as_str()), "no call ever came to {}", point.as_str());
    }
    for (kind, points) in [("Read", 7), ("Write", 8), ("Held", 12), ("Keyed", 9)] {
        let count = reached.iter().filter(|(of, _)| of == kind).count();
        assert!(count >= points, "{kind} came to {count} points only: {reached:?}");
    }
}

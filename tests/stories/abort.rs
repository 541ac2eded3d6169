//! The hub dies at every point of the road, under every kind of call. Afterwards nothing ran twice, no approval is lost,
//! what may have run is said to be unknown, and the log proves itself whole.

use crate::fake::fake;
use crate::tasks;
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
    /// Held, and its client has it as a task.
    Task,
    /// A prompt that is held.
    Prompt,
    /// A resource that is held.
    Resource,
}

const KINDS: [Kind; 7] = [Kind::Read, Kind::Write, Kind::Held, Kind::Keyed, Kind::Task, Kind::Prompt, Kind::Resource];

struct Trial {
    home: Home,
    kind: Kind,
    point: Point,
}

/// What a client has seen before the hub died.
struct Seen {
    /// Whether a person was told that it is approved.
    approved: bool,
    /// The last outcome.
    told: String,
    task: Option<Value>,
    /// How often it had run.
    ran: usize,
}

/// One word for what a request came to. A tool's result tells it in its `_meta`, everything else as an error's data.
fn outcome(answer: &Value) -> String {
    let outcome = if answer.get("error").is_some() {
        &answer["error"]["data"]
    } else {
        &answer["result"]["_meta"]["dev.callgate/outcome"]
    };
    let word = outcome["error"].as_str().or(outcome["status"].as_str());
    match (word, answer.get("error")) {
        (Some(word), _) => word.to_owned(),
        (None, Some(_)) => "cut off".to_owned(),
        (None, None) if answer["result"]["resultType"] == "task" => "task".to_owned(),
        (None, None) => "ran".to_owned(),
    }
}

/// Begins to listen to a task: the id of the subscription.
fn listen(client: &mut Client, task: &Value) -> Value {
    let params = json!({ "notifications": { "taskIds": [task] }, "_meta": tasks::takes_tasks() });
    let id = client.send("subscriptions/listen", params);
    client.await_message("an acknowledgement", |it| it["method"] == "notifications/subscriptions/acknowledged");
    id
}

/// The end of the task that is listened to, or the error by which the listening ended.
fn end_heard(client: &mut Client, subscription: &Value) -> Value {
    let mut heard = client.await_message("the end of a task", |it| {
        let is_news = it["method"] == "notifications/tasks" && it["params"]["status"] != "working";
        is_news || it["id"] == *subscription
    });
    if heard.get("params").is_some() { heard["params"].take() } else { heard }
}

impl Trial {
    fn new(kind: Kind, point: Point) -> Trial {
        let home = Home::new();
        let lines = home.path("lines").display().to_string();
        let asks = json!({ "default": "ask", "rules": [{ "prompts": ["*"], "then": "ask" }, { "resources": ["*"], "then": "ask" }],
            "approval": { "holdSeconds": 0, "holdSecondsWithProgress": 0 } });
        let policy = match kind {
            Kind::Held | Kind::Task | Kind::Prompt | Kind::Resource => asks,
            Kind::Read | Kind::Write | Kind::Keyed => json!({ "default": "allow" }),
        };
        let server = match kind {
            Kind::Prompt | Kind::Resource => fake(&["--count", &lines]),
            _ => sample(&["--file", &lines]),
        };
        home.configure(&json!({ "mcpServers": { "s": server }, "policy": policy }));
        Trial { home, kind, point }
    }

    /// What records call it.
    fn label(&self) -> &'static str {
        match self.kind {
            Kind::Read => "count_lines",
            Kind::Write | Kind::Held | Kind::Keyed | Kind::Task => "append_line",
            Kind::Prompt => "count",
            Kind::Resource => "fake://count",
        }
    }

    fn ask(&self, client: &mut Client) -> Value {
        let name = format!("s__{}", self.label());
        let call = |arguments: Value| json!({ "name": name, "arguments": arguments });
        match self.kind {
            Kind::Read => client.ask("tools/call", call(json!({}))),
            Kind::Write | Kind::Held => client.ask("tools/call", call(json!({ "text": "x" }))),
            Kind::Keyed => {
                let mut keyed = call(json!({ "text": "x" }));
                keyed["_meta"] = json!({ "dev.callgate/idempotencyKey": "k" });
                client.ask("tools/call", keyed)
            }
            Kind::Task => tasks::ask(client, "tools/call", call(json!({ "text": "x" }))),
            Kind::Prompt => client.ask("prompts/get", json!({ "name": name })),
            Kind::Resource => client.ask("resources/read", json!({ "uri": self.label() })),
        }
    }

    /// Waits until it is listed.
    fn await_it(&self, client: &mut Client) {
        let (list, member) = match self.kind {
            Kind::Prompt => ("prompts/list", "prompts"),
            Kind::Resource => ("resources/list", "resources"),
            _ => ("tools/list", "tools"),
        };
        eventually("it is listed", || {
            let listed = match self.kind {
                Kind::Task => tasks::ask(client, list, json!({})),
                _ => client.ask(list, json!({})),
            };
            let all = listed["result"][member].as_array()?;
            let is_it = |it: &Value| it["uri"] == self.label() || it["name"] == format!("s__{}", self.label());
            all.iter().any(is_it).then_some(())
        });
    }

    fn lines(&self) -> usize {
        std::fs::read_to_string(self.home.path("lines")).unwrap_or_default().lines().count()
    }

    /// Calls, and decides where it waits.
    fn go(&self, client: &mut Client) -> Seen {
        let first = self.ask(client);
        let (mut told, mut approved, mut task) = (outcome(&first), false, None);
        match told.as_str() {
            "pending" => {
                approved = self.approve();
                if approved {
                    told = outcome(&self.ask(client));
                }
            }
            "task" => {
                let id = first["result"]["taskId"].clone();
                // Whoever asks a dead hub starts another one; a listener is told that it died.
                let heard = listen(client, &id);
                approved = self.approve();
                if approved {
                    told = outcome(&end_heard(client, &heard));
                }
                task = Some(id);
            }
            _ => {}
        }
        Seen { approved, told, task, ran: self.lines() }
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
        let at = format!("{}:{}", self.point.as_str(), self.label());
        let mut first = self.home.serve_with(&[("CALLGATE_ABORT_AT", &at)]);
        let mut client = self.home.stdio(&["--host", "cursor"]);
        if self.kind != Kind::Task {
            client.initialize("2025-11-25");
        }
        self.await_it(&mut client);
        let seen = self.go(&mut client);
        assert!(seen.ran <= 1, "{what}: it ran {} times before the crash", seen.ran);
        if seen.told == "ran" {
            assert!(self.kind == Kind::Read || seen.ran == 1, "{what}: said to have run");
        }
        // Not every point is on the road of every kind of call.
        let died = !is_alive(first.pid());
        first.kill();
        let _second = self.home.serve();
        self.await_it(&mut client);
        self.afterwards(&what, &mut client, &seen);
        let verified = self.home.run(&["audit", "verify"]);
        assert_eq!(verified.0, 0, "{what}: {}{}", verified.1, verified.2);
        died
    }

    /// What an identical call finds, or a task's own client.
    fn afterwards(&self, what: &str, client: &mut Client, seen: &Seen) {
        match self.kind {
            Kind::Read => assert_eq!(outcome(&self.ask(client)), "ran", "{what}"),
            // Without a key a second call is a second wish; but where nobody knows of the first, that is said first.
            Kind::Write => {
                let Seen { told, ran, .. } = seen;
                let mut again = outcome(&self.ask(client));
                assert!(again == "outcome_unknown" || told == "ran" || *ran == 0, "{what}: repeated unasked");
                if again == "outcome_unknown" {
                    assert_eq!(self.lines(), *ran, "{what}");
                    again = outcome(&self.ask(client));
                }
                assert_eq!((again.as_str(), self.lines()), ("ran", ran + 1), "{what}: {told}");
            }
            Kind::Keyed => {
                let again = outcome(&self.ask(client));
                let lines = self.lines();
                assert!(lines <= 1, "{what}: {lines} executions under one key");
                match again.as_str() {
                    "ran" | "already_ran" => assert_eq!(lines, 1, "{what}"),
                    "outcome_unknown" => assert_eq!(lines, seen.ran, "{what}"),
                    other => panic!("{what}: a retry is told {other}"),
                }
            }
            Kind::Held | Kind::Prompt | Kind::Resource => {
                let again = outcome(&self.ask(client));
                let lines = self.lines();
                if seen.approved && seen.told != "ran" && seen.ran == 0 {
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
            Kind::Task => self.task_afterwards(what, client, seen),
        }
    }

    /// A task that its client was told of is known. It comes to its end by itself once it is approved, and runs once.
    fn task_afterwards(&self, what: &str, client: &mut Client, seen: &Seen) {
        let task = match &seen.task {
            Some(task) => task.clone(),
            None => {
                assert_eq!(self.lines(), 0, "{what}: it ran although nobody was told of it");
                let again = self.ask(client);
                assert_eq!(outcome(&again), "task", "{what}: {again}");
                again["result"]["taskId"].clone()
            }
        };
        let known = tasks::get(client, &task);
        assert_eq!(known["result"]["taskId"], task, "{what}: a task that was told is not known: {known}");
        if !seen.approved {
            // A decision that was written down holds although nobody was told of it.
            self.approve();
        }
        let end = eventually("the end of a task", || {
            let got = tasks::get(client, &task)["result"].take();
            (got["status"] != "working").then(|| outcome(&got))
        });
        match end.as_str() {
            "ran" | "already_ran" => assert_eq!(self.lines(), 1, "{what}"),
            "outcome_unknown" => assert!(self.lines() <= 1, "{what}"),
            other => panic!("{what}: its client is told {other}"),
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
    let least = [("Read", 7), ("Write", 8), ("Held", 12), ("Keyed", 9), ("Task", 13), ("Prompt", 12), ("Resource", 12)];
    for (kind, points) in least {
        let count = reached.iter().filter(|(of, _)| of == kind).count();
        assert!(count >= points, "{kind} came to {count} points only: {reached:?}");
    }
}

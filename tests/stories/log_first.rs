//! What a person does is in the log before it is answered and before it holds; where the log cannot be written it is
//! refused, but for what tightens: that holds at once and says so.

use crate::orders::{ORDER, auto, first_waiting, home, host, lines, waiting};
use serde_json::json;
use stories::{Home, eventually, outcome};

/// From now on no row can be written, or each can again.
fn lock(home: &Home, is_locked: bool) {
    let sql = match is_locked {
        true => "CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT raise(abort, 'full'); END",
        false => "DROP TRIGGER full",
    };
    let program =
        format!("import sqlite3; d = sqlite3.connect({:?}); d.execute({sql:?}); d.commit()", home.path("callgate.db"));
    let run = stories::command("python3".as_ref()).args(["-c", &program]).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

fn loosen(home: &Home) -> String {
    home.change(|config| config["policy"]["default"] = json!("allow"));
    eventually("the change to be held", || home.json(&["status"])["held"]["hash"].as_str().map(str::to_owned))
}

fn rows(home: &Home, kind: &str) -> String {
    home.json(&["audit", "list", "--kind", kind])["rows"].to_string()
}

#[test]
fn what_a_person_does_outlives_the_hub_with_its_row() {
    let home = home(auto(0));
    let mut hub = home.serve();
    let hash = loosen(&home);
    home.json(&["catalog", "approve", "@policy", "--hash", &hash]);
    hub.kill();
    let mut hub = home.serve();
    assert!(rows(&home, "setting").contains("loosened: the default"), "{}", rows(&home, "setting"));
    home.json(&["token", "add", "ci"]);
    hub.kill();
    let mut hub = home.serve();
    assert!(rows(&home, "token").contains("\"ci\""), "{}", rows(&home, "token"));
    home.json(&["pause"]);
    hub.kill();
    let _hub = home.serve();
    assert!(rows(&home, "setting").contains("are held"), "{}", rows(&home, "setting"));
}

#[test]
fn what_cannot_be_written_down_is_refused_but_for_what_tightens() {
    let home = home(auto(0));
    let mut hub = home.serve();
    let mut client = host(&home, "cursor");
    home.json(&["token", "add", "old"]);
    assert_eq!(outcome(&client.call(ORDER, json!({ "text": "1" }))), "pending");
    let (id, hash) = (first_waiting(&home), loosen(&home));
    lock(&home, true);
    let tokens = || home.json(&["token", "list"])["tokens"].to_string();
    let refused = |words: &[&str]| {
        let (code, out, err) = home.run(words);
        assert!(code == 1 && err.contains("could not be written down"), "{words:?}: {code} {out}{err}");
    };
    refused(&["catalog", "approve", "@policy", "--hash", &hash]);
    refused(&["token", "add", "new"]);
    refused(&["approval", "approve", &id]);
    assert!(!tokens().contains("new"), "{}", tokens());
    assert_eq!(home.json(&["status"])["held"]["hash"], json!(hash));
    for words in [["pause"].as_slice(), &["token", "remove", "old"], &["approval", "deny", &id]] {
        let (code, out, err) = home.run(words);
        assert!(
            code == 0 && out.contains("It holds, but the log does not have it yet"),
            "{words:?}: {code} {out}{err}"
        );
    }
    assert!(!tokens().contains("old") && waiting(&home).is_empty(), "{}", tokens());
    refused(&["resume"]);
    assert!(home.json(&["status"])["waiting"]["paused_since_ms"].is_u64(), "{}", home.json(&["status"]));
    // What held is told as soon as it can be.
    lock(&home, false);
    eventually("the rows", || {
        let all = ["setting", "token", "decision"].map(|kind| rows(&home, kind)).concat();
        (all.contains("are held") && all.contains("removed") && all.contains(&id)).then_some(())
    });
    home.json(&["resume"]);
    hub.kill();
    let _hub = home.serve();
    client.await_tool(ORDER);
    assert_eq!((home.json(&["audit", "verify"])["whole"].clone(), lines(&home).len()), (json!(true), 0));
    assert_eq!(home.json(&["status"])["held"]["hash"], json!(hash));
}

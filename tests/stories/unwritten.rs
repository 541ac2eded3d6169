//! A log that cannot be written: what may change something is refused and nothing waits that could be lost; reads go on, and the
//! state is told.

use crate::orders::{ORDER, auto, first_waiting, home, host, lines};
use serde_json::json;
use stories::{Home, eventually, outcome, text};

/// Takes the database away under the hub, or brings it back.
fn is_there(home: &Home, is_there: bool) {
    let (place, away) = (home.path("callgate.db"), home.path("callgate.db.away"));
    let (from, to) = if is_there { (away, place) } else { (place, away) };
    std::fs::rename(from, to).unwrap();
}

fn audit(home: &Home) -> String {
    home.json(&["status"])["audit"].to_string()
}

#[test]
fn what_may_change_something_is_refused_while_the_log_cannot_be_written_and_reads_go_on() {
    let home = home(json!({ "default": "allow" }));
    let _hub = home.serve();
    let mut client = host(&home, "cursor");
    let write = |client: &mut stories::Client, text: &str| client.call(ORDER, json!({ "text": text }));
    assert_eq!(outcome(&write(&mut client, "1")), "ran");
    let healthy = audit(&home);
    is_there(&home, false);
    for turn in ["2", "3"] {
        let refused = write(&mut client, turn);
        assert_eq!(outcome(&refused), "audit_unavailable", "{refused}");
        assert!(text(&refused).contains("nothing that may change something is run"), "{refused}");
        assert_eq!(text(&client.call("s__echo", json!({ "text": "reads run" }))), "reads run");
    }
    assert_eq!(lines(&home), ["1"]);
    assert_ne!(audit(&home), healthy);
    is_there(&home, true);
    eventually("it can be written again", || (outcome(&write(&mut client, "4")) == "ran").then_some(()));
    assert_eq!(lines(&home), ["1", "4"]);
    assert_eq!(home.json(&["audit", "verify"])["whole"], true);
}

#[test]
fn nothing_waits_and_nothing_is_approved_while_the_log_cannot_be_written() {
    let home = home(auto(0));
    let _hub = home.serve();
    let mut client = host(&home, "cursor");
    let mut order = |text: &str| client.call(ORDER, json!({ "text": text }));
    assert_eq!(outcome(&order("1")), "pending");
    let id = first_waiting(&home);
    is_there(&home, false);
    let refused = order("2");
    assert_eq!(outcome(&refused), "audit_unavailable", "{refused}");
    let (code, out, err) = home.run(&["approval", "approve", &id]);
    assert!(code == 1 && !out.contains("pproved"), "{code} {out}{err}");
    assert_eq!(outcome(&order("1")), "pending", "it was not approved");
    is_there(&home, true);
    eventually("it can be approved", || (home.run(&["approval", "approve", &id]).0 == 0).then_some(()));
    assert_eq!(outcome(&order("1")), "ran");
    assert_eq!(lines(&home), ["1"]);
}

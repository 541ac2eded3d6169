//! Each command once: what it asks of the hub, what it prints, how it ends.

use super::{Gate, waiting};
use operator::words::*;
use serde_json::Value;

const ORDER: &str = "{\"item\": \"blue\", \"n\": 1.10}";

fn two() -> Gate {
    Gate::with(vec![
        waiting("c1-7", "shop__place_order", ORDER),
        waiting("c1-8", "notes__add", "{\"t\": \"\u{202e}x\"}"),
    ])
}

#[test]
fn waiting_calls_are_listed_and_shown() {
    let gate = two();
    let run = gate.home.run(&["approval", "list"]);
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    assert!(run.out.contains("shop__place_order") && run.out.contains("2 wait;"), "{}", run.out);
    let run = gate.home.run(&["approval", "list", "--json", "--server", "shop"]);
    let list: ApprovalList = serde_json::from_str(&run.out).unwrap();
    assert_eq!(list.approvals.len(), 2);
    assert_eq!(
        gate.asked("approval.list")[1],
        "{\"server\":\"shop\",\"client\":null,\"part\":\"queue\",\"before\":null,\"limit\":50}"
    );
    let run = gate.home.run(&["approval", "show", "c1-8"]);
    assert!(run.out.contains("hidden: 1 text direction mark") && run.out.contains("\\u{202E}x"), "{}", run.out);
    let run = gate.home.run(&["approval", "show", "c1-8", "--json"]);
    assert!(!run.out.contains('\u{202e}'));
    let run = gate.home.run(&["approval", "show", "c9-9"]);
    assert_eq!((run.code, run.err.as_str()), (1, "callgate: there is no approval c9-9\n"));
    assert_eq!(Gate::open().home.run(&["approval", "list"]).out, "Nothing waits for a person.\n");
}

#[test]
fn what_is_remembered_is_asked_for_and_taken_back_by_the_calls_that_are_named() {
    let gate = two();
    gate.door.change(|queue| {
        queue.answers.push(("approval.remembered", "{\"remembered\":[]}".into()));
        queue.answers.push(("approval.forget", "{\"forgotten\":[]}".into()));
    });
    let run = gate.home.run(&["approval", "remembered", "--server", "shop", "--client", "cursor"]);
    assert_eq!((run.code, run.out.as_str()), (0, "Nothing is remembered under this filter.\n"));
    assert_eq!(gate.asked("approval.remembered"), ["{\"server\":\"shop\",\"client\":\"cursor\"}"]);
    assert_eq!(gate.home.run(&["approval", "forget", "c1-7", "c1-8"]).code, 0);
    assert_eq!(gate.home.run(&["approval", "forget", "--all"]).out, "Nothing was remembered.\n");
    let asked = ["{\"ids\":[\"c1-7\",\"c1-8\"],\"all\":false}", "{\"ids\":[],\"all\":true}"];
    assert_eq!(gate.asked("approval.forget"), asked);
    for usage in [&["approval", "forget"][..], &["approval", "forget", "c1-7", "--all"]] {
        assert_eq!(gate.home.run(usage).code, 2, "{usage:?}");
    }
    assert_eq!(gate.asked("approval.forget").len(), 2);
}

#[test]
fn a_decision_is_bound_to_the_digest_that_was_shown() {
    let gate = two();
    let digest = gate.door.queue().items[0].approval.digest.clone();
    let run = gate.home.run(&["approval", "approve", "c1-7", "--digest", "sha256:00"]);
    assert_eq!((run.code, run.err.as_str()), (1, "callgate: the arguments are others than were shown\n"));
    let run = gate.home.run(&["approval", "approve", "c1-7", "--remember", "session", "--args", ORDER]);
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    assert!(run.out.starts_with("c1-7  Approved for this session of its client by you at "), "{}", run.out);
    assert!(run.out.ends_with(", with changed arguments. It runs now.\n"), "{}", run.out);
    let sent: Approve = serde_json::from_str(&gate.asked("approval.approve")[1]).unwrap();
    assert_eq!((sent.digest, sent.args.as_deref(), sent.remember), (digest, Some(ORDER), Some(Scope::Session)));
    let run = gate.home.run(&["approval", "deny", "c1-8", "--reason", "no \u{1b}[2J"]);
    assert!(run.code == 0 && run.out.contains("Denied by you") && !run.out.contains('\u{1b}'), "{}", run.out);
    assert_eq!(gate.home.run(&["approval", "approve", "c1-7", "--args", "{n:1}"]).code, 2);
}

#[test]
fn who_comes_second_is_told_who_was_first() {
    let gate = two();
    let digest = gate.door.queue().items[0].approval.digest.clone();
    let first = Decision {
        id: "c1-7".into(),
        call: "c1-7".into(),
        kind: DecisionKind::Denied,
        by: "the window".into(),
        at_ms: 1,
        remember: None,
        reason: None,
        edited: false,
    };
    gate.door.decide(first);
    let run = gate.home.run(&["approval", "approve", "c1-7", "--digest", &digest]);
    assert!(run.out.contains("Not your decision: it was denied by the window"), "{}", run.out);
    assert_eq!(run.code, 4);
    // The same decision holds, whoever made it.
    assert_eq!(gate.home.run(&["approval", "deny", "c1-7", "--digest", &digest]).code, 0);
    let run = gate.home.run(&["approval", "deny", "c1-7", "--digest", &digest, "--json"]);
    assert_eq!(serde_json::from_str::<Decided>(&run.out).unwrap().winner, Winner::Another);
}

#[test]
fn edited_arguments_are_refused_with_every_reason() {
    let gate = two();
    gate.door.queue().unfit = Some("/n: is not an integer\n/item: is missing".into());
    let run = gate.home.run(&["approval", "approve", "c1-7", "--args", "{}"]);
    assert_eq!((run.code, run.err.as_str()), (2, "callgate: /n: is not an integer\n/item: is missing\n"));
    assert_eq!(gate.door.queue().items.len(), 2);
}

#[test]
#[cfg(target_os = "linux")]
fn without_a_terminal_there_is_no_pin() {
    let gate = two();
    gate.door.queue().pin = Some("4711".into());
    // In a session of its own there is no terminal, whatever stdin says.
    let mut command = std::process::Command::new("setsid");
    let binary = env!("CARGO_BIN_EXE_callgate");
    command.args(["-w", binary, "approval", "approve", "c1-7"]).env("CALLGATE_HOME", gate.home.path());
    let output = command.output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    let expect = "callgate: decisions need the PIN; next:  run it in a terminal: the PIN is read from there only\n";
    assert_eq!((output.status.code(), err.as_str()), (Some(4), expect));
    assert_eq!(gate.door.queue().items.len(), 2);
}

#[test]
fn what_is_not_offered_yet_is_said() {
    let gate = two();
    for line in [
        "call list",
        "pause",
        "resume",
        "catalog diff",
        "policy check",
        "policy explain --all",
        "audit list",
        "audit tail",
        "audit verify",
        "audit export",
    ] {
        let run = gate.home.run(&line.split(' ').collect::<Vec<_>>());
        assert!(run.code == 1 && run.err.contains("does not offer"), "{line}: {}", run.err);
    }
}

#[test]
fn the_other_commands_ask_and_show() {
    let gate = two();
    let call = "{\"call\":\"c1-5\",\"standing\":\"unknown\",\"client\":\"cursor\",\"server\":\"shop\",\"tool\":\"t\",\
        \"name\":\"shop__t\",\"effect\":\"write\",\"asked_ms\":1,\"ended_ms\":0,\"outcome\":\"outcome_unknown\",\
        \"keyed\":true,\"has_result\":false,\"note\":null}";
    let explained = "{\"name\":\"shop__t\",\"server\":\"shop\",\"tool\":\"t\",\"effect\":\"write\",\"tier\":\"once\",\
        \"tier_why\":\"w\",\"then\":\"ask\",\"rule\":\"orders\",\"why\":\"w\",\"reason\":null,\"most\":\"tool\",\
        \"depends\":false,\"unlisted\":false,\"definition\":\"approved\",\"remembered\":null}";
    let row = "{\"seq\":3,\"call\":\"c1-5\",\"kind\":\"end\",\"at_ms\":1796032800000,\"client\":\"=1+1\",\"server\":\"shop\",\
        \"tool\":\"t\",\"definition\":\"\",\"method\":\"tools/call\",\"effect\":\"write\",\"outcome\":\"ok\",\"rule\":null,\
        \"why\":null,\"by\":null,\"reason\":null,\"arguments_bytes\":2,\"result_bytes\":9,\"checked_us\":1,\"held_us\":0,\
        \"queued_us\":1,\"ran_us\":5,\"answered_us\":1,\"arguments\":[],\"detail\":\"\"}";
    gate.door.queue().answers = vec![
        ("call.list", format!("{{\"calls\":[{call}],\"total\":1,\"unknown\":1}}")),
        ("call.settle", format!("{{\"call\":{call},\"finding\":\"ran\"}}")),
        ("pause", "{\"paused_since_ms\":1,\"by\":\"you\",\"waiting\":2}".into()),
        ("resume", "{\"paused_since_ms\":null,\"by\":null,\"waiting\":2}".into()),
        ("catalog.diff", "{\"servers\":[]}".into()),
        ("catalog.approve", "{\"server\":\"shop\",\"entries\":[\"t\"],\"left\":0}".into()),
        (
            "policy.check",
            "{\"default\":\"auto\",\"version\":\"v\",\"rules\":[],\"held\":[],\"problems\":[{\"severity\":\"error\",\
            \"rule\":\"r\",\"place\":\"when\",\"message\":\"no such name\"}]}"
                .into(),
        ),
        (
            "policy.explain",
            format!(
                "{{\"tools\":[{explained}],\"totals\":{{\"tools\":1,\"quiet\":0,\"once\":1,\"each\":0,\"allow\":0,\"ask\":1,\"deny\":0}}}}"
            ),
        ),
        ("audit.list", format!("{{\"rows\":[{row}],\"before\":null,\"blind\":[]}}")),
        ("audit.show", format!("{{\"call\":\"c1-5\",\"rows\":[{row}]}}")),
        ("audit.tail", format!("{row}\n{row}\n")),
        ("audit.export", format!("{row}\n{row}\n")),
        (
            "audit.verify",
            "{\"whole\":false,\"broken\":\"row 3 is not what was written\",\"broken_row\":3,\"first\":1,\"last\":9,\
            \"rows\":9,\"anchored\":8,\"gaps\":[],\"epochs\":[],\"blind\":[],\"accept\":\"e-8\"}"
                .into(),
        ),
        ("audit.accept", "{\"epoch\":10}".into()),
    ];
    let check = |line: &[&str], code: i32, expect: &str| {
        let run = gate.home.run(line);
        assert_eq!((run.code, run.err.as_str()), (code, ""), "{line:?}");
        assert!(run.out.contains(expect), "{line:?}: {}", run.out);
        let json = gate.home.run(&[line, &["--json"]].concat());
        for document in json.out.lines() {
            serde_json::from_str::<Value>(document).unwrap_or_else(|_| panic!("{line:?}: {}", json.out));
        }
        assert_eq!(json.code, code, "{line:?}");
    };
    check(&["call", "list", "--unknown"], 0, "1 call may have run or not.");
    check(&["call", "settle", "c1-5", "--ran"], 0, "it will not run again");
    check(&["pause"], 0, "All risky calls are held");
    check(&["resume", "s"], 0, "Calls of s may ask again.");
    check(&["resume"], 0, "Risky calls run as the policy says. 2 calls wait");
    check(&["catalog", "diff"], 0, "Everything is as it was approved.");
    check(&["catalog", "approve", "shop", "--hash", "sha256:1"], 0, "Approved 1 definition of shop.");
    check(&["policy", "check"], 2, "error: r, when: no such name");
    check(&["policy", "explain", "shop__t", "{\"n\": 1.0}"], 0, "decided by  rule orders");
    check(&["policy", "explain", "--all"], 0, "1 tool: 0 quiet");
    check(&["audit", "list", "--since", "2h", "--outcome", "ok"], 0, "shop t");
    check(&["audit", "show", "c1-5"], 0, "finished");
    check(&["audit", "tail"], 0, "shop t");
    check(&["audit", "verify"], 1, "callgate audit verify --accept e-8");
    check(&["audit", "verify", "--accept", "e-8"], 0, "goes on from row 10");
    let csv = gate.home.run(&["audit", "export", "--format", "csv"]).out;
    assert_eq!(csv.lines().count(), 3);
    assert!(csv.contains(",\"'=1+1\",shop,t,"), "{csv}");
    let jsonl = gate.home.run(&["audit", "export"]).out;
    assert_eq!(serde_json::from_str::<AuditRow>(jsonl.lines().next().unwrap()).unwrap().client, "=1+1");
    assert_eq!(gate.asked("call.settle")[0], "{\"call\":\"c1-5\",\"finding\":\"ran\",\"pin\":null}");
    assert_eq!(
        gate.asked("policy.explain")[0],
        "{\"tool\":\"shop__t\",\"arguments\":\"{\\\"n\\\": 1.0}\",\"client\":null}"
    );
    let asked: AuditQuery = serde_json::from_str(&gate.asked("audit.list")[0]).unwrap();
    let ago = super::now_ms() - asked.filter.since_ms.unwrap();
    assert!((7_200_000..7_260_000).contains(&ago), "{ago}");
    assert_eq!((asked.filter.outcomes, asked.limit), (vec!["ok".to_owned()], 50));
}

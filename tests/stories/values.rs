//! Values of calls that are kept because a person wants it: sealed, masked, opened by a person only.

use serde_json::json;
use stories::{Home, eventually, sample};

const HUSH: &str = "hush-hush-0815-xyz";

#[test]
fn values_are_kept_on_request_and_opened_by_a_person_only() {
    for (payloads, has_arguments, has_result) in
        [("none", false, false), ("arguments", true, false), ("all", true, true)]
    {
        let home = Home::new();
        let mut server = sample(&[]);
        server["env"] = json!({ "API_TOKEN": HUSH });
        home.configure(&json!({
            "mcpServers": { "s": server },
            "hub": { "audit": { "payloads": payloads } },
        }));
        let _hub = home.serve();
        let mut client = home.stdio(&["--host", "story"]);
        client.initialize("2025-11-25");
        client.await_tool("s__echo");
        let said = format!("plain words, {HUSH}, {{\"a\":1}}");
        client.call("s__echo", json!({ "text": said }));
        let call = eventually("its row", || {
            let rows = home.json(&["audit", "list", "--tool", "s__echo", "--kind", "read"]);
            Some(rows["rows"].get(0)?["call"].as_str()?.to_owned())
        });
        if payloads == "none" {
            assert_ne!(home.run(&["audit", "show", &call, "--values", "--json"]).0, 0);
            continue;
        }
        let opened = eventually("its values", || {
            let (code, out, _) = home.run(&["audit", "show", &call, "--values", "--json"]);
            (code == 0).then(|| serde_json::from_str::<serde_json::Value>(&out).unwrap())
        });
        let value = &opened["values"][0];
        let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        assert_eq!(text("arguments").contains("plain words"), has_arguments, "{opened}");
        assert_eq!(text("result").contains("plain words"), has_result, "{opened}");
        assert!(!opened.to_string().contains(HUSH), "a known secret is masked: {opened}");
        assert_eq!(home.json(&["audit", "verify"])["whole"], true);
        let told = home.run(&["audit", "export", "--format", "jsonl"]).1;
        assert!(!told.contains("plain words"), "an export has no values");
        let (_, taken, err) = home.run(&["audit", "export", "--values"]);
        assert!(taken.contains("plain words") && !taken.contains(HUSH), "{taken}{err}");
        let looked = home.json(&["audit", "list", "--kind", "person"]);
        assert_eq!(looked["rows"][0]["tool"], "audit.take", "{looked}");
        verify_apart(&home);
        let looked = home.json(&["audit", "list", "--kind", "person"]);
        assert_eq!(looked["rows"][1]["tool"], "audit.values", "{looked}");
        for file in ["callgate.db", "callgate.db-wal"] {
            let bytes = std::fs::read(home.path(file)).unwrap_or_default();
            let has = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
            assert!(!has("plain words") && !has(HUSH), "{file}");
        }
    }
}

/// The small program that is given with the format finds the log whole, and values that were changed.
fn verify_apart(home: &Home) {
    let copy = tempfile::tempdir().unwrap();
    for file in ["callgate.db", "callgate.db-wal", "audit.key", "audit.anchor"] {
        if let Ok(bytes) = std::fs::read(home.path(file)) {
            std::fs::write(copy.path().join(file), bytes).unwrap();
        }
    }
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/verify-audit.py");
    let python = |args: &[&str]| {
        let run = stories::command("python3".as_ref()).args(args).output().unwrap();
        (run.status.success(), String::from_utf8_lossy(&[run.stdout, run.stderr].concat()).into_owned())
    };
    let folder = copy.path().display().to_string();
    let whole = python(&[program, &folder]);
    assert!(whole.0, "{}", whole.1);
    let change = format!(
        "import sqlite3; d = sqlite3.connect('{folder}/callgate.db'); \
         d.execute('UPDATE payloads SET arguments = zeroblob(40)'); d.commit()"
    );
    assert!(python(&["-c", &change]).0);
    let changed = python(&[program, &folder]);
    assert!(!changed.0 && changed.1.contains("are gone or others"), "{}", changed.1);
}

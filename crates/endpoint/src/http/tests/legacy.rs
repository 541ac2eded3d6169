//! Sessions: whose they are, how many, what is heard in them, what ends them.

use super::super::Bounds;
use super::rig::{Req, Tokens, in_session, initialize, initialize_as, rpc, run, token};
use hub::agent::Notice;
use serde_json::json;
use std::time::Duration;

#[test]
fn a_session_from_beginning_to_end() {
    run(Bounds::default(), async |rig| {
        let body = r#"{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#;
        let res = Req::post(&rig, body).send(&rig).await;
        assert_eq!(
            res.json(),
            json!({"jsonrpc":"2.0","id":"first","result":{"protocolVersion":"2025-06-18",
                "capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{}},
                "serverInfo":{"name":"fake","version":"1"},"instructions":"be kind"}})
        );
        let session = res.field("mcp-session-id").unwrap().to_owned();
        let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let res = in_session(&rig, &session, initialized).send(&rig).await;
        assert_eq!((res.status, &*res.body), (202, ""));
        let res = in_session(&rig, &session, rpc("2", "ping", "{}")).with("MCP-Protocol-Version", "2025-06-18");
        assert_eq!(res.send(&rig).await.json(), json!({"jsonrpc":"2.0","id":2,"result":{}}));
        let level = |id: &str, level: &str| rpc(id, "logging/setLevel", &format!(r#"{{"level":"{level}"}}"#));
        assert_eq!(in_session(&rig, &session, level("3", "error")).send(&rig).await.json()["result"], json!({}));
        assert_eq!(in_session(&rig, &session, level("4", "loud")).send(&rig).await.code(), -32602);
        assert_eq!(*rig.hub.levels.borrow(), [Some(frame::Level::Error)]);
        let res = in_session(&rig, &session, rpc("5", "tools/list", "{}")).send(&rig).await;
        assert_eq!(res.json()["result"], json!({"tools":[]}));
        // Errors of a legacy session ride on 200.
        let res = in_session(&rig, &session, rpc("6", "no/such", "{}")).send(&rig).await;
        assert_eq!((res.status, res.code()), (200, -32601));
        for method in ["server/discover", "subscriptions/listen"] {
            let res = in_session(&rig, &session, rpc("7", method, "{}")).send(&rig).await;
            assert_eq!((res.status, res.code()), (200, -32601), "{method}");
        }
        let end = || Req::new(&rig, "DELETE", "/mcp").with("Mcp-Session-Id", &session);
        assert_eq!(end().send(&rig).await.status, 204);
        assert_eq!(rig.hub.left.get(), 1);
        assert_eq!(end().send(&rig).await.status, 404);
        assert_eq!(in_session(&rig, &session, rpc("8", "ping", "{}")).send(&rig).await.status, 404);
    });
}

#[test]
fn versions_are_negotiated_and_checked() {
    run(Bounds::default(), async |rig| {
        for (asked, given) in [
            ("2024-11-05", "2024-11-05"),
            ("2025-03-26", "2025-03-26"),
            ("2025-11-25", "2025-11-25"),
            ("2026-07-28", "2025-11-25"),
            ("1999-01-01", "2025-11-25"),
        ] {
            let body = rpc("1", "initialize", &format!(r#"{{"protocolVersion":"{asked}"}}"#));
            let res = Req::post(&rig, body).with("MCP-Protocol-Version", asked).send(&rig).await;
            assert_eq!(res.json()["result"]["protocolVersion"], given, "{asked}");
        }
        let res = Req::post(&rig, rpc("1", "initialize", "{}")).send(&rig).await;
        assert_eq!((res.status, res.code(), res.field("mcp-session-id")), (200, -32602, None));
        let session = initialize(&rig, "2025-06-18").await;
        for (version, status) in [("2025-06-18", 200), ("2024-11-05", 200), ("1999-01-01", 400), ("", 400)] {
            let req = in_session(&rig, &session, rpc("1", "ping", "{}")).with("MCP-Protocol-Version", version);
            assert_eq!(req.send(&rig).await.status, status, "{version}");
        }
        let twice = [("MCP-Protocol-Version", "2025-06-18"), ("MCP-Protocol-Version", "2025-11-25")];
        let req = in_session(&rig, &session, rpc("1", "ping", "{}")).withs(&twice);
        assert_eq!(req.send(&rig).await.status, 400);
        // A version from the future, before anything is agreed: said what there is.
        let res =
            Req::post(&rig, rpc("1", "tools/list", "{}")).with("MCP-Protocol-Version", "2031-01-01").send(&rig).await;
        assert_eq!((res.status, res.code()), (400, -32022));
        assert_eq!(res.json()["error"]["data"]["supported"], json!(["2026-07-28"]));
    });
}

#[test]
fn a_session_is_worth_nothing_to_others() {
    run(Bounds::default(), async |rig| {
        let session = initialize(&rig, "2025-11-25").await;
        assert!(session.len() >= 32 && session.bytes().all(|byte| byte.is_ascii_hexdigit()), "{session}");
        assert_ne!(session, initialize(&rig, "2025-11-25").await);
        let mut answers = Vec::new();
        let foreign = [("Authorization", "Bearer secret-zed")];
        for (id, path, fields) in [
            (&*session, "/mcp", &foreign[..]),
            (&session, "/mcp/s/files", &[]),
            ("0123456789abcdef0123456789abcdef", "/mcp", &[]),
            ("mine", "/mcp", &[]),
            ("", "/mcp", &[]),
        ] {
            let call = in_session(&rig, id, rpc("1", "tools/list", "{}")).at(path).withs(fields);
            answers.push(call.send(&rig).await);
            for method in ["GET", "DELETE"] {
                let req = Req::new(&rig, method, path).with("Mcp-Session-Id", id).withs(fields);
                assert_eq!(req.send(&rig).await.status, 404, "{method} {id} {path}");
            }
        }
        let twice = in_session(&rig, &session, rpc("1", "tools/list", "{}")).with("Mcp-Session-Id", &session);
        answers.push(twice.send(&rig).await);
        assert!(answers.iter().all(|res| res.status == 404 && res.body == answers[0].body), "{answers:?}");
        let in_address = Req::post(&rig, rpc("1", "ping", "{}")).at(&format!("/mcp?Mcp-Session-Id={session}"));
        assert_eq!(in_address.send(&rig).await.status, 400);
        assert!(rig.hub.asked.borrow().is_empty());
        // An id that a client chose is never taken.
        let body = rpc("1", "initialize", r#"{"protocolVersion":"2025-11-25"}"#);
        let res = in_session(&rig, "mine", body).send(&rig).await;
        assert_ne!(res.field("mcp-session-id"), Some("mine"));
        assert_eq!(in_session(&rig, "mine", rpc("1", "ping", "{}")).send(&rig).await.status, 404);
        assert_eq!(in_session(&rig, &session, rpc("1", "ping", "{}")).send(&rig).await.status, 200);
    });
}

#[test]
fn sessions_are_bounded_and_the_longest_idle_one_makes_room() {
    let bounds = Bounds { sessions_per_token: 3, sessions: 5, ..Bounds::default() };
    run(bounds, async |rig| {
        let ping = async |session: &str| in_session(&rig, session, rpc("1", "ping", "{}")).send(&rig).await.status;
        let busy = initialize(&rig, "2025-11-25").await;
        let running = in_session(&rig, &busy, rpc("1", "tools/call", r#"{"name":"slow"}"#)).start(&rig).await;
        let exchange = rig.hub.next().await;
        let old = initialize(&rig, "2025-11-25").await;
        let listening = initialize(&rig, "2025-11-25").await;
        let get = Req::new(&rig, "GET", "/mcp").with("Mcp-Session-Id", &listening);
        let mut stream = get.stream(&rig).await;
        let fourth = initialize(&rig, "2025-11-25").await;
        assert_eq!((ping(&old).await, ping(&fourth).await), (404, 200));
        let mut last = fourth;
        for _ in 0..20 {
            let next = initialize(&rig, "2025-11-25").await;
            assert_eq!((ping(&last).await, ping(&next).await), (404, 200));
            last = next;
        }
        let held =
            [&last, &listening].map(|session| in_session(&rig, session, rpc("2", "tools/call", r#"{"name":"slow"}"#)));
        let mut wires = Vec::new();
        for req in held {
            wires.push(req.start(&rig).await);
            rig.hub.next().await.error(-1, "done");
        }
        // One that only listens goes before one that works.
        let mut more = Vec::new();
        for session in [&last] {
            more.push(in_session(&rig, session, rpc("3", "tools/call", r#"{"name":"slow"}"#)).start(&rig).await);
        }
        let second = rig.hub.next().await;
        initialize(&rig, "2025-11-25").await;
        assert_eq!(stream.event().await, None);
        // The other client has its own share, and the bound of all holds over both.
        let theirs = initialize_as(&rig, "2025-11-25", "secret-zed", "/mcp").await;
        initialize_as(&rig, "2025-11-25", "secret-zed", "/mcp").await;
        assert_eq!(rig.hub.joined.borrow().len() - rig.hub.left.get(), 5);
        initialize_as(&rig, "2025-11-25", "secret-zed", "/mcp").await;
        assert_eq!(rig.hub.joined.borrow().len() - rig.hub.left.get(), 5);
        drop((exchange, second, running, wires, more, theirs));
    });
}

#[test]
fn a_session_that_nobody_uses_ends_and_one_that_listens_stays() {
    let bounds = Bounds { session_idle: Duration::ZERO, place_idle: Duration::ZERO, ..Bounds::default() };
    run(bounds, async |rig| {
        let (idle, listening) = (initialize(&rig, "2025-11-25").await, initialize(&rig, "2025-11-25").await);
        let get = Req::new(&rig, "GET", "/mcp").with("Mcp-Session-Id", &listening);
        let mut stream = get.stream(&rig).await;
        // What looks for unused ones from time to time also does so now.
        rig.door.set_tokens(Tokens::new(vec![token("cursor")]));
        for (session, status) in [(&idle, 404), (&listening, 200)] {
            assert_eq!(in_session(&rig, session, rpc("1", "ping", "{}")).send(&rig).await.status, status);
        }
        stream.beat().await;
        assert_eq!(rig.hub.left.get(), 1);
    });
}

#[test]
fn no_session_is_begun_while_all_work() {
    run(Bounds { sessions_per_token: 1, ..Bounds::default() }, async |rig| {
        let session = initialize(&rig, "2025-11-25").await;
        let mut wire = in_session(&rig, &session, rpc("1", "tools/call", r#"{"name":"slow"}"#)).start(&rig).await;
        let exchange = rig.hub.next().await;
        let res = Req::post(&rig, rpc("9", "initialize", r#"{"protocolVersion":"2025-11-25"}"#)).send(&rig).await;
        assert_eq!((res.status, res.code(), res.field("mcp-session-id")), (503, -32603, None));
        exchange.result(r#"{"content":[]}"#);
        assert_eq!(wire.response().await.status, 200);
    });
}

#[test]
fn a_cancel_reaches_the_request_of_its_own_session_only() {
    run(Bounds::default(), async |rig| {
        let (one, two) = (initialize(&rig, "2025-11-25").await, initialize(&rig, "2025-11-25").await);
        let mut wires = Vec::new();
        for (session, id, name) in [(&one, "7", "a"), (&two, "7", "b"), (&one, r#""7""#, "c")] {
            let call = in_session(&rig, session, rpc(id, "tools/call", &format!(r#"{{"name":"{name}"}}"#)));
            wires.push(call.start(&rig).await);
            // Kept waiting in the hub; only its arrival matters.
            while rig.hub.asked.borrow().len() < wires.len() {
                tokio::task::yield_now().await;
            }
        }
        let cancel = |id: &str| {
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
        };
        for odd in ["8", "null", "{}", "\"8\""] {
            assert_eq!(in_session(&rig, &one, cancel(odd)).send(&rig).await.status, 202);
        }
        assert!(rig.hub.no_cancels());
        assert_eq!(in_session(&rig, &one, cancel("7")).send(&rig).await.status, 202);
        assert_eq!(rig.hub.next_cancelled().await, r#"{"name":"a"}"#);
        assert!(rig.hub.no_cancels());
        // Nothing is said about a cancelled request.
        let res = wires[0].response().await;
        assert_eq!((res.status, res.field("content-type"), &*res.body), (200, Some("text/event-stream"), ""));
        for _ in 0..2 {
            rig.hub.next().await.result("{}");
        }
        assert_eq!(wires[1].response().await.json()["id"], 7);
        assert_eq!(wires[2].response().await.json()["id"], "7");
    });
}

#[test]
fn notices_go_to_the_newest_stream_of_each_session() {
    run(Bounds::default(), async |rig| {
        let one = initialize(&rig, "2025-11-25").await;
        let get = |session: &str| Req::new(&rig, "GET", "/mcp").with("Mcp-Session-Id", session);
        let changed = |list: &str| json!({"jsonrpc":"2.0","method":format!("notifications/{list}/list_changed")});
        // Before anybody listens: kept, once each.
        rig.hub.notice(&Notice::ToolsChanged);
        rig.hub.notice(&Notice::ToolsChanged);
        rig.hub.notice(&Notice::PromptsChanged);
        let log = Notice::Log { level: frame::Level::Error, params: r#"{"level":"error","data":"x"}"#.into() };
        rig.hub.notice(&log);
        let mut first = get(&one).stream(&rig).await;
        assert_eq!(first.head.status, 200);
        assert_eq!(first.message().await, changed("tools"));
        assert_eq!(first.message().await, changed("prompts"));
        rig.hub.notice(&Notice::ResourcesChanged);
        rig.hub.notice(&log);
        assert_eq!(first.message().await, changed("resources"));
        let message = json!({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"x"}});
        assert_eq!(first.message().await, message);
        let two = initialize(&rig, "2024-11-05").await;
        let mut other = get(&two).stream(&rig).await;
        let mut second = get(&one).stream(&rig).await;
        assert_eq!(first.event().await, None);
        rig.hub.notice(&Notice::ToolsChanged);
        assert_eq!(second.message().await, changed("tools"));
        assert_eq!(other.message().await, changed("tools"));
        assert_eq!(get("").send(&rig).await.status, 404);
        let nameless = Req::new(&rig, "GET", "/mcp").send(&rig).await;
        assert_eq!(nameless.status, 400);
        rig.stop.send(()).unwrap();
        assert_eq!(second.event().await, None);
    });
}

#[test]
fn the_running_requests_of_a_session_are_bounded() {
    run(Bounds { running: 2, ..Bounds::default() }, async |rig| {
        let session = initialize(&rig, "2025-11-25").await;
        let call = |id: &str| in_session(&rig, &session, rpc(id, "tools/call", r#"{"name":"slow"}"#));
        let (_one, _two) = (call("1").start(&rig).await, call("2").start(&rig).await);
        let (first, second) = (rig.hub.next().await, rig.hub.next().await);
        assert_eq!(call("3").send(&rig).await.code(), -32600);
        first.result("{}");
        let _three = call("3").start(&rig).await;
        rig.hub.next().await.result("{}");
        drop(second);
    });
}

#[test]
fn the_end_of_a_session_answers_what_runs_in_it() {
    run(Bounds::default(), async |rig| {
        let session = initialize(&rig, "2025-11-25").await;
        let mut wire = in_session(&rig, &session, rpc("1", "tools/call", r#"{"name":"slow"}"#)).start(&rig).await;
        while rig.hub.asked.borrow().is_empty() {
            tokio::task::yield_now().await;
        }
        let end = Req::new(&rig, "DELETE", "/mcp").with("Mcp-Session-Id", &session);
        assert_eq!(end.send(&rig).await.status, 204);
        let res = wire.response().await;
        assert_eq!((res.status, res.code(), &res.json()["id"]), (200, -32603, &json!(1)));
    });
}

//! Stateless requests: what each must carry and may not differ in, discover, listen.

use super::super::Bounds;
use super::rig::{Req, Rig, initialize, modern, rpc, run};
use hub::agent::Notice;
use serde_json::{Value, json};

const VERSION: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
const CAPABILITIES: &str = r#""io.modelcontextprotocol/clientCapabilities":{}"#;

fn with_meta(rig: &Rig, method: &str, meta: &str) -> Req {
    let body = rpc("5", method, &format!(r#"{{"_meta":{{{meta}}}}}"#));
    Req::post(rig, body).with("Mcp-Method", method)
}

#[test]
fn a_request_says_all_by_itself() {
    run(Bounds::default(), async |rig| {
        let both = format!("{VERSION},{CAPABILITIES}");
        let future = both.replace("2026-07-28", "2031-01-01");
        let past = both.replace("2026-07-28", "2025-06-18");
        let now = ("MCP-Protocol-Version", "2026-07-28");
        for (method, meta, header, status, code) in [
            ("tools/list", &*both, Some(now), 200, 0),
            ("tools/list", "", Some(now), 400, -32602),
            ("tools/list", VERSION, Some(now), 400, -32602),
            ("tools/list", CAPABILITIES, Some(now), 400, -32602),
            (
                "tools/list",
                &format!(r#"{VERSION},"io.modelcontextprotocol/clientCapabilities":7"#),
                Some(now),
                400,
                -32602,
            ),
            ("tools/list", &format!(r#"{both},"io.modelcontextprotocol/logLevel":"loud""#), Some(now), 400, -32602),
            ("tools/list", &both, None, 400, -32020),
            ("tools/list", &both, Some(("MCP-Protocol-Version", "2025-11-25")), 400, -32020),
            ("tools/list", &future, Some(now), 400, -32020),
            ("tools/list", &future, Some(("MCP-Protocol-Version", "2031-01-01")), 400, -32022),
            ("tools/list", &past, Some(("MCP-Protocol-Version", "2025-06-18")), 400, -32022),
            ("server/discover", "", None, 400, -32602),
            ("server/discover", "", Some(now), 400, -32602),
            ("server/discover", &both, Some(now), 200, 0),
            ("no/such", &both, Some(now), 404, -32601),
            ("initialize", &both, Some(now), 404, -32601),
            ("ping", &both, Some(now), 404, -32601),
            ("logging/setLevel", &both, Some(now), 404, -32601),
            ("resources/subscribe", &both, Some(now), 404, -32601),
            ("resources/unsubscribe", &both, Some(now), 404, -32601),
        ] {
            let req = with_meta(&rig, method, meta);
            let res = header.iter().fold(req, |req, (name, value)| req.with(name, value)).send(&rig).await;
            assert_eq!((res.status, res.code()), (status, code), "{method} {meta} {header:?} {}", res.body);
            assert_eq!(res.json()["id"], 5, "{}", res.body);
            if code == -32022 {
                assert_eq!(res.json()["error"]["data"]["supported"], json!(["2026-07-28"]));
            }
        }
        let asked: Vec<_> = rig.hub.asked.borrow().iter().map(|(method, _)| method.clone()).collect();
        assert_eq!(asked, ["tools/list", "no/such"]);
    });
}

#[test]
fn params_that_are_no_object_carry_nothing() {
    run(Bounds::default(), async |rig| {
        for params in ["[]", "\"x\""] {
            let res = Req::post(&rig, rpc("1", "tools/list", params)).with("MCP-Protocol-Version", "2026-07-28");
            let res = res.with("Mcp-Method", "tools/list").send(&rig).await;
            assert_eq!((res.status, res.code()), (400, -32602), "{params}");
        }
    });
}

#[test]
fn headers_and_body_are_one_call_or_none() {
    run(Bounds::default(), async |rig| {
        let call = |name: &str, arguments: &str| {
            modern(&rig, "5", "tools/call", &format!(r#","name":"{name}","arguments":{arguments}"#))
        };
        for (req, word) in [
            (call("danger", "{}").with("Mcp-Name", "safe"), "Mcp-Name is not"),
            (call("danger", "{}"), "Mcp-Name is missing"),
            (call("danger", "{}").with("Mcp-Name", "danger").with("Mcp-Name", "danger"), "more than once"),
            (call("danger", "{}").with("Mcp-Name", "danger").with("Mcp-Method", "tools/call"), "more than once"),
            (
                call("danger", "{}").with("Mcp-Name", "danger").with("MCP-Protocol-Version", "2026-07-28"),
                "more than once",
            ),
            (
                call("danger", "{}").with("Mcp-Name", "danger").with("Mcp-Param-X", "1").with("Mcp-Param-X", "2"),
                "more than once",
            ),
            (call("mirrored", r#"{"region":"eu"}"#).with("Mcp-Name", "mirrored"), "mcp-param-region is missing"),
            (
                call("mirrored", r#"{"region":"eu"}"#).with("Mcp-Name", "mirrored").with("Mcp-Param-Region", "us"),
                "mcp-param-region is not",
            ),
        ] {
            let res = req.send(&rig).await;
            assert_eq!((res.status, res.code(), &res.json()["id"]), (400, -32020, &json!(5)));
            assert!(res.body.contains(word), "{} {word}", res.body);
        }
        assert!(rig.hub.asked.borrow().is_empty());
        for req in [
            call("danger", "{}").with("Mcp-Name", "  danger  "),
            call("danger", "{}").with("Mcp-Name", "=?base64?ZGFuZ2Vy?="),
            call("mirrored", r#"{"region":"eu"}"#).with("Mcp-Name", "mirrored").with("Mcp-Param-Region", "eu"),
        ] {
            let mut wire = req.start(&rig).await;
            rig.hub.next().await.result(r#"{"content":[]}"#);
            assert_eq!(wire.response().await.status, 200);
        }
    });
}

#[test]
fn results_and_errors_have_the_form_of_the_era() {
    run(Bounds::default(), async |rig| {
        let res = modern(&rig, "\"a\"", "tools/list", "").send(&rig).await;
        assert_eq!(
            res.json(),
            json!({"jsonrpc":"2.0","id":"a","result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[]}})
        );
        let res = modern(&rig, "1", "server/discover", "").send(&rig).await.json();
        assert_eq!(res["result"]["supportedVersions"], json!(["2026-07-28"]));
        assert_eq!(res["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "fake");
        for (code, status) in [(-32021, 400), (-32020, 400), (-32602, 200), (-32000, 200)] {
            let call = modern(&rig, "2", "tools/call", r#","name":"x""#).with("Mcp-Name", "x");
            let mut wire = call.start(&rig).await;
            rig.hub.next().await.error(code, "no");
            let res = wire.response().await;
            assert_eq!((res.status, res.code()), (status, i64::from(code)));
        }
        let doubled = r#","name":"x","arguments":{"a":1,"a":2}"#;
        let res = modern(&rig, "3", "tools/call", doubled).with("Mcp-Name", "x").send(&rig).await;
        assert_eq!((res.status, res.code()), (200, -32602));
    });
}

#[test]
fn there_are_no_sessions() {
    run(Bounds::default(), async |rig| {
        let session = initialize(&rig, "2025-11-25").await;
        for method in ["GET", "DELETE"] {
            let req = Req::new(&rig, method, "/mcp").with("MCP-Protocol-Version", "2026-07-28");
            let res = req.with("Mcp-Session-Id", &session).send(&rig).await;
            assert_eq!((res.status, res.field("allow")), (405, Some("POST")), "{method}");
        }
        let res = modern(&rig, "1", "tools/list", "").with("Mcp-Session-Id", "nobody").send(&rig).await;
        assert_eq!((res.status, res.field("mcp-session-id")), (200, None));
        // Both eras at one door, with no place shared between tokens.
        let _ = modern(&rig, "1", "tools/list", "").send(&rig).await;
        let _ = modern(&rig, "1", "tools/list", "").with("Authorization", "Bearer secret-zed").send(&rig).await;
        let names: Vec<_> = rig.hub.joined.borrow().iter().map(|(who, _)| who.who.name().to_string()).collect();
        assert_eq!(names, ["cursor", "cursor", "zed"]);
        for (body, status) in [
            (r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#, 202),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, 400),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, 400),
        ] {
            let req = Req::post(&rig, body).with("MCP-Protocol-Version", "2026-07-28");
            assert_eq!(req.send(&rig).await.status, status, "{body}");
        }
        let lying = Req::post(&rig, r#"{"jsonrpc":"2.0","method":"notifications/x"}"#)
            .with("MCP-Protocol-Version", "2026-07-28")
            .with("Mcp-Method", "notifications/y");
        assert_eq!(lying.send(&rig).await.code(), -32020);
    });
}

fn listen(rig: &Rig, id: &str, filter: &str) -> Req {
    modern(rig, id, "subscriptions/listen", &format!(r#","notifications":{filter}"#))
}

fn tagged(id: Value) -> Value {
    json!({"io.modelcontextprotocol/subscriptionId": id})
}

#[test]
fn listening() {
    run(Bounds { listens: 3, ..Bounds::default() }, async |rig| {
        let all = r#"{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"taskIds":["x"]}"#;
        let mut first = listen(&rig, "\"s\"", all).stream(&rig).await;
        assert_eq!(first.head.field("content-type"), Some("text/event-stream"));
        // The view says nothing about changes of resources.
        let ack = |id: Value, filter: Value| {
            json!({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged",
                "params":{"_meta":tagged(id),"notifications":filter}})
        };
        let granted = json!({"toolsListChanged":true,"promptsListChanged":true});
        assert_eq!(first.message().await, ack(json!("s"), granted));
        let mut second =
            listen(&rig, "8", r#"{"promptsListChanged":true,"toolsListChanged":false}"#).stream(&rig).await;
        assert_eq!(second.message().await, ack(json!(8), json!({"promptsListChanged":true})));
        rig.hub.notice(&Notice::ResourcesChanged);
        rig.hub.notice(&Notice::ToolsChanged);
        rig.hub.notice(&Notice::PromptsChanged);
        let changed = |list: &str, id: Value| json!({"jsonrpc":"2.0","method":format!("notifications/{list}/list_changed"),"params":{"_meta":tagged(id)}});
        assert_eq!(first.message().await, changed("tools", json!("s")));
        assert_eq!(first.message().await, changed("prompts", json!("s")));
        assert_eq!(second.message().await, changed("prompts", json!(8)));
        let mut third = listen(&rig, "9", "{}").stream(&rig).await;
        assert_eq!(third.message().await, ack(json!(9), json!({})));
        // One more than there may be: the oldest ends in good order, as all do when the hub stops.
        let mut fourth = listen(&rig, "10", "{}").stream(&rig).await;
        fourth.message().await;
        let end = |id: Value| json!({"jsonrpc":"2.0","id":id,"result":{"resultType":"complete","_meta":tagged(id)}});
        assert_eq!(first.message().await, end(json!("s")));
        assert_eq!(first.event().await, None);
        rig.stop.send(()).unwrap();
        for (wire, id) in [(&mut second, 8), (&mut third, 9), (&mut fourth, 10)] {
            assert_eq!(wire.message().await, end(json!(id)));
            assert_eq!(wire.event().await, None);
        }
    });
}

#[test]
fn listening_needs_a_filter_and_a_stream() {
    run(Bounds::default(), async |rig| {
        let res = modern(&rig, "1", "subscriptions/listen", "").send(&rig).await;
        assert_eq!((res.status, res.code()), (200, -32602));
        let res = listen(&rig, "1", "[]").send(&rig).await;
        assert_eq!((res.status, res.code()), (200, -32602));
        let res = listen(&rig, "1", "{}").with("Accept", "application/json").send(&rig).await;
        assert_eq!(res.status, 406);
    });
}

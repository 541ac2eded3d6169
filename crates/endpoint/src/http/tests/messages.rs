//! What stands in a message, however odd it is, and batches.

use super::super::Bounds;
use super::rig::{Req, Wire, in_session, initialize, rpc, run};
use serde_json::json;

#[test]
fn every_id_comes_back_as_it_was() {
    run(Bounds::default(), async |rig| {
        let session = initialize(&rig, "2025-11-25").await;
        let call = |id: &str| in_session(&rig, &session, rpc(id, "tools/call", r#"{"name":"slow"}"#));
        let mut first = call(r#""a-1""#).start(&rig).await;
        rig.hub.next().await.result("{}");
        assert_eq!(first.response().await.json()["id"], "a-1");
        let ids = ["0", "7", r#""7""#, r#""""#, "-3", "12345678901234567890123", r#""\u0061""#];
        let mut wires = Vec::new();
        let mut exchanges = Vec::new();
        for id in ids {
            wires.push(call(id).start(&rig).await);
            exchanges.push(rig.hub.next().await);
        }
        // Another spelling of an id that is in use.
        let res = call(r#""a""#).send(&rig).await;
        assert_eq!(res.code(), -32600);
        for (place, exchange) in exchanges.into_iter().enumerate().rev() {
            exchange.result(format!(r#"{{"n":{place}}}"#));
        }
        for (place, (wire, id)) in wires.iter_mut().zip(ids).enumerate() {
            let body = wire.response().await.body;
            assert_eq!(body, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"n":{place}}}}}"#));
        }
    });
}

#[test]
fn absent_and_null_params_are_an_empty_object() {
    run(Bounds::default(), async |rig| {
        let session = initialize(&rig, "2025-11-25").await;
        for body in [r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#.to_owned(), rpc("1", "tools/list", "null")] {
            assert_eq!(in_session(&rig, &session, body).send(&rig).await.status, 200);
        }
        for params in ["[]", "[1]", "\"x\"", "7", "true"] {
            let res = in_session(&rig, &session, rpc("4", "tools/list", params)).send(&rig).await;
            assert_eq!((res.status, res.code(), &res.json()["id"]), (200, -32602, &json!(4)), "{params}");
        }
        let expect = ("tools/list".to_owned(), "{}".to_owned());
        assert_eq!(*rig.hub.asked.borrow(), [expect.clone(), expect]);
    });
}

#[test]
fn what_can_be_read_in_two_ways_goes_nowhere() {
    run(Bounds::default(), async |rig| {
        let session = initialize(&rig, "2025-11-25").await;
        let deep = |open: &str, close: &str, count: usize| open.repeat(count) + &close.repeat(count);
        let call = |params: &str| rpc("1", "tools/call", params);
        for (body, status, code, id) in [
            (String::new(), 400, -32700, json!(null)),
            ("{".into(), 400, -32700, json!(null)),
            ("NaN".into(), 400, -32700, json!(null)),
            ("{} {}".into(), 400, -32700, json!(null)),
            ("7".into(), 400, -32600, json!(null)),
            ("{}".into(), 400, -32600, json!(null)),
            (r#"{"id":1,"method":"ping"}"#.into(), 400, -32600, json!(1)),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#.into(), 400, -32600, json!(1)),
            (r#"{"jsonrpc":"2.0","id":1}"#.into(), 400, -32600, json!(1)),
            (rpc("null", "ping", "{}"), 400, -32600, json!(null)),
            (rpc("1.5", "ping", "{}"), 400, -32600, json!(null)),
            (rpc("1e0", "ping", "{}"), 400, -32600, json!(null)),
            (rpc("true", "ping", "{}"), 400, -32600, json!(null)),
            (rpc("[1]", "ping", "{}"), 400, -32600, json!(null)),
            (rpc(r#"{"a":1}"#, "ping", "{}"), 400, -32600, json!(null)),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#.into(), 400, -32600, json!(null)),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","m\u0065thod":"tools/call"}"#.into(), 400, -32600, json!(null)),
            (call(&deep("[", "]", 100_000 / 4)), 400, -32700, json!(null)),
            (
                call(&format!(r#"{{"name":"a","arguments":{}}}"#, deep("{\"a\":", "1}", 0) + &deep("[", "]", 200))),
                400,
                -32700,
                json!(null),
            ),
            (call(r#"{"name":"a","name":"b"}"#), 200, -32602, json!(1)),
            (call(r#"{"name":"a","n\u0061me":"b"}"#), 200, -32602, json!(1)),
            (call(r#"{"name":"a","Name":"b"}"#), 200, -32602, json!(1)),
            (call(r#"{"name":"a","arguments":{"x":1,"x":2}}"#), 200, -32602, json!(1)),
            (call(r#"{"name":"a","arguments":{"x":[{"y":1,"y":2}]}}"#), 200, -32602, json!(1)),
            (call(r#"{"name":"a","arguments":{"x":"\ud800"}}"#), 200, -32602, json!(1)),
            (rpc("1", "prompts/get", r#"{"name":"a","name":"b"}"#), 200, -32602, json!(1)),
            (rpc("1", "resources/read", r#"{"uri":"a:","uri":"b:"}"#), 200, -32602, json!(1)),
            (rpc("1", "completion/complete", r#"{"ref":1,"ref":2}"#), 200, -32602, json!(1)),
            (rpc("1", "vendor/thing", r#"{"a":1,"a":2}"#), 200, -32602, json!(1)),
            ("[]".into(), 400, -32600, json!(null)),
            (format!("[{}]", rpc("1", "ping", "{}")), 400, -32600, json!(null)),
        ] {
            let res = in_session(&rig, &session, body.clone()).send(&rig).await;
            let body = &body[..body.len().min(90)];
            assert_eq!((res.status, res.code()), (status, code), "{body}");
            assert_eq!(res.json()["id"], id, "{body}");
        }
        assert!(rig.hub.asked.borrow().is_empty());
        // Bytes that no JSON parser takes for text.
        let mut wire = Wire::open(&rig).await;
        let head = in_session(&rig, &session, "").with("Content-Length", "3").head();
        wire.bytes(head.as_bytes()).await;
        wire.bytes(b"\"\xff\"").await;
        assert_eq!(wire.response().await.code(), -32700);
        // Odd, but with one meaning only: on as it is.
        let odd = r#"{"name":"a","other":"b","arguments":{"x":1e400,"y":9007199254740993,"z":1.0}}"#;
        let _wire = in_session(&rig, &session, call(odd)).start(&rig).await;
        assert_eq!(rig.hub.next().await.ask.params.text(), odd);
    });
}

#[test]
fn batches_are_split_and_answered_as_one() {
    run(Bounds { batch: 6, ..Bounds::default() }, async |rig| {
        let session = initialize(&rig, "2025-03-26").await;
        let cancelled = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let batch = |parts: &[String]| format!("[{}]", parts.join(","));
        let call = rpc("1", "tools/call", r#"{"name":"slow"}"#);
        let parts =
            [rpc("\"p\"", "ping", "{}"), call.clone(), cancelled.into(), rpc("3", "tools/list", "null"), "5".into()];
        let mut wire = in_session(&rig, &session, batch(&parts)).start(&rig).await;
        rig.hub.next().await.result(r#"{"content":[]}"#);
        let res = wire.response().await;
        assert_eq!((res.status, res.field("content-type")), (200, Some("application/json")));
        assert_eq!(
            res.json(),
            json!([
                {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"this is no JSON-RPC 2.0 message"}},
                {"jsonrpc":"2.0","id":"p","result":{}},
                {"jsonrpc":"2.0","id":3,"result":{"tools":[]}},
                {"jsonrpc":"2.0","id":1,"result":{"content":[]}},
            ])
        );
        // Progress first: a stream, and the answers at its end as one array.
        let wants = rpc("1", "tools/call", r#"{"name":"slow","_meta":{"progressToken":"t"}}"#);
        let wire = in_session(&rig, &session, batch(&[wants, rpc("2", "ping", "{}")])).start(&rig).await;
        let mut exchange = rig.hub.next().await;
        exchange.progress(1);
        exchange.result("{}");
        let mut wire = wire;
        assert_eq!(wire.begin().await.field("content-type"), Some("text/event-stream"));
        assert_eq!(wire.message().await["params"], json!({"progressToken":"t","progress":1}));
        let end = wire.message().await;
        assert_eq!((&end[0]["id"], &end[1]["id"], end.as_array().unwrap().len()), (&json!(2), &json!(1), 2));
        assert_eq!(wire.event().await, None);
        let only = in_session(&rig, &session, batch(&[cancelled.into(), cancelled.into()])).send(&rig).await;
        assert_eq!((only.status, &*only.body), (202, ""));
        let again = rpc("1", "initialize", r#"{"protocolVersion":"2025-03-26"}"#);
        let res = in_session(&rig, &session, batch(&[again])).send(&rig).await;
        assert_eq!(res.json()[0]["error"]["code"], -32600);
        for bad in [batch(&[]), batch(&vec![cancelled.to_owned(); 7])] {
            let res = in_session(&rig, &session, bad).send(&rig).await;
            assert_eq!((res.status, res.code()), (400, -32600));
        }
        assert_eq!(Req::post(&rig, batch(&[call])).send(&rig).await.status, 400);
    });
}

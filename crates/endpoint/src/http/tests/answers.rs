//! How answers go out: one JSON text or a stream, order, tokens, time, and what a lost connection means.

use super::super::Bounds;
use super::rig::{Req, Rig, initialize, modern, rpc, run};
use serde_json::json;
use std::time::Duration;

fn call(rig: &Rig, session: &str, token: &str) -> Req {
    let meta = if token.is_empty() { String::new() } else { format!(r#","_meta":{{"progressToken":{token}}}"#) };
    Req::post(rig, rpc("1", "tools/call", &format!(r#"{{"name":"slow"{meta}}}"#))).with("Mcp-Session-Id", session)
}

/// A door that waits for nothing.
fn hasty() -> Bounds {
    Bounds { patience: Duration::from_millis(20), ..Bounds::default() }
}

#[test]
fn progress_comes_before_the_answer_with_the_clients_own_token() {
    run(Bounds::default(), async |rig| {
        let session = initialize(&rig, "2025-11-25").await;
        for token in ["\"t-1\"", "7", "7.5"] {
            let mut wire = call(&rig, &session, token).start(&rig).await;
            let mut exchange = rig.hub.next().await;
            assert!(exchange.ask.wants_progress);
            for number in 0..200 {
                exchange.progress(number);
            }
            exchange.result(r#"{"content":[]}"#);
            assert_eq!(wire.begin().await.field("content-type"), Some("text/event-stream"));
            for number in 0..200 {
                let expect = format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{number}}}}}"#
                );
                assert_eq!(wire.event().await.unwrap(), expect);
            }
            assert_eq!(wire.event().await.unwrap(), r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#);
            assert_eq!(wire.event().await, None);
        }
    });
}

#[test]
fn progress_that_nobody_asked_for_is_dropped() {
    run(Bounds::default(), async |rig| {
        let session = initialize(&rig, "2025-11-25").await;
        for token in ["", "null"] {
            let mut wire = call(&rig, &session, token).start(&rig).await;
            let mut exchange = rig.hub.next().await;
            assert!(!exchange.ask.wants_progress);
            exchange.progress(1);
            exchange.result("{}");
            let res = wire.response().await;
            assert_eq!(res.field("content-type"), Some("application/json"));
            assert_eq!(res.body, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        }
    });
}

#[test]
fn logs_go_out_from_the_level_that_the_client_wants() {
    run(Bounds::default(), async |rig| {
        let session = initialize(&rig, "2025-11-25").await;
        let mut wire = call(&rig, &session, "").start(&rig).await;
        let mut exchange = rig.hub.next().await;
        exchange.log(frame::Level::Debug, "quiet");
        exchange.log(frame::Level::Info, "loud");
        exchange.result("{}");
        wire.begin().await;
        let expect = json!({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"loud"}});
        assert_eq!(wire.message().await, expect);
        assert_eq!(wire.message().await["id"], 1);
        // A modern request that names no level gets none.
        let mut wire = modern(&rig, "2", "tools/call", r#","name":"x""#).with("Mcp-Name", "x").start(&rig).await;
        let mut exchange = rig.hub.next().await;
        exchange.log(frame::Level::Emergency, "loud");
        exchange.result("{}");
        assert_eq!(wire.response().await.json()["result"]["resultType"], "complete");
    });
}

#[test]
fn an_answer_that_takes_long_becomes_a_stream() {
    run(hasty(), async |rig| {
        let session = initialize(&rig, "2025-11-25").await;
        let mut wire = call(&rig, &session, "").stream(&rig).await;
        assert_eq!((wire.head.status, wire.head.field("content-type")), (200, Some("text/event-stream")));
        rig.hub.next().await.result("{}");
        assert_eq!(wire.message().await["id"], 1);
        assert_eq!(wire.event().await, None);
        let mut wire = modern(&rig, "2", "tools/call", r#","name":"x""#).with("Mcp-Name", "x").stream(&rig).await;
        rig.hub.next().await.error(-32601, "late");
        assert_eq!((wire.head.status, &wire.message().await["error"]["code"]), (200, &json!(-32602)));
    });
}

#[test]
fn a_client_gets_the_form_that_it_takes() {
    run(hasty(), async |rig| {
        let session = initialize(&rig, "2025-11-25").await;
        // JSON only: no stream, whatever comes first and however long it takes.
        let mut json = call(&rig, &session, "7").with("Accept", "application/json").start(&rig).await;
        let mut exchange = rig.hub.next().await;
        exchange.progress(1);
        // By then another one has become a stream for its age.
        let other = Req::post(&rig, rpc("2", "tools/call", r#"{"name":"slow"}"#)).with("Mcp-Session-Id", &session);
        let other = other.stream(&rig).await;
        exchange.result("{}");
        let res = json.response().await;
        assert_eq!((res.field("content-type"), &res.json()["id"]), (Some("application/json"), &json!(1)));
        drop(other);
        // Events only: also for what is there at once.
        for req in [
            Req::post(&rig, rpc("3", "ping", "{}")).with("Mcp-Session-Id", &session),
            Req::post(&rig, rpc("3", "initialize", r#"{"protocolVersion":"2025-11-25"}"#)),
            modern(&rig, "3", "tools/list", ""),
        ] {
            let mut wire = req.with("Accept", "text/event-stream").stream(&rig).await;
            assert_eq!(wire.head.field("content-type"), Some("text/event-stream"));
            assert_eq!(wire.message().await["id"], 3);
            assert_eq!(wire.event().await, None);
        }
        let refused = modern(&rig, "4", "no/such", "").with("Accept", "text/event-stream").send(&rig).await;
        assert_eq!((refused.status, refused.code()), (404, -32601));
    });
}

#[test]
fn a_lost_connection_cancels_a_modern_request_only() {
    run(Bounds::default(), async |rig| {
        let session = initialize(&rig, "2025-11-25").await;
        let legacy = call(&rig, &session, "").start(&rig).await;
        let exchange = rig.hub.next().await;
        drop(legacy);
        let waiting =
            modern(&rig, "1", "tools/call", r#","name":"waiting""#).with("Mcp-Name", "waiting").start(&rig).await;
        let _kept = rig.hub.next().await;
        drop(waiting);
        assert!(rig.hub.next_cancelled().await.contains("waiting"));
        let mut wire =
            modern(&rig, "1", "tools/call", r#","name":"streaming""#).with("Mcp-Name", "streaming").start(&rig).await;
        let mut streaming = rig.hub.next().await;
        streaming.progress(1);
        wire.begin().await;
        drop(wire);
        assert!(rig.hub.next_cancelled().await.contains("streaming"));
        // The legacy one has been lost for longer than both, and runs on.
        assert!(rig.hub.no_cancels());
        exchange.result("{}");
        let ping = Req::post(&rig, rpc("1", "ping", "{}")).with("Mcp-Session-Id", &session).send(&rig).await;
        assert_eq!(ping.status, 200);
    });
}

#[test]
fn requests_of_one_connection_are_answered_in_order() {
    run(Bounds::default(), async |rig| {
        let session = initialize(&rig, "2025-11-25").await;
        let mut wire = call(&rig, &session, "").start(&rig).await;
        let second = Req::post(&rig, rpc("2", "ping", "{}")).with("Mcp-Session-Id", &session);
        wire.write(&second).await;
        rig.hub.next().await.result("{}");
        assert_eq!(wire.response().await.json()["id"], 1);
        assert_eq!(wire.response().await.json()["id"], 2);
    });
}

#[test]
fn a_large_answer_is_whole() {
    run(Bounds::default(), async |rig| {
        let session = initialize(&rig, "2025-11-25").await;
        let text = "x".repeat(3 << 20);
        let mut wire = call(&rig, &session, "").start(&rig).await;
        rig.hub.next().await.result(format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#));
        assert_eq!(wire.response().await.json()["result"]["content"][0]["text"], text);
    });
}

#[test]
fn a_client_that_does_not_read_still_gets_its_answer() {
    run(Bounds::default(), async |rig| {
        let session = initialize(&rig, "2025-11-25").await;
        let mut wire = call(&rig, &session, "1").start(&rig).await;
        let mut exchange = rig.hub.next().await;
        // More than the outbox takes: some of it is dropped, the end is not.
        let text = "x".repeat(64 << 10);
        for _ in 0..200 {
            exchange.log(frame::Level::Error, &text);
        }
        exchange.result("{}");
        wire.begin().await;
        let mut seen = 0;
        loop {
            let message = wire.message().await;
            if message["id"] == 1 {
                break;
            }
            seen += 1;
        }
        assert!((60..200).contains(&seen), "{seen}");
        assert_eq!(wire.event().await, None);
    });
}

//! 2026-07-28: stateless POSTs.

use super::*;
use crate::link::SendFault;
use frame::Rope;

fn modern<F: Future<Output = ()>>(limits: HttpLimits, story: impl Fn(Setup) -> F) {
    both(limits, |setup| {
        setup.link.set_version(Version::V2026);
        story(setup)
    });
}

#[test]
fn a_call_carries_its_headers_and_gets_its_answer() {
    modern(quick(), |setup| async move {
        let text: Rope = "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\"}".into();
        let headers = [("Mcp-Param-Region".to_owned(), "eu".to_owned())];
        let message = Message {
            id: Some(7),
            method: "tools/call",
            name: Some("größe"),
            headers: &headers,
            text: Text::Whole(&text),
        };
        setup.link.send(&message).unwrap();
        let call = setup.fake.next().await;
        let table = [
            ("mcp-protocol-version", Some("2026-07-28")),
            ("mcp-method", Some("tools/call")),
            ("mcp-param-region", Some("eu")),
            ("mcp-session-id", None),
            ("authorization", Some("bearer secret-token")),
            ("accept", Some("application/json, text/event-stream")),
            ("accept-encoding", Some("identity")),
            ("content-type", Some("application/json")),
            ("transfer-encoding", None),
        ];
        for (name, expect) in table {
            assert_eq!(call.field(name), expect, "{name}");
        }
        assert!(call.field("mcp-name").unwrap().starts_with("=?base64?"));
        assert!(call.field("user-agent").unwrap().starts_with("callgate/"));
        assert_eq!(call.field("host").unwrap(), setup.fake.address.to_string());
        assert_eq!(call.head.matches("\r\nhost:").count(), 1);
        assert!(call.head.starts_with("post /mcp?key=secret-in-url http/1.1"));
        assert_eq!(call.body.as_bytes(), &text.join()[..]);
        call.json("Mcp-Session-Id: ignored\r\n", &result(7)).await;
        assert_eq!(setup.ear.next().await, Told::Message(result(7), Some(7)));
        setup.ask(8, "tools/list");
        let call = setup.fake.next().await;
        assert_eq!(call.field("mcp-session-id"), None);
        call.json("", &format!("\n{}\n", result(8))).await;
        assert_eq!(setup.ear.next().await, Told::Message(format!("\n{}\n", result(8)), Some(8)));
    });
}

#[test]
fn a_stream_keeps_its_order_in_whatever_pieces_it_comes() {
    modern(quick(), |setup| async move {
        setup.ask(1, "tools/call");
        let mut call = setup.fake.next().await;
        call.stream("").await;
        let progress = |n: u32| {
            format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{{\"progress\":{n}}}}}")
        };
        let all: String = (0..5).map(|n| format!(": note\n{}", event(&progress(n)))).collect();
        for byte in (all + "event: ping\ndata: {}\n\n" + &event(&result(1))).into_bytes() {
            call.write([byte]).await;
            tokio::task::yield_now().await;
        }
        for n in 0..5 {
            assert_eq!(setup.ear.next().await, Told::Message(progress(n), Some(1)));
        }
        assert_eq!(setup.ear.next().await, Told::Message(result(1), Some(1)));
    });
}

#[test]
fn errors_in_refusals_reach_the_caller_under_its_id() {
    modern(quick(), |setup| async move {
        let table = [
            ("400 Bad Request", r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"v"}}"#, "-32022"),
            (
                "404 Not Found",
                r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32601,"message":"m"}}"#,
                "-32601",
            ),
            ("500 Oops", r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32603,"message":"i"}}"#, "-32603"),
        ];
        for (status, body, code) in table {
            setup.ask(1, "server/discover");
            setup.fake.next().await.answer(status, "content-type: application/json\r\n", body).await;
            let Told::Message(text, Some(1)) = setup.ear.next().await else { panic!("{status}") };
            assert!(text.contains("\"id\":1,") && text.contains(code), "{text}");
        }
    });
}

#[test]
fn abandoning_closes_the_stream() {
    modern(quick(), |setup| async move {
        setup.ask(1, "tools/call");
        let silent = setup.fake.next().await;
        setup.link.abandon(1);
        silent.left().await;
        setup.ask(2, "tools/call");
        let mut streaming = setup.fake.next().await;
        streaming.stream("").await;
        streaming.write(event("{\"jsonrpc\":\"2.0\",\"method\":\"m\"}")).await;
        assert!(matches!(setup.ear.next().await, Told::Message(_, Some(2))));
        setup.link.abandon(2);
        streaming.left().await;
        assert!(setup.ear.is_empty());
    });
}

#[test]
fn more_than_may_run_waits_in_order_and_then_is_refused() {
    let limits = HttpLimits { max_running: 2, max_waiting: 3, ..quick() };
    modern(limits, |setup| async move {
        (1..=5).for_each(|id| setup.ask(id, "tools/call"));
        let text: Rope = "{}".into();
        let message = Message { id: Some(6), method: "tools/call", name: None, headers: &[], text: Text::Whole(&text) };
        assert_eq!(setup.link.send(&message), Err(SendFault::Full));
        let first = setup.fake.next().await;
        let _second = setup.fake.next().await;
        setup.link.abandon(3);
        first.json("", &result(1)).await;
        assert_eq!(setup.ear.next().await, Told::Message(result(1), Some(1)));
        let third = setup.fake.next().await;
        assert!(third.body.contains("\"id\":4"), "{}", third.body);
        // Two hang, but a notification gets through.
        setup.notify("notifications/roots/list_changed", "{}");
        setup.fake.next().await.answer("202 Accepted", "", "").await;
        setup.link.abandon(2);
        assert!(setup.fake.next().await.body.contains("\"id\":5"));
    });
}

#[test]
fn a_broken_stream_is_not_resumed() {
    modern(quick(), |setup| async move {
        setup.ask(1, "tools/call");
        let mut call = setup.fake.next().await;
        call.stream("").await;
        call.write("id: 4\nretry: 1\ndata:\n\ndata: {\"jsonrpc\"").await;
        drop(call);
        let (id, why, sent) = setup.ear.failure().await;
        assert_eq!((id, sent), (1, true), "{why}");
        // Were it resumed, a GET would come before this.
        setup.ask(2, "tools/call");
        assert_eq!(setup.fake.next().await.verb(), "post");
    });
}

#[test]
fn a_connection_is_used_again_after_a_whole_answer() {
    modern(quick(), |setup| async move {
        setup.ask(1, "tools/list");
        let mut call = setup.fake.next().await;
        for id in 1..4 {
            let body = result(id);
            let length = body.len();
            call.write(format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
            ))
            .await;
            assert_eq!(setup.ear.next().await, Told::Message(result(id), Some(id)));
            setup.ask(id + 1, "tools/list");
            call = Call::on(call.stream).await;
        }
        // And after a stream, once that has ended.
        let chunk = event(&result(4));
        let stream = format!(
            "content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{chunk}\r\n0\r\n\r\n",
            chunk.len()
        );
        call.write(format!("HTTP/1.1 200 OK\r\n{stream}")).await;
        assert_eq!(setup.ear.next().await, Told::Message(result(4), Some(4)));
        tokio::task::yield_now().await;
        setup.ask(5, "tools/list");
        assert!(Call::on(call.stream).await.body.contains("\"id\":5"));
    });
}

#[test]
fn closing_ends_everything_and_says_so() {
    modern(quick(), |setup| async move {
        setup.ask(1, "tools/call");
        let call = setup.fake.next().await;
        setup.link.close();
        call.left().await;
        assert_eq!(setup.ear.next().await, Told::Closed);
        let text: Rope = "{}".into();
        let message = Message { id: Some(2), method: "ping", name: None, headers: &[], text: Text::Whole(&text) };
        assert_eq!(setup.link.send(&message), Err(SendFault::Closed));
    });
}

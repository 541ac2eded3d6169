//! Up to 2025-11-25: sessions, the session's stream, resumption.

use super::*;

#[test]
fn a_session_begins_and_ends() {
    both(quick(), |setup| async move {
        let get = setup.initialize(1, "s1").await;
        get.answer("405 Method Not Allowed", "", "").await;
        setup.ask(2, "tools/list");
        let call = setup.fake.next().await;
        assert_eq!(call.field("mcp-session-id"), Some("s1"));
        assert_eq!(call.field("mcp-protocol-version"), Some("2025-11-25"));
        assert_eq!(call.field("mcp-method"), None);
        call.json("", &result(2)).await;
        assert_eq!(setup.ear.next().await, Told::Message(result(2), Some(2)));
        assert!(setup.link.has_session());
        setup.link.close();
        let delete = setup.fake.next().await;
        assert_eq!((delete.verb(), delete.field("mcp-session-id")), ("delete", Some("s1")));
        delete.answer("200 OK", "", "").await;
        assert_eq!(setup.ear.next().await, Told::Closed);
    });
}

#[test]
fn nothing_overtakes_the_beginning() {
    both(quick(), |setup| async move {
        setup.ask(1, "initialize");
        let call = setup.fake.next().await;
        setup.link.set_version(Version::V2025Jun);
        setup.notify("notifications/initialized", "{}");
        setup.ask(2, "tools/list");
        let mut stream = call;
        stream.stream("Mcp-Session-Id: s1\r\n").await;
        stream.write(event(&result(1))).await;
        drop(stream);
        assert_eq!(setup.ear.next().await, Told::Message(result(1), Some(1)));
        let call = setup.fake.next().await;
        assert!(call.body.contains("notifications/initialized"), "{}", call.body);
        call.answer("202 Accepted", "", "").await;
        // The list and the session's stream, in either order.
        let calls = [setup.fake.next().await, setup.fake.next().await];
        assert!(calls.iter().any(|call| call.body.contains("tools/list")));
        assert!(calls.iter().all(|call| call.field("mcp-session-id") == Some("s1")));
    });
}

#[test]
fn the_sessions_stream_is_opened_again_after_its_last_event() {
    both(quick(), |setup| async move {
        let mut get = setup.initialize(1, "s1").await;
        get.stream("").await;
        let note = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}";
        get.write(format!("id: e7\nretry: 5\n{}", event(note))).await;
        assert_eq!(setup.ear.next().await, Told::Message(note.into(), None));
        drop(get);
        let again = setup.fake.next().await;
        assert_eq!((again.verb(), again.field("last-event-id")), ("get", Some("e7")));
        again.answer("503 Service Unavailable", "", "").await;
        let mut again = setup.fake.next().await;
        assert_eq!(again.field("last-event-id"), Some("e7"));
        again.stream("").await;
        again.write(event(note)).await;
        assert_eq!(setup.ear.next().await, Told::Message(note.into(), None));
    });
}

#[test]
fn a_broken_answer_is_resumed_after_its_last_event() {
    both(quick(), |setup| async move {
        let _get = setup.initialize(1, "s1").await;
        setup.ask(2, "tools/call");
        let mut call = setup.fake.next().await;
        call.stream("").await;
        call.write("id: p1\nretry: 20\ndata:\n\n").await;
        drop(call);
        let again = setup.fake.next().await;
        assert_eq!(
            (again.verb(), again.field("last-event-id"), again.field("mcp-session-id")),
            ("get", Some("p1"), Some("s1"))
        );
        drop(again);
        let mut again = setup.fake.next().await;
        again.stream("").await;
        again.write(format!("id: p2\n{}", event(&result(2)))).await;
        assert_eq!(setup.ear.next().await, Told::Message(result(2), Some(2)));
    });
}

#[test]
fn a_broken_answer_without_event_ids_fails_at_once() {
    both(quick(), |setup| async move {
        let _get = setup.initialize(1, "s1").await;
        setup.ask(2, "tools/call");
        let mut call = setup.fake.next().await;
        call.stream("").await;
        call.write("data: {\"jsonrpc\"").await;
        drop(call);
        assert_eq!(setup.ear.failure().await, (2, "the stream ended before the answer".into(), true));
    });
}

#[test]
fn a_forgotten_session_is_told_once_and_calls_are_surely_not_run_where_the_server_says_so() {
    let table = [
        ("404 Not Found", "gone", true),
        ("404 Not Found", "Session not found", false),
        ("400 Bad Request", "the shell has no such Session", true),
        ("400 Bad Request", "Bad Request: No valid session ID provided", false),
    ];
    for (status, body, may_have_run) in table {
        both(quick(), |setup| async move {
            let _get = setup.initialize(1, "s1").await;
            setup.ask(2, "tools/call");
            setup.fake.next().await.json("", &result(2)).await;
            assert_eq!(setup.ear.next().await, Told::Message(result(2), Some(2)));
            (3..6).for_each(|id| setup.ask(id, "tools/call"));
            let calls = [setup.fake.next().await, setup.fake.next().await, setup.fake.next().await];
            for call in calls {
                call.answer(status, "", body).await;
            }
            assert_eq!(setup.ear.next().await, Told::SessionLost);
            let mut failed = Vec::new();
            for _ in 3..6 {
                let (id, why, sent) = setup.ear.failure().await;
                let expect = if may_have_run { body } else { "the server has forgotten the session" };
                assert!(why.contains(expect) && sent == may_have_run, "{why} {sent}");
                failed.push(id);
            }
            failed.sort_unstable();
            assert_eq!(failed, [3, 4, 5]);

            // On the new session the same answer is an error, not one more beginning.
            let _get = setup.initialize(6, "s2").await;
            setup.ask(7, "tools/call");
            let call = setup.fake.next().await;
            assert_eq!(call.field("mcp-session-id"), Some("s2"));
            call.answer(status, "", body).await;
            let (id, why, _) = setup.ear.failure().await;
            assert!(id == 7 && why.contains(body), "{why}");
            assert!(setup.ear.is_empty());
        });
    }
}

#[test]
fn a_cancellation_never_overtakes_its_request() {
    let limits = HttpLimits { max_running: 1, ..quick() };
    both(limits, |setup| async move {
        setup.link.set_version(Version::V2025Jun);
        setup.ask(1, "tools/call");
        setup.ask(2, "tools/call");
        setup.notify("notifications/cancelled", "{\"requestId\":1}");
        // The second has not left: both it and its cancellation are dropped.
        setup.notify("notifications/cancelled", "{\"requestId\":2}");
        let call = setup.fake.next().await;
        assert!(call.body.contains("\"id\":1"), "{}", call.body);
        let cancel = setup.fake.next().await;
        assert!(cancel.body.contains("\"requestId\":1"), "{}", cancel.body);
        setup.link.abandon(1);
        call.left().await;
        setup.ask(3, "tools/call");
        assert!(setup.fake.next().await.body.contains("\"id\":3"));
    });
}

#[test]
fn a_batch_is_split() {
    both(quick(), |setup| async move {
        setup.link.set_version(Version::V2025Mar);
        setup.ask(1, "tools/list");
        let note = "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}";
        setup.fake.next().await.json("", &format!("[{note}, {}]", result(1))).await;
        assert_eq!(setup.ear.next().await, Told::Message(note.into(), Some(1)));
        assert_eq!(setup.ear.next().await, Told::Message(result(1), Some(1)));
    });
}

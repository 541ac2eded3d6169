//! Servers that are broken, hostile or elsewhere.

use super::*;
use crate::http::{FailureKind, NEEDS_SIGN_IN};

const JSON: &str = "content-type: application/json\r\n";

#[test]
fn what_is_no_answer_is_said_in_plain_words() {
    both(quick(), |setup| async move {
        setup.link.set_version(Version::V2026);
        let table = [
            (
                "200 OK",
                "content-type: text/html\r\n",
                "<h1>\x1b[1mlog in</h1>",
                "neither JSON nor an event stream: <h1>\\u{1b}[1mlog in</h1>",
                true,
            ),
            ("200 OK", "", "", "gave no answer", true),
            ("202 Accepted", "", "", "gave no answer", true),
            ("200 OK", JSON, "{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}", "not the answer", true),
            ("200 OK", "content-type: application/json\r\ncontent-encoding: gzip\r\n", "\x1f", "compressed", true),
            ("500 Oops", "content-type: text/plain\r\n", "stack trace", "500 Internal Server Error: stack trace", true),
            (
                "404 Not Found",
                JSON,
                "{\"error\":\"nothing here\"}",
                "404 Not Found: {\"error\":\"nothing here\"}",
                true,
            ),
            ("302 Found", "location: /login\r\n", "", "answered 302 instead", true),
            ("303 See Other", "location: /done\r\n", "", "answered 303 instead", true),
            ("307 Temporary", "location: http://elsewhere.example/\r\n", "", "not followed", false),
            ("405 Method Not Allowed", "", "", "405 Method Not Allowed", false),
            ("429 Too Many", "", "slower", "429 Too Many Requests: slower", true),
        ];
        for (status, fields, body, part, may_have_run) in table {
            setup.ask(1, "tools/call");
            setup.fake.next().await.answer(status, fields, body).await;
            loop {
                match setup.ear.next().await {
                    Told::Failed(1, why, sent) => {
                        assert!(why.contains(part) && sent == may_have_run, "{status}: {why} {sent}");
                        assert!(!why.contains("secret"), "{why}");
                        break;
                    }
                    Told::Message(..) => {}
                    other => panic!("{other:?}"),
                }
            }
        }
    });
}

#[test]
fn a_broken_answer_is_noise_and_still_ends_its_call() {
    both(quick(), |setup| async move {
        setup.link.set_version(Version::V2026);
        setup.ask(1, "tools/call");
        let mut call = setup.fake.next().await;
        call.stream("").await;
        call.write(event("hello") + &event("{\"id\":1,\"result\":{}}")).await;
        assert_eq!(setup.ear.next().await, Told::Noise("hello".into()));
        assert_eq!(setup.ear.next().await, Told::Noise("{\"id\":1,\"result\":{}}".into()));
        assert_eq!(setup.ear.failure().await, (1, "the answer is no JSON-RPC message".into(), true));
    });
}

#[test]
fn signing_in_is_asked_for_and_the_challenge_kept() {
    both(quick(), |setup| async move {
        setup.link.set_version(Version::V2026);
        setup.ask(1, "tools/call");
        let challenge = "WWW-Authenticate: Bearer resource_metadata=\"https://x/meta\"\r\n";
        setup.fake.next().await.answer("401 Unauthorized", challenge, "{}").await;
        assert_eq!(setup.ear.failure().await, (1, NEEDS_SIGN_IN.into(), false));
        assert_eq!(setup.link.failure(), Some(FailureKind::SignIn));
        assert_eq!(setup.link.challenge().as_deref(), Some("Bearer resource_metadata=\"https://x/meta\""));
    });
}

#[test]
fn a_redirect_never_carries_anything_to_another_origin() {
    both(quick(), |setup| async move {
        setup.link.set_version(Version::V2026);
        let canary = Fake::new().await;
        let statuses = [
            ("307 Temporary Redirect", false),
            ("308 Permanent Redirect", false),
            ("302 Found", true),
            ("303 See Other", true),
        ];
        for (status, may_have_run) in statuses {
            setup.ask(1, "tools/call");
            let location = format!("location: http://{}/steal?token=secret\r\n", canary.address);
            setup.fake.next().await.answer(status, &location, "").await;
            let (_, why, sent) = setup.ear.failure().await;
            assert!(!why.contains("secret") && !why.contains("steal") && sent == may_have_run, "{why}");
        }
        // At home it is followed, with everything.
        setup.ask(2, "tools/call");
        let first = setup.fake.next().await;
        let body = first.body.clone();
        first.answer("307 Temporary Redirect", "location: /v2\r\n", "").await;
        let second = setup.fake.next().await;
        assert!(second.head.starts_with("post /v2 ") && second.body == body);
        assert_eq!(second.field("authorization"), Some("bearer secret-token"));
        second.json("", &result(2)).await;
        assert_eq!(setup.ear.next().await, Told::Message(result(2), Some(2)));
        // And not for ever.
        setup.ask(3, "tools/call");
        for _ in 0..6 {
            setup.fake.next().await.answer("307 Temporary Redirect", "location: /mcp\r\n", "").await;
        }
        assert_eq!(setup.ear.failure().await, (3, "the server redirects in a circle".into(), false));
        let reached = tokio::time::timeout(Duration::from_millis(20), canary.listener.accept()).await;
        assert!(reached.is_err(), "the canary heard something");
    });
}

#[test]
fn bodies_and_events_are_bounded() {
    both(quick(), |setup| async move {
        setup.link.set_version(Version::V2026);
        // Announced.
        setup.ask(1, "tools/call");
        let mut call = setup.fake.next().await;
        call.write(format!("HTTP/1.1 200 OK\r\n{JSON}content-length: 100000000\r\n\r\n")).await;
        let (id, why, sent) = setup.ear.failure().await;
        assert!(id == 1 && sent && why.contains("at most 100000"), "{why}");
        call.left().await;
        // Unannounced, without end: a body, one event, one line of it, and the head.
        let head = |kind: &str| format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: {kind}\r\n\r\n");
        let table = [
            (head("application/json"), "[0,".to_owned() + &"0,".repeat(5000)),
            (head("text/event-stream"), format!("data: {}\n", "x".repeat(10_000))),
            (head("text/event-stream"), "x".repeat(10_000)),
            ("HTTP/1.1 200 OK\r\nx-long: ".to_owned(), "x".repeat(10_000)),
        ];
        for (start, piece) in table {
            setup.ask(2, "tools/call");
            let mut call = setup.fake.next().await;
            call.write(start).await;
            let flood = async { while call.stream.write_all(piece.as_bytes()).await.is_ok() {} };
            let ((id, why, sent), ()) = tokio::join!(setup.ear.failure(), flood);
            assert!(id == 2 && sent, "{why}");
        }
    });
}

#[test]
fn one_byte_at_a_time_ends_when_nobody_waits_any_more() {
    both(quick(), |setup| async move {
        setup.link.set_version(Version::V2026);
        setup.ask(1, "tools/call");
        let mut call = setup.fake.next().await;
        call.write(format!("HTTP/1.1 200 OK\r\n{JSON}content-length: 90000\r\n\r\n{{")).await;
        // Others are not held up by it.
        setup.ask(2, "tools/call");
        setup.fake.next().await.json("", &result(2)).await;
        assert_eq!(setup.ear.next().await, Told::Message(result(2), Some(2)));
        setup.link.abandon(1);
        call.left().await;
        assert!(setup.ear.is_empty());
    });
}

#[test]
fn a_million_empty_events_hold_nobody_up() {
    both(quick(), |setup| async move {
        setup.link.set_version(Version::V2026);
        setup.ask(1, "tools/call");
        let mut call = setup.fake.next().await;
        call.stream("").await;
        for _ in 0..1000 {
            call.write("data\n\n".repeat(1000)).await;
        }
        call.write(event(&result(1))).await;
        assert_eq!(setup.ear.next().await, Told::Message(result(1), Some(1)));
    });
}

#[test]
fn a_request_that_never_left_is_said_to_be_unsent() {
    both(quick(), |setup| async move {
        setup.link.set_version(Version::V2026);
        let Setup { fake, ear, link } = setup;
        let origin = format!("http://{}", fake.address);
        drop(fake.listener);
        let text = "{}".into();
        link.send(&Message { id: Some(1), method: "tools/call", name: None, headers: &[], text: Text::Whole(&text) })
            .unwrap();
        assert_eq!(ear.failure().await, (1, format!("{origin} refused the connection"), false));
        assert_eq!(link.failure(), Some(FailureKind::Unreachable));
    });
}

#[test]
fn a_connection_cut_before_the_answer_leaves_it_open_whether_the_call_ran() {
    both(quick(), |setup| async move {
        setup.link.set_version(Version::V2026);
        setup.ask(1, "tools/call");
        drop(setup.fake.next().await);
        let (_, why, sent) = setup.ear.failure().await;
        assert!(sent && why.contains("broke"), "{why}");
        setup.ask(2, "tools/call");
        setup.fake.next().await.write("SSH-2.0-OpenSSH_9.2\r\n").await;
        let (_, why, sent) = setup.ear.failure().await;
        assert!(sent, "{why}");
    });
}

#[test]
fn tls_and_names_fail_in_plain_words() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let fake = Fake::new().await;
        let ear: Rc<Ear> = Rc::default();
        let ask = |url: &str| {
            let link = HttpLink::new(url, &fields(), PlainHttp::Loopback, quick(), ear.clone()).unwrap();
            let text = "{}".into();
            link.send(&Message {
                id: Some(1),
                method: "tools/call",
                name: None,
                headers: &[],
                text: Text::Whole(&text),
            })
            .unwrap();
            link
        };
        let _link = ask(&format!("https://{}/?key=secret", fake.address));
        let (mut peer, _) = fake.listener.accept().await.unwrap();
        peer.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        let (_, why, sent) = ear.failure().await;
        assert!(why.contains("TLS problem") && !why.contains("secret") && !sent, "{why}");

        let _link = ask("https://no-such-name.invalid/?key=secret");
        let (_, why, sent) = ear.failure().await;
        assert_eq!(
            (&*why, sent),
            ("https://no-such-name.invalid: the name no-such-name.invalid cannot be looked up", false)
        );
    });
}

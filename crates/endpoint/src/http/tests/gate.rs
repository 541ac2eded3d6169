//! Who is let in, and the order of the checks.

use super::super::Bounds;
use super::rig::{MAX_BODY, Req, Rig, Tokens, Wire, initialize, modern, rpc, run, token};
use ::hub::agent::View;

/// Every path, those that do not exist included.
const PATHS: [&str; 7] = ["/mcp", "/mcp/s/files", "/mcp/p/small", "/health", "/metrics", "/", "/op/status"];

/// Sends these headers to every path and sees the same refusal, although the token is right.
async fn refused(rig: &Rig, fields: &[(&str, &str)], status: u16) {
    for path in PATHS {
        for method in ["POST", "GET", "DELETE", "OPTIONS"] {
            let res = Req::new(rig, method, path).withs(fields).send(rig).await;
            assert_eq!(res.status, status, "{method} {path} {fields:?}");
            let allows: Vec<_> = res.fields.keys().filter(|name| name.starts_with("access-control")).collect();
            assert!(allows.is_empty(), "{allows:?}");
        }
    }
    assert!(rig.hub.asked.borrow().is_empty() && rig.hub.joined.borrow().is_empty(), "{fields:?}");
}

#[test]
fn names_that_are_not_this_door_are_refused_on_every_path() {
    run(Bounds::default(), async |rig| {
        let port = rig.port;
        for host in [
            "evil.example:PORT",
            "evil.example",
            "localhost.evil.example:PORT",
            "localhost.:PORT",
            "127.0.0.1.:PORT",
            "127.0.0.1",
            "localhost",
            "127.0.0.1:1",
            "127.0.0.1:0PORT",
            "127.0.0.2:PORT",
            "0.0.0.0:PORT",
            "[::]:PORT",
            "[::ffff:127.0.0.1]:PORT",
            "::1:PORT",
            "2130706433:PORT",
            "0x7f.1:PORT",
            "user@127.0.0.1:PORT",
            "127.0.0.1:PORT, evil.example",
            "",
            "-",
        ] {
            refused(&rig, &[("Host", &host.replace("PORT", &port.to_string()))], 403).await;
        }
        let own = format!("127.0.0.1:{port}");
        refused(&rig, &[("Host", &own), ("Host", &own)], 403).await;
        refused(&rig, &[("Host", &own), ("Host", "evil.example")], 403).await;
    });
}

#[test]
fn a_request_for_a_proxy_is_refused() {
    run(Bounds::default(), async |rig| {
        let res = Req::new(&rig, "GET", &format!("http://127.0.0.1:{}/mcp", rig.port)).send(&rig).await;
        assert_eq!(res.status, 403);
        let res = Req::new(&rig, "GET", "http://evil.example/mcp").send(&rig).await;
        assert_eq!(res.status, 403);
    });
}

#[test]
fn our_own_names_are_let_in() {
    run(Bounds::default(), async |rig| {
        for name in ["127.0.0.1", "localhost", "LocalHost", "[::1]"] {
            let host = format!("{name}:{}", rig.port);
            for origin in [None, Some(format!("http://{host}"))] {
                let req = modern(&rig, "1", "tools/list", "").with("Host", &host);
                let req = origin.iter().fold(req, |req, origin| req.with("Origin", origin));
                assert_eq!(req.send(&rig).await.status, 200, "{host} {origin:?}");
            }
        }
        for site in ["none", "same-origin"] {
            let res = modern(&rig, "1", "tools/list", "").with("Sec-Fetch-Site", site).send(&rig).await;
            assert_eq!(res.status, 200, "{site}");
        }
    });
}

#[test]
fn pages_of_other_sites_are_refused_on_every_path() {
    run(Bounds::default(), async |rig| {
        let own = format!("http://127.0.0.1:{}", rig.port);
        for origin in [
            "https://evil.example".to_owned(),
            "null".to_owned(),
            String::new(),
            "http://127.0.0.1".to_owned(),
            format!("https://127.0.0.1:{}", rig.port),
            format!("{own}/"),
            format!("{own}.evil.example"),
            "http://127.0.0.1:1".to_owned(),
            "file://".to_owned(),
        ] {
            refused(&rig, &[("Origin", &origin)], 403).await;
        }
        refused(&rig, &[("Origin", &own), ("Origin", &own)], 403).await;
        refused(&rig, &[("Sec-Fetch-Site", "cross-site")], 403).await;
        refused(&rig, &[("Sec-Fetch-Site", "same-site")], 403).await;
        refused(&rig, &[("Sec-Fetch-Site", "none"), ("Sec-Fetch-Site", "none")], 403).await;
        let upgrade = [("Origin", "https://evil.example"), ("Connection", "Upgrade"), ("Upgrade", "websocket")];
        refused(&rig, &upgrade, 403).await;
        let preflight = Req::new(&rig, "OPTIONS", "/mcp").with("Access-Control-Request-Method", "POST");
        let res = preflight.with("Origin", &own).with("Authorization", "-").send(&rig).await;
        assert_eq!((res.status, res.field("allow")), (403, None));
    });
}

#[test]
fn nothing_is_there_without_a_token() {
    run(Bounds::default(), async |rig| {
        for value in [
            "-",
            "",
            "Bearer",
            "Bearer ",
            "Bearer secret-cursoR",
            "Bearer secret-curso",
            "Bearer  secret-cursor",
            "Basic secret-cursor",
            "secret-cursor",
            "Bearersecret-cursor",
        ] {
            for path in PATHS {
                for method in ["POST", "GET", "DELETE"] {
                    let res = Req::new(&rig, method, path).with("Authorization", value).send(&rig).await;
                    assert_eq!((res.status, res.field("www-authenticate")), (401, Some("Bearer")), "{value} {path}");
                }
            }
        }
        let twice = [("Authorization", "Bearer secret-cursor"), ("Authorization", "Bearer secret-cursor")];
        assert_eq!(Req::post(&rig, "{}").withs(&twice).send(&rig).await.status, 401);
        let in_address = Req::post(&rig, "{}").at("/mcp?access_token=secret-cursor").with("Authorization", "-");
        assert_eq!(in_address.send(&rig).await.status, 401);
        assert!(rig.hub.joined.borrow().is_empty());
        let lower = modern(&rig, "1", "tools/list", "").with("Authorization", "bearer secret-zed");
        assert_eq!(lower.send(&rig).await.status, 200);
    });
}

#[test]
fn paths_methods_and_forms() {
    run(Bounds::default(), async |rig| {
        let rig = &rig;
        let status = async |method: &str, path: &str, fields: &[(&str, &str)]| {
            Req::new(rig, method, path).withs(fields).send(rig).await.status
        };
        for path in ["/", "/health", "/metrics", "/mcp/", "/mcp/s/nobody", "/mcp/p/nobody", "/mcp/s/%ff", "/sse"] {
            for method in ["POST", "GET", "DELETE", "PUT"] {
                assert_eq!(status(method, path, &[]).await, 404, "{method} {path}");
            }
        }
        assert_eq!(status("PUT", "/mcp", &[]).await, 405);
        assert_eq!(status("PATCH", "/mcp", &[]).await, 405);
        for kind in
            ["-", "", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/json2"]
        {
            assert_eq!(status("POST", "/mcp", &[("Content-Type", kind)]).await, 415, "{kind}");
        }
        let twice = [("Content-Type", "application/json"), ("Content-Type", "text/plain")];
        assert_eq!(status("POST", "/mcp", &twice).await, 415);
        assert_eq!(status("POST", "/mcp", &[("Content-Encoding", "gzip")]).await, 415);
        for accept in ["text/html", "image/*", "application/json;q=0, text/event-stream;q=0.0", ""] {
            assert_eq!(status("POST", "/mcp", &[("Accept", accept)]).await, 406, "{accept}");
        }
        assert_eq!(status("GET", "/mcp", &[("Accept", "application/json")]).await, 406);
        for (kind, accept) in [
            ("application/json; charset=utf-8", "-"),
            ("Application/JSON", "*/*"),
            ("application/json", "application/json"),
            ("application/json", "text/html, application/*;q=0.1"),
            ("application/json", "application/json;q=abc"),
        ] {
            let res = modern(rig, "1", "tools/list", "").with("Content-Type", kind).with("Accept", accept);
            assert_eq!(res.send(rig).await.status, 200, "{kind} {accept}");
        }
    });
}

#[test]
fn a_refused_request_is_answered_before_its_body_comes() {
    run(Bounds::default(), async |rig| {
        for (fields, status) in [
            (&[("Host", "evil.example")][..], 403),
            (&[("Authorization", "Bearer wrong")], 401),
            (&[("Content-Type", "text/plain")], 415),
        ] {
            let mut wire = Wire::open(&rig).await;
            let head = Req::new(&rig, "POST", "/mcp").withs(fields).with("Content-Length", "60000").head();
            wire.raw(&head).await;
            assert_eq!(wire.begin().await.status, status);
        }
    });
}

#[test]
fn a_body_over_the_bound_is_refused_and_the_door_goes_on() {
    run(Bounds::default(), async |rig| {
        let long = rpc("1", "tools/call", &format!(r#"{{"name":"{}"}}"#, "x".repeat(MAX_BODY)));
        assert_eq!(Req::post(&rig, long).send(&rig).await.status, 413);
        assert_eq!(modern(&rig, "1", "tools/list", "").send(&rig).await.status, 200);
        assert_eq!(rig.hub.asked.borrow().len(), 1);
    });
}

#[test]
fn a_client_is_who_its_token_says_and_its_token_goes_no_further() {
    run(Bounds::default(), async |rig| {
        let session = initialize(&rig, "2025-11-25").await;
        let call = Req::post(&rig, rpc("1", "tools/list", "{}")).with("Mcp-Session-Id", &session);
        assert_eq!(call.send(&rig).await.status, 200);
        let call =
            modern(&rig, "1", "tools/list", "").at("/mcp/s/my%20files").with("Authorization", "Bearer secret-zed");
        assert_eq!(call.send(&rig).await.status, 200);
        let joined = rig.hub.joined.borrow();
        let who: Vec<_> =
            joined.iter().map(|(who, view)| (&**who.who.name(), !who.who.is_verified(), who.transport, view)).collect();
        let one = View::Server("my files".into());
        assert_eq!(who, [("cursor", false, "http", &View::All), ("zed", false, "http", &one)]);
        assert!(!format!("{joined:?}").contains("secret"));
        drop(joined);
        assert!(!format!("{:?}", rig.hub.asked.borrow()).contains("secret"));
    });
}

#[test]
fn a_token_that_is_taken_away_ends_what_it_began() {
    run(Bounds::default(), async |rig| {
        let session = initialize(&rig, "2025-11-25").await;
        let get = Req::new(&rig, "GET", "/mcp").with("Mcp-Session-Id", &session);
        let mut stream = get.stream(&rig).await;
        let listen = modern(&rig, "1", "subscriptions/listen", r#","notifications":{"toolsListChanged":true}"#);
        let mut listening = listen.stream(&rig).await;
        listening.message().await;
        rig.door.set_tokens(Tokens::new(vec![token("zed")]));
        assert_eq!(stream.event().await, None);
        assert_eq!(listening.message().await["result"]["resultType"], "complete");
        assert_eq!(listening.event().await, None);
        assert_eq!(modern(&rig, "1", "tools/list", "").send(&rig).await.status, 401);
        assert_eq!(rig.hub.left.get(), 2);
    });
}

//! Who gets in, and what a request may look like.

use super::fake::Fake;
use operator::words::Nothing;
use operator::{ClientError, op};
use std::fs::{Permissions, set_permissions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use tokio::io::AsyncWriteExt;

/// Sends bytes from another thread and reads to the end of the answer.
async fn raw(socket: PathBuf, request: String) -> String {
    let sent = tokio::task::spawn_blocking(move || {
        let mut stream = UnixStream::connect(socket).unwrap();
        // The door may have answered and closed before everything was sent.
        let _ = stream.write_all(request.as_bytes());
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    });
    sent.await.unwrap()
}

fn post(path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}")
}

async fn check(fake: &Fake, request: String, status: &str, code: &str) {
    let answer = raw(fake.socket(), request.clone()).await;
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request:.200}\n{answer}");
    assert!(answer.contains(&format!("{{\"code\":\"{code}\",\"message\":\"")), "{request:.200}\n{answer}");
}

#[tokio::test]
async fn every_refusal_has_the_form_of_errors() {
    let fake = Fake::start();
    let json = "content-type: application/json\r\n";
    check(&fake, post("/op/approve", json, "{}"), "404", "unknown_operation").await;
    check(&fake, post("/op/status/x", json, "{}"), "404", "unknown_path").await;
    check(&fake, post("/mcp", json, "{}"), "404", "unknown_path").await;
    check(&fake, "GET /op/status HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".into(), "405", "wrong_method").await;
    check(&fake, post("/op/status", "", "{}"), "415", "wrong_content_type").await;
    check(&fake, post("/op/status", "content-type: text/plain\r\n", "{}"), "415", "wrong_content_type").await;
    check(&fake, post("/op/status", json, "{\"x\":1}"), "400", "bad_input").await;
    check(&fake, post("/op/server.add", json, &" ".repeat(1024 * 1024 + 1)), "413", "body_too_large").await;
    check(&fake, post("/op/status", json, &"[".repeat(100_000)), "400", "bad_input").await;
    fake.end().await;
}

#[tokio::test]
async fn neither_an_agents_token_nor_a_browser_opens_it() {
    let fake = Fake::start();
    let json = "content-type: application/json\r\n";
    for header in ["authorization: Bearer abc", "Origin: http://localhost:3000", "cookie: a=b"] {
        check(&fake, post("/op/status", &format!("{json}{header}\r\n"), "{}"), "403", "wrong_door").await;
    }
    let line = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n".to_owned();
    let answer = raw(fake.socket(), line).await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert!(!answer.contains("jsonrpc"));
    fake.end().await;
}

#[tokio::test]
async fn garbage_and_half_requests_harm_nobody() {
    let fake = Fake::start();
    let half = "POST /op/status HTTP/1.1\r\nhost: x\r\n";
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(200_000));
    for request in ["\0\0\0", half, &format!("{half}content-length: 5\r\n\r\n{{"), &long] {
        let mut stream = tokio::net::UnixStream::connect(fake.socket()).await.unwrap();
        // The door may close while the long one is still being sent.
        let _ = stream.write_all(request.as_bytes()).await;
    }
    fake.client.call::<op::Status>(&Nothing {}).await.unwrap();
    fake.end().await;
}

#[tokio::test]
async fn another_user_is_refused_even_at_an_open_socket() {
    if !rustix::process::geteuid().is_root() {
        return; // Nobody but root can become another user.
    }
    let fake = Fake::start();
    let stranger = |socket: PathBuf| {
        // A thread of its own, since the user is the thread's here and cannot be changed back.
        let thread = std::thread::spawn(move || {
            let nobody = rustix::process::Uid::from_raw(65534);
            rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            let mut stream = UnixStream::connect(socket)?;
            let _ = stream.write_all(post("/op/status", "content-type: application/json\r\n", "{}").as_bytes());
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer);
            Ok::<_, std::io::Error>(answer)
        });
        tokio::task::spawn_blocking(move || thread.join().unwrap())
    };
    let closed = stranger(fake.socket()).await.unwrap();
    assert_eq!(closed.unwrap_err().kind(), std::io::ErrorKind::PermissionDenied);
    for folder in [fake.home.path(), &fake.places.run] {
        set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    }
    set_permissions(fake.socket(), Permissions::from_mode(0o666)).unwrap();
    assert_eq!(stranger(fake.socket()).await.unwrap().unwrap(), b"", "not one byte is answered");
    fake.client.call::<op::Status>(&Nothing {}).await.unwrap();
    fake.end().await;
}

#[tokio::test]
async fn after_the_end_there_is_no_hub() {
    let fake = Fake::start();
    let (client, socket) = (fake.client.clone(), fake.socket());
    fake.end().await;
    assert!(!socket.exists());
    let error = client.call::<op::Status>(&Nothing {}).await.unwrap_err();
    assert!(matches!(error, ClientError::NoHub { .. }), "{error:?}");
}

//! Each operation, asked by the real client.

use super::fake::{Fake, server_view};
use bytes::Bytes;
use hub::operate::Event as Happening;
use operator::words::*;
use operator::{ClientError, Name, op};
use std::sync::Arc;

fn code(error: ClientError) -> String {
    match error {
        ClientError::Refused(problem) => problem.code,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn every_document_has_its_words() {
    let fake = Fake::start();
    let client = &fake.client;
    let status = client.call::<op::Status>(&Nothing {}).await.unwrap();
    assert_eq!((status.pid, status.servers[0].name.as_str()), (42, "notes"), "servers stand in order");
    let servers = client.call::<op::ServerList>(&Nothing {}).await.unwrap().servers;
    assert_eq!(servers, status.servers);
    let notes = ServerName { name: "notes".into() };
    assert_eq!(client.call::<op::ServerShow>(&notes).await.unwrap().launch, ["notes-mcp"]);
    assert_eq!(client.call::<op::ServerStop>(&notes).await.unwrap().state, ServerState::Stopped);
    assert_eq!(client.call::<op::ServerStart>(&notes).await.unwrap().state, ServerState::Ready);
    assert_eq!(client.call::<op::ServerRestart>(&notes).await.unwrap().state, ServerState::Ready);
    let all = client.call::<op::ToolList>(&ToolFilter::default()).await.unwrap().tools;
    let names: Vec<&str> = all.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["notes__add", "notes__find", "shop__add"], "by server and name");
    assert!(all[0].unusable.is_none() && all[2].unusable.is_some(), "{:?}", all[2].unusable);
    let some = client.call::<op::ToolList>(&ToolFilter { server: Some("shop".into()) }).await.unwrap().tools;
    assert_eq!(some[0].name, "shop__add");
    let tool = client.call::<op::ToolShow>(&ToolName { name: "find".into() }).await.unwrap();
    assert_eq!(
        (tool.tool.name.as_str(), tool.definition.get()),
        ("notes__find", "{\"name\":\"find\",\"x\":1.10,\"inputSchema\":{}}")
    );
    let paths = client.call::<op::ConfigPath>(&Nothing {}).await.unwrap();
    assert!(paths.config.ends_with("callgate.jsonc"));
    assert_eq!(client.call::<op::Stop>(&Nothing {}).await.unwrap().pid, std::process::id());
    fake.end().await;
}

#[tokio::test]
async fn arguments_and_results_pass_to_the_digit() {
    let fake = Fake::start();
    let arguments = "{\"b\": 9007199254740993, \"a\": 1.10, \"b\": 1e400}";
    let call = ToolCall { name: "t".into(), arguments: Raw::parse(arguments) };
    let result = fake.client.call::<op::ToolCall>(&call).await.unwrap();
    assert_eq!(result.outcome, CallOutcome::Done);
    assert_eq!(result.body.get(), format!("{{\"content\":[],\"tool\":\"t\",\"got\":{arguments}}}"));
    let call = ToolCall { name: "t".into(), arguments: None };
    assert!(fake.client.call::<op::ToolCall>(&call).await.unwrap().body.get().contains("\"got\":{}"));
    fake.end().await;
}

#[tokio::test]
async fn what_is_not_done_has_a_code() {
    let fake = Fake::start();
    let client = &fake.client;
    let nobody = ServerName { name: "nobody".into() };
    assert_eq!(code(client.call::<op::ServerShow>(&nobody).await.unwrap_err()), "unknown_server");
    assert_eq!(code(client.call::<op::ServerStart>(&nobody).await.unwrap_err()), "unknown_server");
    let filter = ToolFilter { server: Some("nobody".into()) };
    assert_eq!(code(client.call::<op::ToolList>(&filter).await.unwrap_err()), "unknown_server");
    assert_eq!(code(client.call::<op::ToolShow>(&ToolName { name: "x".into() }).await.unwrap_err()), "unknown_tool");
    assert_eq!(
        code(client.call::<op::ToolShow>(&ToolName { name: "add".into() }).await.unwrap_err()),
        "ambiguous_tool"
    );
    let asked = ServerLogs { name: "nobody".into(), lines: 1, tail: Tail::Last };
    assert_eq!(code(client.lines::<op::ServerLogs>(&asked).await.err().unwrap()), "unknown_server");
    for body in ["", "{", "[]", "{\"name\":1}", "{\"name\":\"notes\",\"force\":true}"] {
        let answer = client.send(Name::ServerShow, Bytes::from(body)).await;
        assert_eq!(code(answer.unwrap_err()), "bad_input", "{body}");
    }
    fake.end().await;
}

#[tokio::test]
async fn tokens_are_told_once() {
    let fake = Fake::start();
    let client = &fake.client;
    let name = |name: &str| TokenName { name: name.into(), pin: None };
    let token = client.call::<op::TokenAdd>(&name("ci")).await.unwrap().token;
    assert_eq!(code(client.call::<op::TokenAdd>(&name("ci")).await.unwrap_err()), "token_exists");
    assert_eq!(code(client.call::<op::TokenAdd>(&name("")).await.unwrap_err()), "bad_input");
    let listed = client.send(Name::TokenList, Bytes::new()).await.unwrap();
    let listed = String::from_utf8(listed.into()).unwrap();
    assert!(
        listed.starts_with("{\"tokens\":[{\"name\":\"ci\",\"created_ms\":") && !listed.contains(&token),
        "{listed}"
    );
    client.call::<op::TokenRemove>(&name("ci")).await.unwrap();
    assert_eq!(code(client.call::<op::TokenRemove>(&name("ci")).await.unwrap_err()), "unknown_token");
    fake.end().await;
}

#[tokio::test]
async fn logs_end_or_go_on() {
    let fake = Fake::start();
    let asked = LogFilter { lines: 2, tail: Tail::Last };
    let mut lines = fake.client.lines::<op::Logs>(&asked).await.unwrap();
    assert_eq!(lines.next().await.unwrap().unwrap().text, "Hub 2");
    assert_eq!(lines.next().await.unwrap().unwrap().text, "Hub 3");
    assert_eq!(lines.next().await.unwrap(), None);
    let unlogged = ServerLogs { name: "shop".into(), lines: 2, tail: Tail::Last };
    assert_eq!(fake.client.lines::<op::ServerLogs>(&unlogged).await.unwrap().next().await.unwrap(), None);

    let asked = ServerLogs { name: "notes".into(), lines: 1, tail: Tail::Follow };
    let mut lines = fake.client.lines::<op::ServerLogs>(&asked).await.unwrap();
    assert_eq!(lines.next().await.unwrap().unwrap().text, "Server(\"notes\") 3");
    fake.log.send(Arc::from("line \u{1b}[31m")).unwrap();
    assert_eq!(lines.next().await.unwrap().unwrap().text, "line \u{1b}[31m");
    fake.end().await;
    assert_eq!(lines.next().await.unwrap(), None, "the hub's end is the stream's proper end");
}

#[tokio::test]
async fn events_come_in_order_and_say_when_some_are_lost() {
    let fake = Fake::start();
    let mut events = fake.client.events().await.unwrap();
    fake.events.send(Happening::Server(server_view("notes"))).unwrap();
    let Some(Event::Server(server)) = events.next().await.unwrap() else { panic!() };
    assert_eq!(server.name, "notes");
    fake.events.send(Happening::Catalog).unwrap();
    assert_eq!(events.next().await.unwrap(), Some(Event::Catalog));
    // Without a wait between them the door cannot read along: its queue holds 4.
    for _ in 0..7 {
        fake.events.send(Happening::Clients).unwrap();
    }
    assert_eq!(events.next().await.unwrap(), Some(Event::Missed { count: 3 }));
    for _ in 0..4 {
        assert_eq!(events.next().await.unwrap(), Some(Event::Hosts));
    }
    fake.end().await;
    assert_eq!(events.next().await.unwrap(), None);
}

#[tokio::test]
async fn entries_are_written_all_or_none() {
    let fake = Fake::start();
    let client = &fake.client;
    let text = || std::fs::read_to_string(&fake.places.config).unwrap();
    let add = |name: Option<&str>, entry: &str| {
        let asked = ServerAdd { name: name.map(str::to_owned), entry: entry.into() };
        async move { client.call::<op::ServerAdd>(&asked).await }
    };
    let change = add(Some("a"), "{\"command\": \"a-mcp\", \"autoApprove\": [\"x\"]}").await.unwrap();
    assert_eq!(change.added, ["a"]);
    assert!(change.warnings[0].contains("autoApprove"), "{change:?}");
    assert!(text().contains("a-mcp"));
    assert_eq!(code(add(Some("a"), "{\"command\": \"b\"}").await.unwrap_err()), "server_exists");

    let before = text();
    let block = |second: &str| {
        format!("{{\"mcpServers\": {{\"b\": {{\"command\": \"b\"}}, \"{second}\": {{\"url\": \"http://h/\"}}}}}}")
    };
    assert_eq!(code(add(None, &block("a")).await.unwrap_err()), "server_exists");
    assert_eq!(code(add(Some("c"), "{\"command\": \"c\", \"comand\": 1}").await.unwrap_err()), "bad_config");
    assert_eq!(code(add(Some("c"), "nonsense").await.unwrap_err()), "bad_input");
    assert_eq!(text(), before, "what is refused leaves no trace");
    assert_eq!(add(None, &block("c")).await.unwrap().added, ["b", "c"]);

    let name = |name: &str| ServerName { name: name.into() };
    assert_eq!(client.call::<op::ServerDisable>(&name("b")).await.unwrap().changed, ["b"]);
    assert!(text().contains("\"disabled\": true"));
    assert_eq!(client.call::<op::ServerEnable>(&name("b")).await.unwrap().changed, ["b"]);
    assert!(!text().contains("\"disabled\": true"));
    let report = client.call::<op::ConfigCheck>(&Nothing {}).await.unwrap();
    assert_eq!((report.servers.len(), report.errors.len()), (3, 0));
    for server in ["a", "b", "c"] {
        assert_eq!(client.call::<op::ServerRemove>(&name(server)).await.unwrap().removed, [server]);
    }
    assert_eq!(code(client.call::<op::ServerRemove>(&name("a")).await.unwrap_err()), "unknown_server");
    std::fs::write(&fake.places.config, "{ \"mcpServers\": ").unwrap();
    assert_eq!(code(client.call::<op::ServerRemove>(&name("a")).await.unwrap_err()), "bad_config");
    assert_eq!(client.call::<op::ConfigCheck>(&Nothing {}).await.unwrap().errors.len(), 1);
    fake.end().await;
}

#[tokio::test]
async fn a_log_that_cannot_be_read_is_no_empty_log() {
    let fake = Fake::start();
    let gone = "audit_unavailable";
    assert_eq!(code(fake.client.call::<op::AuditVerify>(&Nothing {}).await.unwrap_err()), gone);
    assert_eq!(code(fake.client.lines::<op::AuditTail>(&AuditTail::default()).await.err().unwrap()), gone);
    fake.end().await;
}

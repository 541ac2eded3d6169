//! How tools and what they answer look.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::gate_tests::PIPE;
use super::{result, tools};
use operator::words::*;

#[test]
fn tools_and_results() {
    let tool = |name: &str, effect, about: Option<&str>| Tool {
        name: name.into(),
        server: "notes".into(),
        own_name: "add".into(),
        description: about.map(str::to_owned),
        effect,
        schema_hash: "sha256:1".into(),
        definition_hash: "sha256:2".into(),
        unusable: None,
        partly_checked: Vec::new(),
    };
    let add = tool("notes__add", Effect::Write, Some("Adds a note.\nSecond line."));
    let broken =
        Tool { unusable: Some("its pattern cannot be compiled".into()), ..tool("notes__x", Effect::Read, None) };
    let expect = "\
NAME        EFFECT  DESCRIPTION
notes__add  write   Adds a note.
notes__x    read    unusable: its pattern cannot be compiled

2 tools
";
    assert_eq!(tools::list(&[add.clone(), broken], &PIPE), expect);
    let definition = Raw::parse("{\"name\":\"add\",\"n\":1.10}").unwrap();
    let expect = "\
notes__add  write
  server      notes
  own name    add
  schema      sha256:1
  definition  sha256:2
  about       Adds a note.
              Second line.

{
  \"name\": \"add\",
  \"n\": 1.10
}
";
    assert_eq!(tools::detail(&ToolDetail { tool: add, definition }, &PIPE), expect);
    let check = |outcome, body: &str, expect: &str| {
        assert_eq!(result::result(&CallResult { outcome, body: Raw::parse(body).unwrap() }, &PIPE), expect);
    };
    use CallOutcome::*;
    check(Done, r#"{"content":[{"type":"text","text":"a\nb"},{"type":"text","text":"c\n"}]}"#, "a\nb\nc\n");
    check(
        Done,
        r#"{"content":[{"type":"image","mimeType":"image/png","data":"AAAA"}]}"#,
        "[image image/png, 3 bytes]\n",
    );
    check(Done, r#"{"content":[],"structuredContent":{"a":1}}"#, "{\n  \"a\": 1\n}\n");
    check(Done, r#"{"content":[]}"#, "The tool answered nothing.\n");
    check(RpcError, r#"{"code":-32602,"message":"no such thing"}"#, "error -32602 no such thing\n");
    check(
        ToolError,
        r#"{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"Which?"}}}}"#,
        "The tool asks its client for something first, which the command line cannot answer; it has not gone on.\n  a  \
         elicitation/create  Which?\n",
    );
}

#[test]
fn what_the_hub_answers_in_place_of_a_tool() {
    let check = |outcome, object: &str, expect: &str| {
        let body = format!("{{\"content\":[],\"_meta\":{{\"dev.callgate/outcome\":{object}}}}}");
        assert_eq!(result::result(&CallResult { outcome, body: Raw::parse(&body).unwrap() }, &PIPE), expect);
    };
    let object = r#"{"ok":false,"error":"invalid_arguments","message":"Not executed.","details":[
        {"path":"/txt","problem":"is not a known argument","allowed":["text","n"],"nearest":"text"},
        {"path":"/a/long/path","problem":"is missing","expected":"string"}],"call_id":"c-1"}"#;
    let expect = "\
invalid_arguments  Not executed.
  /txt        is not a known argument; allowed: text, n; nearest: text
  /a/long/path  is missing; expected string
  call        c-1
";
    check(CallOutcome::ToolError, object, expect);
    let object =
        r#"{"ok":false,"status":"pending","approval_id":"a-1","expires_at":"T","message":"Wait.","call_id":"c-2"}"#;
    let expect = "pending  Wait.\n  approval    a-1\n  expires     T\n  call        c-2\n";
    check(CallOutcome::Pending, object, expect);
}

//! Idempotency keys: whatever form a client gives one in, one key is one run; what is no key is refused, never ignored.

use serde_json::{Value, json};
use stories::{Client, Home};

/// A server with `place_order`, which takes a key of any kind, and the lines that its runs wrote.
struct Orders {
    home: Home,
}

impl Orders {
    fn new() -> Orders {
        let home = Home::new();
        let order = json!({
            "name": "place_order", "description": "Places an order.",
            "inputSchema": { "type": "object", "properties": { "n": {}, "idempotency_key": {} } },
        });
        std::fs::write(home.path("definitions.json"), json!({ "tools": [order] }).to_string()).unwrap();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/stories/changing.py");
        let paths = ["definitions.json", "lines"].map(|name| home.path(name).display().to_string());
        let entry = json!({ "command": "python3", "args": [script, &paths[0], &paths[1]] });
        home.configure(&json!({ "mcpServers": { "c": entry }, "policy": { "default": "allow" } }));
        Orders { home }
    }
    fn host(&self) -> Client {
        let mut client = self.home.stdio(&["--host", "cursor"]);
        client.initialize("2025-11-25");
        client.await_tool("c__place_order");
        client
    }
    fn runs(&self) -> usize {
        std::fs::read_to_string(self.home.path("lines")).unwrap_or_default().lines().count()
    }
}

fn order(client: &mut Client, arguments: &Value, meta: &Value) -> Value {
    let params = json!({ "name": "c__place_order", "arguments": arguments, "_meta": meta });
    client.result("tools/call", params)
}

fn code(result: &Value) -> &str {
    result["_meta"]["dev.callgate/outcome"]["error"].as_str().unwrap_or("ran")
}

const KEY: &str = "dev.callgate/idempotencyKey";

#[test]
fn a_key_in_arguments_that_are_json_text_is_that_key() {
    let orders = Orders::new();
    let _hub = orders.home.serve();
    let mut client = orders.host();
    let object = json!({ "n": 1, "idempotency_key": "order-1" });
    let none = json!({});
    for arguments in [json!(object.to_string()), json!(object.to_string()), object] {
        assert_eq!(code(&order(&mut client, &arguments, &none)), "ran");
        assert_eq!(orders.runs(), 1, "{arguments}");
    }
    let other = json!("{\"n\":2,\"idempotency_key\":\"order-1\"}");
    assert_eq!(code(&order(&mut client, &other, &none)), "idempotency_conflict");
    assert_eq!(orders.runs(), 1);
}

#[test]
fn a_key_that_is_an_integer_counts_null_is_none_and_anything_else_is_refused() {
    let orders = Orders::new();
    let _hub = orders.home.serve();
    let mut client = orders.host();
    let mut runs = 0;
    let mut check = |key: Value, expect: &str, more: usize| {
        for meta in [false, true] {
            let (arguments, meta) = match meta {
                true => (json!({ "n": 1 }), json!({ KEY: key })),
                false => (json!({ "n": 2, "idempotency_key": key }), json!({})),
            };
            for _ in 0..2 {
                let result = order(&mut client, &arguments, &meta);
                assert_eq!(code(&result), expect, "{key} {result}");
            }
            runs += more;
            assert_eq!(orders.runs(), runs, "{key} {meta}");
            // The next place of a key is another call.
            if more == 1 {
                return;
            }
        }
    };
    check(json!(5), "ran", 1);
    check(json!("5"), "ran", 1);
    check(json!(1e30), "invalid_arguments", 0);
    check(json!(5.5), "invalid_arguments", 0);
    check(json!(true), "invalid_arguments", 0);
    check(json!([1]), "invalid_arguments", 0);
    check(json!({ "a": 1 }), "invalid_arguments", 0);
    check(json!(""), "invalid_arguments", 0);
    check(json!("x".repeat(513)), "invalid_arguments", 0);
    check(Value::Null, "ran", 2);
}

#[test]
fn a_null_in_meta_hides_no_key_and_two_keys_that_differ_are_refused() {
    let orders = Orders::new();
    let _hub = orders.home.serve();
    let mut client = orders.host();
    let arguments = json!({ "n": 1, "idempotency_key": "A" });
    for meta in [json!({ KEY: null }), json!({ KEY: "A" }), json!({})] {
        assert_eq!(code(&order(&mut client, &arguments, &meta)), "ran");
        assert_eq!(orders.runs(), 1, "{meta}");
    }
    assert_eq!(code(&order(&mut client, &arguments, &json!({ KEY: "B" }))), "invalid_arguments");
    assert_eq!(orders.runs(), 1);
}

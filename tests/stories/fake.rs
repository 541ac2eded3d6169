//! The scripted server as a config entry.

use serde_json::{Value, json};

/// An entry that starts `fake.py` with these arguments.
pub fn fake(args: &[&str]) -> Value {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/stories/fake.py");
    let args = [&[script], args].concat();
    json!({ "command": "python3", "args": args })
}

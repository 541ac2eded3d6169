//! The hash of what a server is launched from, before anything is filled in: pins and the remembered era hang on it.

use super::settings::ServerConfig;
use contract::Hash;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Hash over command, arguments, names and unexpanded values of variables, address, folder. Headers and every other
/// setting are left out. The order of variables does not count.
pub fn launch_hash(server: &ServerConfig) -> Hash {
    let program = server.launch.program().map(|program| {
        let env: BTreeMap<&str, &str> =
            program.env.iter().map(|(name, value)| (name.as_str(), value.source())).collect();
        json!({
            "command": program.command.source(),
            "args": program.args.iter().map(|arg| arg.source()).collect::<Vec<_>>(),
            "env": env,
            "envFile": program.env_file.as_ref().map(|file| file.source()),
            "cwd": program.cwd.as_ref().map(|cwd| cwd.source()),
        })
    });
    let url = server.launch.address().map(|address| Value::from(address.url.source()));
    Hash::of(json!([server.launch.transport(), program, url]).to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::super::tests::server;
    use super::*;

    #[test]
    fn the_hash_names_what_is_launched_and_nothing_else() {
        let of = |entry: &str| launch_hash(&server(entry)).to_string();
        let plain = of(r#"{"command": "a", "args": ["b"], "env": {"A": "1", "B": "${B}"}}"#);
        // Stored hashes must stay valid: this text may only change together with a migration.
        assert_eq!(plain, "sha256:923a2a74e02154de76d804d13b03a2fd961f8d85ad53de4ee6bd6260c6ae3563");
        let same = |entry: &str| assert_eq!(of(entry), plain, "{entry}");
        same(r#"{"env": {"B": "${B}", "A": "1"}, "args": ["b"], "command": "a", "type": "stdio", "share": "host"}"#);
        same(r#"{"command": "a", "args": ["b"], "env": {"A": "1", "B": "${B}"}, "timeouts": {"callSeconds": 1}}"#);
        let other = |entry: &str| assert_ne!(of(entry), plain, "{entry}");
        other(r#"{"command": "a b", "env": {"A": "1", "B": "${B}"}}"#);
        other(r#"{"command": "a", "args": ["b", ""], "env": {"A": "1", "B": "${B}"}}"#);
        other(r#"{"command": "a", "args": ["b"], "env": {"A": "1", "B": "${B:-}"}}"#);
        other(r#"{"command": "a", "args": ["b"], "env": {"A": "1", "C": "${B}"}}"#);
        other(r#"{"command": "a", "args": ["b"], "env": {"A": "1", "B": "${B}"}, "cwd": "/"}"#);
        other(r#"{"command": "a", "args": ["b"], "env": {"A": "1", "B": "${B}"}, "url": "http://localhost/"}"#);
        assert_ne!(of(r#"{"url": "http://h/"}"#), of(r#"{"url": "http://h/x"}"#));
        assert_eq!(of(r#"{"url": "http://h/"}"#), of(r#"{"url": "http://h/", "headers": {"A": "b"}}"#));
    }
}

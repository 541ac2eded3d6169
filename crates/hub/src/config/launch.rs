//! The hash of what a server is launched from, before anything is filled in: pins and the remembered era hang on it.

use super::settings::ServerConfig;
use contract::Hash;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Hash over command, arguments, names and unexpanded values of variables, address, folder, and of what the file of
/// variables held, what may steer the program. Headers and every other setting are left out. The order of variables
/// does not count.
pub fn launch_hash(server: &ServerConfig) -> Hash {
    let program = server.launch.program().map(|program| {
        let env: BTreeMap<&str, &str> =
            program.env.iter().map(|(name, value)| (name.as_str(), value.source())).collect();
        let mut whole = json!({
            "command": program.command.source(),
            "args": program.args.iter().map(|arg| arg.source()).collect::<Vec<_>>(),
            "env": env,
            "envFile": program.env_file.as_ref().map(|file| file.source()),
            "cwd": program.cwd.as_ref().map(|cwd| cwd.source()),
        });
        // Without a file nothing is said of one: hashes of servers that have none stay valid.
        if let (Some(whole), Some(file)) = (whole.as_object_mut(), &program.variables) {
            let steers = file.steering().into_iter().filter(|(name, _)| !program.env.contains_key(*name));
            whole.insert("variables".into(), steers.map(|(name, value)| (name, Value::from(value))).collect());
        }
        whole
    });
    let url = server.launch.address().map(|address| Value::from(address.url.source()));
    Hash::of(json!([server.launch.transport(), program, url]).to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
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
        let file = |text: &str| {
            let read = super::super::env_file::parse(text).unwrap();
            let entry = server(r#"{"command": "a", "envFile": "/f", "env": {"B": "1"}}"#);
            launch_hash(&entry.with_variables(Some(read))).to_string()
        };
        let read = file("MODE=x\nAPI_TOKEN=one\nDB=postgres://u:pass-word-1@h/d\n");
        assert_eq!(
            file("DB=postgres://u:pass-word-2@h/d\nAPI_TOKEN=two\nMODE=x\nB=2\n"),
            read,
            "secrets, order, what `env` has"
        );
        for another in [
            "MODE=y\nAPI_TOKEN=one\nDB=postgres://u:pass-word-1@h/d\n",
            "MODE=x\nAPI_TOKEN=one\nDB=postgres://u:pass-word-1@other/d\n",
            "MODE=x\nAPI_TOKEN=one\nDB=postgres://u:other.host@other.hosth/d\n",
            "MODE=x\nDB=postgres://u:pass-word-1@h/d\n",
            "MODE=x\nAPI_TOKEN=one\nDB=postgres://u:pass-word-1@h/d\nNEW_TOKEN=one\n",
            "MODE=x\nAPI_TOKEN=one\nDB=postgres://u:pass-word-1@h/d\nGIT_ASKPASS=/x\n",
        ] {
            assert_ne!(file(another), read, "{another}");
        }
        assert_ne!(file("GIT_ASKPASS=/x"), file("GIT_ASKPASS=/y"));
        assert_ne!(file("GIT_CONFIG_KEY_0=/x"), file("GIT_CONFIG_KEY_0=/y"));
        assert_ne!(of(r#"{"url": "http://h/"}"#), of(r#"{"url": "http://h/x"}"#));
        assert_eq!(of(r#"{"url": "http://h/"}"#), of(r#"{"url": "http://h/", "headers": {"A": "b"}}"#));
    }
}

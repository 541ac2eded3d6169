//! `callgate server add`: from what was typed or pasted to an entry of the config.

use super::fault::Fault;
use crate::args::Add;
use operator::words::ServerAdd;
use serde_json::{Map, Value};
use std::io::Read;

/// Longest pasted block, in bytes.
const LONGEST_PASTE: u64 = 512 * 1024;

/// The entry, not yet judged: the hub does that.
pub fn entry(args: Add) -> Result<ServerAdd, Fault> {
    let entry = if args.json_entry { pasted(std::io::stdin().lock())? } else { typed(&args) };
    Ok(ServerAdd { name: args.name, entry })
}

fn pasted(from: impl Read) -> Result<String, Fault> {
    let mut text = String::new();
    from.take(LONGEST_PASTE + 1).read_to_string(&mut text).map_err(|cause| Fault::io("cannot read stdin", cause))?;
    if text.len() as u64 > LONGEST_PASTE {
        return Err(Fault::Usage(format!("what was pasted is longer than {LONGEST_PASTE} bytes")));
    }
    if text.trim().is_empty() {
        return Err(Fault::Usage("nothing was pasted on stdin".into()));
    }
    Ok(text)
}

fn typed(args: &Add) -> String {
    let mut entry = Map::new();
    let pairs =
        |pairs: &[(String, String)]| Value::Object(pairs.iter().map(|(k, v)| (k.clone(), v.clone().into())).collect());
    if let Some((command, rest)) = args.command.split_first() {
        entry.insert("command".into(), command.clone().into());
        if !rest.is_empty() {
            entry.insert("args".into(), rest.into());
        }
    }
    if let Some(url) = &args.url {
        entry.insert("url".into(), url.clone().into());
    }
    if !args.env.is_empty() {
        entry.insert("env".into(), pairs(&args.env));
    }
    if !args.header.is_empty() {
        entry.insert("headers".into(), pairs(&args.header));
    }
    if let Some(cwd) = &args.cwd {
        entry.insert("cwd".into(), cwd.clone().into());
    }
    Value::Object(entry).to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
    use super::*;
    use crate::args::{Cli, Command, Server};
    use clap::Parser;

    fn check(line: &[&str], expect: &str) {
        let cli = Cli::try_parse_from(["callgate", "server", "add"].iter().chain(line)).unwrap();
        let Some(Command::Server(Server::Add(args))) = cli.command else { panic!() };
        assert_eq!(typed(&args), expect);
    }

    #[test]
    fn typed_entries() {
        check(&["a", "--", "npx", "-y", "b c"], r#"{"command":"npx","args":["-y","b c"]}"#);
        check(
            &["a", "--env", "K=v=w", "--cwd", "/x", "--", "run"],
            r#"{"command":"run","env":{"K":"v=w"},"cwd":"/x"}"#,
        );
        check(
            &["a", "--url", "http://h/mcp", "--header", "A=Bearer x"],
            r#"{"url":"http://h/mcp","headers":{"A":"Bearer x"}}"#,
        );
    }

    #[test]
    fn pasted_text_is_bounded_and_not_empty() {
        assert_eq!(pasted("{} // x".as_bytes()).unwrap(), "{} // x");
        assert!(matches!(pasted(" \n".as_bytes()), Err(Fault::Usage(_))));
        assert!(matches!(pasted(std::io::repeat(b' ')), Err(Fault::Usage(_))));
    }
}

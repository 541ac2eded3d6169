//! `docs/config.md`: every key with type, default, range and meaning, made from the schema that the checker walks.

use super::foreign;
use super::walk::{choices, range};
use serde_json::{Map, Value};
use std::fmt::Write;

const HEAD: &str = "\
# The config file

`callgate.jsonc` is JSON with comments and trailing commas. All faults are listed at once with file, line, column and
key path; a file with a fault is not used, and while the hub runs the config before it stays. Editing the file reloads
it: servers whose entries did not change are not touched. `callgate config path` prints where it lies and
`callgate config check` checks it. [examples/callgate.jsonc](examples/callgate.jsonc) shows most keys in use.

This page is made from the table that the checker uses.
";

const SUBSTITUTIONS: &str = "
## Substitutions

In every text marked *with substitutions*. They are filled in once: what comes out is not looked at again. A variable
that is not set is an error of that server only, and so is a port that cannot be had.

| written | becomes |
| --- | --- |
| `${home}` | the home folder |
| `${port}`, `${port:NAME}` | a port that the hub holds for this server's program; the same name, the same port |
| `${root}` | the first root folder of the session; needs `\"share\": \"session\"` |
| `${env:NAME}`, `${NAME}` | that variable of the hub's environment |
| `${env:NAME:-default}`, `${NAME:-default}` | the same, or the default when it is not set or empty |
| `${secret:NAME}` | that secret; not in `command`, `args`, `cwd` and `envFile`. Not available yet |
| `$$` | `$` |
";

const LAUNCH: &str = "
## The launch of a server

How a server is launched is held fast when it is launched first: its command, arguments, address and folder, names and values of
`env` as they are written, and what `envFile` holds. Another launch waits for a person (`callgate catalog diff`), and nothing that was
remembered for the server's tools counts for it. Until then the server goes on as it was approved; after a start of the hub it does not
run. Headers and all other keys belong to no launch.

The same command, or address, under a second name waits as well, also for a server that was renamed: rules that name the first one, and what was
approved, denied or said of it, would not hold for the second. What stands in a home's first config does not wait.

What the hub fills in from its own environment may be another value each time. So may, of `envFile`, values of variables whose name
ends with a word for a secret (`TOKEN`, `SECRET`, `KEY`, `PASSWORD`, `AUTH`, `CREDENTIAL`, `COOKIE` …), and passwords of eight bytes or
more in addresses: a token that was renewed is the same launch. A variable more or less, and any other value, is another one, `LD_PRELOAD`
and `NODE_OPTIONS` as well as `MODE`.

`envFile` is read when the hub starts, when the entry changes, and with `callgate server start` and `callgate server restart`.

## What loosens waits

A change of the file that would let more run without you, or leave less to be seen, is not applied before you say so (`callgate status` and
`callgate catalog diff` show it, `callgate catalog approve @policy --hash …` accepts it), whether the hub runs or not when the file is
changed. Until then of each key the stricter word holds: what only tightens holds at once. It is compared with what you accepted last; what
stood in the file at a home's first start is yours. This is looked at:

- `policy`: a looser `default`, a rule that allows more or one less that asks or denies, `expireMinutes` and `denialsPerMinute` up,
  `restMinutes` down, `fromHostTree`. How long a request is held open is no part of it.
- of a known server: `effects` that lower or go, `stateful` and `results.check` down, `replayLostSeconds` down, `portOwner: any`, another `idempotencyArgument`;
- of a new server, as if it were known and nothing were said of it: the same but for `idempotencyArgument`. Its tools are judged by their hints until
  then, and `destructive` holds at once. An entry that was removed is known when it comes back;
- `hub.audit`: `keepDays` down (older rows would be erased), `payloads` and `durability` down.

Which calls share a lane, time limits, who shares a process, profiles, ports and hosts change nothing of who is asked: they hold at once.
";

/// The page, of this schema.
pub fn reference(root: &Value) -> String {
    let mut out = HEAD.to_owned();
    section(&mut out, "", root);
    out.push_str(SUBSTITUTIONS);
    out.push_str(LAUNCH);
    ignored(&mut out, root.pointer("/properties/mcpServers/additionalProperties/properties"));
    out
}

fn section(out: &mut String, path: &str, schema: &Value) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    let title = if path.is_empty() { "At the top".to_owned() } else { format!("`{path}`") };
    let _ = write!(out, "\n## {title}\n\n{}\n\n", text(schema));
    out.push_str("| key | type | default | range | meaning |\n| --- | --- | --- | --- | --- |\n");
    let own: Vec<_> = properties.iter().filter(|(_, schema)| schema.get(foreign::IGNORED).is_none()).collect();
    for (key, schema) in &own {
        let default = schema.get("default").map_or(String::new(), |default| format!("`{default}`"));
        let _ = writeln!(out, "| `{key}` | {} | {default} | {} | {} |", kind(schema), bounds(schema), text(schema));
    }
    for (key, schema) in own {
        let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        section(out, &below, schema);
        if let Some(entry) = schema.get("additionalProperties") {
            section(out, &format!("{below}.NAME"), entry);
        }
    }
}

fn ignored(out: &mut String, properties: Option<&Value>) {
    out.push_str("\n## Keys of other hosts\n\nAccepted in pasted entries with a warning, and without any effect.\n\n");
    out.push_str("| key | meaning |\n| --- | --- |\n");
    let all = properties.and_then(Value::as_object).into_iter().flat_map(Map::iter);
    for (key, schema) in all.filter(|(_, schema)| schema.get(foreign::IGNORED).is_some()) {
        let _ = writeln!(out, "| `{key}` | {} |", text(schema));
    }
}

fn text(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn kind(schema: &Value) -> String {
    if choices(schema).is_some() {
        return "word".into();
    }
    let of = |key: &str| schema.get(key).filter(|inner| inner.is_object()).map(kind);
    match schema.get("type").and_then(Value::as_str) {
        Some("string") if schema.get("x-substitutions").is_some() => "text with substitutions".into(),
        Some("string") => "text".into(),
        Some("boolean") => "true or false".into(),
        Some("integer") => "whole number".into(),
        Some("array") => of("items").map_or("list".into(), |of| format!("list: {of}")),
        Some("object") if schema.get("properties").is_some() => "object".into(),
        Some("object") => of("additionalProperties").map_or("object".into(), |of| format!("object by name: {of}")),
        _ => "any".into(),
    }
}

fn bounds(schema: &Value) -> String {
    if let Some(words) = choices(schema) {
        return words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    }
    match range(schema) {
        (i64::MIN, i64::MAX) if schema.get("minLength").is_some() => "not empty".into(),
        (i64::MIN, i64::MAX) => String::new(),
        (min, max) => format!("{min} to {max}"),
    }
}

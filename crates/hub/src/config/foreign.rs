//! Keys that pasted entries bring from other hosts and that mean nothing here: accepted, never obeyed, always told.

use schemars::Schema;
use serde_json::json;

/// Marks a key that is ignored; its value is what a person should know about that.
pub(super) const IGNORED: &str = "x-ignored";

/// Keys of a server entry, whose they are, and what to do instead.
const KEYS: [(&str, &str, &str); 25] = [
    ("autoApprove", "Cline", "never honoured: what runs without asking is decided by `policy`"),
    ("alwaysAllow", "Roo", "never honoured: what runs without asking is decided by `policy`"),
    ("trust", "Gemini CLI", "never honoured: what runs without asking is decided by `policy`"),
    ("includeTools", "Gemini CLI", "ignored: all tools are listed; use `profiles`"),
    ("excludeTools", "Gemini CLI", "ignored: all tools are listed; use `profiles`"),
    ("enabledTools", "Codex", "ignored: all tools are listed; use `profiles`"),
    ("disabledTools", "Windsurf", "ignored: all tools are listed; use `profiles`"),
    ("tools", "Copilot CLI", "ignored: all tools are listed; use `profiles`"),
    ("alwaysLoad", "Claude Code", "ignored"),
    ("headersHelper", "Claude Code", "ignored: use `headers`"),
    ("auth", "Cursor", "ignored: use `headers`"),
    ("oauth", "Gemini CLI", "ignored: use `headers`"),
    ("authProviderType", "Gemini CLI", "ignored: use `headers`"),
    ("requestOptions", "Continue", "ignored: use `headers`"),
    ("connectionTimeout", "Continue", "ignored: use `timeouts`"),
    ("sandboxEnabled", "VS Code", "ignored: programs run unconfined"),
    ("sandbox", "VS Code", "ignored: programs run unconfined"),
    ("dev", "VS Code", "ignored"),
    ("gallery", "VS Code", "ignored"),
    ("version", "VS Code", "ignored"),
    ("source", "Zed", "ignored"),
    ("settings", "Zed", "ignored"),
    ("name", "Continue", "ignored: the entry's key is the name"),
    ("description", "several hosts", "ignored"),
    ("icon", "several hosts", "ignored"),
];

/// Roots of other hosts' settings files, and what to do with them.
const ROOTS: [(&str, &str); 6] = [
    ("servers", "VS Code keeps servers under `servers`; here the key is `mcpServers`"),
    ("context_servers", "Zed keeps servers under `context_servers`; here the key is `mcpServers`"),
    ("mcp_servers", "Codex keeps servers under `mcp_servers`; here the key is `mcpServers`"),
    ("mcp", "opencode and Crush keep servers under `mcp`; here the key is `mcpServers`"),
    ("amp.mcpServers", "Amp keeps servers under this key; here it is `mcpServers`"),
    ("inputs", "VS Code asks for `inputs`; here use `${secret:NAME}` or `${env:NAME}`"),
];

/// Adds the ignored keys to the schema of a server entry.
pub(super) fn add(schema: &mut Schema) {
    let Some(properties) = schema.get_mut("properties").and_then(|properties| properties.as_object_mut()) else {
        return;
    };
    for (key, host, advice) in KEYS {
        let text = format!("Of {host}: {advice}.");
        properties.insert(key.into(), json!({ "description": text, "deprecated": true, IGNORED: advice }));
    }
}

/// What to say of a key at the root that is the root of another host's file, or of our own under a wrong key.
pub(super) fn root_advice(key: &str) -> Option<&'static str> {
    ROOTS.iter().find(|(name, _)| *name == key).map(|(_, advice)| *advice)
}

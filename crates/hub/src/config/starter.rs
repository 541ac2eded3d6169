//! The config that a first start writes: works as it is, and says what can be written.

/// The text.
pub const TEXT: &str = r#"// Settings of Callgate. JSON with comments and trailing commas; editing this file reloads it.
// `callgate config check` lists every fault, and callgate.schema.json beside this file makes editors complete keys.
{
  "$schema": "./callgate.schema.json",

  // The servers by name, in the shape that every host uses: paste the entries of your host's `mcpServers` here.
  // Substitutions: ${home}, ${port}, ${env:NAME}, ${env:NAME:-default}; write $$ for a $.
  "mcpServers": {
    // "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "${home}/work"] },
    // "shop": { "command": "shop-mcp", "args": ["--port", "${port}"], "url": "http://127.0.0.1:${port}/mcp" },
    // "docs": { "url": "https://mcp.example.com/mcp", "headers": { "Authorization": "Bearer ${env:DOCS_TOKEN}" } },
  },

  // What runs, what a person is asked about (`callgate approval list`), what is refused. `auto`: what only reads runs,
  // what may change something asks once per client and tool, what is risky asks for every call.
  "policy": {
    "default": "auto",
    "rules": [
      // { "name": "no prod", "tools": ["*__deploy*"], "when": "args.env == 'prod'", "then": "deny", "reason": "ask a human" },
    ],
  },

  // Selections of tools, each an endpoint of its own.
  "profiles": {
    // "small": { "tools": ["files__*"] },
  },

  // Port 0 is chosen once and kept.
  "hub": { "port": 0, "http": true },
}
"#;

#[cfg(test)]
mod tests {
    use super::super::tests::loaded;
    use super::super::{Config, check_text};
    use super::TEXT;
    use std::path::Path;

    #[test]
    fn the_starter_is_right_and_so_is_what_it_suggests() {
        let plain = loaded(TEXT);
        assert_eq!((plain.config, plain.warnings.len()), (Config::default(), 0));
        let all = loaded(&TEXT.replace("// \"", "\"").replace("// {", "{"));
        assert_eq!(all.config.policy.rules.len(), 1);
        assert_eq!((all.config.servers.len(), all.config.profiles.len(), all.warnings.len()), (3, 1, 0));
        assert!(check_text(Path::new("x"), &TEXT.replace("\"port\"", "\"prot\"")).is_err());
    }
}

//! Files by their names: those that hold secrets, and those that agents take their rules from.

use super::classes::*;
use aho_corasick::AhoCorasick;
use std::sync::LazyLock;

/// Names of files that hold secrets, and parts of such names.
const SECRET_FILES: [&str; 59] = [
    ".ssh",
    "id_rsa",
    "id_ed25519",
    "id_ecdsa",
    "/etc/passwd",
    "/etc/shadow",
    ".aws/cred",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".docker/config",
    ".kube/config",
    "kubeconfig",
    "mcp.json",
    ".cursor/",
    "claude_desktop_config",
    "bash_history",
    "zsh_history",
    "wallet.dat",
    ".gnupg",
    ".config/gcloud",
    "credentials.json",
    "secrets.y",
    "secrets.json",
    ".vault-token",
    "login.keychain",
    "cookies.sqlite",
    "key4.db",
    "/environ",
    "authorized_keys",
    ".pgpass",
    ".tfstate",
    "login data",
    "keychain-db",
    ".pem",
    ".p12",
    ".ppk",
    "ntuser.dat",
    "local state",
    "web data",
    ".config/gh/hosts",
    ".azure/",
    ".terraformrc",
    ".my.cnf",
    ".cargo/credentials",
    ".gem/credentials",
    ".boto",
    ".s3cfg",
    ".config/rclone",
    ".electrum",
    ".bitcoin",
    ".ethereum/keystore",
    "config/solana",
    ".password-store",
    ".claude.json",
    ".codeium",
    "etc/sudoers",
    ".docker/cred",
];

/// Files that agents take their rules from.
const AGENT_FILES: [&str; 8] = [
    "claude.md",
    "agents.md",
    "gemini.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    "copilot-instructions.md",
    "memory.md",
];

/// The classes of a path or file name in small letters.
pub(super) fn classes_of(name: &str) -> Classes {
    static SECRET: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| AhoCorasick::new(SECRET_FILES).ok());
    // A handful of literals always fits; if ever not, every path is one of secrets.
    if SECRET.as_ref().is_none_or(|files| files.is_match(name)) {
        return SECRET_FILE;
    }
    let last = name.rsplit(['/', '\\']).next().unwrap_or(name);
    if AGENT_FILES.contains(&last) {
        return AGENT_FILE;
    }
    if last == ".env" || last.starts_with(".env.") { ENV_FILE } else { 0 }
}

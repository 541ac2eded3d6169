//! What a server finds in its environment: a short list from the hub's own, and what its config declares. Never
//! anything else, because the hub's environment holds other people's credentials. Pure.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// Whose habits the list follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Names count as they are written.
    Unix,
    /// Names count without regard to case.
    Windows,
}

impl Family {
    /// That of the system this is built for.
    pub const HERE: Family = if cfg!(windows) { Family::Windows } else { Family::Unix };
}

/// Whole names that pass. PATH is not among them: it is made by the search.
const NAMES: &[&str] = &["HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "NODE_EXTRA_CA_CERTS", "PIP_CERT"];
const WINDOWS_NAMES: &[&str] = &[
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];
const BEGINNINGS: &[&str] = &["LC_", "XDG_", "SSL_CERT_"];

/// Whether a variable of the hub may reach a server that does not declare it (docs/config.md).
fn passes(name: &str, family: Family) -> bool {
    // Proxies are written either way also where case counts.
    let upper = name.to_ascii_uppercase();
    let written = if family == Family::Windows { upper.as_str() } else { name };
    NAMES.contains(&written)
        || (family == Family::Windows && WINDOWS_NAMES.contains(&written))
        || BEGINNINGS.iter().any(|beginning| written.starts_with(beginning))
        || upper.ends_with("_PROXY")
}

/// The environment for a server: the passing part of the hub's, `path` as PATH, and over both what is declared.
/// Sorted by name, each name once.
pub fn minimal<I>(
    hub: I,
    path: &OsStr,
    declared: &BTreeMap<String, String>,
    family: Family,
) -> Vec<(OsString, OsString)>
where
    I: IntoIterator<Item = (OsString, OsString)>,
{
    let key = |name: &str| if family == Family::Windows { name.to_ascii_uppercase() } else { name.to_owned() };
    let mut chosen: BTreeMap<String, (OsString, OsString)> = BTreeMap::new();
    for (name, value) in hub {
        // A shell's exported function is a program and no setting.
        let function = value.as_encoded_bytes().starts_with(b"()");
        if let Some(text) = name.to_str().filter(|text| !function && passes(text, family)) {
            chosen.insert(key(text), (name, value));
        }
    }
    chosen.insert(key("PATH"), ("PATH".into(), path.to_owned()));
    for (name, value) in declared {
        chosen.insert(key(name), (name.into(), value.into()));
    }
    chosen.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(hub: &[(&str, &str)], declared: &[(&str, &str)], family: Family, expect: &[(&str, &str)]) {
        let own = |list: &[(&str, &str)]| -> Vec<(OsString, OsString)> {
            list.iter().map(|(name, value)| (name.into(), value.into())).collect()
        };
        let declared = declared.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        assert_eq!(minimal(own(hub), OsStr::new("/p"), &declared, family), own(expect));
    }

    #[test]
    fn credentials_of_the_hub_do_not_pass() {
        let canaries = [
            "AWS_SECRET_ACCESS_KEY",
            "AWS_PROFILE",
            "GITHUB_TOKEN",
            "OPENAI_API_KEY",
            "ANTHROPIC_API_KEY",
            "SSH_AUTH_SOCK",
            "SSH_AGENT_PID",
            "GPG_AGENT_INFO",
            "DBUS_SESSION_BUS_ADDRESS",
            "CALLGATE_TOKEN",
            "CALLGATE_HOME",
            "NPM_TOKEN",
            "NODE_OPTIONS",
            "LD_PRELOAD",
            "DYLD_INSERT_LIBRARIES",
            "PYTHONPATH",
            "BASH_ENV",
            "ENV",
            "PROMPT_COMMAND",
            "DISPLAY",
            "KUBECONFIG",
            "HOMEX",
            "XHOME",
            "LC",
            "home",
            "tz",
            "SSL_CERTS",
            "PROXY",
            "MY_PROXY_PASSWORD",
            "PIP_CERT_PASSWORD",
            "DATABASE_URL",
        ];
        let hub: Vec<(&str, &str)> = canaries.iter().map(|name| (*name, "canary")).collect();
        check(&hub, &[], Family::Unix, &[("PATH", "/p")]);
    }

    #[test]
    fn the_short_list_passes() {
        let list = [
            ("HOME", "/h"),
            ("LANG", "C"),
            ("LC_ALL", "C"),
            ("LOGNAME", "l"),
            ("NODE_EXTRA_CA_CERTS", "/c"),
            ("PATH", "/p"),
            ("PIP_CERT", "/c"),
            ("SHELL", "/s"),
            ("SSL_CERT_DIR", "/d"),
            ("SSL_CERT_FILE", "/f"),
            ("TMPDIR", "/t"),
            ("TZ", "UTC"),
            ("USER", "u"),
            ("XDG_CONFIG_HOME", "/x"),
            ("https_proxy", "p"),
            ("no_proxy", "n"),
        ];
        check(&list, &[], Family::Unix, &list);
        check(&[("HTTPS_PROXY", "p"), ("PATH", "/hub")], &[], Family::Unix, &[("HTTPS_PROXY", "p"), ("PATH", "/p")]);
        check(&[("LANG", "() { evil; }")], &[], Family::Unix, &[("PATH", "/p")]);
    }

    #[test]
    fn what_is_declared_wins() {
        let expect = [("HOME", "/mine"), ("NODE_OPTIONS", "-x"), ("PATH", "/own"), ("TOKEN", "t")];
        let declared = [("TOKEN", "t"), ("HOME", "/mine"), ("PATH", "/own"), ("NODE_OPTIONS", "-x")];
        check(&[("HOME", "/h"), ("NODE_OPTIONS", "hub")], &declared, Family::Unix, &expect);
    }

    #[test]
    fn windows_does_not_look_at_case() {
        let hub = [("Path", "/hub"), ("SystemRoot", "C"), ("home", "/h"), ("AWS_SECRET_ACCESS_KEY", "canary")];
        let expect = [("home", "/h"), ("path", "/own"), ("SystemRoot", "C")];
        check(&hub, &[("path", "/own")], Family::Windows, &expect);
    }
}

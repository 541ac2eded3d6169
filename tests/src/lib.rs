//! What the stories are told with: homes of their own, the built binary, raw clients over pipes and sockets.
//! Every wait has a limit; nothing sleeps to synchronise.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a story that cannot go on ends")]

mod client;
mod http;
mod process;

pub use client::{Client, outcome, text};
pub use http::{HttpReply, http};
pub use process::{Guarded, children_of, is_alive, tree_of};

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The longest that anything in a story may take.
pub const LIMIT: Duration = Duration::from_secs(30);

/// A built binary of the workspace.
pub fn binary(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    // target/PROFILE/deps/test or target/PROFILE/bin
    let folder = test.ancestors().find(|folder| folder.join(name).is_file());
    folder.unwrap_or_else(|| panic!("{name} is not built; build the workspace first")).join(name)
}

/// Waits until `probe` gives something.
pub fn eventually<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(found) = probe() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}: not within {LIMIT:?}");
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

/// A home of its own, gone at the end.
pub struct Home {
    dir: TempDir,
}

impl Default for Home {
    fn default() -> Home {
        Home::new()
    }
}

impl Home {
    /// An empty home.
    pub fn new() -> Home {
        Home { dir: tempfile::Builder::new().prefix("cg-").tempdir().unwrap() }
    }

    /// A home with these `mcpServers`.
    pub fn with(servers: Value) -> Home {
        let home = Home::new();
        home.configure(&json!({ "mcpServers": servers }));
        home
    }

    /// Writes the config. Without a policy every call runs: most stories are about something else. And they are their
    /// own hosts: what they decide is taken from a host's processes, unless they say otherwise.
    pub fn configure(&self, config: &Value) {
        let mut config = config.clone();
        if let Some(root) = config.as_object_mut() {
            let policy = root.entry("policy").or_insert_with(|| json!({ "default": "allow" }));
            let approval = policy.as_object_mut().map(|policy| policy.entry("approval").or_insert_with(|| json!({})));
            if let Some(approval) = approval.and_then(Value::as_object_mut) {
                approval.entry("fromHostTree").or_insert(json!(true));
            }
        }
        // A rename, as editors do it: a watcher never sees half a file.
        let fresh = self.path("callgate.new");
        std::fs::write(&fresh, serde_json::to_string_pretty(&config).unwrap()).unwrap();
        std::fs::rename(fresh, self.path("callgate.jsonc")).unwrap();
    }

    /// The config as it stands.
    pub fn config(&self) -> Value {
        serde_json::from_str(&std::fs::read_to_string(self.path("callgate.jsonc")).unwrap()).unwrap()
    }

    /// Writes it with this change.
    pub fn change(&self, change: impl FnOnce(&mut Value)) {
        let mut config = self.config();
        change(&mut config);
        self.configure(&config);
    }

    /// A path inside.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The binary with this home.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = command(&binary("callgate"));
        command.args(args).env("CALLGATE_HOME", self.dir.path()).env("HOME", self.dir.path());
        command.env("NO_COLOR", "1").current_dir(self.dir.path());
        command
    }

    /// Runs a command to its end: exit code, stdout, stderr.
    pub fn run(&self, args: &[&str]) -> (i32, String, String) {
        let out = self.command(args).stdin(Stdio::null()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (out.status.code().unwrap_or(-1), text(out.stdout), text(out.stderr))
    }

    /// Runs a command with `--json` and gives its document; panics where it fails.
    pub fn json(&self, args: &[&str]) -> Value {
        let (code, out, err) = self.run(&[args, &["--json"]].concat());
        assert_eq!(code, 0, "{args:?}: {err}");
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{args:?}: {error}: {out}"))
    }

    /// Starts a hub and waits until it is ready.
    pub fn serve(&self) -> Hub {
        self.serve_with(&[])
    }

    /// The same with these variables.
    pub fn serve_with(&self, variables: &[(&str, &str)]) -> Hub {
        let mut command = self.command(&["serve", "--json"]);
        command.envs(variables.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Guarded::spawn(command);
        let ready = process.line("a ready line of the hub");
        let endpoint: Value = serde_json::from_str(&ready).unwrap_or_else(|error| panic!("{error}: {ready}"));
        Hub { process, endpoint }
    }

    /// Starts an adapter and speaks through it.
    pub fn stdio(&self, args: &[&str]) -> Client {
        Client::spawn(self.command(&[&["stdio"], args].concat()))
    }

    /// The hub that an adapter has started: its process id, once it has said that it is ready.
    pub fn running(&self) -> u32 {
        let endpoint: Value = eventually("a hub that is ready", || {
            serde_json::from_str(&std::fs::read_to_string(self.path("run/endpoint.json")).ok()?).ok()
        });
        u32::try_from(endpoint["pid"].as_u64().unwrap()).unwrap()
    }

    /// The token of HTTP clients.
    pub fn token(&self) -> String {
        std::fs::read_to_string(self.path("run/token")).unwrap().trim().to_owned()
    }
}

/// A command, from the only place here that makes one.
#[allow(clippy::disallowed_methods, reason = "the stories start what users start")]
pub fn command(program: &Path) -> Command {
    Command::new(program)
}

/// A running hub; killed at the end.
pub struct Hub {
    /// Its process.
    pub process: Guarded,
    /// Its endpoint document.
    pub endpoint: Value,
}

impl Hub {
    /// Process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }
    /// Address for HTTP hosts.
    pub fn url(&self) -> String {
        self.endpoint["mcp_url"].as_str().unwrap().to_owned()
    }
    /// Kills it like a crash.
    pub fn kill(&mut self) {
        self.process.kill();
    }
}

/// The entry of a sample server in a config.
pub fn sample(args: &[&str]) -> Value {
    let args = [&["sample-server"], args].concat();
    json!({ "command": binary("callgate"), "args": args })
}

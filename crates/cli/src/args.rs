//! What can be typed. Declarations only: each command's work is in its own module.

mod gate;
mod moment;

pub use gate::{Approval, Approve, Audit, Call, Catalog, Deny, ExportForm, Filter, Policy, Remember};

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use std::path::PathBuf;

/// One local hub in front of all MCP servers: configure a server once, use it from every host.
#[derive(Debug, Parser)]
#[command(
    name = "callgate",
    version,
    arg_required_else_help = false,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub struct Cli {
    /// Where and how.
    #[command(flatten)]
    pub globals: Globals,
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// For every command.
#[derive(Clone, Debug, Args)]
pub struct Globals {
    /// Print JSON: one document, or one per line for streams
    #[arg(long, global = true)]
    pub json: bool,
    /// Config file to use
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the hub in the foreground
    Serve(Serve),
    /// Stop the hub
    Stop,
    /// The endpoint that a host launches; attaches to the hub, starts one if none runs
    Stdio(Stdio),
    /// Show the hub, its servers and the attached hosts
    Status,
    /// List and change servers
    #[command(subcommand, arg_required_else_help = true)]
    Server(Server),
    /// See and call tools
    #[command(subcommand, arg_required_else_help = true)]
    Tool(Tool),
    /// Calls that wait for a person
    #[command(subcommand, arg_required_else_help = true)]
    Approval(Approval),
    /// Calls of which a record is kept, and unknown ones to settle
    #[command(subcommand, arg_required_else_help = true)]
    Call(Call),
    /// Hold all risky calls from now on
    Pause,
    /// Let risky calls run again, or those of a server ask again
    Resume {
        /// A server whose calls are refused because many of them were denied
        server: Option<String>,
    },
    /// Review what servers offer
    #[command(subcommand, arg_required_else_help = true)]
    Catalog(Catalog),
    /// See which rule decides, and why
    #[command(subcommand, arg_required_else_help = true)]
    Policy(Policy),
    /// The log of everything that was asked and done
    #[command(subcommand, arg_required_else_help = true)]
    Audit(Audit),
    /// Tokens of HTTP clients
    #[command(subcommand, arg_required_else_help = true)]
    Token(Token),
    /// Show the hub's own log
    Logs(LogRange),
    /// Check and find the config
    #[command(subcommand, arg_required_else_help = true)]
    Config(Config),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Owns the servers' processes
    #[command(hide = true)]
    Guard,
    /// A small MCP server for trying things out
    #[command(hide = true)]
    SampleServer,
}

/// `callgate serve`
#[derive(Clone, Debug, Args)]
pub struct Serve {
    /// Port for HTTP hosts, instead of the one that is configured or was chosen before
    #[arg(long, value_name = "N")]
    pub port: Option<u16>,
    /// Started by an adapter: in a session of its own
    #[arg(long, hide = true)]
    pub detached: bool,
}

/// `callgate serve` where it stands first: its arguments alone, for who waits for the hub waits for the command tree too.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "callgate serve",
    bin_name = "callgate serve",
    about = "Run the hub in the foreground",
    max_term_width = 100
)]
pub struct ServeAlone {
    /// Its own.
    #[command(flatten)]
    pub serve: Serve,
    /// Where and how.
    #[command(flatten)]
    pub globals: Globals,
}

/// `callgate stdio`
#[derive(Clone, Debug, Parser)]
#[command(name = "callgate stdio", bin_name = "callgate stdio", about = "The endpoint that a host launches")]
pub struct Stdio {
    /// Name of the host, as policy and logs know it
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// Show only the tools of this profile
    #[arg(long, value_name = "PROFILE", conflicts_with = "server")]
    pub profile: Option<String>,
    /// Show only this server, under its own names
    #[arg(long, value_name = "SERVER")]
    pub server: Option<String>,
    /// Config file for a hub that is started by this
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Say on stderr in JSON why it ends; stdout carries nothing but MCP in any case
    #[arg(long)]
    pub json: bool,
    /// Let the hub read and write this program's own stdin and stdout (Linux), or copy every message
    #[arg(long, value_enum, default_value_t = StdioMode::Lend)]
    pub mode: StdioMode,
}

/// How messages get from a host to the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StdioMode {
    /// The hub has the host's pipes, wherever that can be.
    Lend,
    /// Every message is copied.
    Copy,
}

impl StdioMode {
    /// The word in the attach line.
    pub const fn as_str(self) -> &'static str {
        match self {
            StdioMode::Lend => "lend",
            StdioMode::Copy => "copy",
        }
    }
}

/// `callgate server …`
#[derive(Debug, Subcommand)]
pub enum Server {
    /// List the servers
    List,
    /// Show one server in full
    Show(ServerName),
    /// Add a server to the config
    Add(Add),
    /// Remove a server from the config
    Remove(ServerName),
    /// Switch a server on in the config
    Enable(ServerName),
    /// Switch a server off in the config
    Disable(ServerName),
    /// Start a server now
    Start(ServerName),
    /// Stop a server until it is started again
    Stop(ServerName),
    /// Stop and start a server
    Restart(ServerName),
    /// Show what a server wrote to its stderr
    Logs {
        /// Name of the server
        name: String,
        /// Which lines.
        #[command(flatten)]
        range: LogRange,
    },
}

/// Names a server.
#[derive(Clone, Debug, Args)]
pub struct ServerName {
    /// Name of the server, as in the config
    pub name: String,
}

/// `callgate server add`
#[derive(Clone, Debug, Args)]
#[command(
    group(ArgGroup::new("what").required(true).args(["command", "url", "json_entry"])),
    override_usage = "callgate server add NAME -- COMMAND ARGS…\n       callgate server add NAME --url URL\n       \
                      callgate server add [NAME] --json-entry < FILE",
    after_help = "Examples:\n  callgate server add files -- npx -y @modelcontextprotocol/server-filesystem ~/work\n  \
                  callgate server add github --url https://mcp.example.com/mcp --header 'Authorization=Bearer ${env:TOKEN}'\n  \
                  pbpaste | callgate server add --json-entry"
)]
pub struct Add {
    /// Name of the new server; may be left out when a pasted block names it
    #[arg(required_unless_present = "json_entry")]
    pub name: Option<String>,
    /// Address of a server that runs elsewhere
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub url: Option<String>,
    /// Variable for the command; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair, conflicts_with_all = ["url", "json_entry"])]
    pub env: Vec<(String, String)>,
    /// Header for the address; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair, conflicts_with_all = ["command", "json_entry"])]
    pub header: Vec<(String, String)>,
    /// Working folder of the command
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["url", "json_entry"], value_hint = ValueHint::DirPath)]
    pub cwd: Option<String>,
    /// Read a pasted entry, or a whole `mcpServers` block, from stdin
    #[arg(long)]
    pub json_entry: bool,
    /// The command that starts the server, and its arguments
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<String>,
}

/// `callgate tool …`
#[derive(Debug, Subcommand)]
pub enum Tool {
    /// List the tools
    List {
        /// Only those of this server
        #[arg(long, value_name = "SERVER")]
        server: Option<String>,
    },
    /// Show one tool with its definition
    Show {
        /// Name of the tool
        name: String,
    },
    /// Call a tool, on the same road as any agent
    Call {
        /// Name of the tool
        name: String,
        /// The arguments as a JSON object, or - to read them from stdin
        #[arg(value_name = "JSON")]
        arguments: Option<String>,
    },
}

/// `callgate token …`
#[derive(Debug, Subcommand)]
pub enum Token {
    /// Make a token for an HTTP client and print it, once
    Add(TokenName),
    /// List the tokens by name
    List,
    /// Make a token worthless
    Remove(TokenName),
}

/// Names a token.
#[derive(Clone, Debug, Args)]
pub struct TokenName {
    /// Name of the client
    pub name: String,
}

/// Which lines of a log.
#[derive(Clone, Copy, Debug, Args)]
pub struct LogRange {
    /// Go on with every new line
    #[arg(short, long)]
    pub follow: bool,
    /// How many of the last lines
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(..=10_000))]
    pub lines: u32,
}

/// `callgate config …`
#[derive(Debug, Subcommand)]
pub enum Config {
    /// Check the config file; works without a hub
    Check,
    /// Print where the config file is
    Path,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.into(), value.into())),
        _ => Err("must look like KEY=VALUE".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_declarations_hold_together() {
        Cli::command().debug_assert();
        Stdio::command().debug_assert();
    }

    fn check(line: &str, good: bool) {
        let parsed = Cli::try_parse_from(line.split(' '));
        assert_eq!(parsed.is_ok(), good, "{line}: {parsed:?}");
    }

    #[test]
    fn what_can_be_typed() {
        check("callgate", true);
        check("callgate status --json", true);
        check("callgate --json server list", true);
        check("callgate server add a -- npx -y b --json", true);
        check("callgate server add a --url http://h/mcp --header A=b", true);
        check("callgate server add --json-entry", true);
        check("callgate server add a --json-entry", true);
        check("callgate server add a", false);
        check("callgate server add -- npx", false);
        check("callgate server add a --url http://h --env A=b", false);
        check("callgate server add a --url http://h -- npx", false);
        check("callgate server add a --env =b -- npx", false);
        check("callgate server logs a -f -n 5", true);
        check("callgate server logs a -n 10001", false);
        check("callgate tool call a {}", true);
        check("callgate tool call a -", true);
        check("callgate stdio --profile a --server b", false);
        check("callgate serve --port 70000", false);
        check("callgate nonsense", false);
        check("callgate approval approve c1-7 --args {} --remember tool", true);
        check("callgate approval approve c1-7 --remember ever", false);
        check("callgate approval deny c1-7 --reason x --digest sha256:1", true);
        check("callgate call settle c1-7 --ran", true);
        check("callgate call settle c1-7", false);
        check("callgate call settle c1-7 --ran --not-ran", false);
        check("callgate catalog approve shop --hash sha256:1", true);
        check("callgate catalog approve shop", false);
        check("callgate policy explain a {}", true);
        check("callgate policy explain --all", true);
        check("callgate policy explain", false);
        check("callgate policy explain a --all", false);
        check("callgate audit list --since 2h --outcome denied --outcome ok -n 5", true);
        check("callgate audit list --since soon", false);
        check("callgate audit export --format csv", true);
        check("callgate audit export --format xml", false);
    }
}

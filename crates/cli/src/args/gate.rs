//! What can be typed about the gate: waiting calls, reviews, policy, the log. Declarations only.

use super::moment::{Moment, moment};
use clap::{ArgGroup, Args, Subcommand, ValueEnum};

/// `callgate approval …`
#[derive(Debug, Subcommand)]
pub enum Approval {
    /// List the calls that wait, or that were decided
    List {
        /// Those that were decided or expired, the latest first
        #[arg(long)]
        decided: bool,
        /// With --decided: only those before this row of the log
        #[arg(long, value_name = "ROW", requires = "decided")]
        before: Option<u64>,
        /// With --decided: how many at most
        #[arg(long, value_name = "N", default_value_t = 50, requires = "decided")]
        limit: u32,
        /// Only those of this server
        #[arg(long, value_name = "SERVER")]
        server: Option<String>,
        /// Only those of this client
        #[arg(long, value_name = "NAME")]
        client: Option<String>,
    },
    /// Show one call with everything that a decision is about, or what became of it
    Show {
        /// Its id
        id: String,
    },
    /// Let a call run
    Approve(Approve),
    /// Refuse a call
    Deny(Deny),
    /// Work the queue on the whole screen
    Watch,
    /// List what is remembered: approvals that hold for calls to come
    Remembered {
        /// Only what is remembered of this server
        #[arg(long, value_name = "SERVER")]
        server: Option<String>,
        /// Only what is remembered of this client
        #[arg(long, value_name = "NAME")]
        client: Option<String>,
    },
    /// Take approvals back: such calls ask again
    Forget {
        /// The calls that were approved with them
        #[arg(value_name = "CALL", required_unless_present = "all", conflicts_with = "all")]
        ids: Vec<String>,
        /// Everything that is remembered, and every approval that was not used yet
        #[arg(long)]
        all: bool,
    },
    /// Set or change the PIN that decisions need
    Pin {
        /// Decisions need no PIN any more
        #[arg(long)]
        remove: bool,
    },
}

/// `callgate approval approve`
#[derive(Clone, Debug, Args)]
pub struct Approve {
    /// Its id
    pub id: String,
    /// Other arguments in place of those that were asked for, or - to read them from stdin
    #[arg(long, value_name = "JSON")]
    pub args: Option<String>,
    /// For how long the approval holds; left out: until the tool changes where it asks once, else for this call
    #[arg(long, value_enum, value_name = "SCOPE")]
    pub remember: Option<Remember>,
    /// Only if the call still has this digest
    #[arg(long, value_name = "HASH")]
    pub digest: Option<String>,
}

/// For how long an approval holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Remember {
    /// For this call alone
    Once,
    /// For this session of this client
    Session,
    /// For this client and tool until the definition or the launch changes
    Tool,
}

/// `callgate approval deny`
#[derive(Clone, Debug, Args)]
pub struct Deny {
    /// Its id
    pub id: String,
    /// Why; the agent reads it
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Only if the call still has this digest
    #[arg(long, value_name = "HASH")]
    pub digest: Option<String>,
}

/// `callgate call …`
#[derive(Debug, Subcommand)]
pub enum Call {
    /// List the calls of which a record is kept, unknown ones first
    List {
        /// Only those of this server
        #[arg(long, value_name = "SERVER")]
        server: Option<String>,
        /// Only those of which nobody knows whether they ran
        #[arg(long)]
        unknown: bool,
        /// How many at most
        #[arg(long, short = 'n', value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
    },
    /// Say whether an unknown call ran
    #[command(group(ArgGroup::new("finding").required(true).args(["ran", "not_ran"])))]
    Settle {
        /// Its id
        call: String,
        /// It ran: it will not run again under its key
        #[arg(long)]
        ran: bool,
        /// It did not run: it may be called again
        #[arg(long)]
        not_ran: bool,
    },
}

/// `callgate catalog …`
#[derive(Debug, Subcommand)]
pub enum Catalog {
    /// Show what is new or changed against what was approved
    Diff {
        /// Only this server
        #[arg(long, value_name = "SERVER")]
        server: Option<String>,
        /// Every word of new definitions, too
        #[arg(long)]
        full: bool,
    },
    /// Approve exactly what was shown
    Approve {
        /// A server, or one of its tools or prompts by its name in the aggregate
        #[arg(value_name = "SERVER[__TOOL]")]
        target: String,
        /// The hash that `catalog diff` showed
        #[arg(long, value_name = "HASH")]
        hash: String,
    },
}

/// `callgate policy …`
#[derive(Debug, Subcommand)]
pub enum Policy {
    /// Show the rules, and what is wrong with them
    Check,
    /// Say what happens to a call and which rule decides; nothing is called
    #[command(group(ArgGroup::new("what").required(true).args(["tool", "all"])))]
    Explain {
        /// Name of the tool
        tool: Option<String>,
        /// The arguments as a JSON object, or - to read them from stdin
        #[arg(value_name = "JSON", conflicts_with = "all")]
        arguments: Option<String>,
        /// Every tool, with totals
        #[arg(long)]
        all: bool,
        /// The client that would ask
        #[arg(long, value_name = "NAME")]
        client: Option<String>,
    },
}

/// `callgate audit …`
#[derive(Debug, Subcommand)]
pub enum Audit {
    /// List the latest rows
    List {
        /// Which rows.
        #[command(flatten)]
        filter: Filter,
        /// Only rows before this one
        #[arg(long, value_name = "ROW")]
        before: Option<u64>,
        /// How many at most
        #[arg(long, short = 'n', value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
    },
    /// Show what happened to one call, and when
    Show {
        /// Its id
        call: String,
        /// Open the values that are kept of it (hub.audit.payloads); only a person may
        #[arg(long)]
        values: bool,
    },
    /// Follow the log
    Tail {
        /// Which rows.
        #[command(flatten)]
        filter: Filter,
        /// How many of the last rows first
        #[arg(long, short = 'n', value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(..=1000))]
        lines: u32,
    },
    /// Check that the log is whole
    Verify {
        /// Accept a log that no longer reaches its anchor, such as a restored backup: what `verify` gave for it
        #[arg(long, value_name = "WHAT")]
        accept: Option<String>,
    },
    /// Print the rows, oldest first
    Export {
        /// Which rows.
        #[command(flatten)]
        filter: Filter,
        /// The form
        #[arg(long, value_enum, default_value_t = ExportForm::Jsonl)]
        format: ExportForm,
        /// With the values that were kept (hub.audit.payloads): only a person may, and it leaves a row
        #[arg(long)]
        values: bool,
    },
}

/// The form of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportForm {
    /// One JSON object per line
    Jsonl,
    /// A table for spreadsheets
    Csv,
}

/// Which rows of the log.
#[derive(Clone, Debug, Default, Args)]
pub struct Filter {
    /// Only those of this client
    #[arg(long, value_name = "NAME")]
    pub client: Option<String>,
    /// Only those of this server
    #[arg(long, value_name = "SERVER")]
    pub server: Option<String>,
    /// Only those of this tool
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,
    /// Only those that ended so, e.g. denied; may be repeated
    #[arg(long, value_name = "WORD")]
    pub outcome: Vec<String>,
    /// Only rows of this kind, e.g. decision; may be repeated
    #[arg(long, value_name = "WORD")]
    pub kind: Vec<String>,
    /// From this time on: 2h, 30m, 7d, 2026-11-30, or 2026-11-30T10:00:00Z
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub since: Option<Moment>,
    /// Before this time
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub until: Option<Moment>,
    /// Only rows with these words in them
    #[arg(long, value_name = "WORDS")]
    pub text: Option<String>,
}

//! What a door for agents may do. Lives on the relay thread; cannot reach anything that a person decides.

use bytes::Bytes;
use frame::{Ask, Level, Reply};
use std::rc::Rc;

/// What a client sees.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum View {
    /// Everything, names prefixed.
    All,
    /// One server under its own names, by its config key.
    Server(Rc<str>),
    /// A selection, by its name in `profiles`.
    Profile(Rc<str>),
}

/// Who a client is: never what it says in `clientInfo` alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Name of the token, or `--host NAME`, or else the client's own word.
    pub name: Rc<str>,
    /// True where the name is only the client's own word.
    pub unverified: bool,
    /// `stdio`, `socket`, `http` or `operator`.
    pub transport: &'static str,
}

/// Something that a client may want to be told although it has not asked just now.
#[derive(Clone, Debug)]
pub enum Notice {
    /// The tools of the client's view are others now.
    ToolsChanged,
    /// The prompts are.
    PromptsChanged,
    /// The resources or templates are.
    ResourcesChanged,
    /// A log message of a server (`notifications/message` params).
    Log {
        /// Its level.
        level: Level,
        /// The params object.
        params: Bytes,
    },
}

/// Where notices of one client go. Called on the relay thread; must not block.
pub trait Notices {
    /// Tells the client, in the form that it asked for, or drops it where it asked for none.
    fn notice(&self, notice: &Notice);
}

/// What `initialize` and `server/discover` answer with.
#[derive(Clone, Debug)]
pub struct Description {
    /// The merged server capabilities, as a JSON object (legacy form: list_changed flags are true where the hub can tell).
    pub capabilities: String,
    /// The servers' instructions, each under its name; None where there are none.
    pub instructions: Option<String>,
    /// `serverInfo` object: the hub's own, or the server's own in a server view.
    pub server_info: String,
}

/// A view that does not exist: answered like any unknown path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no such view")]
pub struct UnknownView;

/// The agents' handle.
#[derive(Clone)]
pub struct AgentHandle {
    _core: Rc<()>,
}

impl AgentHandle {
    /// Whether there is such a view now; a door asks before it reads a request's body.
    pub fn knows(&self, view: &View) -> bool {
        matches!(view, View::All)
    }
    /// Lets a client in. It leaves when its [`Seat`] is dropped: its running exchanges are cancelled then.
    pub fn join(&self, identity: Identity, view: View, notices: Rc<dyn Notices>) -> Result<Seat, UnknownView> {
        let _ = (identity, view, notices);
        Err(UnknownView)
    }
}

/// A client's place in the hub.
pub struct Seat {
    _private: (),
}

impl Seat {
    /// What this client's view consists of, as of now.
    pub fn describe(&self) -> Description {
        Description { capabilities: String::new(), instructions: None, server_info: String::new() }
    }
    /// `inputSchema` of a tool as this client's lists name it, for headers that mirror arguments (`x-mcp-header`).
    pub fn input_schema(&self, tool: &str) -> Option<Bytes> {
        let _ = tool;
        None
    }
    /// The lowest level of log messages this client wants outside of an exchange; None: none.
    pub fn set_level(&self, level: Option<Level>) {
        let _ = level;
    }
    /// Asks. Methods: every client→server request but those that a door answers itself (`initialize`, `ping`,
    /// `logging/setLevel`, `server/discover`, `subscriptions/listen`). The reply may come before this returns.
    pub fn ask(&self, ask: Ask, reply: Box<dyn Reply>) -> Ticket {
        let _ = (ask, reply);
        Ticket { _private: () }
    }
}

/// A running exchange. Dropping it does nothing.
pub struct Ticket {
    _private: (),
}

impl Ticket {
    /// The client has lost interest: its reply is dropped without `done`, the server is told. Does nothing after the end.
    pub fn cancel(&self) {}
}

//! What happens to the screen, what is to be done for it, and what its keys mean.

use super::Act;
use operator::Problem;
use operator::words::{ApprovalDetail, ApprovalList, Approve, Decided, Deny, Event};

/// The time, twice: `mono_ms` never jumps, `wall_ms` is what people and deadlines say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Milliseconds since the screen began.
    pub mono_ms: u64,
    /// Milliseconds since 1970.
    pub wall_ms: u64,
}

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// A character with Ctrl.
    Ctrl(char),
    /// Enter.
    Enter,
    /// Escape.
    Esc,
    /// Tab.
    Tab,
    /// Backspace.
    Backspace,
    /// Up.
    Up,
    /// Down.
    Down,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// Home.
    Home,
    /// End.
    End,
}

/// What the hub said, or that it is not there.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// It is there, and tells what happens from now on.
    Up,
    /// It is gone; why.
    Down(String),
    /// Something happened.
    Event(Event),
    /// The queue.
    Queue(Result<ApprovalList, Problem>),
    /// One item in full.
    Detail(String, Box<Result<ApprovalDetail, Problem>>),
    /// What became of a decision on an item.
    Decided(String, Result<Decided, Problem>),
    /// The hub went before it answered to a decision on an item.
    Unanswered(String),
}

/// How an editor was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edited {
    /// With this text.
    Text(String),
    /// It could not be used.
    Failed(String),
}

/// Something that happens to the screen.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A key was pressed.
    Key(Key),
    /// Text was pasted.
    Paste(String),
    /// The screen has this size now.
    Resize(u16, u16),
    /// The screen shows again: it has the keys, or was away.
    Back,
    /// Time has passed.
    Tick,
    /// The hub said something.
    Hub(Said),
    /// The editor of that item was left.
    Edited(String, Edited),
}

/// Something to be done for the screen.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Read the queue.
    Queue,
    /// Read one item.
    Detail(String),
    /// Send a decision.
    Approve(Approve),
    /// Send a decision.
    Deny(Deny),
    /// Edit the arguments of an item.
    Edit {
        /// The item.
        id: String,
        /// What to begin with.
        text: String,
    },
    /// Let the shell have the terminal until it gives it back.
    Suspend,
    /// Draw everything anew.
    Redraw,
    /// Leave.
    Leave,
}

/// Whether the hub is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Link {
    /// Not known yet.
    #[default]
    Unknown,
    /// It is.
    Up,
    /// It is not.
    Down {
        /// Since when.
        since_ms: u64,
        /// Why.
        why: String,
    },
}

/// What the keys mean just now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Everything is a command.
    #[default]
    Browse,
    /// Words to search for are typed.
    Search,
    /// The reason of a denial is typed.
    Reason(Act, String),
    /// The PIN for a decision is typed; what was wrong with the one before.
    Pin(Act, String, Option<String>),
    /// The hub refused edited arguments: the item, what was sent, and why.
    Refused(String, String, String),
    /// What was being typed was about a call that is gone: the rest of it must not be taken for commands.
    Gone,
    /// The keys are explained.
    Help,
}

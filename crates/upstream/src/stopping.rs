//! Why a server that may be working is stopped, in the words that those read whose calls it costs.

use crate::server::Server;
use crate::waiter::Failure;
use std::fmt;

/// Who or what stops a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopping {
    /// A person, until he starts it again.
    Halt,
    /// A person, to start it at once.
    Restart,
    /// Its entry in the config is gone.
    Removed,
    /// Its entry in the config says so.
    Disabled,
    /// Its entry in the config is another one: a new server takes its place.
    Changed,
    /// The hub stops.
    HubStops,
}

impl fmt::Display for Stopping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stopping::Halt => "was stopped by a person",
            Stopping::Restart => "was stopped by a person to be started again",
            Stopping::Removed => "was removed from the config by a person",
            Stopping::Disabled => "was disabled in the config by a person",
            Stopping::Changed => "was stopped because a person changed its entry in the config",
            Stopping::HubStops => "was stopped because the hub stops",
        })
    }
}

impl Server {
    /// Who stopped it, as a reason of its own.
    pub(crate) fn stopped(&self) -> String {
        format!("it {}", self.stopping.get())
    }
    /// The same for calls that were running.
    pub(crate) fn stopped_meanwhile(&self) -> Failure {
        Failure::Stopped(format!("the server `{}` {} while it ran this call", self.name, self.stopping.get()))
    }
}

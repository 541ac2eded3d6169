//! Changes of the config's servers.

use crate::ControlParts;
use crate::problems::{Failure, Outcome};
use operator::words::{ConfigChange, ServerAdd, ServerName};

pub async fn add(_: &ControlParts, _: ServerAdd) -> Outcome<ConfigChange> {
    Err(Failure::new("internal", "not built"))
}
pub async fn remove(_: &ControlParts, _: ServerName) -> Outcome<ConfigChange> {
    Err(Failure::new("internal", "not built"))
}
pub async fn enable(_: &ControlParts, _: ServerName) -> Outcome<ConfigChange> {
    Err(Failure::new("internal", "not built"))
}
pub async fn disable(_: &ControlParts, _: ServerName) -> Outcome<ConfigChange> {
    Err(Failure::new("internal", "not built"))
}

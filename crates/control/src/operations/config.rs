//! The config file as it lies on disk.

use crate::ControlParts;
use crate::problems::{Failure, Outcome};
use operator::words::ConfigReport;

pub async fn check(_: &ControlParts) -> Outcome<ConfigReport> {
    Err(Failure::new("internal", "not built"))
}

//! `callgate approval watch`: the queue on the whole screen.

use crate::commands::{Exit, Fault, Out};
use std::path::Path;

/// Works the queue until the person leaves.
pub fn watch(_socket: &Path, _out: &Out) -> Result<Exit, Fault> {
    Err(Fault::Usage("the screen is not there yet".into()))
}

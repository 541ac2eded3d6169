//! `callgate config …`: works without a hub.

use super::fault::{Exit, Fault};
use super::out::Out;
use crate::args::{Config, Globals};
use crate::show;
use hub::config::Places;

/// Does one of them.
pub fn config(command: &Config, globals: &Globals, out: &Out) -> Result<Exit, Fault> {
    let places = Places::here(globals.config.as_deref())?;
    match command {
        Config::Check => {
            let report = control::config_report(&places);
            out.document(&report, |screen| show::config::report(&report, screen))?;
            Ok(if report.errors.is_empty() { Exit::Done } else { Exit::Usage })
        }
        Config::Path => {
            let paths = control::config_paths(&places);
            out.document(&paths, |_| format!("{}\n", paths.config))
        }
    }
}

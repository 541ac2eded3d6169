//! The config file as it lies on disk, and where it lies. The functions serve the command line without a hub, too.

use crate::ControlParts;
use crate::problems::{Failure, Outcome};
use hub::config::{self, Places, Problem, ReadError};
use operator::words::{ConfigPaths, ConfigProblem, ConfigReport};
use std::path::Path;

/// Checks the config on disk.
pub async fn check(parts: &ControlParts) -> Outcome<ConfigReport> {
    let file = parts.places.config.clone();
    let checked = tokio::task::spawn_blocking(move || config_report(&file)).await;
    checked.map_err(|_| Failure::new("internal", "the config could not be checked"))
}

/// Everything that is wrong with a config file.
pub fn config_report(file: &Path) -> ConfigReport {
    let mut report =
        ConfigReport { file: file.to_string_lossy().into_owned(), servers: vec![], errors: vec![], warnings: vec![] };
    match config::load(file) {
        Ok(loaded) => {
            report.servers = loaded.config.servers.keys().cloned().collect();
            report.warnings = loaded.warnings.into_iter().map(problem).collect();
        }
        Err(ReadError::Wrong(problems)) => report.errors = problems.into_iter().map(problem).collect(),
        Err(error) => {
            let message = error.lines().join("; ");
            let file = report.file.clone();
            report.errors.push(ConfigProblem { file, line: 0, column: 0, key: String::new(), message, server: None });
        }
    }
    report
}

fn problem(problem: Problem) -> ConfigProblem {
    ConfigProblem {
        file: problem.file.to_string_lossy().into_owned(),
        line: problem.line,
        column: problem.column,
        key: problem.key_path,
        message: problem.message,
        server: None,
    }
}

/// Where everything is.
pub fn config_paths(places: &Places) -> ConfigPaths {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    ConfigPaths {
        config: text(&places.config),
        data: text(&places.state),
        logs: text(&places.logs()),
        run: text(&places.run),
    }
}

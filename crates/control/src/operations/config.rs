//! The config file as it lies on disk, and where it lies. The functions serve the command line without a hub, too.

use crate::ControlParts;
use crate::problems::{Failure, Outcome};
use hub::config::{self, Config, Lookup, Places, Problem, ReadError, ServerConfig};
use operator::words::{ConfigPaths, ConfigProblem, ConfigReport};
use std::path::Path;

/// Checks the config on disk.
pub async fn check(parts: &ControlParts) -> Outcome<ConfigReport> {
    let places = parts.places.clone();
    let checked = tokio::task::spawn_blocking(move || config_report(&places)).await;
    checked.map_err(|_| Failure::new("internal", "the config could not be checked"))
}

/// Everything that is wrong with the config file, and what each server lacks in the environment of this process.
pub fn config_report(places: &Places) -> ConfigReport {
    let file = &places.config;
    let mut report =
        ConfigReport { file: file.to_string_lossy().into_owned(), servers: vec![], errors: vec![], warnings: vec![] };
    match config::load(file) {
        Ok(loaded) => {
            report.servers = loaded.config.servers.keys().cloned().collect();
            report.warnings = loaded.warnings.into_iter().map(problem).collect();
            report.warnings.extend(lacking(&loaded.config, places));
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

/// What keeps single servers from starting as they stand; the config as a whole is good.
fn lacking(config: &Config, places: &Places) -> Vec<ConfigProblem> {
    let env = |name: &str| std::env::var(name).ok();
    // Any port will do: whether one is free is known only when the server is started.
    let lookup = Lookup { env: &env, home: &places.home, port: &|_| Ok(1), root: Some(&places.home) };
    let enabled = config.servers.iter().filter(|(_, server)| !server.disabled);
    let lack = |(name, server): (&String, &ServerConfig)| {
        let message = config::resolve(name, server, &lookup).err()?.to_string();
        let file = places.config.to_string_lossy().into_owned();
        let key = format!("mcpServers.{name}");
        Some(ConfigProblem { file, line: 0, column: 0, key, message, server: Some(name.clone()) })
    };
    enabled.filter_map(lack).collect()
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

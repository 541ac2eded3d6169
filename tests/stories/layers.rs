//! The crates keep to their lines: who may use whom, and who alone may name a dangerous dependency.

use cargo_metadata::{DependencyKind, MetadataCommand};
use std::collections::BTreeMap;

/// Crate → crates of ours it may use. Dependencies point down only.
const LINES: [(&str, &[&str]); 13] = [
    ("contract", &[]),
    ("named-pipe", &[]),
    ("frame", &[]),
    ("policy", &["contract"]),
    ("store", &["contract", "policy"]),
    ("wire", &["contract", "frame", "named-pipe"]),
    ("upstream", &["contract", "frame", "named-pipe", "policy", "wire"]),
    ("hub", &["contract", "frame", "policy", "store", "upstream"]),
    ("endpoint", &["contract", "frame", "hub", "named-pipe", "wire"]),
    ("operator", &["contract", "named-pipe", "policy"]),
    ("control", &["contract", "hub", "named-pipe", "operator"]),
    ("sample-server", &["frame"]),
    (
        "cli",
        &[
            "contract",
            "control",
            "endpoint",
            "frame",
            "hub",
            "named-pipe",
            "operator",
            "sample-server",
            "store",
            "upstream",
        ],
    ),
];

/// Dependency → the only crates that may name it.
const ALONE: [(&str, &[&str]); 14] = [
    ("cel", &["policy"]),
    ("jsonschema", &["contract"]),
    ("sha2", &["contract", "store"]),
    ("rusqlite", &["store"]),
    ("chacha20poly1305", &["store"]),
    ("reqwest", &["wire"]),
    ("axum", &["control"]),
    ("jsonc-parser", &["hub"]),
    ("clap", &["cli"]),
    ("ts-rs", &["operator"]),
    ("rmcp", &[]),
    ("interprocess", &["named-pipe"]),
    ("process-wrap", &["upstream"]),
    ("win32job", &["upstream"]),
];

#[test]
fn dependencies_point_down_and_dangerous_ones_stay_where_they_belong() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let metadata = MetadataCommand::new().manifest_path(manifest).no_deps().exec().unwrap();
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in &metadata.packages {
        let Some(name) = package.name.strip_prefix("callgate-") else { continue };
        if name == "stories" || name == "load" {
            continue;
        }
        let normal = package.dependencies.iter().filter(|it| it.kind != DependencyKind::Development);
        found.insert(name.to_owned(), normal.map(|it| it.name.clone()).collect());
    }
    assert_eq!(found.len(), LINES.len(), "a crate without a line: {:?}", found.keys());
    for (name, may) in LINES {
        for dependency in &found[name] {
            if let Some(ours) = dependency.strip_prefix("callgate-") {
                assert!(may.contains(&ours), "{name} must not use {ours}");
            }
            if let Some((_, owners)) = ALONE.iter().find(|(it, _)| it == dependency) {
                assert!(owners.contains(&name), "{name} must not name {dependency}");
            }
        }
    }
}

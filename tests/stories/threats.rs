//! `docs/threats.md` names, for everything that can happen, what holds against it and the tests that show it. Each of
//! those is there, so that the page cannot promise what is gone.

use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
/// With fewer rows somebody has emptied the page.
const LEAST: usize = 120;

#[test]
fn every_test_and_module_that_the_page_of_threats_names_is_there() {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/threats.md")).unwrap();
    let rows = rows(&page);
    assert!(rows.len() >= LEAST, "{} rows", rows.len());
    let mut wrong = Vec::new();
    for [what, holds, tests] in rows {
        let (modules, tests) = (paths(holds, 2), paths(tests, 3));
        if modules.is_empty() || tests.is_empty() {
            wrong.push(format!("{what}: nothing holds, or no test shows it"));
        }
        let gone = modules.iter().filter(|path| !is_module(path)).chain(tests.iter().filter(|path| !is_test(path)));
        wrong.extend(gone.map(|path| format!("{what}: there is no {}", path.join("::"))));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The rows of all tables: what happens, what holds, tests.
fn rows(page: &str) -> Vec<[&str; 3]> {
    let mut rows = Vec::new();
    for line in page.lines() {
        let Some(line) = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |")) else { continue };
        let cells: Vec<&str> = line.split(" | ").collect();
        let [what, holds, tests] = cells[..] else { panic!("a row of {} cells: {line}", cells.len()) };
        if what != "what happens" {
            rows.push([what, holds, tests]);
        }
    }
    rows
}

/// What stands in a cell as code, as paths of so many parts at least.
fn paths(cell: &str, least: usize) -> Vec<Vec<&str>> {
    let code = cell.split('`').skip(1).step_by(2);
    code.map(|path| path.split("::").collect::<Vec<_>>()).filter(|path| path.len() >= least).collect()
}

/// Whether a package has such a module: a file, or a folder.
fn is_module(path: &[&str]) -> bool {
    let [package, modules @ ..] = path else { return false };
    let place = Path::new(ROOT).join("crates").join(package).join("src").join(modules.join("/"));
    place.is_dir() || place.with_extension("rs").is_file()
}

/// Whether a package has such a test: named by the file it stands in, which may end in a `tests` of its own.
fn is_test(path: &[&str]) -> bool {
    let [package, modules @ .., name] = path else { return false };
    let within = match modules {
        [above @ .., "tests"] => above,
        _ => modules,
    };
    let root = Path::new(ROOT);
    let folders = match *package {
        "stories" => vec![root.join("tests/stories")],
        package => ["src", "tests"].map(|folder| root.join("crates").join(package).join(folder)).into(),
    };
    let places = folders.iter().flat_map(|folder| [modules, within].map(|modules| folder.join(modules.join("/"))));
    let mut files =
        places.flat_map(|place: PathBuf| [place.with_extension("rs"), place.join("mod.rs"), place.join("main.rs")]);
    files.any(|file| fs::read_to_string(file).is_ok_and(|text| has_test(&text, name)))
}

/// Whether a text has a test of that name: a function that is marked as one, or is in the list of a harness of its own.
fn has_test(text: &str, name: &str) -> bool {
    let head = format!("fn {name}(");
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    let Some(at) = lines.iter().position(|line| line.contains(&head)) else { return false };
    let mut above = lines[..at].iter().rev().take_while(|line| line.starts_with("#[") || line.starts_with("///"));
    above.any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"))
        || text.contains(&format!("::{name}\", {name})"))
}

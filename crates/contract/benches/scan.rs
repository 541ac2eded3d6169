//! What the first sight of a definition costs, and what a change of it does. By hand: `cargo bench -p callgate-contract --bench scan`.
#![allow(clippy::unwrap_used, missing_docs)]

use contract::answer::look;
use contract::change::{Version, compare};
use contract::definition_hash;
use contract::scan::{Kind, scan};
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

/// A tool with two arguments and a description of about so many bytes.
fn tool(bytes: usize, last: &str) -> String {
    let text =
        "Lists the files of a folder, newest first, with their sizes. Hidden files are left out unless asked for. ";
    let text = text.repeat(bytes / text.len() + 1);
    format!(
        r#"{{"name":"list_files","description":"{text}{last}","inputSchema":{{"type":"object","required":["path"],"properties":{{
        "path":{{"type":"string","description":"The folder, as an absolute path."}},
        "limit":{{"type":"integer","minimum":1,"maximum":100,"description":"How many at most."}}}}}}}}"#
    )
}

#[divan::bench(args = [500, 5_000])]
fn scan_a_tool(bencher: Bencher<'_, '_>, bytes: usize) {
    let tool = tool(bytes, "");
    bencher.bench(|| assert!(scan(black_box(tool.as_bytes()), Kind::Tool).is_empty()));
}

#[divan::bench]
fn look_at_a_result_of_64_kilobytes(bencher: Bencher<'_, '_>) {
    let result = format!(r#"{{"content":[{{"type":"text","text":"{}"}}]}}"#, tool(65_000, "").replace(['"', '\n'], ""));
    bencher.bench(|| look(black_box(result.as_bytes())));
}

#[divan::bench]
fn compare_the_same(bencher: Bencher<'_, '_>) {
    let tool = tool(500, "");
    let version = Version { hash: definition_hash(tool.as_bytes()).unwrap(), raw: tool.as_bytes() };
    bencher.bench(|| assert!(compare(black_box(&[version]), version, &|_| false).same));
}

#[divan::bench]
fn compare_another_text(bencher: Bencher<'_, '_>) {
    let (old, new) = (tool(500, ""), tool(500, "Sorted by name."));
    let version = |raw: &'static str| Version { hash: definition_hash(raw.as_bytes()).unwrap(), raw: raw.as_bytes() };
    let (old, new) = (version(old.leak()), version(new.leak()));
    bencher.bench(|| assert!(!compare(black_box(&[old]), new, &|_| false).same));
}

//! How much of the corpus of poisoned definitions the scan catches, how many clean ones it flags, and what it says of
//! the tools in a folder of recorded `tools/list` replies. Reads, never writes: `scripts/scan`.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "its figures are what it is for")]

use contract::finding::Finding;
use contract::scan::{Kind, scan};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn main() {
    let corpus = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus"));
    for (half, title) in
        [("tuned", "what the rules were tuned on"), ("held", "held out: written later, never tuned on")]
    {
        println!("{title}");
        for name in ["poisoned", "clean"] {
            let text = std::fs::read_to_string(corpus.join(format!("{name}-{half}.jsonl"))).unwrap();
            println!("  {name:9} flagged {}", share(half_of(&text, name == "clean")));
        }
    }
    let verbose = std::env::args().any(|word| word == "-v");
    if let Some(folder) = std::env::args().skip(1).find(|word| word != "-v") {
        recorded(Path::new(&folder), verbose);
    }
}

fn share((part, all): (usize, usize)) -> String {
    let percent = if all == 0 {
        0.0
    } else {
        100.0 * f64::from(u32::try_from(part).unwrap()) / f64::from(u32::try_from(all).unwrap())
    };
    format!("{part} of {all} ({percent:.1} %)")
}

/// Counts what is flagged, and tells of those where the verdict is wrong.
fn half_of(text: &str, is_clean: bool) -> (usize, usize) {
    let mut flagged = 0;
    let mut all = 0;
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let findings = scan(row["definition"].to_string().as_bytes(), kind(row["kind"].as_str().unwrap()));
        all += 1;
        flagged += usize::from(!findings.is_empty());
        if findings.is_empty() != is_clean {
            println!("    wrong: {}", row["note"].as_str().unwrap());
            tell(&findings, 4);
        }
    }
    (flagged, all)
}

fn kind(word: &str) -> Kind {
    match word {
        "tool" => Kind::Tool,
        "prompt" => Kind::Prompt,
        "resource" => Kind::Resource,
        "template" => Kind::Template,
        _ => Kind::Instructions,
    }
}

fn tell(findings: &[Finding], most: usize) {
    findings.iter().take(most).for_each(|finding| println!("      {}", finding.sentence()));
}

/// Everything listed in the recorded replies of a folder, each definition once.
fn recorded(folder: &Path, verbose: bool) {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut sums = [(0, 0); 5];
    let mut time = Duration::ZERO;
    let mut bytes = 0;
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "json")) {
        let reply: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        let mut seen = std::collections::HashSet::new();
        let mut open = vec![&reply];
        while let Some(value) = open.pop() {
            for (place, (key, kind)) in LISTS.into_iter().enumerate() {
                let entries: Vec<&Value> = match &value[key] {
                    Value::Array(entries) => entries.iter().filter(|entry| entry.is_object()).collect(),
                    text @ Value::String(_) if kind == Kind::Instructions => vec![text],
                    _ => Vec::new(),
                };
                for entry in entries {
                    let text = entry.to_string();
                    if !seen.insert(text.clone()) {
                        continue;
                    }
                    let start = Instant::now();
                    let findings = scan(text.as_bytes(), kind);
                    time += start.elapsed();
                    bytes += text.len();
                    sums[place].0 += usize::from(!findings.is_empty());
                    sums[place].1 += 1;
                    if verbose && !findings.is_empty() {
                        println!("  {} {} {}", file.file_name().unwrap().to_string_lossy(), key, entry["name"]);
                        tell(&findings, 6);
                    }
                }
            }
            match value {
                Value::Object(members) => open.extend(members.values()),
                Value::Array(values) => open.extend(values),
                _ => {}
            }
        }
    }
    println!("recorded replies");
    for (place, (key, _)) in LISTS.into_iter().enumerate() {
        println!("  {key:18} flagged {}", share(sums[place]));
    }
    println!("  {} KB in {:.1} ms", bytes / 1000, time.as_secs_f64() * 1000.0);
}

const LISTS: [(&str, Kind); 5] = [
    ("tools", Kind::Tool),
    ("prompts", Kind::Prompt),
    ("resources", Kind::Resource),
    ("resourceTemplates", Kind::Template),
    ("instructions", Kind::Instructions),
];

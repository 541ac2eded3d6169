//! What one call pays for its rules, and what the worst condition can make it pay. By hand: `cargo bench -p callgate-policy`.
#![allow(clippy::unwrap_used, missing_docs)]

use divan::{Bencher, black_box};
use policy::{Effect, Facts, Fallback, Hints, Profile, RuleSource, Rulebook, Target, Then};

fn main() {
    divan::main();
}

const CALL: &[u8] = br#"{"path":"/home/someone/projects/callgate/src","limit":250,"sort":"date","deep":true,"filter":{"glob":"*.rs","hidden":false}}"#;

fn rule(name: String, pattern: String, when: Option<&str>) -> RuleSource {
    let (prompts, resources, reason) = (Vec::new(), Vec::new(), None);
    RuleSource { name, tools: vec![pattern], prompts, resources, when: when.map(Into::into), then: Then::Ask, reason }
}

fn profile() -> Profile<'static> {
    Profile {
        target: Target::Tool,
        name: "files__list_files",
        own: "list_files",
        server: "files",
        effect: Effect::Read,
        hints: Hints { read_only: Some(true), destructive: None },
        tag: None,
        flagged: false,
        partly_checked: false,
        takes_url: false,
        arguments: &[],
        annotations: br#"{"readOnlyHint":true}"#,
    }
}

fn judge(bencher: Bencher<'_, '_>, rules: &[RuleSource], arguments: &[u8]) {
    let book = Rulebook::compile(Fallback::Auto, rules).unwrap();
    let standing = book.standing(&profile());
    bencher.bench(|| book.judge(black_box(&standing), &Facts { host: "cursor", arguments: black_box(arguments) }));
}

fn fifty() -> Vec<RuleSource> {
    (0..50)
        .map(|n| rule(format!("r{n}"), format!("{}*__*{n}*", if n == 49 { "files__list_" } else { "s" }), None))
        .collect()
}

#[divan::bench]
fn without_rules(bencher: Bencher<'_, '_>) {
    judge(bencher, &[], CALL);
}

#[divan::bench]
fn with_fifty_patterns(bencher: Bencher<'_, '_>) {
    judge(bencher, &fifty(), CALL);
}

#[divan::bench]
fn with_one_condition(bencher: Bencher<'_, '_>) {
    let when = "args.path.startsWith('/etc/') || args.limit > 1000";
    judge(bencher, &[rule("r".into(), "files__*".into(), Some(when))], CALL);
}

#[divan::bench(args = ["text", "numbers"])]
fn with_one_condition_and_250_kilobytes(bencher: Bencher<'_, '_>, of: &str) {
    let many =
        if of == "text" { format!("\"{}\"", "text ".repeat(50_000)) } else { format!("[{}1]", "1,".repeat(125_000)) };
    let call = format!(r#"{{"path":"/home/x","content":{many}}}"#);
    judge(bencher, &[rule("r".into(), "files__*".into(), Some("args.path.startsWith('/etc/')"))], call.as_bytes());
}

#[divan::bench]
fn with_ten_conditions(bencher: Bencher<'_, '_>) {
    let when = "has(args.filter) && args.filter.glob.matches('^[*]{2}') && host == 'cursor'";
    let rules: Vec<RuleSource> = (0..10).map(|n| rule(format!("r{n}"), "files__*".into(), Some(when))).collect();
    judge(bencher, &rules, CALL);
}

#[divan::bench]
fn standing_with_fifty_patterns(bencher: Bencher<'_, '_>) {
    let book = Rulebook::compile(Fallback::Auto, &fifty()).unwrap();
    bencher.bench(|| book.standing(black_box(&profile())));
}

#[divan::bench]
fn compile_one_condition(bencher: Bencher<'_, '_>) {
    let rules = [rule("r".into(), "files__*".into(), Some("args.path.startsWith('/etc/') || args.limit > 1000"))];
    bencher.bench(|| Rulebook::compile(Fallback::Auto, black_box(&rules)).unwrap());
}

#[divan::bench]
fn compile_one_pattern(bencher: Bencher<'_, '_>) {
    let rules = [rule("r".into(), "files__*".into(), Some(r"args.path.matches('(?i)^/(etc|usr)/.*[.]key$')"))];
    bencher.bench(|| Rulebook::compile(Fallback::Auto, black_box(&rules)).unwrap());
}

/// Conditions and arguments that use up all steps; all of these should take about as long.
const WORST: [(&str, &str); 12] = [
    ("loops", "args.l.all(a, args.l.all(b, a != b + 1))"),
    ("lists", "size(args.l.map(a, args.l + args.l)) == 1"),
    ("deep", "args.l in args.l.map(a, args.l + [2])"),
    ("pattern", "args.l.all(a, !args.r.matches('[ab]*a[ab]{10}[^ab]'))"),
    ("large pattern", "args.l.all(a, !args.r.matches(r'(?i)\\w+@\\w+[.]com'))"),
    ("equality", "args.l.all(a, args.l == args.l)"),
    ("membership", "args.l.all(a, !(2 in args.l))"),
    ("case", "args.l.all(a, args.t.lowerAscii() != '')"),
    ("text", "args.l.all(a, !args.t.contains('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab'))"),
    ("escapes", "args.l.all(a, args.e != 'x')"),
    ("digits", "args.l.all(a, args.n > 1)"),
    ("keys", "args.o.all(k, args.o[k] == 1)"),
];

#[divan::bench(args = WORST.map(|(name, _)| name), sample_count = 20)]
fn worst(bencher: Bencher<'_, '_>, name: &str) {
    let when = WORST.iter().find(|(it, _)| *it == name).unwrap().1;
    let list = vec!["1"; 5000].join(",");
    let keys = (0..4000).map(|n| format!("\"k{n}\":1")).collect::<Vec<_>>().join(",");
    let text = "ab".repeat(12_000);
    let arguments =
        format!(r#"{{"l":[{list}],"t":"{text}","e":"\u0061{text}","n":0.{},"o":{{{keys}}}}}"#, "1".repeat(20_000));
    let book = Rulebook::compile(Fallback::Auto, &[rule("r".into(), "*".into(), Some(when))]).unwrap();
    let standing = book.standing(&profile());
    bencher.bench(|| book.judge(&standing, &Facts { host: "cursor", arguments: arguments.as_bytes() }));
}

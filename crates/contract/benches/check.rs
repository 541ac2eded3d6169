//! What one call pays for its arguments, and what the worst schemas can make it pay. By hand: `cargo bench -p callgate-contract`.
#![allow(clippy::unwrap_used, missing_docs)]

use contract::{Arguments, Compiled, Effort, Slug, Tool};
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

const SCHEMA: &str = r#"{"type":"object","required":["path","limit"],"additionalProperties":false,"properties":{
    "path":{"type":"string","minLength":1},"limit":{"type":"integer","minimum":1,"maximum":1000},
    "sort":{"enum":["name","size","date"]},"deep":{"type":"boolean"},
    "filter":{"type":"object","properties":{"glob":{"type":"string"},"hidden":{"type":"boolean"}}}}}"#;
const CALL: &str = r#"{"path":"/home/someone/projects/callgate/src","limit":250,"sort":"date","deep":true,"filter":{"glob":"*.rs","hidden":false}}"#;

fn compiled(schema: &str) -> Compiled {
    Compiled::compile(schema.as_bytes()).unwrap()
}

#[divan::bench]
fn read_130_bytes(bencher: Bencher<'_, '_>) {
    bencher.bench(|| Arguments::read(black_box(Some(CALL.as_bytes()))).unwrap());
}

#[divan::bench]
fn read_and_check_130_bytes(bencher: Bencher<'_, '_>) {
    let schema = compiled(SCHEMA);
    bencher.bench(|| Arguments::read(black_box(Some(CALL.as_bytes()))).unwrap().check(&schema, Effort::QUICK).unwrap());
}

#[divan::bench]
fn the_same_by_way_of_a_parsed_value(bencher: Bencher<'_, '_>) {
    let schema = jsonschema::validator_for(&serde_json::from_str(SCHEMA).unwrap()).unwrap();
    bencher.bench(|| schema.is_valid(&serde_json::from_str(black_box(CALL)).unwrap()));
}

#[divan::bench]
fn digest_130_bytes(bencher: Bencher<'_, '_>) {
    let arguments = Arguments::read(Some(CALL.as_bytes())).unwrap();
    bencher.bench_local(|| arguments.digest(Some("idempotency_key")));
}

#[divan::bench]
fn read_and_check_64_kilobytes(bencher: Bencher<'_, '_>) {
    let schema = compiled(SCHEMA);
    let call = CALL.replace("/home", &"x".repeat(65_000));
    bencher.bench(|| Arguments::read(Some(call.as_bytes())).unwrap().check(&schema, Effort::QUICK).unwrap());
}

#[divan::bench]
fn compile(bencher: Bencher<'_, '_>) {
    bencher.bench(|| compiled(black_box(SCHEMA)));
}

#[divan::bench]
fn refuse_with_four_problems(bencher: Bencher<'_, '_>) {
    let schema = compiled(SCHEMA);
    let call = r#"{"paths":"x","limit":0,"sort":"sizes","deep":1}"#;
    bencher.bench(|| Arguments::read(Some(call.as_bytes())).unwrap().check(&schema, Effort::QUICK).unwrap_err());
}

#[divan::bench]
fn read_a_tool(bencher: Bencher<'_, '_>) {
    let tool = format!(r#"{{"name":"list_files","description":"{}","inputSchema":{SCHEMA}}}"#, "Lists. ".repeat(60));
    bencher.bench(|| Tool::read(black_box(tool.as_bytes())).unwrap());
}

#[divan::bench]
fn name_a_tool(bencher: Bencher<'_, '_>) {
    let slug = Slug::of("files");
    bencher.bench(|| slug.exposed(black_box("list_files")));
}

#[divan::bench(sample_count = 10)]
fn compile_256_patterns_over_the_limit(bencher: Bencher<'_, '_>) {
    let property = |n: usize| format!(r#""p{n}":{{"pattern":"([a-z]{{40}}){{{}}}"}}"#, 400 + n);
    let schema = format!(r#"{{"properties":{{{}}}}}"#, (0..256).map(property).collect::<Vec<_>>().join(","));
    bencher.bench(|| compiled(&schema));
}

const DOUBLING: &str = r##"{"type":"object","properties":{"x":{"anyOf":[{"allOf":[{"$ref":"#"},{"$ref":"#/$defs/twin"},
    {"required":["y"]}]},{"$ref":"#"}]}},"$defs":{"twin":{"type":"object","properties":{"x":{"allOf":
    [{"$ref":"#/$defs/twin"},{"$ref":"#"}]}}}}}"##;

#[divan::bench(args = [20, 60], sample_count = 10)]
fn worst_doubling_quick(bencher: Bencher<'_, '_>, levels: usize) {
    let schema = compiled(DOUBLING);
    let call = format!("{}1{}", "{\"x\":".repeat(levels), "}".repeat(levels));
    bencher.bench(|| Arguments::read(Some(call.as_bytes())).unwrap().check(&schema, Effort::QUICK));
}

#[divan::bench(sample_count = 5)]
fn worst_doubling_long(bencher: Bencher<'_, '_>) {
    let schema = compiled(DOUBLING);
    let call = format!("{}1{}", "{\"x\":".repeat(60), "}".repeat(60));
    bencher.bench(|| Arguments::read(Some(call.as_bytes())).unwrap().check(&schema, Effort::LONG));
}

#[divan::bench(sample_count = 10)]
fn worst_pattern_quick(bencher: Bencher<'_, '_>) {
    let schema = compiled(r#"{"properties":{"x":{"pattern":"(?:[ab]*a[ab]{60}c)$"}}}"#);
    let call = format!("{{\"x\":\"{}\"}}", "ab".repeat(2400));
    bencher.bench(|| Arguments::read(Some(call.as_bytes())).unwrap().check(&schema, Effort::QUICK));
}

#[divan::bench(sample_count = 10)]
fn worst_in_place_quick(bencher: Bencher<'_, '_>) {
    let many = vec!["{\"allOf\":[{},{},{}]}"; 1000].join(",");
    let schema = compiled(&format!(r#"{{"additionalProperties":{{"allOf":[{many}]}}}}"#));
    let call = format!("{{{}}}", (0..5000).map(|n| format!("\"{n}\":1")).collect::<Vec<_>>().join(","));
    bencher.bench(|| Arguments::read(Some(call.as_bytes())).unwrap().check(&schema, Effort::QUICK));
}

#[divan::bench(sample_count = 10)]
fn worst_errors_quick(bencher: Bencher<'_, '_>) {
    let schema = compiled(r#"{"additionalProperties":{"anyOf":[{"type":"integer"},{"type":"array"},{"enum":["a"]}]}}"#);
    let call = format!("{{{}}}", (0..1500).map(|n| format!("\"{n}\":\"x\"")).collect::<Vec<_>>().join(","));
    bencher.bench(|| Arguments::read(Some(call.as_bytes())).unwrap().check(&schema, Effort::QUICK));
}

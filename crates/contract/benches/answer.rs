//! What a result costs on its way back. By hand: `cargo bench -p callgate-contract --bench answer`.
#![allow(clippy::unwrap_used, missing_docs)]

use contract::answer::{Changes, Cleaner, check_output};
use contract::outcome::{Told, tell};
use contract::{Compiled, Effort};
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

const SECRETS: [&str; 5] = [
    "ghp_abcdefghijklmnop0123",
    "sk-proj-1234567890abcdef",
    "xoxb-99-aa-bb-cc-dd",
    "hunter2hunter2",
    "AKIAIOSFODNN7EXAMPLE",
];
/// JSON in a text, which is full of escapes, and prose with foreign letters.
const TEXTS: [&str; 2] = [
    r#"{\"id\": 12, \"name\": \"file one\",\n \"path\": \"C:\\\\work\\\\x\", \"size\": 123456},\n"#,
    "The quick brown fox jumps over the lazy dog \u{2013} na\u{ef}ve, 12 \u{b5}m, \u{4f60}\u{597d} [call]. ",
];

fn result(text: &str, bytes: usize) -> Vec<u8> {
    let inner = text.repeat(bytes / text.len());
    format!(r#"{{"content":[{{"type":"text","text":"{inner}"}}],"isError":false}}"#).into_bytes()
}

#[divan::bench(args = [140, 65_536, 1_000_000])]
fn nothing_to_do_in_json_text(bencher: Bencher<'_, '_>, bytes: usize) {
    let (cleaner, result) = (Cleaner::new(SECRETS), result(TEXTS[0], bytes));
    bencher.bench(|| assert!(cleaner.clean(black_box(&result)).unwrap().body.is_none()));
}

#[divan::bench(args = [140, 65_536])]
fn nothing_to_do_in_prose(bencher: Bencher<'_, '_>, bytes: usize) {
    let (cleaner, result) = (Cleaner::new(SECRETS), result(TEXTS[1], bytes));
    bencher.bench(|| assert!(cleaner.clean(black_box(&result)).unwrap().body.is_none()));
}

/// Every letter written as an escape, as some writers do with what is not ASCII.
#[divan::bench(args = [65_536])]
fn nothing_to_do_in_escapes(bencher: Bencher<'_, '_>, bytes: usize) {
    let (cleaner, result) = (Cleaner::new(SECRETS), result(r"\u4f60\u597d", bytes));
    bencher.bench(|| cleaner.clean(black_box(&result)).unwrap());
}

#[divan::bench(args = [140, 65_536])]
fn a_secret_at_the_end(bencher: Bencher<'_, '_>, bytes: usize) {
    let cleaner = Cleaner::new(SECRETS);
    let mut result = result(TEXTS[0], bytes);
    result.truncate(result.len() - 1);
    result.extend_from_slice(br#","error":"hunter2hunter2"}"#);
    bencher.bench(|| cleaner.clean(black_box(&result)).unwrap().body.unwrap());
}

#[divan::bench(args = [140, 65_536])]
fn colours_in_every_line(bencher: Bencher<'_, '_>, bytes: usize) {
    let (cleaner, result) = (Cleaner::new(SECRETS), result(r"\u001b[32mok\u001b[0m test that passes\n", bytes));
    bencher.bench(|| cleaner.clean(black_box(&result)).unwrap().body.unwrap());
}

#[divan::bench]
fn a_cleaner_of_five_secrets(bencher: Bencher<'_, '_>) {
    bencher.bench(|| Cleaner::new(black_box(SECRETS)));
}

#[divan::bench]
fn structure_against_its_schema(bencher: Bencher<'_, '_>) {
    let schema = Compiled::compile(
        br#"{"type":"object","required":["total"],"properties":{"total":{"type":"integer"},"rows":{"type":"array","items":{"type":"string"}}}}"#,
    )
    .unwrap();
    let result =
        br#"{"content":[{"type":"text","text":"3 rows"}],"structuredContent":{"total":3,"rows":["a","b","c"]}}"#;
    bencher.bench(|| check_output(black_box(result), &schema, Effort::QUICK).unwrap());
}

#[divan::bench]
fn a_change_told(bencher: Bencher<'_, '_>) {
    let result = result(TEXTS[0], 140);
    let changes = Changes { secrets: 1, ..Changes::default() };
    bencher.bench(|| tell(black_box(&result), &[Told::Changed(&changes)]).unwrap());
}

//! What one message costs: `cargo bench -p callgate-frame`.
#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use divan::{Bencher, black_box, counter::BytesCount};
use frame::object::{self, Edit};
use frame::{Frame, LineBuf, strict};

fn main() {
    divan::main();
}

fn call(bytes: usize) -> Bytes {
    let head = r#"{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"files__read_text_file","arguments":{"path":"/home/me/work/notes.md","note":""#;
    let tail = r#""},"_meta":{"progressToken":17}}}"#;
    let fill = "x".repeat(bytes.saturating_sub(head.len() + tail.len()));
    format!("{head}{fill}{tail}").into()
}

fn result(bytes: usize, fill: &str) -> Bytes {
    let text = fill.repeat(bytes / fill.len());
    format!(r#"{{"jsonrpc":"2.0","id":17,"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#).into()
}

/// 2,000 rows, 114 KB.
fn rows() -> Bytes {
    let rows: Vec<String> = (0..2000)
        .map(|n| format!(r#"{{"id":{n},"name":"row {n}","ok":true,"score":{}.5,"tag":null}}"#, n % 97))
        .collect();
    format!(r#"{{"jsonrpc":"2.0","id":17,"result":{{"structuredContent":{{"rows":[{}]}}}}}}"#, rows.join(",")).into()
}

fn texts(name: &str) -> Bytes {
    match name {
        "130 B" => Bytes::from_static(br#"{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"files__read","arguments":{"path":"/home/me/work/notes.md"}}}"#),
        "300 B" => call(300),
        "1 KB" => result(1000, "lorem ipsum "),
        "64 KB" => result(65_536, "lorem ipsum dolor sit amet "),
        "64 KB lines" => result(65_536, "    let line = \\\"of some code\\\";\\n"),
        "64 KB wide" => result(65_536, "これは日本語のテキスト"),
        "1 MB" => result(1_000_000, "lorem ipsum dolor sit amet "),
        _ => rows(),
    }
}

const ALL: [&str; 8] = ["130 B", "300 B", "1 KB", "64 KB", "64 KB lines", "64 KB wide", "1 MB", "114 KB rows"];

#[divan::bench(args = ALL)]
fn envelope(bencher: Bencher<'_, '_>, name: &str) {
    let text = texts(name);
    bencher.counter(BytesCount::new(text.len())).bench_local(|| Frame::parse(black_box(&text).clone()).unwrap());
}

#[divan::bench(args = ["300 B", "64 KB", "114 KB rows"])]
fn strict_check(bencher: Bencher<'_, '_>, name: &str) {
    let text = texts(name);
    bencher.counter(BytesCount::new(text.len())).bench_local(|| strict::check(black_box(&text)).unwrap());
}

#[divan::bench(args = ["300 B", "64 KB", "114 KB rows"])]
fn pick(bencher: Bencher<'_, '_>, name: &str) {
    let text = texts(name);
    bencher.counter(BytesCount::new(text.len())).bench_local(|| object::pick(black_box(&text), ["id", "_meta"]));
}

#[divan::bench(args = ["300 B", "64 KB"])]
fn edit(bencher: Bencher<'_, '_>, name: &str) {
    let text = texts(name);
    bencher.bench_local(|| Edit::new().set("id", "99").remove("_meta").apply(black_box(&text)));
}

/// 64 lines of 300 B that arrive in one read.
#[divan::bench]
fn lines(bencher: Bencher<'_, '_>) {
    let mut batch = [&call(300)[..], b"\n"].concat();
    batch = batch.repeat(64);
    let mut buf = LineBuf::new(1 << 24);
    bencher.counter(BytesCount::new(batch.len())).bench_local(|| {
        buf.spare(65_536).extend_from_slice(black_box(&batch));
        while let Some(line) = buf.next_line() {
            black_box(line);
        }
    });
}

//! Lines come out the same however the stream is cut.

use super::bytes;
use crate::{Line, LineBuf, readable_id};
use proptest::collection::vec;
use proptest::prelude::*;

/// All lines of a stream that arrives in these chunks; `pending` must stay bounded.
fn lines<'a>(max: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Line>, LineBuf) {
    let mut buf = LineBuf::new(max);
    let mut out = Vec::new();
    for chunk in chunks {
        buf.spare(chunk.len()).extend_from_slice(chunk);
        while let Some(line) = buf.next_line() {
            out.push(line);
        }
        assert!(buf.pending() <= max, "{} bytes held back", buf.pending());
    }
    (out, buf)
}

fn whole(text: &str) -> Line {
    Line::Whole(bytes(text))
}

#[test]
fn lines_of_a_stream() {
    let check = |stream: &str, expect: &[Line], rest: &str| {
        for size in 1..=stream.len().max(1) {
            let (got, mut buf) = lines(10, stream.as_bytes().chunks(size));
            assert_eq!(got, expect, "{stream:?} in chunks of {size}");
            assert_eq!((buf.pending(), buf.take_rest()), (rest.len(), bytes(rest)), "{stream:?}");
        }
    };
    check("", &[], "");
    check("{}\n", &[whole("{}")], "");
    check("{}\r\n[]\r\n", &[whole("{}"), whole("[]")], "");
    check("\n \n\r\n\t\r\na\n\n", &[whole("a")], "");
    check("a\nb", &[whole("a")], "b");
    check("a\rb\n", &[whole("a\rb")], "");
    check("ééééé\n", &[whole("ééééé")], "");
    let long = |head: &str| Line::TooLong { head: bytes(head), length: head.len() as u64 };
    check("0123456789\nx\n", &[whole("0123456789"), whole("x")], "");
    check("0123456789a\nx\n", &[long("0123456789a"), whole("x")], "");
    check(
        "0123456789abcdef\n0123456789abcdef0123\nx\n",
        &[long("0123456789abcdef"), long("0123456789abcdef0123"), whole("x")],
        "",
    );
}

#[test]
fn a_long_line_keeps_its_ends() {
    let long = format!("{{\"result\":\"{}\",\"jsonrpc\":\"2.0\",\"id\":77}}", "x".repeat(100_000));
    let stream = format!("{long}\nnext\n");
    for size in [1, 7, 512, 4096, 65536, stream.len()] {
        let (got, _) = lines(5000, stream.as_bytes().chunks(size));
        let [Line::TooLong { head, length }, next] = &got[..] else { panic!("{got:?}") };
        assert_eq!((*length, next), (long.len() as u64, &whole("next")));
        assert_eq!(head.len(), 4096 + 1 + 512);
        assert_eq!(readable_id(head), Some(bytes("77")));
    }
}

#[test]
fn memory_is_given_back() {
    let mut buf = LineBuf::new(1 << 20);
    for _ in 0..64 {
        buf.spare(1 << 16).extend_from_slice(&[b'x'; 1 << 16]);
        assert_eq!(buf.next_line(), None);
    }
    assert_eq!(buf.pending(), 0);
    assert!(buf.spare(0).capacity() <= 128 * 1024);
    // Handed over in the middle of it, the next owner is in step after one broken line.
    assert_eq!(buf.take_rest(), "x".repeat(512));
    buf.spare(8).extend_from_slice(b"a\nb\n");
    assert_eq!((buf.next_line(), buf.next_line(), buf.next_line()), (Some(whole("a")), Some(whole("b")), None));
}

proptest! {
    #[test]
    fn chunks_do_not_matter(
        stream in vec(prop_oneof![4 => Just(b'a'), 3 => Just(b'\n'), 1 => Just(b'\r'), 1 => Just(b' '), 1 => any::<u8>()], 0..300),
        cuts in vec(any::<prop::sample::Index>(), 0..20),
        max in 0usize..40,
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        cuts.extend([0, stream.len()]);
        cuts.sort_unstable();
        let (got, _) = lines(max, cuts.windows(2).map(|pair| &stream[pair[0]..pair[1]]));
        let mut expect = Vec::new();
        let ended = stream.iter().rposition(|byte| *byte == b'\n').map_or(&[][..], |end| &stream[..end]);
        for line in ended.split(|byte| *byte == b'\n') {
            if line.len() > max {
                expect.push(Line::TooLong { head: bytes(line), length: line.len() as u64 });
            } else if !line.iter().all(u8::is_ascii_whitespace) {
                expect.push(Line::Whole(bytes(line.strip_suffix(b"\r").unwrap_or(line))));
            }
        }
        prop_assert_eq!(got, expect);
    }
}

//! A stream cut by the input's own first bytes: the lines are those of the stream in one piece.
#![no_main]

use frame::{Line, LineBuf, readable_id};
use libfuzzer_sys::fuzz_target;

fn lines<'a>(max: usize, chunks: impl Iterator<Item = &'a [u8]>) -> Vec<Line> {
    let mut buf = LineBuf::new(max);
    let mut out = Vec::new();
    for chunk in chunks {
        buf.spare(chunk.len()).extend_from_slice(chunk);
        while let Some(line) = buf.next_line() {
            if let Line::TooLong { head, .. } = &line {
                let _ = readable_id(head);
            }
            out.push(line);
        }
        assert!(buf.pending() <= max);
    }
    out
}

fuzz_target!(|input: &[u8]| {
    let [max, size, stream @ ..] = input else { return };
    let max = usize::from(*max) * 64;
    let size = usize::from(*size).max(1);
    assert_eq!(lines(max, stream.chunks(size)), lines(max, std::iter::once(stream)));
});

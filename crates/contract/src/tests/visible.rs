//! Forty hidden things, each made visible.

use crate::visible::{Hidden, escape, escape_bytes, escape_lines, hidden};

/// Text and how it shows; none of the right-hand sides holds anything hidden.
const CORPUS: [(&str, &str); 40] = [
    ("a\u{E0041}b", "a\\u{E0041}b"),
    ("\u{E0001}\u{E0069}\u{E007F}", "\\u{E0001}\\u{E0069}\\u{E007F}"),
    ("\u{E0000}", "\\u{E0000}"),
    ("\u{E01F0}", "\\u{E01F0}"),
    ("\u{E0100}x", "\\u{E0100}x"),
    ("x\u{E01EF}", "x\\u{E01EF}"),
    ("a\u{FE00}", "a\\u{FE00}"),
    ("a\u{FE0F}", "a\\u{FE0F}"),
    ("😀\u{FE0F}\u{FE0F}", "😀\u{FE0F}\\u{FE0F}"),
    ("\u{180B}", "\\u{180B}"),
    ("\u{202A}", "\\u{202A}"),
    ("\u{202B}", "\\u{202B}"),
    ("\u{202C}", "\\u{202C}"),
    ("\u{202D}", "\\u{202D}"),
    ("exe.\u{202E}fdp", "exe.\\u{202E}fdp"),
    ("\u{2066}a\u{2069}", "\\u{2066}a\\u{2069}"),
    ("\u{2067}", "\\u{2067}"),
    ("\u{2068}", "\\u{2068}"),
    ("\u{200E}", "\\u{200E}"),
    ("\u{200F}", "\\u{200F}"),
    ("\u{61C}", "\\u{61C}"),
    ("de\u{200B}lete", "de\\u{200B}lete"),
    ("de\u{200C}lete", "de\\u{200C}lete"),
    ("de\u{200D}lete", "de\\u{200D}lete"),
    ("\u{2060}", "\\u{2060}"),
    ("\u{2062}", "\\u{2062}"),
    ("\u{FEFF}{}", "\\u{FEFF}{}"),
    ("so\u{AD}ft", "so\\u{AD}ft"),
    ("\u{34F}", "\\u{34F}"),
    ("\u{3164}", "\\u{3164}"),
    ("\u{115F}\u{1160}\u{FFA0}", "\\u{115F}\\u{1160}\\u{FFA0}"),
    ("\u{FFF9}a\u{FFFA}b\u{FFFB}", "\\u{FFF9}a\\u{FFFA}b\\u{FFFB}"),
    ("\u{1B}[31mred\u{1B}[0m", "\\u{1B}[31mred\\u{1B}[0m"),
    ("\u{1B}]8;;http://x\u{7}link\u{1B}]8;;\u{7}", "\\u{1B}]8;;http://x\\u{7}link\\u{1B}]8;;\\u{7}"),
    ("\u{9B}2J", "\\u{9B}2J"),
    ("\u{1B}[2K\u{8}\u{8}", "\\u{1B}[2K\\u{8}\\u{8}"),
    ("a\0b", "a\\u{0}b"),
    ("\u{7F}\u{85}", "\\u{7F}\\u{85}"),
    ("row\r\nforged\trow", "row\\r\\nforged\\trow"),
    ("\u{2028}\u{2029}\u{206A}\u{2800}", "\\u{2028}\\u{2029}\\u{206A}\\u{2800}"),
];

#[test]
fn nothing_hidden_stays_hidden() {
    for (text, expect) in CORPUS {
        let shown = escape(text);
        assert_eq!(shown, expect, "{text:?}");
        assert!(shown.chars().all(|c| Hidden::of(c).is_none() || c == '\u{FE0F}'), "{shown:?}");
        assert_eq!(escape_bytes(text.as_bytes()), expect);
        if text != "row\r\nforged\trow" {
            assert!(hidden(text).next().is_some(), "{text:?}");
            assert_eq!(escape_lines(text), expect);
        }
    }
}

/// What is not hidden text, and no person could see either.
#[test]
fn what_looks_like_nothing_or_like_something_else_is_written_out() {
    let odd = "\u{600}\u{605}\u{6DD}\u{70F}\u{8E2}\u{A0}\u{2003}\u{202F}\u{3000}\u{E000}\u{F8FF}\u{FDD0}\u{FFFC}\u{FFFE}\u{110BD}\u{13430}\u{F0000}\u{10FFFF}";
    for c in odd.chars() {
        let text = format!("a{c}b");
        assert_eq!(escape(&text), format!("a\\u{{{:X}}}b", u32::from(c)));
        assert_eq!(escape_lines(&text), escape(&text));
        assert_eq!(hidden(&text).next(), None, "no finding");
    }
    let joined = "👩\u{200D}💻";
    assert_eq!((escape(joined), hidden(joined).next()), ("👩\\u{200D}💻".into(), None));
}

#[test]
fn marks_are_shown_as_many_as_writing_needs() {
    let acute = "\u{301}";
    assert_eq!(escape(&format!("a{}b", acute.repeat(4))), format!("a{}b", acute.repeat(4)));
    assert_eq!(escape(&format!("a{}b", acute.repeat(6))), format!("a{}\\u{{301}}\\u{{301}}b", acute.repeat(4)));
    // Nothing is drawn upon what stands before the text, or on nothing.
    assert_eq!(escape("\u{489}a"), "\\u{489}a");
    assert_eq!(escape_lines("a\n\u{301}b"), "a\n\\u{301}b");
    assert_eq!(escape("\u{202E}\u{301}"), "\\u{202E}\\u{301}");
    assert!(matches!(escape("हिन्दी नमस्ते ภาษาไทยที่ שָׁלוֹם العَرَبِيَّة Việt"), std::borrow::Cow::Borrowed(_)));
}

#[test]
fn what_shows_is_left_alone() {
    for text in ["plain", "naïve 服务器 שלום", "⚠\u{FE0F} 👩💻 1\u{FE0F}\u{20E3}", "\\u{202E}", ""] {
        assert!(matches!(escape(text), std::borrow::Cow::Borrowed(_)), "{text:?}");
        assert_eq!(hidden(text).next(), None, "{text:?}");
    }
    assert_eq!(escape_lines("a\n\tb\r"), "a\n\tb\\r");
    assert_eq!(hidden("a\n\tb\r").next(), None);
}

#[test]
fn bytes_that_are_no_text_are_shown_as_bytes() {
    assert_eq!(escape_bytes(b"ok \xff\xfe\x1b[0m \xc3"), "ok \\xFF\\xFE\\u{1B}[0m \\xC3");
    assert_eq!(hidden("a\u{202E}\u{E0041}").map(|(_, kind)| kind).collect::<Vec<_>>(), [Hidden::Bidi, Hidden::Tag]);
}

//! What a person is told to look at twice.

use crate::finding::{FindingKind, server_keys};
use crate::scan::{Kind, scan};
use crate::visible::Hidden;

fn sentences(keys: &[&str]) -> Vec<String> {
    server_keys(keys.iter().copied()).iter().map(|finding| finding.sentence()).collect()
}

#[test]
fn keys_that_look_alike_are_told() {
    assert_eq!(
        sentences(&["github", "GitHub", "gith\u{57D}b", "files"]),
        [
            "GitHub looks like github, but is spelled GitHub",
            "gith\u{57D}b mixes letters of several scripts: gith\\u{57D}b",
            "gith\u{57D}b looks like github, but is spelled gith\\u{57D}b",
        ]
    );
    let cyrillic = "\u{430}\u{440}\u{440}\u{4CF}\u{435}";
    let spelled = "\\u{430}\\u{440}\\u{440}\\u{4CF}\\u{435}";
    assert_eq!(sentences(&["apple", cyrillic]), [format!("{cyrillic} looks like apple, but is spelled {spelled}")]);
    assert_eq!(sentences(&["gith\u{200B}ub"]), ["gith\\u{200B}ub has a zero-width character"]);
}

#[test]
fn honest_keys_are_not() {
    assert_eq!(sentences(&["files", "Files-2", "my server", "メモ帳", "文件", "заметки", "naïve", "x.y_z"]), [""; 0]);
}

#[test]
fn hidden_text_is_found_in_every_field() {
    for field in [
        "/name",
        "/title",
        "/description",
        "/inputSchema/properties/p/description",
        "/inputSchema/properties/p/enum/0",
        "/inputSchema/properties/p/default",
        "/outputSchema/title",
        "/icons/0/src",
        "/_meta/k",
        "/annotations/title",
    ] {
        let mut tool = serde_json::json!({"name": "t", "title": "T", "description": "⚠\u{FE0F} d\n",
            "inputSchema": {"properties": {"p": {"description": "", "enum": [""], "default": ""}}},
            "outputSchema": {"title": ""}, "icons": [{"src": ""}], "_meta": {"k": ""}, "annotations": {"title": ""}});
        assert_eq!(scan(tool.to_string().as_bytes(), Kind::Tool), []);
        *tool.pointer_mut(field).unwrap() = "a\u{E0041}\u{E0042}\u{202E}".into();
        let found = scan(tool.to_string().as_bytes(), Kind::Tool);
        let kinds: Vec<_> = found.iter().map(|finding| (finding.place.as_str(), finding.kind.clone())).collect();
        let hidden = |kind, count| FindingKind::Hidden { kind, count };
        assert_eq!(kinds, [(field, hidden(Hidden::Tag, 2)), (field, hidden(Hidden::Bidi, 1))]);
    }
    let key = scan("{\"p\\u200b\":1}".as_bytes(), Kind::Tool);
    assert_eq!(key[0].sentence(), "/p\\u{200B} has a zero-width character");
}

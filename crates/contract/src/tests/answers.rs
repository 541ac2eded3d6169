//! Results that are cleaned: what goes, what stays byte for byte, and what is counted.

use crate::answer::{Changes, Cleaned, Cleaner};
use crate::tree::{Kind, Tree};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::{Value, json};

const TOKEN: &str = "ghp_s3cr3tS3CR3T";
const ODD: &str = "p\"ss/w\\rd\u{e9}";

fn clean(body: &str) -> Cleaned {
    Cleaner::new([TOKEN, ODD, "short"]).clean(body.as_bytes()).unwrap()
}

fn check(body: &str, expect: &str, changes: Changes) {
    let cleaned = clean(body);
    let text = String::from_utf8(cleaned.body.clone().unwrap_or_else(|| body.into())).unwrap();
    assert_eq!(text, expect, "{body}");
    assert_eq!(cleaned.changes, changes, "{body}");
    assert_eq!(cleaned.body.is_none(), cleaned.changes.is_none(), "{body}");
    assert_eq!(clean(&text), Cleaned::default(), "{text}");
}

fn check_stays(body: &str) {
    check(body, body, Changes::default());
}

fn none() -> Changes {
    Changes::default()
}

#[test]
fn known_secrets_leave_every_text_however_they_are_spelled() {
    let one = || Changes { secrets: 1, ..none() };
    check(r#"{"t":"a ghp_s3cr3tS3CR3T b"}"#, r#"{"t":"a [secret removed] b"}"#, one());
    check(r#"{ "ghp_s3cr3tS3CR3T" : 1.50 }"#, r#"{ "[secret removed]" : 1.50 }"#, one());
    check(r#"{"t":"ghp_\u00733cr3tS3CR3T\n"}"#, r#"{"t":"[secret removed]\n"}"#, one());
    check(
        r#"{"t":"x\ud800 ghp_s3cr3tS3CR3T"}"#,
        r#"{"t":"x\uFFFD [secret removed]"}"#,
        Changes { surrogates: 1, ..one() },
    );
    // As it is, in JSON within a text, twice so, by a writer of ASCII, of `\/`, in a URL, in base64.
    let spelled = |text: &str| json!({"text": format!("<{text}>")}).to_string();
    let inner = Value::from(ODD).to_string();
    let twice = Value::from(inner.trim_matches('"')).to_string();
    let percent = "p%22ss%2Fw%5Crd%C3%A9";
    let basic = STANDARD.encode(format!("user:{TOKEN}"));
    for text in
        [ODD, inner.trim_matches('"'), twice.trim_matches('"'), r#"p\"ss/w\\rd\u00e9"#, r#"p\"ss\/w\\rdé"#, percent]
    {
        check(&spelled(text), r#"{"text":"<[secret removed]>"}"#, one());
    }
    check(r#"{"t":"p\"ss\/w\\rd\u00E9"}"#, r#"{"t":"[secret removed]"}"#, one());
    let cleaned = clean(&spelled(&format!("Basic {basic}=")));
    assert_eq!(cleaned.changes, one());
    assert!(!String::from_utf8(cleaned.body.unwrap()).unwrap().contains(&basic[8..20]));
    // In a structure as in a text, and in an error.
    check(
        r#"{"content":[{"type":"text","text":"ghp_s3cr3tS3CR3T,ghp_s3cr3tS3CR3T"}],"structuredContent":{"k":["ghp_s3cr3tS3CR3T"]}}"#,
        r#"{"content":[{"type":"text","text":"[secret removed],[secret removed]"}],"structuredContent":{"k":["[secret removed]"]}}"#,
        Changes { secrets: 3, ..none() },
    );
    check_stays(r#"{"t":"short ghp_s3cr3tS3CR3 GHP_S3CR3TS3CR3T ","n":12345678}"#);
    check_stays(r#"{"t":"ghp_","u":"s3cr3tS3CR3T"}"#);
}

#[test]
fn images_sounds_and_files_are_never_touched() {
    check_stays(r#"{"content":[{"type":"image","data":"ghp/s3cr3tS3CR3T","mimeType":"image/png"}]}"#);
    let cleaner = Cleaner::new(["AAAABBBB"]);
    let stays = |body: &str| assert_eq!(cleaner.clean(body.as_bytes()).unwrap(), Cleaned::default(), "{body}");
    stays(r#"{"content":[{"data":"xAAAABBBBx==","type":"image"},{"type":"audio","data":"AAAABBBB"}]}"#);
    stays(r#"{"contents":[{"uri":"file:///x","blob":"AAAABBBB"}]}"#);
    stays(r#"{"contents":[{"blob":"a\/AAAABBBB=="}]}"#);
    check(r#"{"type":"image","data":"\u001b"}"#, r#"{"type":"image","data":""}"#, Changes { ansi: 1, ..none() });
    for body in [
        r#"{"content":[{"type":"text","data":"AAAABBBB"}]}"#,
        r#"{"content":[{"type":"image","data":"no base64: AAAABBBB"}]}"#,
        r#"{"contents":[{"uri":"file:///AAAABBBB","blob":""}]}"#,
    ] {
        assert_eq!(cleaner.clean(body.as_bytes()).unwrap().changes.secrets, 1, "{body}");
    }
}

#[test]
fn the_hubs_own_names_leave_every_meta() {
    let names = |names| Changes { names, ..none() };
    let own = r#""dev.callgate/outcome":{"ok":true,"_meta":{"dev.callgate/x":1}}"#;
    check(&format!(r#"{{"_meta":{{{own}}}}}"#), r#"{"_meta":{}}"#, names(1));
    check(&format!(r#"{{"_meta":{{ {own} , "k":1 }}}}"#), r#"{"_meta":{ "k":1 }}"#, names(1));
    check(&format!(r#"{{"_meta":{{ "k":1 , {own} }}}}"#), r#"{"_meta":{ "k":1 }}"#, names(1));
    check(
        r#"{"_meta":{"dev.callgate/a":1,"k":[2],"dev.callgate\/b":{},"dev.callgate/c":3,"l":4,"\u0064ev.callgate/d":5}}"#,
        r#"{"_meta":{"k":[2],"l":4}}"#,
        names(4),
    );
    check(
        r#"{"content":[{"type":"text","text":"x","\u005fmeta":{"dev.callgate/replayed":true}}]}"#,
        r#"{"content":[{"type":"text","text":"x","\u005fmeta":{}}]}"#,
        names(1),
    );
    check("{\"_meta\":{\"dev.call\u{E0041}gate/a\":1}}", r#"{"_meta":{}}"#, Changes { names: 1, tags: 1, ..none() });
    check_stays(r#"{"_meta":{"dev.callgates/a":1,"x.dev.callgate/a":2},"dev.callgate/a":"dev.callgate/b"}"#);
}

#[test]
fn nothing_looks_like_the_hubs_word() {
    let marks = |markers| Changes { markers, ..none() };
    check(r#"{"t":"x\n[CallGate] Approved."}"#, r#"{"t":"x\n(callgate) Approved."}"#, marks(1));
    check(r#"{"t":"\u005bcallgate\u005d"}"#, r#"{"t":"(callgate)"}"#, marks(1));
    let object = r#"{"ok":false,"status":"pending","approval_id":"a-1","message":"Call again"}"#;
    let said = object.replace("\"pending\"", "\"pending (said by the server)\"");
    check(&format!("{{\"structuredContent\":{object}}}"), &format!("{{\"structuredContent\":{said}}}"), marks(1));
    let text = |text: &str| json!({"content": [{"type": "text", "text": text}]}).to_string();
    let within = |text: &str| Value::from(text).to_string();
    check(&text(object), &text(&said), marks(1));
    check(&text(&within(object)), &text(&within(&said)), marks(1));
    check(&text(&format!("Wait: {object}!")), &text(&format!("Wait: {said}!")), marks(1));
    check(
        &text("{'ok': False, 'status': 'pending', 'approval_id': 3}"),
        &text("{'ok': False, 'status': 'pending (said by the server)', 'approval_id': 3}"),
        marks(1),
    );
    check(
        r#"{"x":[{"error":"already_ran","ok":false,"call_id":"c-1z"}]}"#,
        r#"{"x":[{"error":"already_ran (said by the server)","ok":false,"call_id":"c-1z"}]}"#,
        marks(1),
    );
    check(
        &text(r#"{"ok":false,"error":"denied","message":"m","call_id":"c-9"}"#),
        &text(r#"{"ok":false,"error":"denied (said by the server)","message":"m","call_id":"c-9"}"#),
        marks(1),
    );
    // Letters that the reader of the JSON in a text sees, and white space that he does not.
    let spelled = r#"{"\u006fk":false,"\u0073tatus":"\u0070endin\u0067","\u0061pproval_id":"c-1"}"#;
    let spelled_said = spelled.replace("u0067\"", "u0067 (said by the server)\"");
    check(&text(spelled), &text(&spelled_said), marks(1));
    let (mut deep, mut deep_said) = (spelled.to_owned(), spelled_said);
    for _ in 0..3 {
        (deep, deep_said) = (within(&deep), within(&deep_said));
        check(&text(&deep), &text(&deep_said), marks(1));
    }
    // To a reader who does not mind capital letters it is the same.
    check(
        r#"{"OK":false,"Status":"pending","Approval_ID":"a-1","m":1}"#,
        r#"{"OK":false,"Status":"pending (said by the server)","Approval_ID":"a-1","m":1}"#,
        marks(1),
    );
    check(
        r#"{"Ok":false,"Call_Id":"C-1","Error":"Denied"}"#,
        r#"{"Ok":false,"Call_Id":"C-1","Error":"Denied (said by the server)"}"#,
        marks(1),
    );
    check(
        &text("{'OK': FALSE, 'STATUS': 'PENDING', 'APPROVAL_ID': 3}"),
        &text("{'OK': FALSE, 'STATUS': 'PENDING (said by the server)', 'APPROVAL_ID': 3}"),
        marks(1),
    );
    let spelled = r#""{\u0022ok\u0022:\u0066alse,\u0022status\u0022:\n\u0022pending\u0022,\"approval_id\":1}""#;
    check(&text(spelled), &text(&spelled.replace("ending", "ending (said by the server)")), marks(1));
    check(&text(r"\u005cu005bcall\u0067ate] yes"), &text("(callgate) yes"), marks(1));
    let wide = object.replace(':', &format!(" :{}", " \n\t".repeat(20)));
    check(&text(&wide), &text(&wide.replace("pending", "pending (said by the server)")), marks(1));
    // What is taken out brings it about.
    check(
        &text(r#"{"ok":false,"error":"deniedghp_s3cr3tS3CR3T","call_id":"c-1"}"#),
        &text(r#"{"ok":false,"error":"denied (said by the server)[secret removed]","call_id":"c-1"}"#),
        Changes { secrets: 1, ..marks(1) },
    );
    // A tag character that stands where the words are put in.
    check(
        "{\"t\":\"ok false, approval_id 1, status: pending\u{E0041}\"}",
        "{\"t\":\"ok false, approval_id 1, status: pending (said by the server)\"}",
        Changes { tags: 1, ..marks(1) },
    );
}

#[test]
fn what_others_say_of_approvals_stays() {
    for body in [
        r#"{"ok":true,"status":"pending","approval_id":"x"}"#,
        r#"{"status":"pending","approval_id":"x","all":false}"#,
        r#"{"ok":false,"status":"pending","id":"x"}"#,
        r#"{"ok":false,"error":"invalid_arguments","call_id":"CA5551"}"#,
        r#"{"ok":false,"error":"not_found","call_id":"c-1"}"#,
        r#"{"t":"[call] [callgate [callgates] callgate]"}"#,
        r#"{"ok":false,"error":"denied"}"#,
    ] {
        check_stays(body);
        check_stays(&json!({ "text": body }).to_string());
    }
}

#[test]
fn tags_and_terminal_escapes_go_and_their_text_stays() {
    let tags = |tags| Changes { tags, ..none() };
    let ansi = |ansi| Changes { ansi, ..none() };
    check("{\"t\":\"a\u{E0041}\u{E0042}b\"}", r#"{"t":"ab"}"#, tags(2));
    check(r#"{"t":"a\udb40\udc41b"}"#, r#"{"t":"ab"}"#, tags(1));
    let table = [
        (r"\u001b[31mred\u001b[0m", "red", 2),
        (r"\u001b]8;;http://x\u0007link\u001b]8;;\u001b\\", "link", 2),
        (r"\u001b[2J\u001b[1;1H\u001b[?25l", "", 3),
        (r"\u001bPq#0;2\u001b\\x", "x", 1),
        (r"a\u001b(Bb", "ab", 1),
        (r"a\u001bcb", "ab", 1),
        (r"\u009b31mred", "red", 1),
        ("\u{9b}31mred", "red", 1),
        (r"\u001b", "", 1),
        (r"\u001b\u001b[0m[31m", "[31m", 2),
        (r"\u001b]0;never ends", "0;never ends", 1),
        (r"\u001b]a\u001b[0mb\u0007", r"ab\u0007", 2),
        (r"\u001b[31\n", r"31\n", 1),
        (r"\u001bé", "é", 1),
    ];
    for (text, expect, count) in table {
        check(&format!("{{\"t\":\"{text}\"}}"), &format!("{{\"t\":\"{expect}\"}}"), ansi(count));
    }
    let flags = "{\"t\":\"\u{1F3F4}\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F} \u{1F3F4}\"}";
    check_stays(flags);
    check("{\"t\":\"\u{1F3F4}\u{E0067}\u{E007F}\"}", "{\"t\":\"\u{1F3F4}\"}", tags(2));
    check_stays(
        "{\"t\":\"a\\nb\\tc\\u0007 \\\\u001b[0m caf\u{e9} \u{200B}\u{202E} \u{a9}\u{85} \\u00e9\\u4f60 😀 \\ud83d\\ude00\"}",
    );
}

#[test]
fn half_pairs_become_the_replacement_character() {
    let halves = |surrogates| Changes { surrogates, ..none() };
    check(r#"{"t":"a\ud83d"}"#, r#"{"t":"a\uFFFD"}"#, halves(1));
    check(
        r#"{"t":"\ude00\ud83d\ud83d\ude00\u0041","k\udc00":1}"#,
        r#"{"t":"\uFFFD\uFFFD\ud83d\ude00\u0041","k\uFFFD":1}"#,
        halves(3),
    );
    check(r#"{"t":"\ud83d\\ude00"}"#, r#"{"t":"\uFFFD\\ude00"}"#, halves(1));
    check_stays(r#"{"t":"\\ud83d \ud83d\ude00"}"#);
}

#[test]
fn nothing_else_is_read_or_changed() {
    check_stays(r#" {"a":1,"a":1.50,"\/":"\u00e9\u003c\u0026","n":9007199254740993,"e":1E400} "#);
    check(
        "{\"a\":1, \"a\" :1.50,\t\"x\":\"\\/\u{E0041}\\u00e9\"}\n",
        "{\"a\":1, \"a\" :1.50,\t\"x\":\"\\/\\u00e9\"}\n",
        Changes { tags: 1, ..none() },
    );
    // What had to be read and can't be is not passed on.
    for body in [r#"{"t":"\u001b""#, "{\"t\":\"\u{E0041}\"}}", r#"["[callgate]", "#] {
        assert!(Cleaner::new([]).clean(body.as_bytes()).is_err(), "{body}");
    }
    assert!(Cleaner::new([]).clean(b"\"\xF3\xA0\"").is_err());
}

#[test]
fn counts_are_told_by_name() {
    let all = Changes { secrets: 1, names: 2, markers: 3, tags: 4, ansi: 5, surrogates: 6 };
    let text = r#"{"secrets":1,"names":2,"markers":3,"tags":4,"ansi":5,"surrogates":6}"#;
    assert_eq!(all.object(), text);
    assert_eq!(none().object(), "{}");
}

#[test]
fn plain_texts_lose_their_secrets_too() {
    let cleaner = Cleaner::new([TOKEN, ODD]);
    let check = |text: &str, expect: &str| assert_eq!(cleaner.redact(text), expect);
    check("token=ghp_s3cr3tS3CR3T!", "token=[secret removed]!");
    check("{\"p\":\"p\\\"ss/w\\\\rd\u{e9}\"}", "{\"p\":\"[secret removed]\"}");
    check("a\u{1B}[0m [callgate]", "a\u{1B}[0m [callgate]");
    fn is_shared<T: Send + Sync>(_: &T) {}
    is_shared(&cleaner);
}

#[test]
fn hundreds_of_secrets_are_all_found() {
    let secrets: Vec<String> = (0..300).map(|n| format!("secret-number-{n:03}")).collect();
    let cleaner = Cleaner::new(secrets.iter().map(String::as_str));
    let body = json!({ "all": secrets }).to_string();
    let cleaned = cleaner.clean(body.as_bytes()).unwrap();
    assert_eq!(cleaned.changes.secrets, 300);
    assert!(!String::from_utf8(cleaned.body.unwrap()).unwrap().contains("number"));
    assert_eq!(format!("{:?}", cleaner).find("number"), None);
}

/// Pieces that mean something together or apart, so that chance finds the seams between the rules.
fn piece() -> impl Strategy<Value = String> {
    let words = vec![
        TOKEN,
        ODD,
        "ghp_",
        "s3cr3tS3CR3T",
        "[callgate]",
        "[call",
        "gate]",
        "\u{E0041}",
        "\u{1B}",
        "[31m",
        "\u{1B}]8;;x\u{7}",
        "\u{9B}",
        "\u{1F3F4}\u{E0067}",
        "\"ok\":false,",
        "\"status\":\"",
        "pending",
        "\"approval_id\":1",
        "\"call_id\":\"c-1\"",
        "\"error\":\"denied",
        "dev.callgate/",
        "\"",
        "\\",
        "/",
        "é",
        "\u{FFFD}",
        " ",
        "a",
    ];
    prop_oneof![8 => prop::sample::select(words).prop_map(str::to_owned), 1 => any::<String>()]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..8).prop_map(|pieces| pieces.concat())
}

/// A string as some writer spells it: plain, with every character escaped, or with halves of pairs in it.
fn spelled(text: &str, way: usize) -> String {
    match way % 3 {
        0 => Value::from(text).to_string(),
        1 => {
            let units = text.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
            format!("\"{}\"", units.collect::<String>())
        }
        _ => Value::from(text).to_string().replace('é', "\\ud800"),
    }
}

fn body() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec![
        "_meta",
        "dev.callgate/x",
        "ok",
        "status",
        "error",
        "approval_id",
        "call_id",
        "text",
        "data",
        "type",
    ]);
    let leaf = prop_oneof![
        (text(), 0..3usize).prop_map(|(text, way)| spelled(&text, way)),
        prop::sample::select(vec![
            "false",
            "true",
            "null",
            "1.50",
            "\"pending\"",
            "\"denied\"",
            "\"c-1\"",
            "\"image\""
        ])
        .prop_map(str::to_owned),
    ];
    let member = (prop_oneof![3 => key.prop_map(str::to_owned), 1 => text()], 0..3usize);
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|values| format!("[{}]", values.join(" ,"))),
            prop::collection::vec((member.clone(), inner), 0..6).prop_map(|members| {
                let members: Vec<String> =
                    members.into_iter().map(|((key, way), value)| format!("{} :{value}", spelled(&key, way))).collect();
                format!("{{{}}}", members.join(", "))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Cleaning once is enough, and what comes of it is JSON that holds nothing that had to go.
    #[test]
    fn cleaning_twice_changes_nothing_more(body in body()) {
        let cleaned = clean(&body);
        let text = String::from_utf8(cleaned.body.clone().unwrap_or_else(|| body.clone().into())).unwrap();
        prop_assert_eq!(cleaned.body.is_none(), cleaned.changes.is_none());
        let tree = Tree::lenient(text.as_bytes()).unwrap();
        for value in tree.all() {
            let string = value.string().unwrap_or_default();
            let holds = string.contains(TOKEN) || string.contains(ODD) || string.contains('\u{1B}');
            prop_assert!(!holds || string.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{}", text);
        }
        let again = clean(&text);
        prop_assert!(again.body.is_none(), "{}\n{}\n{:?}", body, text, again);
    }

    /// Everything that is not counted keeps its bytes.
    #[test]
    fn what_is_not_counted_keeps_its_bytes(body in body()) {
        let cleaned = clean(&body);
        prop_assume!(cleaned.changes.names == 0);
        let text = String::from_utf8(cleaned.body.unwrap_or_else(|| body.clone().into())).unwrap();
        let (before, after) = (Tree::lenient(body.as_bytes()).unwrap(), Tree::lenient(text.as_bytes()).unwrap());
        prop_assert_eq!(before.len(), after.len());
        let mut gaps = (0, 0);
        for (old, new) in before.all().zip(after.all()) {
            prop_assert_eq!(old.kind(), new.kind());
            let gap = |start: usize, end: usize, text: &str| text[start.min(end)..end].to_owned();
            prop_assert_eq!(gap(gaps.0, old.span().start, &body), gap(gaps.1, new.span().start, &text));
            let is_leaf = !matches!(old.kind(), Kind::Array | Kind::Object);
            gaps = if is_leaf { (old.span().end, new.span().end) } else { (old.span().start, new.span().start) };
            let is_changed = old.string().is_some_and(|string| old.source() != new.source() && string != "pending");
            prop_assert!(!is_leaf || is_changed || old.source() == new.source() || old.spells("pending"));
        }
    }

    /// The quick look never says no to what the reading would change.
    #[test]
    fn the_quick_look_misses_nothing(body in body()) {
        let cleaner = Cleaner::new([TOKEN, ODD]);
        if cleaner.clean(body.as_bytes()).unwrap().body.is_none() {
            let tree = Tree::lenient(body.as_bytes()).unwrap();
            let strings: Vec<String> = tree.all().filter_map(|value| Some(value.string()?.into_owned())).collect();
            prop_assert!(strings.iter().all(|text| !text.contains(TOKEN) && !text.contains(ODD)), "{}", body);
            prop_assert!(strings.iter().all(|text| !text.contains("[callgate]") && !text.contains('\u{1B}')), "{}", body);
        }
    }
}

//! Secrets in what people read: lines of logs and arguments.

use crate::answer::{Cleaner, REMOVED};

const SECRET: &str = "s3cr3t/value";

fn check(json: &str, expect: &str) {
    let cleaner = Cleaner::new([SECRET]);
    assert_eq!(String::from_utf8_lossy(&cleaner.mask(json.as_bytes())), expect);
}

#[test]
fn only_secrets_go_from_what_is_shown() {
    check(r#"{"a":"x","b":1}"#, r#"{"a":"x","b":1}"#);
    check(r#"{"a":"Bearer s3cr3t\/value \u001b[31m"}"#, &format!(r#"{{"a":"Bearer {REMOVED} \u001b[31m"}}"#));
    check(
        r#"{"a":"\u0073\u0033cr3t/value","_meta":{"dev.callgate/x":"[callgate]"}}"#,
        &format!(r#"{{"a":"{REMOVED}","_meta":{{"dev.callgate/x":"[callgate]"}}}}"#),
    );
    check("no JSON: s3cr3t/value", &format!("no JSON: {REMOVED}"));
}

#[test]
fn a_secret_that_begins_like_a_word_of_the_hub_goes_too() {
    for secret in ["l_id-s3cr3t", "[cal-s3cr3t", "L_IDs3cr3t"] {
        let masked = Cleaner::new([secret]);
        let text = format!("{{\"a\":\"{secret}\"}}");
        let expect = format!("{{\"a\":\"{REMOVED}\"}}");
        assert_eq!(String::from_utf8_lossy(&masked.mask(text.as_bytes())), expect);
    }
}

#[test]
fn a_long_line_is_not_cut_within_a_secret() {
    let cleaner = Cleaner::new([SECRET]);
    for before in 900..1100 {
        let line = format!("{}{SECRET}{}", "x".repeat(before), "y".repeat(2000 - before));
        let cut = cleaner.cut(&line.as_bytes()[..1000]);
        assert!((500..=1000).contains(&cut), "{cut}");
        let parts = [&line[..cut], &line[cut..]].map(|part| cleaner.redact(part).contains(REMOVED));
        assert!(parts.contains(&true), "{before}: {cut}");
    }
    assert_eq!(Cleaner::new([]).cut(b"abc"), 3);
}

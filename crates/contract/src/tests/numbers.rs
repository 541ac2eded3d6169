//! Numbers against the keywords that bound them: by every digit, whatever doubles would make of them, and within bounds.

use crate::answer::{OutputCheck, check_output};
use crate::arguments::{Arguments, Effort, Unfit};
use crate::{Compiled, Problem};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::cmp::Ordering;
use std::time::{Duration, Instant};

/// A schema of `n`, given as text: `json!` would round its digits.
fn schema(n: &str) -> Compiled {
    Compiled::compile(format!(r#"{{"type":"object","properties":{{"n":{n}}}}}"#).as_bytes()).expect(n)
}

fn problems(schema: &Compiled, n: &str, effort: Effort) -> Vec<Problem> {
    let raw = format!(r#"{{"n":{n}}}"#);
    let mut arguments = Arguments::read(Some(raw.as_bytes())).expect(&raw);
    arguments.check(schema, effort).map_err(Unfit::into_problems).err().unwrap_or_default()
}

/// Whether arguments and a result alike fit.
fn fits(schema: &Compiled, n: &str) -> bool {
    let result = format!(r#"{{"structuredContent":{{"n":{n}}}}}"#);
    let output = check_output(result.as_bytes(), schema, Effort::QUICK) == Ok(OutputCheck::Fits);
    let fits = problems(schema, n, Effort::QUICK).is_empty();
    assert_eq!(fits, output, "{n}");
    fits
}

fn check(n: &str, good: &[&str], bad: &[&str]) {
    let schema = schema(n);
    good.iter().for_each(|given| assert!(fits(&schema, given), "{n} {given}"));
    bad.iter().for_each(|given| assert!(!fits(&schema, given), "{n} {given}"));
}

#[test]
fn bounds_hold_to_the_last_digit() {
    let over = "100.00000000000000000000001";
    let under = "99.99999999999999999999999";
    check(
        r#"{"maximum":100}"#,
        &["100", "100.0", "1e2", under, "-1e300"],
        &[over, "101", "1.0000000000000000000001e2"],
    );
    check(r#"{"minimum":100}"#, &["100", "100.0", "1e2", over, "1e300"], &[under, "99", "-101"]);
    check(r#"{"exclusiveMaximum":100}"#, &["99", under], &["100", "100.00", "1e2", over]);
    check(r#"{"exclusiveMinimum":100}"#, &["101", over], &["100", "100.00", "1e2", under]);
    check(r#"{"maximum":9007199254740992}"#, &["9007199254740992.0"], &["9007199254740993.0", "9007199254740992.5"]);
    check(r#"{"maximum":18446744073709551615}"#, &["18446744073709551615"], &["18446744073709551616"]);
    check(r#"{"minimum":-9223372036854775808}"#, &["-9223372036854775808"], &["-9223372036854775809"]);
    check(r#"{"maximum":0.1}"#, &["0.1", "0.10", "1e-1", "0.09999999999999999999"], &["0.1000000000000000000001"]);
    check(r#"{"exclusiveMinimum":0}"#, &["1e-400", "1"], &["0", "-0", "0e9999999999999999999999", "-1e-400"]);
    check(r#"{"minimum":0}"#, &["1e-400", "-0.0"], &["-1e-400", "-0.00000000000000000000000000001"]);
    // What is no number is none of their business.
    check(r#"{"minimum":1,"maximum":2,"multipleOf":2}"#, &["\"x\"", "null", "[]"], &["1"]);
}

/// The schema's own digits count as well.
#[test]
fn a_bound_of_many_digits_is_not_rounded() {
    let bound = "100.00000000000000000000001";
    check(&format!(r#"{{"maximum":{bound}}}"#), &["100", bound], &["100.00000000000000000000002", "101"]);
    check(&format!(r#"{{"exclusiveMaximum":{bound}}}"#), &["100"], &[bound, "100.000000000000000000000010"]);
    check(r#"{"minimum":9007199254740993.0}"#, &["9007199254740993", "9007199254740994"], &["9007199254740992"]);
    check(r#"{"maximum":1.2345678901234567e18}"#, &["1234567890123456700"], &["1234567890123456750"]);
    check(
        r#"{"maximum":123456789012345678901234567890}"#,
        &["123456789012345678901234567890"],
        &["123456789012345678901234567891"],
    );
    check(r#"{"minimum":1e-400,"multipleOf":1e-3}"#, &["1e-3"], &["0", "-1"]);
    // Wherever it stands.
    check(&format!(r#"{{"allOf":[true,{{"items":{{"maximum":{bound}}}}}]}}"#), &["[100]"], &["[101]", "[100.1]"]);
    check(&format!(r##"{{"$ref":"#/properties/m"}},"m":{{"maximum":{bound}}}"##), &["100", bound], &["101", "100.1"]);
    let dialect = "https://json-schema.org/draft/2020-12/schema";
    let whole = format!(r#"{{"$schema":"{dialect}","properties":{{"n":{{"maximum":{bound}}}}}}}"#);
    let schema = Compiled::compile(whole.as_bytes()).unwrap();
    assert!(fits(&schema, bound) && !fits(&schema, "100.00000000000000000000002"));
}

#[test]
fn a_multiple_is_one_to_the_last_digit() {
    check(r#"{"multipleOf":1}"#, &["0", "1e300", "1.0", "-7"], &["1.0000000000000000000000001", "1e-300", "0.5"]);
    check(
        r#"{"multipleOf":3}"#,
        &["9007199254740993", "135107988821114880000000000000", "3e99"],
        &["9007199254740992", "135107988821114880000000000001", "1e99"],
    );
    check(r#"{"multipleOf":0.1}"#, &["0.3", "1070468.1", "1e22", "0.30"], &["0.30000000000000000000001", "0.35"]);
    check(r#"{"multipleOf":0.01}"#, &["1070468.14", "0.07", "4.35", "-19.99"], &["1070468.145", "0.005"]);
    check(r#"{"multipleOf":1e-7}"#, &["12.3", "1e-7", "1e-6"], &["1e-8", "1.00000001"]);
    check(r#"{"multipleOf":100}"#, &["12300", "1.23e4", "0"], &["12350", "50"]);
    check(
        r#"{"multipleOf":0.0000000000000000000007}"#,
        &["7", "0.0000000000000000000014"],
        &["0.000000000000000000001"],
    );
    // A divisor of more digits than are ever divided by: what can't be told does not pass.
    let divisor = "12345678901234567890.5";
    let long = schema(&format!(r#"{{"multipleOf":{divisor}}}"#));
    assert!(fits(&long, "0") && fits(&long, divisor) && fits(&long, &format!("-{divisor}0")));
    assert!(!fits(&long, "24691357802469135781") && !fits(&long, "5"));
    let told = problems(&long, "24691357802469135781", Effort::QUICK);
    let expect = json!([{"path": "/n", "problem": "can't be told to be a multiple, for too many digits",
                         "expected": format!("a multiple of {divisor}")}]);
    assert_eq!(serde_json::to_value(told).unwrap(), expect);
}

#[test]
fn values_are_the_same_to_the_last_digit() {
    check(r#"{"const":0.1}"#, &["0.1", "1e-1", "0.100"], &["0.1000000000000000000001", "0.10000000000000001"]);
    check(r#"{"const":1}"#, &["1", "1.0", "10e-1"], &["1.0000000000000000000001", "1.00000000000000001", "true"]);
    check(r#"{"const":0}"#, &["-0", "0e5"], &["1e-400"]);
    check(r#"{"const":0.1000000000000000000001}"#, &["0.1000000000000000000001"], &["0.1", "0.1000000000000000000002"]);
    check(r#"{"const":20770859231489869}"#, &["20770859231489869.0"], &["20770859231489868", "20770859231489868.0"]);
    check(r#"{"const":9007199254740993.0}"#, &["9007199254740993"], &["9007199254740992", "9007199254740992.0"]);
    check(r#"{"const":1.2345678901234567e18}"#, &["1234567890123456700"], &["1234567890123456768"]);
    check(
        r#"{"const":[{"a":0.1000000000000000000001}]}"#,
        &[r#"[{"a":0.1000000000000000000001}]"#],
        &[r#"[{"a":0.1}]"#],
    );
    check(
        r#"{"enum":[0.1,2.5,"x"]}"#,
        &["0.1", "25e-1", "\"x\""],
        &["0.1000000000000000000001", "2.5000000000000000001"],
    );
    check(
        r#"{"enum":[1,2,123456789012345678901]}"#,
        &["2.0", "123456789012345678901"],
        &["123456789012345678902", "123456789012345680000", "2.0000000000000000000001"],
    );
    check(r#"{"enum":[[0.3],1]}"#, &["[0.3]"], &["[0.30000000000000000001]"]);
    check(
        r#"{"uniqueItems":true}"#,
        &["[1,1.0000000000000000000001]", "[9007199254740992,9007199254740993]"],
        &[
            "[1,1.0]",
            "[9007199254740993,9007199254740993.0]",
            "[1.00000000000000000000010,1.0000000000000000000001]",
            "[[1e-400],[10e-401]]",
            r#"[{"a":123456789012345678901},{"a":1.23456789012345678901e20}]"#,
        ],
    );
    check(
        r#"{"type":"integer"}"#,
        &["1.0", "1e300", "1.000000000000000000000000", "10e-1", "-0e-400"],
        &["1.0000000000000000000001", "9007199254740993.5", "1e-400", "1e-99999999999999999999"],
    );
    check(r#"{"contains":{"const":0.1},"minContains":2}"#, &["[0.1,0.10]"], &["[0.1,0.1000000000000000000001]"]);
}

#[test]
fn older_dialects_keep_their_own_bounds() {
    let check = |draft: &str, n: &str, good: &[&str], bad: &[&str]| {
        let uri = format!("http://json-schema.org/draft-0{draft}/schema#");
        let text = format!(r#"{{"$schema":"{uri}","type":"object","properties":{{"n":{n}}}}}"#);
        let schema = Compiled::compile(text.as_bytes()).expect(&text);
        good.iter().for_each(|given| assert!(fits(&schema, given), "{n} {given}"));
        bad.iter().for_each(|given| assert!(!fits(&schema, given), "{n} {given}"));
    };
    let over = "1.00000000000000000000001";
    check("4", r#"{"minimum":1,"exclusiveMinimum":true}"#, &[over, "2"], &["1", "1.0", "0.99999999999999999999999"]);
    check("4", r#"{"minimum":1,"exclusiveMinimum":false}"#, &["1", over], &["0.99999999999999999999999"]);
    check("4", r#"{"maximum":1,"exclusiveMaximum":true}"#, &["0.99999999999999999999999"], &["1", over]);
    check("4", r#"{"maximum":1.00000000000000000000001,"exclusiveMaximum":true}"#, &["1"], &[over, "2"]);
    check("4", r#"{"const":5}"#, &["5", "6"], &[]);
    check("4", r#"{"const":5.00000000000000000000001}"#, &["5", "6"], &[]);
    check("7", r##"{"$ref":"#/properties/x","maximum":0},"x":{"maximum":1}"##, &["1"], &[over]);
    check("6", r#"{"exclusiveMinimum":1}"#, &[over], &["1"]);
    let four = r#"{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"n":{"exclusiveMinimum":5}}}"#;
    assert!(Compiled::compile(four.as_bytes()).is_err());
    for wrong in [
        r#"{"multipleOf":0}"#,
        r#"{"multipleOf":-1}"#,
        r#"{"multipleOf":-1.00000000000000000000001}"#,
        r#"{"maximum":"1"}"#,
    ] {
        let text = format!(r#"{{"properties":{{"n":{wrong}}}}}"#);
        assert!(Compiled::compile(text.as_bytes()).is_err(), "{wrong}");
    }
}

/// Whatever names a server gives its own keywords, none is read as one of ours.
#[test]
fn a_schema_cannot_speak_for_the_check() {
    for mark in ["exact", "\\u0000exact", "\\u0000 exact", "callgate exact"] {
        for name in ["maximum", "const", "enum"] {
            let own = format!(r#""{mark} {name}":"500","{mark}{name}":"500""#);
            check(&format!(r#"{{"maximum":5,{own}}}"#), &["5"], &["6", "500"]);
            check(&format!(r#"{{"maximum":5.00000000000000000000001,{own}}}"#), &["5"], &["6", "500"]);
        }
    }
}

#[test]
fn what_is_wrong_is_told_with_every_digit() {
    let expect = |n: &str, given: &str, problem: &str, expected: &str| {
        let told = serde_json::to_value(problems(&schema(n), given, Effort::QUICK)).unwrap();
        assert_eq!(told, json!([{"path": "/n", "problem": problem, "expected": expected}]), "{n} {given}");
    };
    expect(r#"{"minimum":1}"#, "0", "is too small", "at least 1");
    expect(r#"{"maximum":1.50}"#, "2", "is too large", "at most 1.5");
    expect(r#"{"exclusiveMinimum":1}"#, "1.0", "is too small", "more than 1");
    expect(r#"{"exclusiveMaximum":1}"#, "1", "is too large", "less than 1");
    expect(r#"{"multipleOf":5}"#, "7", "is no multiple", "a multiple of 5");
    let bound = "100.00000000000000000000001";
    expect(&format!(r#"{{"maximum":{bound}}}"#), "101", "is too large", &format!("at most {bound}"));
    expect(&format!(r#"{{"const":{bound}}}"#), "100", "is not the one allowed value", bound);
    expect(&format!(r#"{{"enum":[1,{bound}]}}"#), "100", "is not one of the allowed values", &format!("[1,{bound}]"));
    // Alternatives are still told apart by such values.
    let first = format!(r#"{{"properties":{{"k":{{"const":{bound}}}}},"required":["a"]}}"#);
    let second = r#"{"properties":{"k":{"const":2}},"required":["b"]}"#;
    let either = schema(&format!(r#"{{"oneOf":[{first},{second}]}}"#));
    let told = serde_json::to_value(problems(&either, r#"{"k":2}"#, Effort::QUICK)).unwrap();
    assert_eq!(told, json!([{"path": "/n/b", "problem": "is missing"}]));
    let draft_four = Compiled::compile(
        br#"{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"n":{"minimum":1,"exclusiveMinimum":true}}}"#,
    );
    let told = serde_json::to_value(problems(&draft_four.unwrap(), "1", Effort::QUICK)).unwrap();
    assert_eq!(told, json!([{"path": "/n", "problem": "is too small", "expected": "more than 1"}]));
}

/// Neither exponents nor a million digits hold a thread.
#[test]
fn long_numbers_are_bounded() {
    let all =
        schema(r#"{"minimum":0.5,"maximum":1e300,"multipleOf":0.7,"const":7.7,"enum":[1.5,7.7],"type":"integer"}"#);
    let start = Instant::now();
    for exponent in ["-999999999", "-999999999999999999", "-99999999999999999999999999"] {
        assert!(!problems(&all, &format!("1e{exponent}"), Effort::QUICK).is_empty());
    }
    let many = "7".repeat(200);
    let longest = format!("0.{}", "7".repeat(1_000_000));
    for given in [many.as_str(), &longest] {
        assert!(!problems(&all, given, Effort::LONG).is_empty());
    }
    let list = schema(r#"{"uniqueItems":true,"items":{"multipleOf":0.7,"maximum":1}}"#);
    let thousand: Vec<String> = (0..100).map(|n| format!("0.{}{n}", "7".repeat(10_000))).collect();
    assert!(!problems(&list, &format!("[{}]", thousand.join(",")), Effort::LONG).is_empty());
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    // What takes long is not done by a thread that must not wait.
    let mut arguments = Arguments::read(Some(format!(r#"{{"n":{longest}}}"#).as_bytes())).map(|_| ()).is_ok();
    arguments &= problems(&all, &longest, Effort::QUICK).iter().any(|problem| problem.problem.contains("more steps"));
    assert!(arguments);
}

/// A number as its digits, a power of ten that they are shifted by, and a spelling of them.
#[derive(Clone, Debug)]
struct Spelled {
    digits: i64,
    power: i32,
    text: String,
}

impl Spelled {
    /// The value in units of ten to the power of -40.
    fn value(&self) -> Option<i128> {
        i128::from(self.digits).checked_mul(10i128.checked_pow(u32::try_from(self.power + 12).ok()?)?)
    }
}

/// The same values in many spellings: with a dot anywhere, more zeros, an exponent that takes the dot back.
fn spelled() -> impl Strategy<Value = Spelled> {
    let digits = prop_oneof![Just(0i64), -30i64..30, -100_000i64..100_000, any::<i64>()];
    (digits, -12i32..3, 0usize..30, 0usize..4, any::<bool>(), 0u8..3).prop_map(
        |(digits, power, dot, zeros, upper, form)| {
            let sign = if digits < 0 { "-" } else { "" };
            let plain = digits.unsigned_abs().to_string();
            let text = match form {
                // As it is written by hand.
                0 if power < 0 => {
                    let places = power.unsigned_abs() as usize;
                    let padded = format!("{plain:0>width$}", width = places + 1);
                    let (whole, fraction) = padded.split_at(padded.len() - places);
                    format!("{sign}{whole}.{fraction}{}", "0".repeat(zeros))
                }
                0 => format!("{sign}{plain}{}", if digits == 0 { String::new() } else { "0".repeat(power as usize) }),
                // With a dot somewhere and an exponent.
                _ => {
                    let at = 1 + dot % plain.len();
                    let (whole, fraction) = plain.split_at(at);
                    let exponent = power + i32::try_from(fraction.len()).unwrap();
                    let e = if upper { "E" } else { "e" };
                    let plus = if form == 2 && exponent >= 0 { "+" } else { "" };
                    format!("{sign}{whole}.{fraction}{}{e}{plus}{exponent}", "0".repeat(zeros.max(1)))
                }
            };
            Spelled { digits, power, text }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    /// Against whole numbers of a small unit, which everything here is.
    #[test]
    fn every_keyword_agrees_with_whole_numbers(limit in spelled(), given in spelled(), near in -1i64..2, same in any::<bool>()) {
        // Often the same value, or one beside it, in another spelling.
        let digits = if same { limit.digits.saturating_add(near) } else { given.digits };
        let given = if same {
            Spelled { digits, power: limit.power, text: format!("{digits}.0e{}", limit.power) }
        } else {
            given
        };
        let (Some(a), Some(b)) = (given.value(), limit.value()) else { return Ok(()) };
        let order = a.cmp(&b);
        let is = |keyword: &str| fits(&schema(&format!("{{\"{keyword}\":{}}}", limit.text)), &given.text);
        prop_assert_eq!(is("minimum"), order != Ordering::Less, "{} {}", &given.text, &limit.text);
        prop_assert_eq!(is("maximum"), order != Ordering::Greater, "{} {}", &given.text, &limit.text);
        prop_assert_eq!(is("exclusiveMinimum"), order == Ordering::Greater, "{} {}", &given.text, &limit.text);
        prop_assert_eq!(is("exclusiveMaximum"), order == Ordering::Less, "{} {}", &given.text, &limit.text);
        prop_assert_eq!(is("const"), order == Ordering::Equal, "{} {}", &given.text, &limit.text);
        let listed = schema(&format!("{{\"enum\":[\"x\",{},null]}}", limit.text));
        prop_assert_eq!(fits(&listed, &given.text), order == Ordering::Equal);
        let unique = schema(r#"{"uniqueItems":true}"#);
        prop_assert_eq!(fits(&unique, &format!("[{},{}]", given.text, limit.text)), order != Ordering::Equal);
        prop_assert_eq!(fits(&schema(r#"{"type":"integer"}"#), &given.text), a % 10i128.pow(12) == 0);
        if b > 0 {
            let significant = limit.digits.to_string().trim_end_matches('0').len();
            if significant <= 18 {
                prop_assert_eq!(is("multipleOf"), a % b == 0, "{} {}", &given.text, &limit.text);
            } else {
                prop_assert!(!is("multipleOf") || a % b == 0);
            }
        }
    }

    /// Where the validator's own reading by doubles is exact, ours is the same.
    #[test]
    fn ordinary_numbers_are_judged_as_ever(n in -1_000_000i64..1_000_000, scale in 0i32..4, limit in -1000i32..1000, divisor in 1u32..50) {
        let given = format!("{n}e-{scale}");
        let value: Value = serde_json::from_str(&given).unwrap();
        let text = format!(r#"{{"minimum":{limit},"exclusiveMaximum":{}.5,"multipleOf":0.{divisor:02}}}"#, limit + 300);
        let plain: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(fits(&schema(&text), &given), jsonschema::is_valid(&plain, &value), "{} {}", text, given);
    }
}

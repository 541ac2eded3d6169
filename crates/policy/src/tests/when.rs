//! Conditions: what they mean, what they can't do, and that nothing makes them long.

use super::{book, rule, tool};
use crate::{Facts, Fallback, Rulebook, Then, Why};
use cel::{Context, Program, Value};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// What a condition says of a call: `yes`, `no`, or what went wrong.
fn ask(when: &str, args: &str) -> String {
    let book = book(Fallback::Allow, &[rule("r", &["*"], Some(when), Then::Ask)]);
    let of = crate::Profile { annotations: br#"{"title":"T","readOnlyHint":false}"#, ..tool("shop__place_order") };
    let judged = book.judge(&book.standing(&of), &Facts { host: "cursor", arguments: args.as_bytes() });
    match (judged.then(), judged.why()) {
        (Then::Allow, Why::Default) => "no".to_owned(),
        (Then::Ask, Why::Rule) => "yes".to_owned(),
        (Then::Ask, Why::Failed(problem)) => problem.to_string(),
        other => panic!("{when} {args}: {other:?}"),
    }
}

fn check(when: &str, args: &str, expect: &str) {
    assert_eq!(ask(when, args), expect, "{when} of {args}");
}

#[test]
fn conditions_mean_what_they_say() {
    check("args.env == 'prod'", r#"{"env":"prod"}"#, "yes");
    check("args.env == 'prod'", r#"{"env":"\u0070rod"}"#, "yes");
    check("args.env == 'prod'", r#"{"env":"dev"}"#, "no");
    check("args['env'] == 'prod'", r#"{"env":"prod"}"#, "yes");
    check("args.`dry-run`", r#"{"dry-run":true}"#, "yes");
    check("has(args.env) && args.env != 'dev'", r#"{"env":"prod"}"#, "yes");
    check("!has(args.env)", "{}", "yes");
    check("!has(args.a.b)", "{}", "yes");
    check("has(args.a.b)", r#"{"a":{"b":null}}"#, "yes");
    check("args.n > 100 && args.n <= 1000", r#"{"n":101}"#, "yes");
    check("args.n in [1, 2, 3]", r#"{"n":2.0}"#, "yes");
    check("'x' in args.o", r#"{"o":{"x":1}}"#, "yes");
    check("'x' in args.l", r#"{"l":["y","x"]}"#, "yes");
    check("args.l[1] == 'x' && args.l[0] == args.l[2]", r#"{"l":["y","x","y"]}"#, "yes");
    check("size(args.l) == 3 && args.t.size() == 2 && size(args) == 2", r#"{"l":[1,2,3],"t":"äb"}"#, "yes");
    check("args.path.startsWith('/etc/') || args.path.endsWith('.key')", r#"{"path":"/a/b.key"}"#, "yes");
    check("args.path.contains('..')", r#"{"path":"/a/../b"}"#, "yes");
    check("args.cmd.lowerAscii().contains('rm -rf')", r#"{"cmd":"sudo RM -RF /"}"#, "yes");
    check("args.cmd.trim().upperAscii() == 'LS'", r#"{"cmd":" ls "}"#, "yes");
    check("args.to.matches('@example[.]com$')", r#"{"to":"x@example.com"}"#, "yes");
    check("args.to.matches('@example[.]com$')", r#"{"to":"x@example.com.evil"}"#, "no");
    check("args.to.all(a, a.endsWith('@example.com'))", r#"{"to":["a@example.com","b@example.com"]}"#, "yes");
    check("args.to.exists(a, !a.endsWith('@example.com'))", r#"{"to":["a@example.com","b@x"]}"#, "yes");
    check("args.cmd.matches('(?i)\\\\brm +-r')", r#"{"cmd":"sudo RM  -rf /"}"#, "yes");
    check("args.cmd.matches('(?i)\\\\brm +-r')", r#"{"cmd":"farm -r"}"#, "no");
    check("args.t.matches('^[^ä]ö+$') && 'ö'.matches(r'^\\w$') && args.t.size() == 2", r#"{"t":"xö"}"#, "yes");
    check("args.l.exists_one(n, n > 1)", r#"{"l":[1,2,3]}"#, "no");
    check("args.l.filter(n, n > 1) == [2, 3]", r#"{"l":[1,2,3]}"#, "yes");
    check("args.l.map(n, n * 2) == [2, 4, 6]", r#"{"l":[1,2,3]}"#, "yes");
    check("args.exists(k, k.startsWith('admin'))", r#"{"a":1,"admin_mode":true}"#, "yes");
    check(
        "args.e.exists(e, ['rm', 'mv'].exists(v, e.cmd.startsWith(v)))",
        r#"{"e":[{"cmd":"ls"},{"cmd":"mv a b"}]}"#,
        "yes",
    );
    check("(has(args.limit) ? args.limit : 10) > 50", r#"{"limit":51}"#, "yes");
    check("args.a + args.b == 'xy' && [args.a] + [args.b] == ['x', 'y']", r#"{"a":"x","b":"y"}"#, "yes");
    check("args.price * args.count > 100", r#"{"price":12.5,"count":9}"#, "yes");
    check("-args.n + 7 / 2 - 1 == 0 && 7 % 4 == 3", r#"{"n":2}"#, "yes");
    check("int(args.n) == 12 && string(args.m) == '5' && double(args.x) > 1", r#"{"n":"12","m":5,"x":"1.5"}"#, "yes");
    check("args.a == args.b", r#"{"a":{"x":[1,{"y":null}],"z":2},"b":{"z":2.0,"x":[1,{"y":null}]}}"#, "yes");
    check("args.a == args.b", r#"{"a":[1,2],"b":[2,1]}"#, "no");
    check("args.a == 1", r#"{"a":"1"}"#, "no");
    check("args.a == null", r#"{"a":null}"#, "yes");
    check("tool == 'place_order' && server == 'shop' && effect == 'write'", "{}", "yes");
    check("host == 'cursor' && annotations.title == 'T' && !annotations.readOnlyHint", "{}", "yes");
    check("args.a == 'x' // what else", r#"{"a":"x"}"#, "yes");
}

#[test]
fn what_is_absent_does_not_hold_and_what_is_broken_is_never_silent() {
    check("args.env == 'prod'", "{}", "no");
    check("args.env != 'prod'", "{}", "no");
    check("!(args.env == 'prod')", "{}", "no");
    check("args.l[3] == 1", r#"{"l":[]}"#, "no");
    check("args.a.b.c == 1", r#"{"a":{}}"#, "no");
    check("annotations.destructiveHint", "{}", "no");
    // What decides alone decides, whatever the other side is.
    check("args.x == 1 || args.y == 2", r#"{"y":2}"#, "yes");
    check("args.x == 1 || args.y == 2", r#"{"y":3}"#, "no");
    check("args.x > 1 || args.y == 2", r#"{"x":"a","y":2}"#, "yes");
    check("args.x > 1 && args.y == 2", r#"{"x":"a","y":3}"#, "no");
    check("args.l.exists(e, e.p > 5)", r#"{"l":[{},{"p":6}]}"#, "yes");
    check("args.l.exists(e, e.p > 5)", r#"{"l":[{},{"p":4}]}"#, "no");
    check("args.l.all(e, e.p > 5)", r#"{"l":[{},{"p":4}]}"#, "no");
    // What is broken outweighs what is absent.
    check("args.x > 1 || args.y == 2", r#"{"x":"a"}"#, "`<` can't be used with a text and a number");
    check("args.y == 2 || args.x > 1", r#"{"x":"a"}"#, "`<` can't be used with a text and a number");
    check("args.l.exists(e, e.p > 5)", r#"{"l":[{"p":"6"},{}]}"#, "`<` can't be used with a text and a number");
    check("args.env.startsWith('p')", r#"{"env":null}"#, "`startsWith` can't be used with null");
    check("args.a.b == 1", r#"{"a":[1]}"#, "a field is asked for of a list");
    check("args.a", r#"{"a":"true"}"#, "it gives a text instead of true or false");
    check("1 / args.n > 0", r#"{"n":0}"#, "a division by zero");
    check("args.n % 2 == 0", r#"{"n":1.5}"#, "`%` can only be used with whole numbers");
    check("args.l[-1] == 1", r#"{"l":[1]}"#, "`[]` can't be used with a negative number");
    check("int(args.n) == 1", r#"{"n":"one"}"#, "a text is no number");
    check(
        "args.t.matches(r'\\brm')",
        r#"{"t":"ä rm"}"#,
        r"a pattern with `\b` can't be compared with a text that is not ASCII",
    );
    check("args.a == 1", "[1]", "the arguments can't be read");
    check("args.a == 1", r#"{"a":1,"a":2}"#, "the arguments can't be read");
    check("args.a == 1", &format!(r#"{{"b":"{}"}}"#, "x".repeat(256 << 10)), "the arguments are too long");
}

#[test]
fn another_spelling_of_a_name_that_a_condition_asks_for_is_never_silent() {
    let other = "a name that it asks for stands there in another spelling; names have to be spelled exactly";
    for args in [
        r#"{"Env":"prod"}"#,
        r#"{"ENV":"prod","env":"dev"}"#,
        r#"{"e_nv":"prod"}"#,
        r#"{" env":"prod"}"#,
        r#"{"e\u200bnv":"prod"}"#,
        r#"{"еnv":"prod"}"#,
        r#"{"\u0045nv":"prod"}"#,
    ] {
        for when in [
            "args.env == 'prod'",
            "args.env != 'dev'",
            "!(args.env == 'dev')",
            "args['env'] == 'prod'",
            "args['e' + 'nv'] == 'prod'",
            "['env', 'stage'].exists(name, args[name] == 'prod')",
            "'env' in args",
            "has(args.env)",
            "!has(args.env)",
            "(has(args.env) ? args.env : 'dev') == 'prod'",
            "tool == 'place_order' && args.env == 'prod'",
        ] {
            check(when, args, other);
        }
    }
    check("args.dry_run", r#"{"dryRun":true}"#, other);
    check("!has(args.dry_run) || !args.dry_run", r#"{"dry_run":true,"dry-run":false}"#, other);
    check("args['é'] == 1", "{\"é\":2,\"e\u{301}\":1}", other);
    check("args.a.env == 'prod'", r#"{"a":{"Env":"prod"}}"#, other);
    check("args.a.env == 'prod'", r#"{"A":{"env":"prod"}}"#, other);
    check("has(args.a.env)", r#"{"A":{"env":"prod"}}"#, other);
    check("args['a'].b['env'] == 'prod'", r#"{"a":{"b":{"Env":"prod"}}}"#, other);
    check("args.l[0].env == 'prod'", r#"{"l":[{"Env":"prod"}]}"#, other);
    check("args.l.exists(e, e.env == 'prod')", r#"{"l":[{"env":"dev"},{"Env":"prod"}]}"#, other);
    check("args.l.filter(e, e.env == 'prod') != []", r#"{"l":[{"Env":"prod"}]}"#, other);
    // What decides alone decides, and what nobody asks for says nothing.
    check("args.env == 'prod' || args.x == 1", r#"{"Env":"prod","x":1}"#, "yes");
    check("args.env == 'prod' && args.x == 1", r#"{"Env":"prod","x":2}"#, "no");
    check("args.env == 'prod'", r#"{"env":"prod","a":1,"A":2,"o":{"Env":1},"envs":1,"_env":1}"#, "yes");
    check("args.env == 'prod'", r#"{"環境":"prod"}"#, "no");
}

#[test]
fn a_condition_that_asks_for_both_spellings_is_judged_by_both() {
    let both = "args.env == 'prod' || args.Env == 'prod'";
    check(both, r#"{"Env":"prod"}"#, "yes");
    check(both, r#"{"env":"prod"}"#, "yes");
    check(both, r#"{"env":"dev","Env":"dev"}"#, "no");
    check("has(args.env) || has(args.Env)", r#"{"Env":1}"#, "yes");
    check("'env' in args || 'Env' in args", r#"{"Env":1}"#, "yes");
    check("args['env'] == 1 || args.Env == 1", r#"{"Env":1}"#, "yes");
    check("args.l.exists(e, e.env == 1 || e.Env == 1)", r#"{"l":[{"Env":1}]}"#, "yes");
    let other = "a name that it asks for stands there in another spelling; names have to be spelled exactly";
    check(both, r#"{"ENV":"prod"}"#, other);
    // Of another object it says nothing.
    check("args.a.env == 1 || args.b.Env == 1", r#"{"a":{"Env":1}}"#, other);
    check("args.l.exists(e, e.env == 1) || args.m.exists(e, e.Env == 1)", r#"{"l":[{"Env":1}]}"#, other);
    check("args['a'].env == 1 || args.a.Env == 1", r#"{"a":{"Env":1}}"#, "yes");
}

#[test]
fn no_digit_is_lost() {
    check("args.id == 9007199254740992", r#"{"id":9007199254740993}"#, "no");
    check("args.id == 9007199254740992.0", r#"{"id":9007199254740993}"#, "no");
    check("args.id == 9007199254740993", r#"{"id":9007199254740993}"#, "yes");
    check("args.id == args.other", r#"{"id":9007199254740993,"other":9007199254740992.0}"#, "no");
    check("args.id == 18446744073709551615u", r#"{"id":18446744073709551615}"#, "yes");
    check("args.id == 9223372036854775807", r#"{"id":9223372036854775807.5}"#, "no");
    check("args.id > 9223372036854775807", r#"{"id":9223372036854775808}"#, "yes");
    check("args.id in [1, 2] || args.id > 1e20", r#"{"id":100000000000000000001}"#, "yes");
    check("args.sum > 100.0", r#"{"sum":100.00000000000000000001}"#, "yes");
    check("args.sum <= 0.3", r#"{"sum":0.30000000000000001}"#, "no");
    check("args.sum == 0.3", r#"{"sum":3e-1}"#, "yes");
    check(
        "args.id + 1 > 0",
        r#"{"id":170141183460469231731687303715884105727}"#,
        "a number has too many digits to calculate with",
    );
    check("args.id + 0.5 > 0", r#"{"id":9007199254740993}"#, "a number has too many digits to calculate with");
    check("args.id > 0", r#"{"id":1e400}"#, "yes");
    check("args.id * 2.0 > 0", r#"{"id":1e400}"#, "a number has too many digits to calculate with");
    check("args.id > 0", r#"{"id":1e99999999999999999999}"#, "a number has too many digits to calculate with");
    check("args.a * args.a > 0", r#"{"a":1e200}"#, "a calculation does not give a number");
}

/// What is wrong with a condition.
fn wrong(when: &str) -> Vec<String> {
    match Rulebook::compile(Fallback::Auto, &[rule("r", &["*"], Some(when), Then::Deny)]) {
        Ok(_) => Vec::new(),
        Err(faults) => {
            assert!(faults.iter().all(|fault| fault.place == "when" && fault.rule == 0));
            faults.into_iter().map(|fault| fault.problem).collect()
        }
    }
}

fn check_wrong(when: &str, expect: &[&str]) {
    let found = wrong(when);
    assert_eq!(found.len(), expect.len(), "{when}: {found:?}");
    for (found, expect) in found.iter().zip(expect) {
        assert!(found.contains(expect), "{when}: {found} is not {expect}");
    }
}

#[test]
fn everything_wrong_with_a_condition_is_told_at_once() {
    check_wrong("", &["it is empty"]);
    check_wrong("true", &["it asks nothing about the call"]);
    check_wrong("1 == 1.0", &["it asks nothing about the call"]);
    check_wrong("args.a == ", &["it can't be read at line 1, column 11"]);
    check_wrong("arg.a == 1 && tols == 'x'", &["there is no `arg`; there are `args`", "there is no `tols`"]);
    check_wrong("args.path", &[]);
    check_wrong("tool", &["`when` needs true or false, not a text"]);
    check_wrong("args", &["`when` needs true or false, not an object"]);
    check_wrong("!size(args)", &["`!` needs true or false, not a number"]);
    check_wrong("args.l.all(x, x + 'a' == 'b' && 'c')", &["`&&` needs true or false, not a text"]);
    check_wrong("effect == 'delete'", &["`effect` is \"read\", \"write\" or \"destructive\""]);
    check_wrong("effect in ['read', 'all']", &["`effect` is \"read\""]);
    check_wrong("args.a.startsWith('x', 'y')", &["there is no method `startsWith` with 2 arguments"]);
    check_wrong("now() > args.a", &["there is no function `now` with 0 arguments"]);
    check_wrong("args.a.split(',')[0] == 'x'", &["there is no method `split` with 1 arguments"]);
    check_wrong("has(args)", &["`has` needs a field"]);
    check_wrong("args.a.matches(args.b)", &["the pattern of `matches` must be written out"]);
    check_wrong("args.a.matches('(a')", &["a pattern can't be used: unclosed group"]);
    for large in ["(a{900}){900}", "[ab]*a[ab]{60}c", "[\\\\pL]{100}"] {
        check_wrong(&format!("args.a.matches('{large}')"), &["a pattern is too large"]);
    }
    check_wrong("args.l.exists(args, true)", &["`args` means something else already"]);
    check_wrong("args.l.exists(1, true)", &["a loop needs a plain name"]);
    check_wrong("args.a == {'x': 1}", &["objects can't be written in a condition"]);
    check_wrong("args.a == b'x'", &["bytes can't be written in a condition"]);
    check_wrong("args.?a == 1", &["it can't be read"]);
    check_wrong(&format!("args.a == '{}'", "x".repeat(2000)), &["it is longer than 2000 bytes"]);
    check_wrong(&format!("args.a == 1{}", " + 1".repeat(450)), &["it is nested deeper than 48 levels"]);
    assert!(!wrong(&format!("{}args.a{}", "(".repeat(900), ")".repeat(900))).is_empty());
    assert!(wrong(&format!("{}args.a", "!".repeat(1901))).is_empty(), "two of them say nothing");
    assert!(!wrong(&format!("args{}", ".a".repeat(950))).is_empty());
    assert!(!wrong(&format!("args{} == 1", "[0]".repeat(600))).is_empty());
}

/// Conditions and arguments that would run for hours without a bound.
#[test]
fn nothing_makes_a_condition_long() {
    let numbers = format!(r#"{{"l":[{}]}}"#, "1,".repeat(60_000) + "1");
    let text = format!(r#"{{"t":"{}","l":[1,2,3,4,5,6,7,8,9]}}"#, "a".repeat(100_000));
    let escaped = format!(
        r#"{{"l":[{}],"\u0061{}":1,"t":"\u0061{}"}}"#,
        "1,".repeat(10_000) + "1",
        "k".repeat(100_000),
        "v".repeat(100_000)
    );
    let wide = format!("{{{}}}", (0..15_000).map(|n| format!("\"k{n}\":{n}")).collect::<Vec<_>>().join(","));
    let digits = format!(r#"{{"l":[{}],"n":0.{}}}"#, "1,".repeat(10_000) + "1", "1".repeat(200_000));
    let steps = "the arguments are too much for the time that it may take";
    let hard = [
        ("args.l.all(a, args.l.all(b, args.l.all(c, a + b + c > 0)))", &numbers),
        ("args.l.exists(a, args.l.exists(b, a != b))", &numbers),
        ("args.l.map(a, args.l) == args.l.map(a, args.l)", &numbers),
        ("size(args.l.map(a, args.l + args.l)) == 1", &numbers),
        ("args.l in args.l.map(a, args.l + [2])", &numbers),
        ("args.l.all(a, args.t.matches('(a|aa)+c') == false)", &text),
        (
            "['x'].map(a, args.t + args.t).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a) == ['']",
            &text,
        ),
        ("args.l.exists(a, args.t == 'x' || args.k == 1)", &escaped),
        ("args.all(k, args[k] >= 0)", &wide),
        ("args.l.exists(a, args.n > 1)", &digits),
    ];
    for (when, args) in hard {
        let started = Instant::now();
        let said = ask(when, args);
        let took = started.elapsed();
        assert!(said == steps, "{when}: {said}");
        // Milliseconds in a release build; this bound is for a busy machine without optimisation.
        assert!(took < Duration::from_secs(2), "{when} took {took:?}");
    }
    // Running out is not hidden by what would decide otherwise.
    check("args.l.all(a, args.l.all(b, b > 0)) || true == (size(args) == 1)", &numbers, steps);
}

/// The crate's own interpreter as a second opinion.
fn reference(when: &str, args: &serde_json::Value) -> Option<bool> {
    let mut context = Context::default();
    context.add_variable("args", args).unwrap();
    match Program::compile(when).ok()?.execute(&context) {
        Ok(Value::Bool(answer)) => Some(answer),
        _ => None,
    }
}

fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("args.a"),
        Just("args.b"),
        Just("args.l"),
        Just("args.t"),
        Just("args.o"),
        Just("args.o.x"),
        Just("args.none"),
        Just("1"),
        Just("2"),
        Just("0.5"),
        Just("'x'"),
        Just("'xy'"),
        Just("true"),
        Just("false"),
        Just("null"),
        Just("[1, 2]"),
    ]
    .prop_map(str::to_owned);
    leaf.prop_recursive(4, 24, 3, |inner| {
        const TWO: [&str; 13] = ["==", "!=", "<", "<=", ">", ">=", "&&", "||", "+", "-", "*", "/", "in"];
        prop_oneof![
            (inner.clone(), proptest::sample::select(&TWO[..]), inner.clone())
                .prop_map(|(a, op, b)| format!("({a} {op} {b})")),
            inner.clone().prop_map(|a| format!("(!{a})")),
            inner.clone().prop_map(|a| format!("size({a})")),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}.contains({b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}.startsWith({b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}.exists(v, v == {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}.all(v, v != {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}.filter(v, v == {b}) == [])")),
            inner.clone().prop_map(|a| format!("({a}.map(v, v) == {a})")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("({a}[{b}] == 1)")),
            Just("has(args.a)".to_owned()),
            Just("has(args.none)".to_owned()),
        ]
    })
}

/// Where both give an answer it is the same one.
#[test]
fn answers_are_those_of_the_reference() {
    let both = Cell::new(0);
    let mut runner = TestRunner::new(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(3000) });
    let cases = (expression(), 0i64..4, "[xy]{0,2}");
    let run = runner.run(&cases, |(when, a, b)| {
        let args = serde_json::json!({"a": a, "b": b, "l": [a, 2, "x", null], "t": true, "o": {"x": 1}});
        let when = format!("({when}) == true && has(args.a)");
        if wrong(&when).is_empty()
            && let Some(expect) = reference(&when, &args)
        {
            let found = ask(&when, &args.to_string());
            if found == "yes" || found == "no" {
                both.set(both.get() + 1);
                prop_assert_eq!(found == "yes", expect, "{}", when);
            }
        }
        Ok(())
    });
    run.unwrap();
    assert!(both.get() > 500, "only {} were compared", both.get());
}

proptest! {
    /// No text of a condition makes reading it fail in any other way than by saying so.
    #[test]
    fn any_text_is_read_or_refused(text in "[a-z.()\\[\\]{}'\"!&|=<>+*/?:,0-9 `\\\\n-]{0,60}") {
        let _ = wrong(&text);
    }
}

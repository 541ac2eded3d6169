//! Rules: which of them decides, what is said about it, and what is refused before it is used.

use super::{book, rule, tool};
use crate::{Effect, Facts, Fallback, Hints, Judgement, Profile, RuleSource, Rulebook, Scope, Target, Then, Tier, Why};

const NONE: Facts<'_> = Facts { host: "cursor", arguments: b"{}" };

fn judged(book: &Rulebook, of: &Profile<'_>, args: &str) -> Judgement {
    book.judge(&book.standing(of), &Facts { host: "cursor", arguments: args.as_bytes() })
}

/// The name of the deciding rule after what it decides.
fn check(rules: &[RuleSource], name: &str, args: &str, expect: &str) {
    let judgement = judged(&book(Fallback::Allow, rules), &tool(name), args);
    let rule = judgement.rule().map(|rule| &**rule).unwrap_or("default");
    assert_eq!(format!("{} {rule}", judgement.then().as_str()), expect, "{name} {args}");
}

#[test]
fn deny_beats_ask_beats_allow_in_any_order() {
    let rules = [
        rule("reads", &["files__read_*", "files__list_*"], None, Then::Allow),
        rule("all of files", &["files__*"], None, Then::Ask),
        rule("no prod", &["*__deploy*", "files__*"], Some("args.env == 'prod'"), Then::Deny),
        rule("small", &["shop__*"], Some("args.total < 10"), Then::Allow),
        rule("never", &["*__drop_*"], None, Then::Deny),
    ];
    let turned: Vec<RuleSource> = rules.iter().rev().cloned().collect();
    for rules in [&rules[..], &turned[..]] {
        check(rules, "files__read_file", "{}", "ask all of files");
        check(rules, "files__read_file", r#"{"env":"prod"}"#, "deny no prod");
        check(rules, "ci__deploy_it", r#"{"env":"dev"}"#, "allow default");
        check(rules, "ci__deploy_it", r#"{"env":"prod"}"#, "deny no prod");
        check(rules, "shop__order", r#"{"total":9.99}"#, "allow small");
        check(rules, "shop__order", r#"{"total":10}"#, "allow default");
        check(rules, "files__drop_all", "{}", "deny never");
        check(rules, "other__x", "{}", "allow default");
    }
    let same = [rule("a", &["x__*"], None, Then::Ask), rule("b", &["*__y"], None, Then::Ask)];
    check(&same, "x__y", "{}", "ask a");
}

#[test]
fn a_rule_that_cannot_be_judged_asks_and_one_that_denies_denies() {
    let broken = Some("args.n > 1");
    let allow = [rule("r", &["*"], broken, Then::Allow)];
    check(&allow, "x__y", r#"{"n":"a"}"#, "ask r");
    check(&allow, "x__y", "{}", "allow default");
    check(&[rule("r", &["*"], broken, Then::Ask)], "x__y", r#"{"n":"a"}"#, "ask r");
    check(&[rule("r", &["*"], broken, Then::Deny)], "x__y", r#"{"n":"a"}"#, "deny r");
    check(&[rule("r", &["*"], broken, Then::Deny)], "x__y", "{}", "allow default");
    let both = [rule("a", &["*"], broken, Then::Allow), rule("b", &["*"], None, Then::Deny)];
    check(&both, "x__y", r#"{"n":"a"}"#, "deny b");
    let of = tool("x__y");
    let said = judged(&book(Fallback::Allow, &allow), &of, r#"{"n":"a"}"#);
    assert_eq!(
        said.sentence(),
        "asks because the rule `r` could not be judged: `<` can't be used with a text and a number"
    );
    let said = judged(&book(Fallback::Allow, &[rule("r", &["*"], broken, Then::Deny)]), &of, r#"{"n":[]}"#);
    assert_eq!(
        said.sentence(),
        "denied because the rule `r` denies and could not be judged: `<` can't be used with a list and a number"
    );
}

#[test]
fn patterns_are_over_exposed_names_of_their_kind() {
    let one = |target, name: &str| {
        let source = RuleSource {
            prompts: vec!["shop__*".into()],
            resources: vec!["file:///etc/**".into(), "db://{a,b}/*".into()],
            ..rule("r", &["shop__place_*", "*__[xy]?"], None, Then::Deny)
        };
        let of = Profile { target, ..tool(name) };
        judged(&book(Fallback::Allow, &[source]), &of, "{}").then() == Then::Deny
    };
    for (target, name, expect) in [
        (Target::Tool, "shop__place_order", true),
        (Target::Tool, "shop__cancel_order", false),
        (Target::Tool, "Shop__place_order", false),
        (Target::Tool, "any__x1", true),
        (Target::Tool, "any__x12", false),
        (Target::Prompt, "shop__anything", true),
        (Target::Prompt, "files__place_order", false),
        (Target::Resource, "file:///etc/ssh/key", true),
        (Target::Resource, "file:///home/x", false),
        (Target::Resource, "db://b/t", true),
        (Target::Resource, "shop__place_order", false),
        (Target::Method, "shop__place_order", false),
    ] {
        assert_eq!(one(target, name), expect, "{name}");
    }
}

#[test]
fn a_rule_without_patterns_is_for_everything() {
    let rules = [rule("not from there", &[], Some("host == 'cursor'"), Then::Deny)];
    for target in [Target::Tool, Target::Prompt, Target::Resource, Target::Method] {
        let of = Profile { target, ..tool("x__y") };
        assert_eq!(judged(&book(Fallback::Allow, &rules), &of, "{}").then(), Then::Deny, "{target:?}");
    }
}

#[test]
fn only_what_is_denied_whatever_is_asked_is_unlisted() {
    let unlisted = |default, rules: &[RuleSource]| book(default, rules).standing(&tool("x__delete_it")).is_unlisted();
    let deny = |when| [rule("r", &["x__*"], when, Then::Deny)];
    assert!(unlisted(Fallback::Allow, &deny(None)));
    assert!(!unlisted(Fallback::Allow, &deny(Some("args.a == 1"))));
    assert!(!unlisted(Fallback::Allow, &deny(Some("host == 'cursor'"))));
    assert!(unlisted(Fallback::Allow, &deny(Some("effect == 'destructive'"))));
    assert!(!unlisted(Fallback::Allow, &deny(Some("effect == 'read'"))));
    assert!(unlisted(Fallback::Deny, &[]));
    assert!(!unlisted(Fallback::Deny, &[rule("r", &["x__*"], Some("args.a == 1"), Then::Allow)]));
    assert!(!unlisted(Fallback::Deny, &[rule("r", &["x__*"], None, Then::Ask)]));
    assert!(!unlisted(Fallback::Ask, &[]) && !unlisted(Fallback::Auto, &[]));
}

#[test]
fn what_is_the_same_for_every_call_is_known_before() {
    let rules = [rule("r", &["x__*"], Some("server == 'shop' && annotations.title == 'T'"), Then::Ask)];
    let book = book(Fallback::Allow, &rules);
    let of = Profile { annotations: br#"{"title":"T"}"#, ..tool("x__y") };
    let standing = book.standing(&of);
    assert_eq!(standing.always().map(Judgement::then), Some(Then::Ask));
    assert_eq!(book.judge(&standing, &NONE).most(), Scope::Session);
    let broken = Profile { annotations: b"{", ..of };
    let said = book.standing(&broken).always().cloned().unwrap();
    assert!(matches!(said.why(), Why::Failed(_)) && said.then() == Then::Ask);
    assert_eq!(book.standing(&tool("x__y")).always().map(Judgement::then), Some(Then::Allow));
}

/// What was approved under a rule that looks at the arguments must not cover other arguments.
#[test]
fn how_far_an_approval_may_be_remembered() {
    let most =
        |rules: &[RuleSource], name: &str| judged(&book(Fallback::Auto, rules), &tool(name), r#"{"n":1}"#).most();
    let ask = |when| rule("r", &["*"], when, Then::Ask);
    assert_eq!(most(&[], "x__place_order"), Scope::Tool);
    assert_eq!(most(&[], "x__delete_order"), Scope::Session);
    assert_eq!(most(&[ask(None)], "x__place_order"), Scope::Session);
    assert_eq!(most(&[ask(None)], "x__delete_order"), Scope::Session);
    assert_eq!(most(&[ask(Some("args.n == 1"))], "x__place_order"), Scope::Once);
    assert_eq!(most(&[ask(Some("args.n == 2"))], "x__place_order"), Scope::Tool);
    assert_eq!(most(&[ask(Some("args.n > 'x'"))], "x__place_order"), Scope::Once);
    assert_eq!(most(&[rule("r", &["*"], Some("args.n > 'x'"), Then::Allow)], "x__place_order"), Scope::Once);
    assert_eq!(most(&[ask(Some("host == 'cursor'"))], "x__place_order"), Scope::Session);
    let both = [ask(None), rule("s", &["*"], Some("args.n == 1"), Then::Ask)];
    assert_eq!(most(&both, "x__place_order"), Scope::Once);
}

#[test]
fn what_cannot_be_checked_wholly_is_asked_about_at_least() {
    let of = Profile { partly_checked: true, ..tool("x__get_it") };
    for (default, rules, expect, why) in [
        (Fallback::Allow, vec![], Then::Ask, "asks: part of its schema can't be checked"),
        (Fallback::Auto, vec![], Then::Ask, "asks once per client and tool: part of its schema can't be checked"),
        (
            Fallback::Auto,
            vec![rule("r", &["*"], None, Then::Allow)],
            Then::Ask,
            "asks: part of its schema can't be checked",
        ),
        (Fallback::Auto, vec![rule("r", &["*"], None, Then::Deny)], Then::Deny, "denied by the rule `r`"),
        (Fallback::Deny, vec![], Then::Deny, "denied: no rule decides, and the default is to deny"),
    ] {
        let judgement = judged(&book(default, &rules), &of, "{}");
        assert_eq!((judgement.then(), &*judgement.sentence()), (expect, why));
    }
}

#[test]
fn a_judgement_says_what_decided() {
    let rules = [
        RuleSource { reason: Some("ask a human".into()), ..rule("no prod", &["*__deploy*"], None, Then::Deny) },
        rule("reads", &["files__read_*"], None, Then::Allow),
        rule("mail", &["mail__*"], None, Then::Ask),
    ];
    let said = |default, name: &str| judged(&book(default, &rules), &tool(name), "{}");
    let denied = said(Fallback::Auto, "ci__deploy");
    assert_eq!(denied.reason().map(|reason| &**reason), Some("ask a human"));
    assert_eq!(denied.sentence(), "denied by the rule `no prod`");
    for (default, name, expect) in [
        (Fallback::Auto, "files__read_it", "allowed by the rule `reads`"),
        (Fallback::Auto, "mail__send", "asks because of the rule `mail`"),
        (Fallback::Auto, "x__get_it", "allowed: its name says that it reads, and no hint says anything else"),
        (Fallback::Auto, "x__place", "asks once per client and tool: it may change something (no read hint)"),
        (
            Fallback::Auto,
            "x__delete",
            "asks for every call: its name says `delete`, and no hint says that it only reads",
        ),
        (Fallback::Allow, "x__delete", "allowed: no rule decides, and the default is to allow"),
        (Fallback::Ask, "x__get_it", "asks: no rule decides, and the default is to ask"),
        (Fallback::Deny, "x__get_it", "denied: no rule decides, and the default is to deny"),
    ] {
        assert_eq!(said(default, name).sentence(), expect);
    }
    assert_eq!(said(Fallback::Auto, "x__place").usual(), Scope::Tool);
    for (default, name) in [(Fallback::Auto, "x__delete"), (Fallback::Ask, "x__place"), (Fallback::Auto, "mail__send")]
    {
        assert_eq!(said(default, name).usual(), Scope::Once, "{name}");
    }
}

#[test]
fn a_standing_of_other_rules_asks() {
    let (old, new) = (Rulebook::allow_all(), book(Fallback::Allow, &[]));
    let of =
        Profile { hints: Hints { read_only: Some(true), destructive: None }, effect: Effect::Read, ..tool("x__y") };
    let judgement = new.judge(&old.standing(&of), &NONE);
    assert_eq!((judgement.then(), judgement.most(), judgement.tier()), (Then::Ask, Scope::Once, Tier::Quiet));
    assert_eq!(new.judge(&new.standing(&of), &NONE).then(), Then::Allow);
    let copy = new.clone();
    assert_eq!(copy.judge(&new.standing(&of), &NONE).then(), Then::Allow, "a copy is the same book");
}

#[test]
fn everything_wrong_with_rules_is_told_at_once() {
    let rules = [
        rule("a", &["x__*", "", "[a"], Some("arg.x == 1"), Then::Deny),
        rule("a", &["x__*"], None, Then::Deny),
        rule(" ", &[], None, Then::Allow),
        RuleSource { reason: Some("x".repeat(1001)), ..rule("b", &["{a"], Some("tool"), Then::Allow) },
    ];
    let faults = Rulebook::compile(Fallback::Auto, &rules).unwrap_err();
    let told: Vec<String> = faults.iter().map(|fault| format!("{} {}", fault.rule, fault.place)).collect();
    assert_eq!(
        told,
        ["0 when", "0 tools[1]", "0 tools[2]", "1 name", "2 name", "2 ", "3 reason", "3 when", "3 tools[0]"]
    );
    assert_eq!(faults[1].to_string(), "rule 1 (tools[1]): an empty pattern matches nothing");
    assert_eq!(faults[3].problem, "rule 1 has the same name");
    let many: Vec<RuleSource> = (0..1001).map(|n| rule(&n.to_string(), &["x"], None, Then::Ask)).collect();
    assert_eq!(Rulebook::compile(Fallback::Auto, &many).unwrap_err().len(), 1);
    let patterns: Vec<String> = (0..5001).map(|n| n.to_string()).collect();
    let wide = RuleSource { tools: patterns, ..rule("wide", &[], None, Then::Ask) };
    assert_eq!(Rulebook::compile(Fallback::Auto, &[wide]).unwrap_err().len(), 1);
}

#[test]
fn the_version_is_that_of_what_is_written() {
    let one = rule("a", &["x"], None, Then::Ask);
    let version = |default, rules: &[RuleSource]| book(default, rules).version();
    assert_eq!(
        version(Fallback::Auto, std::slice::from_ref(&one)),
        version(Fallback::Auto, std::slice::from_ref(&one))
    );
    assert_eq!(version(Fallback::Allow, &[]), Rulebook::allow_all().version());
    let others = [
        version(Fallback::Auto, &[]),
        version(Fallback::Ask, std::slice::from_ref(&one)),
        version(Fallback::Auto, &[RuleSource { reason: Some("y".into()), ..one.clone() }]),
        version(Fallback::Auto, &[RuleSource { then: Then::Deny, ..one.clone() }]),
        version(Fallback::Auto, &[RuleSource { when: Some("args.a".into()), ..one.clone() }]),
    ];
    assert!(others.iter().all(|other| *other != version(Fallback::Auto, std::slice::from_ref(&one))));
}

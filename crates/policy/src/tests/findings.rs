//! Rules that do not do what their author may think are told.

use super::{book, rule, tool};
use crate::{Fallback, Profile, RuleSource, Target, Then};

fn found(rules: &[RuleSource]) -> Vec<String> {
    let arguments: Vec<Box<str>> = vec!["env".into(), "region".into()];
    let order: Vec<Box<str>> = vec!["total".into()];
    let all = [
        Profile { arguments: &arguments, ..tool("ci__deploy") },
        Profile { arguments: &order, ..tool("shop__place_order") },
        tool("shop__list_orders"),
        Profile { target: Target::Prompt, ..tool("shop__greet") },
        Profile { target: Target::Resource, own: "file:///a", ..tool("file:///a") },
    ];
    book(Fallback::Auto, rules).findings(&all).iter().map(ToString::to_string).collect()
}

fn check(rules: &[RuleSource], expect: &[&str]) {
    assert_eq!(found(rules), expect);
}

#[test]
fn rules_that_do_their_work_are_not_told() {
    check(
        &[
            rule("a", &["ci__*"], Some("args.env == 'prod' || args.region == 'eu'"), Then::Deny),
            rule("b", &["shop__list_*"], None, Then::Allow),
            rule("c", &["shop__*"], Some("host == 'x'"), Then::Deny),
            rule("d", &["*"], Some("args.whatever == 1"), Then::Ask),
            rule("e", &[], Some("effect == 'destructive'"), Then::Ask),
        ],
        &[],
    );
}

#[test]
fn rules_that_match_nothing_or_everything_are_told() {
    check(
        &[rule("typo", &["shop__place_*", "shops__*"], None, Then::Allow)],
        &["rule `typo` (tools[1]): it matches none of the tools that there are now"],
    );
    for all in ["*", "**", "*__*", "?*", "{*,x}"] {
        check(
            &[rule("wide", &[all], None, Then::Allow)],
            &["rule `wide` (tools[0]): it matches all tools that there can be; `default` is meant for that"],
        );
    }
    let others = RuleSource {
        prompts: vec!["*".into(), "files__*".into()],
        resources: vec!["*".into(), "db:*".into()],
        ..rule("others", &[], None, Then::Ask)
    };
    check(
        &[others],
        &[
            "rule `others` (prompts[0]): it matches all prompts that there can be; `default` is meant for that",
            "rule `others` (prompts[1]): it matches none of the prompts that there are now",
            "rule `others` (resources[0]): it matches all resources that there can be; `default` is meant for that",
            "rule `others` (resources[1]): it matches none of the resources that there are now",
        ],
    );
}

#[test]
fn rules_that_never_decide_are_told() {
    check(
        &[
            rule("allow", &["shop__list_*"], None, Then::Allow),
            rule("deny", &["shop__*"], None, Then::Deny),
            rule("late", &["shop__place_order"], Some("args.total > 1"), Then::Deny),
            rule("ask", &["ci__*"], None, Then::Ask),
            rule("dev", &["ci__*", "shop__*"], Some("args.env == 'dev'"), Then::Allow),
        ],
        &[
            "rule `allow`: it never decides: `deny` denies everything that it names",
            "rule `late`: it never decides: `deny` denies everything that it names",
            "rule `dev`: it never decides: `ask` asks about everything that it names",
        ],
    );
    check(
        &[rule("never", &["ci__*"], Some("effect == 'read'"), Then::Deny)],
        &["rule `never` (when): it is true for nothing that the rule names"],
    );
    check(
        &[rule("elsewhere", &[], Some("server == 'bank'"), Then::Deny)],
        &["rule `elsewhere` (when): it is true for nothing that the rule names"],
    );
}

#[test]
fn conditions_on_arguments_that_no_tool_has_are_told() {
    check(
        &[rule("case", &["ci__*"], Some("args.Env == 'prod' || args['region'] == 'eu' || has(args.zone)"), Then::Deny)],
        &[
            "rule `case` (when): none of the tools that it names takes an argument `Env`",
            "rule `case` (when): none of the tools that it names takes an argument `zone`",
        ],
    );
    // The arguments of `shop__list_orders` are not known.
    check(&[rule("some", &["shop__*"], Some("args.Total > 1"), Then::Deny)], &[]);
}

//! Tiers and effect classes: what is asked about a tool that no rule names, and that nothing a server says makes it
//! less than it was.

use super::{book, tool};
use crate::{Effect, Facts, Fallback, Hints, Profile, Rulebook, Scope, Target, Then, Tier, TierWhy};
use proptest::prelude::*;

/// `r+d-` as hints.
fn hints(text: &str) -> Hints {
    let flag = |letter: char| {
        let at = text.find(letter)?;
        text[at..].chars().nth(1).and_then(|sign| match sign {
            '+' => Some(true),
            '-' => Some(false),
            _ => None,
        })
    };
    Hints { read_only: flag('r'), destructive: flag('d') }
}

fn profile<'a>(own: &'a str, text: &str) -> Profile<'a> {
    let hints = hints(text);
    let effect = Effect::of(own, hints);
    Profile { own, hints, effect, takes_url: text.ends_with('u'), ..tool("x__y") }
}

fn ranked(of: &Profile<'_>) -> (Tier, TierWhy) {
    let standing = Rulebook::allow_all().standing(of);
    (standing.tier(), standing.tier_why())
}

fn check(own: &str, text: &str, tier: Tier, why: TierWhy) {
    assert_eq!(ranked(&profile(own, text)), (tier, why), "{own} {text}");
}

#[test]
fn tiers_follow_hints_and_only_without_them_the_name() {
    use TierWhy::{DestructiveHint, NoReadHint, ReadHint, ReadName, RiskVerb, TakesUrl};
    check("anything", "r+", Tier::Quiet, ReadHint);
    check("anything", "r+d-o+", Tier::Quiet, ReadHint);
    check("delete_it", "r+", Tier::Quiet, ReadHint);
    check("anything", "r+d+", Tier::Once, DestructiveHint);
    check("delete_it", "r+d+", Tier::Each, RiskVerb("delete"));
    check("anything", "r-", Tier::Once, NoReadHint);
    check("anything", "d+", Tier::Once, DestructiveHint);
    check("anything", "none", Tier::Once, NoReadHint);
    check("get_it", "none", Tier::Quiet, ReadName);
    // A server that says something and not that it only reads does not get the benefit of its name.
    check("get_it", "r-", Tier::Once, NoReadHint);
    check("get_it", "d-", Tier::Once, NoReadHint);
    check("fetch", "r+u", Tier::Once, TakesUrl);
    check("get_it", "noneu", Tier::Once, TakesUrl);
    check("send_mail", "d-", Tier::Each, RiskVerb("send"));
    check("send_mail", "r-d-", Tier::Each, RiskVerb("send"));
}

#[test]
fn names_are_read_word_by_word() {
    for name in [
        "get_thing",
        "list-things",
        "readFile",
        "search.code",
        "find_files",
        "describe_table",
        "list_merge_requests",
        "list_posts",
        "list_workflow_runs",
        "check_status",
        "get_deleted_items",
        "list_and_count",
        "GET_ITEM",
        "getHTTPServer",
        "listAPIs",
        "read_base64",
    ] {
        check(name, "none", Tier::Quiet, TierWhy::ReadName);
    }
    for (name, verb) in [
        ("delete_file", "delete"),
        ("bulkDelete", "delete"),
        ("notes.drop", "drop"),
        ("api-post-page", "post"),
        ("merge_pull_request", "merge"),
        ("merge_merge_request", "merge"),
        ("get_and_delete", "delete"),
        ("get-then-run.shell", "run"),
        ("list_delete", "delete"),
        ("search_index_reset", "reset"),
        ("runPipeline", "run"),
        ("shell", "shell"),
        ("exec", "exec"),
        ("executeSql", "execute"),
        ("deploy_stack", "deploy"),
        ("pay_invoice", "pay"),
        ("send_get", "send"),
        ("find_or_push", "push"),
        ("create_and_publish", "publish"),
        ("get_overwrite", "overwrite"),
        ("get_rm", "rm"),
        ("getDELETEall", "delete"),
        ("getDELETEAll", "delete"),
        ("get2delete", "delete"),
        ("deploy1", "deploy"),
    ] {
        check(name, "none", Tier::Each, TierWhy::RiskVerb(verb));
    }
    for name in [
        "",
        "_",
        "place_order",
        "get_or_create",
        "find_and_replace",
        "search_update",
        "list_create",
        "query",
        "resolve_issue",
        "rebuild_search_index",
        "refresh_list",
        "create_merge_request",
        "approve_merge_request",
        "resolve_merge_request_thread",
        "update_post",
        "add_run_comment",
        "getaway",
        "listen",
        "réad",
        "postpone",
        "drops",
        "status_update",
        "view_create",
        // Things or verbs: nobody can tell.
        "get_post",
        "get_run",
        "view_deploy",
        "get_deploy1",
        "get_merge",
        "get_shell_history",
        "check_out",
        "count_inc",
        "get_format_disk",
    ] {
        check(name, "none", Tier::Once, TierWhy::NoReadHint);
    }
}

#[test]
fn the_persons_word_outweighs_name_and_hints() {
    let tagged = |own, text, tag| ranked(&Profile { tag: Some(tag), effect: tag, ..profile(own, text) });
    assert_eq!(tagged("delete_it", "d+", Effect::Read), (Tier::Quiet, TierWhy::TaggedRead));
    assert_eq!(tagged("get_it", "r+", Effect::Write), (Tier::Once, TierWhy::TaggedWrite));
    assert_eq!(tagged("send_it", "none", Effect::Write), (Tier::Once, TierWhy::TaggedWrite));
    assert_eq!(tagged("get_it", "r+", Effect::Destructive), (Tier::Each, TierWhy::TaggedDestructive));
    assert_eq!(tagged("get_it", "r+u", Effect::Read), (Tier::Once, TierWhy::TakesUrl));
}

#[test]
fn nothing_is_quiet_that_the_scan_or_the_schema_speaks_against() {
    let quiet = profile("get_it", "r+");
    let of = |of: Profile<'_>| ranked(&of);
    assert_eq!(of(Profile { flagged: true, ..quiet }), (Tier::Once, TierWhy::Flagged));
    assert_eq!(of(Profile { takes_url: true, ..quiet }), (Tier::Once, TierWhy::TakesUrl));
    assert_eq!(of(Profile { partly_checked: true, ..quiet }), (Tier::Once, TierWhy::PartlyChecked));
    let each = profile("delete_it", "none");
    assert_eq!(of(Profile { flagged: true, ..each }), (Tier::Each, TierWhy::RiskVerb("delete")));
}

#[test]
fn prompts_and_resources_are_reads_and_other_methods_are_tools_without_hints() {
    let of = |target, own| ranked(&Profile { target, own, ..profile(own, "none") });
    assert_eq!(of(Target::Prompt, "delete_everything"), (Tier::Quiet, TierWhy::Reading));
    assert_eq!(of(Target::Resource, "file:///x"), (Tier::Quiet, TierWhy::Reading));
    assert_eq!(of(Target::Method, "x/whatever"), (Tier::Once, TierWhy::NoReadHint));
    assert_eq!(of(Target::Method, "x/delete"), (Tier::Each, TierWhy::RiskVerb("delete")));
}

fn catalog() -> Vec<(&'static str, &'static str)> {
    let mut tools = Vec::new();
    for line in include_str!("catalog.txt").lines().filter(|line| !line.starts_with('#')) {
        let (head, names) = line.split_once(':').unwrap();
        let (_, text) = head.split_once(' ').unwrap();
        tools.extend(names.split_whitespace().map(|name| (name, text)));
    }
    tools
}

#[test]
fn a_catalog_of_real_shapes_asks_seldom() {
    let tools = catalog();
    assert_eq!(tools.len(), 300);
    let count = |tier| tools.iter().filter(|(own, text)| ranked(&profile(own, text)).0 == tier).count();
    let (quiet, once, each) = (count(Tier::Quiet), count(Tier::Once), count(Tier::Each));
    // 151, 121 and 28 when this was written.
    assert!(once <= 150 && each <= 30 && quiet + once + each == 300, "{quiet} {once} {each}");
}

/// Thirty harmless calls a minute ask nobody anything; one that may change something asks once.
#[test]
fn harmless_calls_ask_nobody() {
    let book = book(Fallback::Auto, &[]);
    let facts = Facts { host: "cursor", arguments: b"{}" };
    let judged = |own, text: &str| book.judge(&book.standing(&profile(own, text)), &facts);
    for own in ["read_text", "list_issues", "search_code"] {
        assert_eq!(judged(own, "r+").then(), Then::Allow, "{own}");
    }
    let once = judged("place_order", "none");
    assert_eq!((once.then(), once.usual(), once.most()), (Then::Ask, Scope::Tool, Scope::Tool));
    let each = judged("delete_order", "none");
    assert_eq!((each.then(), each.usual(), each.most()), (Then::Ask, Scope::Once, Scope::Session));
}

fn any_hints() -> impl Strategy<Value = Hints> {
    let flag = || proptest::option::of(any::<bool>());
    (flag(), flag()).prop_map(|(read_only, destructive)| Hints { read_only, destructive })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    /// After approval no change of hints lowers the class or the tier; a person's word may.
    #[test]
    fn hints_never_lower(at in 0usize..300, approved in any_hints(), now in any_hints()) {
        let own = catalog()[at].0;
        let of = |hints, pinned: Option<Effect>| {
            let effect = Effect::of(own, hints).held_to(pinned);
            Profile { hints, effect, ..profile(own, "none") }
        };
        let before = of(approved, None);
        let after = of(now, Some(before.effect));
        prop_assert!(after.effect >= before.effect);
        prop_assert!(ranked(&after).0 >= ranked(&before).0);
    }
}

#[test]
fn a_new_read_hint_on_what_was_more_says_so() {
    let of = |own| Profile { effect: Effect::Write, ..profile(own, "r+") };
    assert_eq!(ranked(&of("place_order")), (Tier::Once, TierWhy::Raised));
    assert_eq!(
        ranked(&Profile { effect: Effect::Destructive, ..of("delete_it") }),
        (Tier::Each, TierWhy::RiskVerb("delete"))
    );
    assert_eq!(ranked(&Profile { hints: Hints::default(), ..of("get_it") }), (Tier::Once, TierWhy::Raised));
}

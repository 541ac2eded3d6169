//! What an approval covers: this call and nothing else, or this tool for this client while nothing about it
//! changes.

use super::{book, rule, tool};
use crate::{
    Binding, Effect, Facts, Fallback, Grant, Judgement, Permit, Profile, Request, RuleSource, Scope, Stale, Then, Tier,
    Verdict, decide, redeem, remembered,
};
use bytes::Bytes;
use contract::{Hash, arguments_digest};
use proptest::prelude::*;

const NOW: u64 = 1_790_000_000_000;

fn digest(arguments: &str) -> Hash {
    arguments_digest(arguments.as_bytes(), Some("idempotency_key")).unwrap()
}

fn request(arguments: &str) -> Request {
    Request {
        client: "cursor".into(),
        session: "s1".into(),
        server: "files".into(),
        launch: "sha256:launch".into(),
        method: "tools/call".into(),
        tool: "delete".into(),
        effect: Effect::Destructive,
        definition: Some(Hash::of(b"definition")),
        digest: Some(digest(arguments)),
        policy: Hash::of(b"rules"),
        params: Bytes::from(format!("{{\"name\":\"delete\",\"arguments\":{arguments}}}")),
    }
}

fn binding(arguments: &str) -> Binding {
    let sent = digest(arguments);
    Binding {
        client: "cursor".into(),
        server: "files".into(),
        launch: "sha256:launch".into(),
        tool: "delete".into(),
        definition: Some(Hash::of(b"definition")),
        asked: sent,
        sent,
        policy: Hash::of(b"rules"),
        effect: Effect::Destructive,
        tier: Tier::Each,
        rule: "".into(),
        expires_ms: NOW + 1,
    }
}

fn judged(default: Fallback, rules: &[RuleSource], own: &str) -> Judgement {
    let book = book(default, rules);
    let name = format!("files__{own}");
    let of = Profile { own, ..tool(&name) };
    book.judge(&book.standing(&of), &Facts { host: "cursor", arguments: br#"{"path":"/tmp/a"}"# })
}

fn asks() -> Judgement {
    judged(Fallback::Auto, &[], "delete")
}

const A: &str = r#"{"path":"/tmp/a","force":1}"#;

fn check(expect: Result<(), Stale>, change: impl FnOnce(&mut Request, &mut Binding)) {
    let (mut request, mut binding) = (request(A), binding(A));
    change(&mut request, &mut binding);
    let params = request.params.clone();
    match redeem(request, &asks(), &binding, NOW) {
        Ok(permit) => {
            assert_eq!(expect, Ok(()));
            assert_eq!(permit.spend().params, params, "the very bytes");
        }
        Err((request, stale)) => {
            assert_eq!(expect, Err(stale));
            assert_eq!(request.params, params);
        }
    }
}

#[test]
fn an_approval_is_for_one_request() {
    check(Ok(()), |_, _| {});
    let asked = |arguments: &'static str| {
        move |request: &mut Request, _: &mut Binding| request.digest = Some(digest(arguments))
    };
    check(Ok(()), asked(r#"{ "force": 1, "path": "/tmp/a" }"#));
    check(Ok(()), asked(r#"{"force":1,"path":"\/tmp\/a","idempotency_key":"x"}"#));
    check(Err(Stale::Arguments), asked(r#"{"path":"/tmp/b","force":1}"#));
    check(Err(Stale::Arguments), asked(r#"{"path":"/tmp/a ","force":1}"#));
    check(Err(Stale::Arguments), asked(r#"{"path":"/tmp/a","force":1.0}"#));
    check(Err(Stale::Arguments), asked(r#"{"path":"/tmp/a","force":true}"#));
    check(Err(Stale::Arguments), asked(r#"{"path":"/tmp/a"}"#));
    check(Err(Stale::Arguments), |request, _| request.digest = None);
    check(Err(Stale::Definition), |request, _| request.definition = Some(Hash::of(b"changed")));
    check(Err(Stale::Definition), |request, _| request.definition = None);
    check(Err(Stale::Client), |request, _| request.client = "other".into());
    check(Err(Stale::Server), |request, _| request.server = "files2".into());
    check(Err(Stale::Server), |request, _| request.launch = "sha256:other".into());
    check(Err(Stale::Tool), |request, _| request.tool = "delete2".into());
    check(Err(Stale::Expired), |_, binding| binding.expires_ms = NOW);
    check(Err(Stale::Stricter), |_, binding| binding.effect = Effect::Write);
    check(Err(Stale::Stricter), |_, binding| binding.tier = Tier::Once);
    // Another session of the same client, and other rules that say the same.
    check(Ok(()), |request, _| request.session = "s2".into());
    check(Ok(()), |request, _| request.policy = Hash::of(b"new rules"));
    // The person edited the arguments: what was asked is no longer what is sent.
    check(Ok(()), |request, binding| {
        binding.sent = digest(r#"{"path":"/tmp/c"}"#);
        request.digest = Some(binding.sent);
    });
    check(Err(Stale::Arguments), |_, binding| binding.sent = digest(r#"{"path":"/tmp/c"}"#));
}

#[test]
fn an_approval_is_judged_by_the_rules_of_today() {
    let redeemed = |default, rules: &[RuleSource], bound: &str| {
        let binding = Binding { rule: bound.into(), ..binding(A) };
        redeem(request(A), &judged(default, rules, "delete"), &binding, NOW).map_err(|(_, stale)| stale).map(drop)
    };
    let all = |name, when, then| [rule(name, &["files__*"], when, then)];
    let prod = Some("args.path == '/tmp/a'");
    assert_eq!(redeemed(Fallback::Auto, &[], ""), Ok(()));
    assert_eq!(redeemed(Fallback::Allow, &[], ""), Ok(()));
    assert_eq!(redeemed(Fallback::Deny, &[], ""), Err(Stale::Denied));
    assert_eq!(redeemed(Fallback::Auto, &all("no", None, Then::Deny), ""), Err(Stale::Denied));
    assert_eq!(redeemed(Fallback::Auto, &all("no", prod, Then::Deny), ""), Err(Stale::Denied));
    assert_eq!(redeemed(Fallback::Auto, &all("mind", prod, Then::Ask), ""), Err(Stale::Stricter));
    assert_eq!(redeemed(Fallback::Auto, &all("mind", prod, Then::Ask), "mind"), Ok(()));
    assert_eq!(redeemed(Fallback::Auto, &all("fine", None, Then::Allow), ""), Ok(()));
    assert!(Stale::Denied.is_final() && Stale::Expired.is_final() && !Stale::Stricter.is_final());
}

fn grant() -> Grant {
    Grant {
        client: "cursor".into(),
        server: "files".into(),
        launch: "sha256:launch".into(),
        tool: "place".into(),
        definition: Hash::of(b"definition"),
        effect: Effect::Write,
        session: None,
        at_ms: NOW,
        by: "a person".into(),
        call: None,
    }
}

fn place() -> Request {
    Request { tool: "place".into(), effect: Effect::Write, ..request(A) }
}

fn covers(judgement: &Judgement, change: impl FnOnce(&mut Request, &mut Grant)) -> bool {
    let (mut request, mut grant) = (place(), grant());
    change(&mut request, &mut grant);
    remembered(request, judgement, &grant).is_ok()
}

#[test]
fn a_remembered_approval_is_for_the_same_tool_unchanged() {
    let once = judged(Fallback::Auto, &[], "place");
    assert!(covers(&once, |_, _| {}));
    assert!(covers(&once, |request, _| request.digest = Some(digest("{}"))), "any arguments");
    assert!(covers(&once, |request, _| request.session = "s2".into()));
    assert!(covers(&once, |request, _| request.effect = Effect::Read));
    let changes: [fn(&mut Request); 8] = [
        |request| request.client = "other".into(),
        |request| request.server = "renamed".into(),
        |request| request.launch = "sha256:replaced".into(),
        |request| request.tool = "place2".into(),
        |request| request.definition = Some(Hash::of(b"changed")),
        |request| request.definition = None,
        |request| request.effect = Effect::Destructive,
        |request| request.client = "Cursor".into(),
    ];
    for (at, change) in changes.into_iter().enumerate() {
        assert!(!covers(&once, |request, _| change(request)), "{at}");
    }
}

#[test]
fn a_remembered_approval_is_never_wider_than_the_rules_let_it() {
    let for_session = |grant: &mut Grant, session: &str| grant.session = Some(session.into());
    let once = judged(Fallback::Auto, &[], "place");
    assert!(covers(&once, |_, grant| for_session(grant, "s1")));
    assert!(!covers(&once, |_, grant| for_session(grant, "s2")));
    let each = judged(Fallback::Auto, &[rule("r", &["*"], None, Then::Ask)], "place");
    assert_eq!(each.most(), Scope::Session);
    assert!(!covers(&each, |_, _| {}) && covers(&each, |_, grant| for_session(grant, "s1")));
    let by_arguments = judged(Fallback::Auto, &[rule("r", &["*"], Some("args.path != ''"), Then::Ask)], "place");
    assert!(!covers(&by_arguments, |_, grant| for_session(grant, "s1")));
    for other in [judged(Fallback::Deny, &[], "place"), judged(Fallback::Allow, &[], "place")] {
        assert!(!covers(&other, |_, _| {}), "it answers nothing but a question");
    }
    assert!(!covers(&judged(Fallback::Auto, &[], "delete"), |_, _| {}), "asked about for every call");
}

#[test]
fn rules_alone_allow_ask_or_deny() {
    let said = |default| match decide(place(), &judged(default, &[], "place")) {
        Verdict::Allow(permit) => {
            assert_eq!(*permit.request().tool, *"place");
            Then::Allow
        }
        Verdict::Ask(_) => Then::Ask,
        Verdict::Deny(_) => Then::Deny,
    };
    assert_eq!(said(Fallback::Allow), Then::Allow);
    assert_eq!(said(Fallback::Auto), Then::Ask);
    assert_eq!(said(Fallback::Ask), Then::Ask);
    assert_eq!(said(Fallback::Deny), Then::Deny);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever else is asked than what was approved is not permitted.
    #[test]
    fn nothing_else_is_permitted(
        other in proptest::array::uniform7(proptest::bool::weighted(0.1)), late in 0u64..3, effect in 0usize..3,
    ) {
        let name = |at: usize| if other[at] { "other" } else { "same" };
        let effects = [Effect::Read, Effect::Write, Effect::Destructive];
        let asked = Request {
            client: name(0).into(),
            server: name(1).into(),
            launch: name(2).into(),
            tool: name(3).into(),
            definition: (!other[4]).then(|| Hash::of(b"definition")),
            session: name(5).into(),
            effect: effects[effect],
            ..request(if other[6] { r#"{"x":"b"}"# } else { r#"{"x":"a"}"# })
        };
        let approved = Binding {
            client: "same".into(),
            server: "same".into(),
            launch: "same".into(),
            tool: "same".into(),
            effect: Effect::Write,
            expires_ms: NOW,
            ..binding(r#"{"x":"a"}"#)
        };
        let same = !(0..7).any(|at| other[at] && at != 5);
        let permit: Option<Permit> = redeem(asked, &asks(), &approved, NOW - 1 + late).ok();
        prop_assert_eq!(permit.is_some(), same && late == 0 && effect < 2);
    }
}

//! How it looks.

use super::*;
use crate::show::samples::HOSTILE;
use insta::assert_snapshot;
use operator::visible::shows;
use operator::{Problem, code};

#[test]
fn a_queue_on_every_size_of_screen() {
    for size in [(80, 24), (120, 40), (40, 12)] {
        let rig = Rig::new(size, some(12));
        assert_snapshot!(format!("{}x{}", size.0, size.1), rig.seen());
    }
    let mut rig = Rig::new((80, 24), some(12));
    rig.key(Key::Enter);
    assert_snapshot!("detail_alone", rig.seen());
}

#[test]
fn nothing_one_and_a_thousand() {
    assert_snapshot!("empty", Rig::new((80, 24), vec![]).seen());
    assert_snapshot!("one", Rig::new((80, 24), some(1)).seen());
    let mut rig = Rig::new((80, 24), some(1000));
    rig.keys("G");
    assert_snapshot!("a_thousand", rig.seen());
}

#[test]
fn long_names_and_hidden_characters() {
    let long = "a-server-with-a-rather-long-name__and_a_tool_that_has_a_name_that_is_as_long_as_that_of_its_server";
    let mut first = detail(approval("c1-7", long), "{}");
    first.approval.client = "a client that calls itself by a whole sentence, more or less (unverified)".into();
    first.approval.definition = PinState::Changed;
    first.approval.waiters = 12;
    first.approval.again = Some("It was approved, but the rule `orders` asks since then.".into());
    first.changes = vec!["its description names a path".into()];
    first.remembered = vec![Remembered {
        call: Some("c1-3".into()),
        client: first.approval.client.clone(),
        unverified: true,
        server: first.approval.server.clone(),
        tool: first.approval.tool.clone(),
        name: long.into(),
        effect: operator::words::Effect::Write,
        scope: Scope::Tool,
        since_ms: first.approval.asked_ms - 1_000,
        by: Some("the command line (pid 4711)".into()),
        until_ms: None,
        lapsed: Some("the tool's definition is another one".into()),
    }];
    let arguments = format!(
        "{{\"{}\": 1, \"text\": \"for\\n\\u202eyadrutas\\u200b{}end\\n{}rm -rf /\"}}",
        "an argument with a long name ".repeat(3),
        " ".repeat(300),
        "\\n".repeat(400)
    );
    let mut second = detail(approval("c1-8", "shop__place_order"), &arguments);
    second.approval.asked_ms += 1;
    let mut rig = Rig::new((80, 30), vec![first, second]);
    assert_snapshot!("long_names", rig.seen());
    rig.keys("j");
    assert_snapshot!("hidden_characters", rig.seen());
    rig.keys("r");
    rig.key(Key::Enter);
    rig.keys("G");
    assert_snapshot!("raw", rig.seen());
}

#[test]
fn without_a_hub() {
    let mut rig = Rig::new((80, 24), some(2));
    rig.hub(Said::Down("no hub is running".into()));
    rig.wait(65_000);
    assert_snapshot!("disconnected", rig.seen());
    rig.keys("a");
    assert_eq!(rig.notice(), "The hub is not there: nothing can be decided.");
    rig.hub(Said::Up);
    assert!(rig.seen().contains("● live") && rig.notice() == "The hub is back.");
}

#[test]
fn a_lost_race_an_edit_that_does_not_fit_the_pin_and_help() {
    let mut rig = Rig::new((80, 24), some(3));
    rig.keys("a");
    let decision = crate::show::samples::decision("c1-0", DecisionKind::Denied);
    rig.answer(Ok(Decided {
        winner: Winner::Another,
        decision,
        follows: Follows::Nothing,
        keeps: None,
        unwritten: None,
    }));
    assert_snapshot!("lost_race", rig.seen());

    rig.wait(1_000);
    rig.keys("e");
    rig.input(Input::Edited("c1-1".into(), super::super::machine::Edited::Text("{\"path\": 5}".into())));
    rig.wait(1_000);
    assert_snapshot!("draft", rig.seen());
    rig.keys("a");
    rig.answer(Err(Problem::new(code::INVALID_ARGUMENTS, "/path: is not a string\n/text: is missing")));
    assert_snapshot!("edit_refused", rig.seen());
    rig.key(Key::Esc);

    rig.wait(1_000);
    rig.keys("d");
    rig.keys("not now");
    assert_snapshot!("reason", rig.seen().lines().last().unwrap());
    assert!(rig.seen().contains("Why not? The agent reads it: not now"));
    rig.key(Key::Esc);
    rig.wait(1_000);
    rig.keys("a");
    rig.answer(Err(Problem::new(code::PIN_REQUIRED, "decisions need the PIN")));
    rig.keys("4711");
    assert!(rig.seen().contains(" PIN: ••••\n"), "{}", rig.seen());
    rig.key(Key::Esc);
    rig.keys("?");
    assert_snapshot!("help", rig.seen());
}

#[test]
fn nothing_of_anybody_acts_on_the_terminal() {
    let json = serde_json::json!({ HOSTILE: [HOSTILE, { HOSTILE: HOSTILE }] }).to_string();
    let mut item = detail(approval(HOSTILE, HOSTILE), &json);
    let it = &mut item.approval;
    for field in [&mut it.client, &mut it.server, &mut it.tool, &mut it.why, &mut it.preview, &mut it.call] {
        *field = HOSTILE.into();
    }
    it.rule = Some(HOSTILE.into());
    it.again = Some(HOSTILE.into());
    item.original = Some(json);
    item.description = Some(HOSTILE.into());
    item.changes = vec![HOSTILE.into()];
    let check = |rig: &Rig| {
        for c in rig.seen().chars() {
            assert!(c == '\n' || shows(c), "{c:?} in {}", rig.seen());
        }
    };
    for size in [(80, 24), (120, 60), (40, 12), (9, 5), (1, 1)] {
        let mut rig = Rig::new(size, vec![item.clone()]);
        check(&rig);
        rig.keys("r");
        check(&rig);
        rig.key(Key::Enter);
        check(&rig);
        rig.keys("G/");
        rig.input(Input::Paste(HOSTILE.into()));
        check(&rig);
        rig.key(Key::Esc);
        rig.wait(1_000);
        rig.keys("d");
        rig.input(Input::Paste(HOSTILE.into()));
        check(&rig);
        rig.key(Key::Esc);
        let by = Decision { by: HOSTILE.into(), ..crate::show::samples::decision(HOSTILE, DecisionKind::Denied) };
        rig.hub(Said::Event(Event::Decision(by)));
        check(&rig);
    }
}

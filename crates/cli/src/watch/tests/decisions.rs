//! What a key decides, and when it decides nothing.

use super::super::machine::Edited;
use super::*;
use crate::show::samples::decision;
use operator::{Problem, code};

fn yes(id: &str) -> Result<Decided, Problem> {
    let decision = Decision { by: "you".into(), remember: Some(Scope::Once), ..decision(id, DecisionKind::Approved) };
    Ok(Decided { winner: Winner::You, decision, follows: Follows::Runs, keeps: None, unwritten: None })
}

fn approvals(rig: &Rig) -> Vec<String> {
    let of = |effect: &Effect| match effect {
        Effect::Approve(it) => Some(format!("{} {:?}", it.id, it.remember.unwrap())),
        Effect::Deny(it) => Some(format!("{} no {}", it.id, it.reason.as_deref().unwrap_or("-"))),
        _ => None,
    };
    rig.done.iter().filter_map(of).collect()
}

#[test]
fn nothing_is_decided_before_it_has_stood_still() {
    let mut rig = Rig::new((80, 24), some(3));
    rig.keys("j");
    for wait in [0, 100, 599] {
        rig.wait(wait);
        rig.keys("a");
        assert!(approvals(&rig).is_empty(), "{wait}");
        assert!(rig.notice().starts_with("Not yet"), "{}", rig.notice());
        // Each press that comes too early shuts the lock anew.
        rig.wait(699);
        rig.keys("s");
        assert!(approvals(&rig).is_empty());
    }
    rig.wait(700);
    rig.keys("a");
    assert_eq!(approvals(&rig), ["c1-1 Once"]);
    let Some(Effect::Approve(sent)) = rig.done.last() else { panic!() };
    assert_eq!((sent.digest.clone(), sent.args.clone()), (hash('b'), None));
}

#[test]
fn a_key_that_is_held_down_decides_one_item() {
    let mut rig = Rig::new((80, 24), some(50));
    for _ in 0..300 {
        rig.keys("a");
        if let Some(Effect::Approve(approve)) = rig.done.last()
            && rig.items.iter().any(|it| it.approval.id == approve.id)
        {
            let id = approve.id.clone();
            rig.answer(yes(&id));
        }
        rig.wait(33);
    }
    assert_eq!(approvals(&rig), ["c1-0 Once"]);
    rig.wait(700);
    rig.keys("t");
    assert_eq!(approvals(&rig), ["c1-0 Once", "c1-1 Tool"]);
}

#[test]
fn two_quick_presses_decide_one_item() {
    let mut rig = Rig::new((80, 24), some(3));
    rig.keys("aa");
    assert_eq!(approvals(&rig), ["c1-0 Once"]);
    assert_eq!(rig.notice(), "This one is decided.");
    rig.answer(yes("c1-0"));
    rig.keys("a");
    assert_eq!((approvals(&rig).len(), rig.selected()), (1, "c1-1"));
}

#[test]
fn a_change_under_the_cursor_shuts_the_lock() {
    let mut rig = Rig::new((80, 24), some(5));
    // What joins below or goes below moves nothing.
    rig.change(|items| items.truncate(4));
    rig.keys("a");
    assert_eq!(approvals(&rig), ["c1-0 Once"]);

    let mut rig = Rig::new((80, 24), some(5));
    rig.keys("jj");
    rig.wait(700);
    // The list becomes so short that the cursor cannot stay on its row.
    rig.change(|items| drop(items.drain(..2)));
    assert_eq!(rig.selected(), "c1-2");
    rig.keys("a");
    assert!(approvals(&rig).is_empty());
    // The one under the cursor goes: what takes its place was not looked at yet.
    rig.wait(700);
    rig.change(|items| drop(items.remove(0)));
    assert_eq!(rig.selected(), "c1-3");
    rig.keys("a");
    assert!(approvals(&rig).is_empty());
    rig.wait(700);
    rig.keys("a");
    assert_eq!(approvals(&rig), ["c1-3 Once"]);
}

#[test]
fn what_shows_the_screen_anew_shuts_the_lock() {
    let inputs = [
        Input::Resize(90, 30),
        Input::Back,
        Input::Key(Key::Ctrl('l')),
        Input::Key(Key::Enter),
        Input::Key(Key::Char('o')),
        Input::Key(Key::Char('f')),
        Input::Key(Key::Char('r')),
        Input::Hub(Said::Up),
    ];
    for input in inputs {
        let mut rig = Rig::new((80, 24), some(1));
        rig.input(input.clone());
        rig.keys("a");
        assert!(approvals(&rig).is_empty(), "{input:?}");
        rig.wait(700);
        rig.keys("a");
        assert_eq!(approvals(&rig).len(), 1, "{input:?}");
    }
}

#[test]
fn other_arguments_under_the_same_id_are_shown_before_they_are_decided() {
    let mut rig = Rig::new((80, 24), some(1));
    rig.change(|items| {
        items[0].approval.digest = hash('z');
        items[0].arguments = "{\"count\": 4000}".into();
    });
    rig.keys("a");
    assert!(approvals(&rig).is_empty());
    assert!(rig.seen().contains("4000"));
    rig.wait(700);
    rig.keys("a");
    let Some(Effect::Approve(sent)) = rig.done.last() else { panic!() };
    assert_eq!(sent.digest, hash('z'));
    rig.answer(Err(Problem::new(code::DIGEST_CHANGED, "the arguments are others than were shown")));
    assert_eq!(rig.notice(), "the arguments are others than were shown");
    rig.keys("a");
    assert_eq!(approvals(&rig).len(), 1, "it has to be looked at again");
}

#[test]
fn what_is_known_of_a_call_stays_true_while_it_is_looked_at() {
    let long = serde_json::json!({"text": "line\n".repeat(100)}).to_string();
    let mut rig = Rig::new((80, 24), vec![detail(approval("c1-0", "shop__x"), &long)]);
    for _ in 0..12 {
        rig.keys(" ");
    }
    // Another one waits for the same: nothing of weight.
    rig.change(|items| items[0].approval.waiters = 2);
    assert!(rig.state.shown.as_ref().unwrap().approval().waiters == 2 && !rig.state.is_locked(rig.now));
    rig.change(|items| {
        items[0].approval.definition = PinState::Changed;
        items[0].changes = vec!["its description names a path".into()];
    });
    assert!(rig.notice().contains("has changed; look again"), "{}", rig.notice());
    rig.keys("a");
    assert!(approvals(&rig).is_empty());
    assert!(rig.seen().contains("its description names a path"), "{}", rig.seen());
    rig.wait(700);
    rig.keys("a");
    assert_eq!(approvals(&rig), ["c1-0 Once"], "its arguments need not be read twice");
}

#[test]
fn long_arguments_are_read_to_their_end_before_they_are_approved() {
    let long = serde_json::json!({"text": "line\n".repeat(100) + "rm -rf /"}).to_string();
    let mut rig = Rig::new((80, 24), vec![detail(approval("c1-0", "shop__x"), &long)]);
    rig.keys("a");
    assert!(
        approvals(&rig).is_empty() && rig.notice().contains("more lines of the arguments to read"),
        "{}",
        rig.notice()
    );
    for _ in 0..6 {
        rig.keys(" ");
    }
    rig.keys("a");
    assert!(approvals(&rig).is_empty());
    for _ in 0..6 {
        rig.keys(" ");
    }
    assert!(rig.seen().contains("rm -rf /"), "{}", rig.seen());
    rig.keys("b");
    rig.keys("a");
    assert_eq!(approvals(&rig), ["c1-0 Once"]);
    // Nobody has to read to the end in order to deny.
    let mut rig = Rig::new((80, 24), vec![detail(approval("c1-0", "shop__x"), &long)]);
    rig.keys("d");
    rig.wait(700);
    rig.key(Key::Enter);
    assert_eq!(approvals(&rig), ["c1-0 no -"]);
}

#[test]
fn where_there_is_no_room_for_the_detail_it_has_to_be_opened() {
    let mut rig = Rig::new((40, 8), some(2));
    rig.keys("a");
    assert_eq!(rig.notice(), "It is not shown yet; Enter shows it.");
    rig.key(Key::Enter);
    rig.wait(700);
    rig.keys("G");
    rig.keys("a");
    assert_eq!(approvals(&rig), ["c1-0 Once"]);
}

#[test]
fn a_reason_is_typed_and_its_enter_comes_late_enough() {
    let mut rig = Rig::new((80, 24), some(2));
    rig.keys("d");
    rig.keys("no, not q");
    rig.key(Key::Backspace);
    rig.key(Key::Enter);
    assert!(approvals(&rig).is_empty(), "an Enter that was meant for something else");
    rig.wait(700);
    rig.key(Key::Enter);
    assert_eq!(approvals(&rig), ["c1-0 no no, not"]);
    // The call goes while its reason is typed.
    let mut rig = Rig::new((80, 24), some(2));
    rig.keys("d");
    rig.keys("beca");
    rig.change(|items| drop(items.remove(0)));
    assert!(rig.seen().contains("what you were typing about is gone"), "{}", rig.seen());
    rig.wait(700);
    rig.keys("use of q");
    rig.key(Key::Enter);
    rig.keys("a");
    assert!(rig.done.is_empty(), "{:?}", rig.done);
    assert_eq!(rig.selected(), "c1-1");
}

#[test]
fn what_cannot_be_approved_so_says_why() {
    let mut rig = Rig::new((80, 24), some(1));
    rig.items[0].approval.most = Scope::Session;
    rig.change(|_| {});
    rig.wait(700);
    rig.keys("t");
    assert_eq!(rig.notice(), "An approval of it holds for this session of its client at most.");
    rig.keys("s");
    assert_eq!(approvals(&rig), ["c1-0 Session"]);

    let mut rig = Rig::new((80, 24), some(1));
    rig.wait(300_000);
    rig.keys("a");
    assert!(rig.notice().starts_with("It has expired"));

    let mut rig = Rig::new((80, 24), some(1));
    rig.items[0].approval.state = ApprovalState::Approved;
    rig.change(|_| {});
    rig.keys("a");
    assert_eq!((rig.notice(), approvals(&rig).len()), ("This one is decided.", 0));
    let mut rig = Rig::new((80, 24), vec![]);
    rig.keys("asted");
    assert_eq!((rig.notice(), rig.done.len()), ("Nothing waits here.", 0));
}

#[test]
fn pasted_keys_decide_nothing() {
    let mut rig = Rig::new((80, 24), some(1));
    rig.input(Input::Paste("aaaa".into()));
    assert!(approvals(&rig).is_empty());
    rig.keys("d");
    rig.input(Input::Paste("two\nlines".into()));
    rig.wait(700);
    rig.key(Key::Enter);
    assert_eq!(approvals(&rig), ["c1-0 no two lines"]);
}

#[test]
fn the_pin_is_asked_for_every_time_and_never_shown() {
    let mut rig = Rig::new((80, 24), some(2));
    rig.pin_set = true;
    rig.change(|_| {});
    rig.wait(700);
    rig.keys("a");
    assert!(approvals(&rig).is_empty());
    rig.keys("4711");
    assert!(!rig.seen().contains("4711"));
    rig.key(Key::Enter);
    let Some(Effect::Approve(sent)) = rig.done.last() else { panic!() };
    assert_eq!(sent.pin.as_ref().unwrap().reveal(), "4711");
    rig.answer(Err(Problem::new(code::PIN_WRONG, "This is not the PIN; 4 tries are left")));
    assert!(rig.seen().contains("This is not the PIN; 4 tries are left. PIN:"), "{}", rig.seen());
    rig.keys("4712");
    rig.key(Key::Enter);
    rig.answer(yes("c1-0"));
    rig.wait(700);
    rig.keys("d");
    rig.wait(700);
    rig.key(Key::Enter);
    assert!(rig.seen().contains(" PIN:"), "asked again: {}", rig.seen());
    rig.key(Key::Esc);
    assert_eq!(approvals(&rig).len(), 2);
    assert!(!format!("{:?}", rig.done).contains("471"), "not even in a log");
}

#[test]
fn edited_arguments_are_read_again_and_sent_only_then() {
    let mut rig = Rig::new((80, 24), some(1));
    rig.keys("e");
    let Some(Effect::Edit { id, text }) = rig.done.last().cloned() else { panic!() };
    assert_eq!((id.as_str(), text.as_str()), ("c1-0", "{\n  \"item\": \"blue widget\",\n  \"count\": 3\n}\n"));
    let back = |rig: &mut Rig, text: &str| rig.input(Input::Edited("c1-0".into(), Edited::Text(text.into())));
    back(&mut rig, &text);
    assert_eq!(rig.notice(), "Nothing was changed.");
    back(&mut rig, "{\"item\": ");
    assert!(rig.seen().contains("This is not JSON"), "{}", rig.seen());
    rig.keys("e");
    assert_eq!(rig.done.last(), Some(&Effect::Edit { id: "c1-0".into(), text: "{\"item\": ".into() }));
    back(&mut rig, " {\"item\": \"red\", \"n\": 1.10}\n");
    rig.keys("a");
    assert!(approvals(&rig).is_empty(), "it has just come on the screen");
    assert!(rig.seen().contains("Edited arguments, not sent yet") && rig.seen().contains("\"red\""), "{}", rig.seen());
    rig.wait(700);
    rig.keys("a");
    let Some(Effect::Approve(sent)) = rig.done.last() else { panic!() };
    assert_eq!(sent.args.as_deref(), Some("{\"item\": \"red\", \"n\": 1.10}"));
    assert_eq!(sent.digest, hash('a'), "bound to what was asked for");
    rig.answer(Err(Problem::new(code::INVALID_ARGUMENTS, "/n: is not an integer")));
    assert!(rig.seen().contains("/n: is not an integer"));
    rig.keys("e");
    assert_eq!(
        rig.done.last(),
        Some(&Effect::Edit { id: "c1-0".into(), text: "{\"item\": \"red\", \"n\": 1.10}".into() })
    );
    rig.input(Input::Edited("c1-0".into(), Edited::Failed("vi ended badly; nothing was sent.".into())));
    assert_eq!(rig.notice(), "vi ended badly; nothing was sent.");
    rig.key(Key::Esc);
    assert!(rig.seen().contains("blue widget"));
    // Somebody decides while it is edited.
    rig.keys("e");
    rig.change(|items| items.clear());
    back(&mut rig, "{}");
    assert!(rig.notice().contains("does not wait any more"), "{}", rig.notice());
}

#[test]
fn a_hub_that_goes_before_it_answers_leaves_no_doubt_unsaid() {
    let mut rig = Rig::new((80, 24), some(2));
    rig.keys("a");
    rig.hub(Said::Unanswered("c1-0".into()));
    rig.hub(Said::Down("the connection to the hub broke".into()));
    assert!(rig.notice().contains("whether c1-0 is decided shows when it is back"), "{}", rig.notice());
    rig.keys("a");
    assert_eq!(approvals(&rig).len(), 1);
    rig.hub(Said::Up);
    rig.wait(700);
    rig.keys("a");
    assert_eq!(approvals(&rig), ["c1-0 Once", "c1-0 Once"], "it still waits: that is known now");
}

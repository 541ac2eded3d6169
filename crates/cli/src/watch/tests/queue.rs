//! Moving, narrowing, and what the hub says meanwhile.

use super::*;
use crate::show::samples::decision;
use std::time::Instant;

#[test]
fn the_cursor_moves_and_the_detail_follows() {
    let mut rig = Rig::new((80, 24), some(30));
    rig.keys("jjjk");
    assert_eq!(rig.selected(), "c1-2");
    assert!(rig.seen().contains("ann@example.com"));
    rig.keys("G");
    assert_eq!(rig.selected(), "c1-29");
    rig.keys("gk");
    assert_eq!(rig.selected(), "c1-0");
    rig.key(Key::PageDown);
    assert_eq!(rig.selected(), "c1-6");
    rig.key(Key::Enter);
    rig.keys("n");
    assert_eq!(rig.selected(), "c1-7");
    rig.key(Key::Esc);
    rig.keys("o");
    assert_eq!(rig.selected(), "c1-7", "whatever the order");
    rig.keys("k");
    assert_eq!(rig.selected(), "c1-8");
}

#[test]
fn search_and_server_narrow_the_list() {
    let mut rig = Rig::new((80, 24), some(30));
    rig.keys("/");
    rig.keys("MAIL ann q");
    assert_eq!(rig.state.queue.len(), 0);
    rig.key(Key::Backspace);
    rig.key(Key::Backspace);
    assert_eq!((rig.state.queue.len(), rig.selected()), (10, "c1-2"));
    rig.key(Key::Enter);
    rig.keys("a");
    assert!(rig.done.is_empty(), "it stands there since a moment only");
    rig.key(Key::Esc);
    assert_eq!((rig.state.queue.len(), rig.selected()), (30, "c1-2"));
    rig.keys("ff");
    assert!(rig.seen().starts_with(" 30 waiting · only mail"), "{}", rig.seen());
    assert_eq!(rig.state.queue.len(), 10);
    rig.key(Key::Esc);
    assert_eq!(rig.state.queue.len(), 30);
}

#[test]
fn what_is_said_of_one_call_does_not_stand_under_another() {
    let mut items = some(3);
    items[1].approval.kind = ApprovalKind::Prompt;
    items[0].approval.most = Scope::Once;
    let mut rig = Rig::new((80, 24), items);
    rig.keys("t");
    assert!(rig.notice().contains("at most"), "{}", rig.notice());
    rig.keys("j");
    assert_eq!(rig.notice(), "");
    rig.keys("e");
    assert!(rig.notice().contains("its params are never edited") && rig.done.is_empty(), "{}", rig.notice());
    rig.keys("j");
    assert_eq!(rig.notice(), "");
    // A search says how many it found.
    rig.keys("/");
    rig.keys("mail");
    rig.key(Key::Enter);
    assert!(rig.seen().starts_with(" 3 waiting · 1 with /mail"), "{}", rig.seen());
}

#[test]
fn a_decision_of_somebody_else_is_told_and_takes_the_call_away() {
    let mut rig = Rig::new((80, 24), some(3));
    rig.items.remove(0);
    rig.hub(Said::Event(Event::Decision(decision("c1-0", DecisionKind::Denied))));
    let expect = "shop__place_order was denied by the command line (pid 4711) at 11-30 09:59:55: not this week";
    assert_eq!((rig.notice(), rig.selected()), (expect, "c1-1"));
    rig.wait(13_000);
    assert_eq!(rig.notice(), "");
    // The queue may be read before it is told who decided.
    rig.change(|items| drop(items.remove(0)));
    rig.hub(Said::Event(Event::Decision(decision("c1-1", DecisionKind::Denied))));
    assert!(rig.notice().starts_with("files__write_file was denied by"), "{}", rig.notice());
    // What was decided here is told once.
    rig.wait(700);
    rig.keys("a");
    let decision = Decision { by: "you".into(), ..decision("c1-2", DecisionKind::Approved) };
    rig.answer(Ok(Decided {
        winner: Winner::You,
        decision: decision.clone(),
        follows: Follows::Runs,
        keeps: None,
        unwritten: None,
    }));
    let told = rig.notice().to_owned();
    assert!(told.ends_with("It runs now."), "{told}");
    rig.hub(Said::Event(Event::Decision(decision)));
    assert_eq!(rig.notice(), told);
}

#[test]
fn what_was_read_before_a_decision_does_not_bring_it_back() {
    let mut rig = Rig::new((80, 24), some(3));
    let old: Vec<Approval> = rig.items.iter().map(|it| it.approval.clone()).collect();
    rig.keys("a");
    // A reading is under way when the answer comes, and is from before it.
    rig.now.mono_ms += 200;
    let effects = rig.state.next(rig.now, Input::Hub(Said::Event(Event::Approvals { waiting: 3 })));
    assert_eq!(effects, [Effect::Queue]);
    let decision = Decision { by: "you".into(), ..decision("c1-0", DecisionKind::Approved) };
    rig.answer(Ok(Decided { winner: Winner::You, decision, follows: Follows::Runs, keeps: None, unwritten: None }));
    rig.hub(Said::Queue(Ok(ApprovalList { approvals: old, ..Default::default() })));
    assert_eq!(rig.state.queue.len(), 2);
    rig.wait(200);
    assert_eq!((rig.state.queue.len(), rig.selected()), (2, "c1-1"));
}

#[test]
fn a_flood_of_events_is_few_readings() {
    let mut rig = Rig::new((80, 24), some(3));
    let mut readings = 0;
    for _ in 0..1000 {
        rig.now.mono_ms += 1;
        let effects = rig.state.next(rig.now, Input::Hub(Said::Event(Event::Approvals { waiting: 3 })));
        readings += effects.iter().filter(|effect| **effect == Effect::Queue).count();
        if effects.contains(&Effect::Queue) {
            let approvals = rig.items.iter().map(|it| it.approval.clone()).collect();
            rig.hub(Said::Queue(Ok(ApprovalList { approvals, ..Default::default() })));
        }
    }
    assert!((5..=11).contains(&readings), "{readings}");
    rig.wait(rig.state.wake(rig.now));
}

#[test]
fn an_item_that_cannot_be_read_is_not_asked_for_without_end() {
    let mut rig = Rig::new((80, 24), some(2));
    rig.keys("j");
    rig.state.shown = None;
    let mut asked = 0;
    for _ in 0..50 {
        for effect in rig.state.next(rig.now, Input::Tick) {
            if let Effect::Detail(id) = effect {
                asked += 1;
                let problem = operator::Problem::new("unknown_approval", "there is no approval c1-1");
                rig.state.next(rig.now, Input::Hub(Said::Detail(id, Box::new(Err(problem)))));
            }
        }
    }
    assert_eq!(asked, 1);
}

#[test]
fn a_thousand_calls_scroll_as_quickly_as_ten() {
    let time = |number: u64| {
        let mut rig = Rig::new((120, 40), some(number));
        let began = Instant::now();
        for _ in 0..30 {
            rig.keys("j");
            rig.seen();
            rig.keys("G");
            rig.seen();
            rig.keys("g");
        }
        assert_eq!(rig.selected(), "c1-0");
        began.elapsed()
    };
    // The least of several: the machine has other work, too.
    let least = |number: u64| (0..4).map(|_| time(number)).min().unwrap();
    let (few, many) = (least(10), least(1000));
    assert!(many < few * 5, "{few:?} {many:?}");
}

#[test]
fn leaving_and_stopping_for_a_while() {
    let mut rig = Rig::new((80, 24), some(1));
    rig.key(Key::Ctrl('z'));
    rig.keys("?");
    rig.keys("q");
    rig.wait(700);
    rig.keys("d");
    rig.key(Key::Ctrl('c'));
    rig.key(Key::Ctrl('c'));
    rig.keys("q");
    assert_eq!(rig.done, [Effect::Suspend, Effect::Leave, Effect::Leave]);
}

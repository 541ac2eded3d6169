//! The screen without a terminal: what it does, step by step, with a clock in the hand.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod decisions;
mod looks;
mod queue;
mod random;

use super::draw::{Pen, draw};
use super::machine::{Effect, Input, Key, Now, Said, State};
use crate::show::samples::{NOW, approval, detail, hash};
use crate::show::screen::{Colour, Screen, Zone};
use operator::words::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

const SCREEN: Screen = Screen { width: None, colour: Colour::Never, now_ms: NOW, zone: Zone::Utc };

/// A screen, its clock, and a hub that answers at once.
struct Rig {
    state: State,
    now: Now,
    items: Vec<ApprovalDetail>,
    /// What was to be done and is not a reading.
    done: Vec<Effect>,
    pin_set: bool,
}

impl Rig {
    fn new(size: (u16, u16), items: Vec<ApprovalDetail>) -> Rig {
        let state = State::new(size, SCREEN);
        let mut rig = Rig { state, now: Now { mono_ms: 1, wall_ms: NOW }, items, done: vec![], pin_set: false };
        rig.hub(Said::Up);
        rig.wait(1_000);
        rig
    }

    fn input(&mut self, input: Input) {
        let effects = self.state.next(self.now, input);
        for effect in effects {
            match effect {
                Effect::Queue => {
                    let approvals = self.items.iter().map(|it| it.approval.clone()).collect();
                    let list = ApprovalList {
                        approvals,
                        pin_set: self.pin_set,
                        paused_since_ms: None,
                        before: None,
                        resting: Vec::new(),
                    };
                    self.hub(Said::Queue(Ok(list)));
                }
                Effect::Detail(id) => {
                    if let Some(found) = self.items.iter().find(|it| it.approval.id == id).cloned() {
                        self.hub(Said::Detail(id, Box::new(Ok(found))));
                    }
                }
                effect => self.done.push(effect),
            }
        }
    }

    fn hub(&mut self, said: Said) {
        self.input(Input::Hub(said));
    }

    fn keys(&mut self, keys: &str) {
        for c in keys.chars() {
            self.key(Key::Char(c));
        }
    }

    fn key(&mut self, key: Key) {
        self.input(Input::Key(key));
    }

    fn wait(&mut self, ms: u64) {
        self.now.mono_ms += ms;
        self.now.wall_ms += ms;
        self.input(Input::Tick);
    }

    /// What the hub has now, and that it says so.
    fn change(&mut self, change: impl FnOnce(&mut Vec<ApprovalDetail>)) {
        change(&mut self.items);
        self.now.mono_ms += 200;
        self.hub(Said::Event(Event::Approvals { waiting: 1 }));
    }

    /// The hub's answer to the last decision.
    fn answer(&mut self, result: Result<Decided, operator::Problem>) {
        let id = match self.done.last() {
            Some(Effect::Approve(approve)) => approve.id.clone(),
            Some(Effect::Deny(deny)) => deny.id.clone(),
            other => panic!("{other:?}"),
        };
        if let Ok(decided) = &result {
            self.items.retain(|it| it.approval.id != decided.decision.id);
        }
        self.hub(Said::Decided(id, result));
    }

    fn selected(&self) -> &str {
        self.state.queue.selected_id().map_or("", String::as_str)
    }

    fn notice(&self) -> &str {
        self.state.notice.as_ref().map_or("", |notice| notice.text.as_str())
    }

    /// How it looks.
    fn seen(&self) -> String {
        let (width, height) = self.state.size;
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, &Pen { state: &self.state, now: self.now, screen: &SCREEN })).unwrap();
        let buffer = terminal.backend().buffer();
        let row = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
        (0..height).map(row).collect::<Vec<_>>().join("\n")
    }
}

/// So many calls that wait, the first one longest.
fn some(number: u64) -> Vec<ApprovalDetail> {
    let one = |at: u64| {
        let (name, arguments) = match at % 3 {
            0 => ("shop__place_order", "{\"item\": \"blue widget\", \"count\": 3}"),
            1 => ("files__write_file", "{\"path\": \"/home/u/notes.txt\", \"text\": \"hello\\nworld\"}"),
            _ => ("mail__send", "{\"to\": \"ann@example.com\", \"subject\": \"hi\"}"),
        };
        let item = Approval {
            asked_ms: NOW - 600_000 + at * 1000,
            expires_ms: NOW + 300_000 + at * 1000,
            digest: hash(char::from(b'a' + u8::try_from(at % 26).unwrap())),
            effect: if at % 3 == 2 { operator::words::Effect::Destructive } else { operator::words::Effect::Write },
            ..approval(&format!("c1-{at}"), name)
        };
        detail(item, arguments)
    };
    (0..number).map(one).collect()
}

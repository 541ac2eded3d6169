//! What the screen does: from a state, the time and one input to the next state and what is to be done. Pure: no
//! clock, no terminal, no socket. Decisions are bound to the id and the digest that were shown, never to a row.

mod decide;
mod keys;
mod queue;
mod shown;
mod words;

pub use decide::{Act, Verdict, reasons};
pub use queue::{Order, Queue};
pub use shown::{Shown, View};
pub use words::{Edited, Effect, Input, Key, Link, Mode, Now, Said};

use super::panes::{Focus, Panes, panes};
use super::text::prose;
use crate::show::screen::{Ink, Screen};
use decide::Lock;
use operator::Problem;
use operator::visible::escape;
use operator::words::{ApprovalDetail, ApprovalList, Decision, DecisionKind, Event, PinCode};
use std::collections::VecDeque;

/// How long a notice stays.
const NOTICE_MS: u64 = 12_000;
/// Least time between two readings of the queue, so that a flood of events does not become one of readings.
const PACE_MS: u64 = 100;

/// Something to be read once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// How it looks.
    pub ink: Ink,
    /// What it says.
    pub text: String,
    /// The call that it is about, where it does not name it.
    of: Option<String>,
    until_ms: u64,
}

/// The whole screen.
#[derive(Debug)]
pub struct State {
    /// Columns and rows.
    pub size: (u16, u16),
    /// Whether the hub is there.
    pub link: Link,
    /// The list.
    pub queue: Queue,
    /// The detail.
    pub shown: Option<Shown>,
    /// What the keys mean.
    pub mode: Mode,
    /// Which pane has the keys.
    pub focus: Focus,
    /// What was just said.
    pub notice: Option<Notice>,
    /// Whether decisions need the PIN.
    pub pin_set: bool,
    /// Since when all risky calls are held.
    pub paused_since_ms: Option<u64>,
    /// For texts that depend on a clock: its zone.
    screen: Screen,
    lock: Lock,
    under_way: Vec<Act>,
    /// What was decided here last: the hub tells everybody, and so us.
    decided: VecDeque<String>,
    reading: Reading,
    detail_asked: Option<String>,
    /// The one that could not be read: not asked for again before the queue was.
    detail_failed: Option<String>,
}

/// How the reading of the queue stands.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    is_under_way: bool,
    is_wanted: bool,
    /// What is being read is older than something that is known: it is not to be used.
    is_stale: bool,
    last_ms: u64,
}

impl State {
    /// A screen of that size, before anything is known.
    pub fn new(size: (u16, u16), screen: Screen) -> State {
        State {
            size,
            link: Link::Unknown,
            queue: Queue::default(),
            shown: None,
            mode: Mode::Browse,
            focus: Focus::List,
            notice: None,
            pin_set: false,
            paused_since_ms: None,
            screen,
            lock: Lock::default(),
            under_way: Vec::new(),
            decided: VecDeque::new(),
            reading: Reading::default(),
            detail_asked: None,
            detail_failed: None,
        }
    }

    /// Where things stand.
    pub fn panes(&self) -> Panes {
        panes(self.size.0, self.size.1, self.focus, u16::try_from(self.said().len()).unwrap_or(1))
    }

    /// What was just said, in lines of the screen.
    pub fn said(&self) -> Vec<String> {
        let notice = self
            .notice
            .as_ref()
            .filter(|_| matches!(self.mode, Mode::Browse | Mode::Refused(..) | Mode::Gone | Mode::Help));
        notice.map_or_else(Vec::new, |notice| {
            prose(&escape(&notice.text), usize::from(self.size.0).saturating_sub(2).max(10))
        })
    }

    /// One step.
    pub fn next(&mut self, now: Now, input: Input) -> Vec<Effect> {
        let mut effects = Vec::new();
        match input {
            Input::Key(key) => self.key(now, key, &mut effects),
            Input::Paste(text) => self.paste(now, &text),
            Input::Resize(width, height) => {
                self.size = (width, height);
                self.lock.restart(now);
                effects.push(Effect::Redraw);
            }
            Input::Back => self.lock.restart(now),
            Input::Tick => {}
            Input::Hub(said) => self.hub(now, said),
            Input::Edited(id, edited) => self.edited(now, &id, edited, &mut effects),
        }
        let selected = self.queue.selected_id();
        let is_over = |notice: &Notice| {
            notice.until_ms <= now.mono_ms || notice.of.as_ref().is_some_and(|of| selected != Some(of))
        };
        if self.notice.as_ref().is_some_and(is_over) {
            self.notice = None;
        }
        self.lay_out(now);
        self.read_what_is_wanted(now, &mut effects);
        effects
    }

    /// When the screen has something to say even if nothing happens, in milliseconds from now.
    pub fn wake(&self, now: Now) -> u64 {
        let second = 1_000 - now.wall_ms % 1_000;
        let lock = Some(self.lock.left(now)).filter(|&left| left > 0).unwrap_or(u64::MAX);
        let pace = if self.reading.is_wanted && !self.reading.is_under_way { PACE_MS } else { u64::MAX };
        second.min(lock).min(pace)
    }

    fn say(&mut self, now: Now, ink: Ink, text: impl Into<String>) {
        self.notice = Some(Notice { ink, text: text.into(), of: None, until_ms: now.mono_ms + NOTICE_MS });
    }

    /// The same of the call under the cursor: it goes when the cursor does.
    fn say_of_it(&mut self, now: Now, ink: Ink, text: impl Into<String>) {
        self.say(now, ink, text);
        let of = self.queue.selected_id().cloned();
        if let Some(notice) = &mut self.notice {
            notice.of = of;
        }
    }

    fn hub(&mut self, now: Now, said: Said) {
        match said {
            Said::Up => {
                if let Link::Down { .. } = self.link {
                    self.say(now, Ink::Good, "The hub is back.");
                }
                self.link = Link::Up;
                self.reading = Reading { is_wanted: true, ..Reading::default() };
                self.detail_asked = None;
                self.lock.restart(now);
            }
            Said::Down(why) => {
                if !matches!(self.link, Link::Down { .. }) {
                    self.link = Link::Down { since_ms: now.wall_ms, why };
                }
                self.reading = Reading::default();
                self.detail_asked = None;
                self.lock.restart(now);
            }
            Said::Event(event) => self.happened(now, event),
            Said::Queue(Ok(list)) => self.queue_read(now, list),
            Said::Queue(Err(problem)) => {
                self.reading.is_under_way = false;
                self.say(now, Ink::Bad, problem.message);
            }
            Said::Detail(id, detail) => self.detail_read(now, id, *detail),
            Said::Decided(id, result) => self.answered(now, &id, result),
            Said::Unanswered(id) => {
                self.under_way.retain(|act| act.id != id);
                let text = format!("The hub went before it answered: whether {id} is decided shows when it is back.");
                self.say(now, Ink::Bad, text);
            }
        }
    }

    fn happened(&mut self, now: Now, event: Event) {
        match event {
            Event::Decision(decision) => self.decided_elsewhere(now, &decision),
            Event::Paused { since_ms } => {
                self.paused_since_ms = since_ms;
                self.reading.is_wanted = true;
            }
            Event::Approvals { .. } | Event::Missed { .. } => self.reading.is_wanted = true,
            Event::Server(_)
            | Event::ServerGone { .. }
            | Event::Catalog
            | Event::Hosts
            | Event::Config(_)
            | Event::Calls { .. }
            | Event::CatalogHeld { .. } => {}
        }
    }

    /// What this screen decided is told when its answer comes.
    fn decided_elsewhere(&mut self, now: Now, decision: &Decision) {
        self.reading.is_wanted = true;
        self.reading.is_stale = self.reading.is_under_way;
        let ours = self.under_way.iter().any(|act| act.id == decision.id) || self.decided.contains(&decision.id);
        let Some(name) = self.queue.name(&decision.id).filter(|_| !ours) else { return };
        let what = decide::told(decision, &self.screen);
        let ink = if decision.kind == DecisionKind::Approved { Ink::Good } else { Ink::Warm };
        self.say(now, ink, format!("{name} was {what}"));
        self.drop_item(now, &decision.id);
    }

    fn queue_read(&mut self, now: Now, list: ApprovalList) {
        self.reading.is_under_way = false;
        if std::mem::take(&mut self.reading.is_stale) {
            self.reading.is_wanted = true;
            return;
        }
        self.detail_failed = None;
        self.pin_set = list.pin_set;
        self.paused_since_ms = list.paused_since_ms;
        let before = self.queue.place();
        self.queue.replace(list.approvals, self.list_rows());
        self.moved(now, before);
    }

    /// Takes an item out of the list that is decided.
    fn drop_item(&mut self, now: Now, id: &str) {
        let before = self.queue.place();
        self.queue.remove(id, self.list_rows());
        self.moved(now, before);
    }

    /// After the list changed: what stands under the cursor must have stood there for a while before it can be decided.
    fn moved(&mut self, now: Now, before: (Option<String>, usize)) {
        let after = self.queue.place();
        if after != before {
            self.lock.restart(now);
        }
        if after.0 != before.0 {
            self.leave_gone_item();
        }
    }

    /// What was being typed about an item that is not under the cursor any more is of no use.
    fn leave_gone_item(&mut self) {
        let of = match &self.mode {
            Mode::Reason(act, _) | Mode::Pin(act, ..) => Some(&act.id),
            Mode::Refused(id, ..) => Some(id),
            Mode::Browse | Mode::Search | Mode::Gone | Mode::Help => None,
        };
        if of.is_some() && of != self.queue.selected_id() {
            self.mode = Mode::Gone;
        }
    }

    fn detail_read(&mut self, now: Now, id: String, detail: Result<ApprovalDetail, Problem>) {
        if self.detail_asked.as_ref() == Some(&id) {
            self.detail_asked = None;
        }
        if self.queue.selected_id() != Some(&id) {
            return;
        }
        match detail {
            Ok(detail) => {
                self.queue.update(detail.approval.clone());
                let screen = self.screen;
                // The same call: what is read of it stays read, but what it would do may be another thing now.
                if let Some(shown) = self.shown.as_mut().filter(|shown| shown.is_of(&detail.approval)) {
                    if shown.renew(detail, &screen) {
                        self.lock.restart(now);
                        self.say_of_it(now, Ink::Warm, "What is known of this call has changed; look again.");
                    }
                } else {
                    self.shown = Some(Shown::new(detail));
                    self.lock.restart(now);
                }
            }
            Err(problem) => {
                // Gone since, perhaps: the next reading of the queue will say so.
                self.reading.is_wanted = true;
                self.detail_failed = Some(id);
                self.say(now, Ink::Warm, problem.message);
            }
        }
    }

    /// Keeps the detail in step with the cursor and the size of the screen.
    fn lay_out(&mut self, now: Now) {
        let selected = self.queue.selected().map(|item| (item.id.clone(), item.digest.clone()));
        if self.shown.as_ref().map(Shown::identity)
            != selected.as_ref().map(|(id, digest)| (id.as_str(), digest.as_str()))
        {
            self.shown = None;
        }
        if self.queue.len() == 0 {
            self.focus = Focus::List;
        }
        let pane = self.panes().detail;
        let screen = self.screen;
        if let Some(shown) = &mut self.shown {
            let size = pane.map_or((0, 0), |rect| (usize::from(rect.width), usize::from(rect.height)));
            if shown.fit(size, &screen) {
                self.lock.restart(now);
            }
        }
        let rows = self.list_rows();
        self.queue.scroll_into_view(rows);
    }

    fn list_rows(&self) -> usize {
        self.panes().list.map_or(0, |rect| usize::from(rect.height))
    }

    fn read_what_is_wanted(&mut self, now: Now, effects: &mut Vec<Effect>) {
        if self.link != Link::Up {
            return;
        }
        let reading = &mut self.reading;
        let is_time = reading.last_ms == 0 || now.mono_ms >= reading.last_ms + PACE_MS;
        if reading.is_wanted && !reading.is_under_way && is_time {
            *reading = Reading { is_under_way: true, last_ms: now.mono_ms.max(1), ..Reading::default() };
            effects.push(Effect::Queue);
        }
        let renewed = self.shown.as_ref().map(Shown::approval) == self.queue.selected();
        if !renewed
            && self.detail_asked.is_none()
            && let Some(id) = self.queue.selected_id()
            && self.detail_failed.as_ref() != Some(id)
        {
            self.detail_asked = Some(id.clone());
            effects.push(Effect::Detail(id.clone()));
        }
    }
}

/// What was typed as a PIN.
fn pin_code(typed: &str) -> PinCode {
    PinCode::new(typed)
}

//! Decisions: when one may be made, what it is bound to, and what its answer does to the screen.

use super::super::text::Line;
use super::{Edited, Effect, Mode, Now, Shown, State, pin_code};
use crate::show::approvals::{decided, remembered};
use crate::show::screen::{Ink, Screen};
use operator::visible::{escape, escape_lines};
use operator::words::{ApprovalState, Approve, Decided, Decision, DecisionKind, Deny, Follows, Scope, Winner};
use operator::{Problem, code};

/// How long a call must have stood under the cursor before a key can decide it: longer than a hand needs to stop.
const STILL_MS: u64 = 700;

/// So many decisions of our own are known when the hub tells of them.
const DECIDED: usize = 64;

/// Said where a decision was begun about something that is not there any more.
const GONE: &str = "What it was about is not shown any more; nothing was decided.";

/// The time during which nothing can be decided.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lock {
    since_ms: u64,
}

impl Lock {
    /// Begins anew.
    pub fn restart(&mut self, now: Now) {
        self.since_ms = now.mono_ms;
    }
    /// Milliseconds that are left.
    pub fn left(&self, now: Now) -> u64 {
        (self.since_ms + STILL_MS).saturating_sub(now.mono_ms)
    }
}

/// What is decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may run.
    Approve {
        /// For how long that holds.
        remember: Scope,
        /// Other arguments.
        args: Option<String>,
    },
    /// It may not.
    Deny {
        /// Why.
        reason: Option<String>,
    },
}

/// A decision, bound to what was shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Act {
    /// The call.
    pub id: String,
    /// Its arguments as they were shown.
    pub digest: String,
    /// What is decided.
    pub verdict: Verdict,
}

/// Why a key decides nothing just now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bar {
    /// Nothing is under the cursor.
    Nothing,
    /// The hub is not there.
    NoHub,
    /// It is not shown yet.
    NotShown,
    /// It is decided, or its decision is under way.
    Decided,
    /// It has expired.
    Expired,
    /// It has not stood still for long enough.
    Still,
    /// So many lines of its arguments were not on screen yet.
    Unseen(usize),
    /// It can be remembered for this at most.
    Scope(Scope),
}

impl Bar {
    /// Whether something is left to be read first.
    pub const fn is_unseen(&self) -> bool {
        matches!(self, Bar::Unseen(_))
    }
    /// What to do about it.
    pub fn sentence(&self) -> String {
        match self {
            Bar::Nothing => "Nothing waits here.".into(),
            Bar::NoHub => "The hub is not there: nothing can be decided.".into(),
            Bar::NotShown => "It is not shown yet; Enter shows it.".into(),
            Bar::Decided => "This one is decided.".into(),
            Bar::Expired => "It has expired: its client has to ask again.".into(),
            Bar::Still => "Not yet: what is under the cursor has just changed. Once more in a moment.".into(),
            Bar::Unseen(1) => "One more line of the arguments to read; Space scrolls.".into(),
            Bar::Unseen(lines) => format!("{lines} more lines of the arguments to read; Space scrolls."),
            Bar::Scope(most) => format!("An approval of it holds {} at most.", remembered(*most)),
        }
    }
}

impl State {
    /// Why the call under the cursor cannot be decided so now; None: it can.
    pub fn bar(&self, now: Now, verdict: &Verdict) -> Option<Bar> {
        let Some(item) = self.queue.selected() else { return Some(Bar::Nothing) };
        if self.link != super::Link::Up {
            return Some(Bar::NoHub);
        }
        let is_shown = self.panes().detail.is_some();
        let Some(shown) = self.shown.as_ref().filter(|shown| is_shown && shown.is_of(item)) else {
            return Some(Bar::NotShown);
        };
        let under_way = self.under_way.iter().any(|act| act.id == item.id);
        if item.state != ApprovalState::Waiting || under_way {
            return Some(Bar::Decided);
        }
        if item.expires_ms <= now.wall_ms {
            return Some(Bar::Expired);
        }
        if let Verdict::Approve { remember, .. } = verdict {
            if *remember > item.most {
                return Some(Bar::Scope(item.most));
            }
            if shown.unseen() > 0 {
                return Some(Bar::Unseen(shown.unseen()));
            }
        }
        (self.lock.left(now) > 0).then_some(Bar::Still)
    }

    /// Whether decisions have to wait for the eye just now.
    pub fn is_locked(&self, now: Now) -> bool {
        self.lock.left(now) > 0
    }

    /// A key that approves.
    pub(super) fn approve(&mut self, now: Now, remember: Scope, effects: &mut Vec<Effect>) {
        let args = self.shown.as_ref().and_then(Shown::draft).map(str::to_owned);
        self.decide(now, Verdict::Approve { remember, args }, effects);
    }

    /// A key that begins a denial.
    pub(super) fn ask_reason(&mut self, now: Now) {
        let verdict = Verdict::Deny { reason: None };
        match self.bar(now, &verdict) {
            Some(bar) => self.refuse(now, &bar),
            None => {
                if let Some(act) = self.act(verdict) {
                    self.lock.restart(now);
                    self.mode = Mode::Reason(act, String::new());
                }
            }
        }
    }

    /// A decision on what is shown.
    pub(super) fn decide(&mut self, now: Now, verdict: Verdict, effects: &mut Vec<Effect>) {
        match self.bar(now, &verdict) {
            Some(bar) => self.refuse(now, &bar),
            None => {
                if let Some(act) = self.act(verdict) {
                    self.send(now, act, None, effects);
                }
            }
        }
    }

    /// A denial whose reason is typed: of what was shown when it began, or of nothing.
    pub(super) fn deny(&mut self, now: Now, act: Act, reason: String, effects: &mut Vec<Effect>) {
        let verdict = Verdict::Deny { reason: Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty()) };
        match self.bar(now, &verdict) {
            Some(bar) => {
                self.mode = Mode::Reason(act, reason);
                self.refuse(now, &bar);
            }
            None if self.is_shown(&act) => self.send(now, Act { verdict, ..act }, None, effects),
            None => self.say(now, Ink::Warm, GONE),
        }
    }

    /// A decision for which the PIN was typed: of what was shown when it began, or of nothing.
    pub(super) fn confirm(&mut self, now: Now, act: Act, pin: &str, effects: &mut Vec<Effect>) {
        if self.is_shown(&act) {
            self.send(now, act, Some(pin), effects);
        } else {
            self.lock.restart(now);
            self.say(now, Ink::Warm, GONE);
        }
    }

    fn is_shown(&self, act: &Act) -> bool {
        self.shown.as_ref().is_some_and(|shown| shown.identity() == (act.id.as_str(), act.digest.as_str()))
    }

    /// A key that came too early keeps the lock shut: one that is held down never decides.
    fn refuse(&mut self, now: Now, bar: &Bar) {
        if *bar == Bar::Still {
            self.lock.restart(now);
        }
        self.say_of_it(now, Ink::Warm, bar.sentence());
    }

    fn act(&self, verdict: Verdict) -> Option<Act> {
        let (id, digest) = self.shown.as_ref()?.identity();
        Some(Act { id: id.into(), digest: digest.into(), verdict })
    }

    /// Sends it, or asks for the PIN first.
    pub(super) fn send(&mut self, now: Now, act: Act, pin: Option<&str>, effects: &mut Vec<Effect>) {
        if self.pin_set && pin.is_none() {
            self.lock.restart(now);
            self.mode = Mode::Pin(act, String::new(), None);
            return;
        }
        self.mode = Mode::Browse;
        let (id, digest, pin) = (act.id.clone(), act.digest.clone(), pin.map(pin_code));
        effects.push(match act.verdict.clone() {
            Verdict::Approve { remember, args } => {
                Effect::Approve(Approve { id, digest, args, remember: Some(remember), pin })
            }
            Verdict::Deny { reason } => Effect::Deny(Deny { id, digest, reason, pin }),
        });
        self.under_way.push(act);
    }

    /// The hub's answer to a decision.
    pub(super) fn answered(&mut self, now: Now, id: &str, result: Result<Decided, Problem>) {
        let place = self.under_way.iter().position(|act| act.id == id);
        let Some(act) = place.map(|place| self.under_way.swap_remove(place)) else { return };
        // What is being read may be from before.
        self.reading.is_stale = self.reading.is_under_way;
        self.reading.is_wanted = true;
        match result {
            Ok(answer) => {
                self.decided.push_front(id.to_owned());
                self.decided.truncate(DECIDED);
                self.tell(now, &answer);
                self.drop_item(now, id);
            }
            Err(problem) => self.not_decided(now, act, problem),
        }
    }

    fn tell(&mut self, now: Now, answer: &Decided) {
        let decision = &answer.decision;
        let name = self.queue.name(&decision.id).unwrap_or_else(|| decision.id.clone());
        let what = told(&answer.decision, &self.screen);
        let (ink, text) = match (answer.winner, answer.decision.kind) {
            (Winner::Another, _) => (Ink::Warm, format!("Somebody was first: {name} was {what}")),
            (Winner::You, DecisionKind::Approved) => {
                let ink = if answer.keeps.is_some() { Ink::Warm } else { Ink::Good };
                (ink, format!("{name}: {what}. {}", follows(answer)))
            }
            (Winner::You, _) => (Ink::Plain, format!("{name}: {what}")),
        };
        self.say(now, ink, text);
    }

    fn not_decided(&mut self, now: Now, act: Act, problem: Problem) {
        let here = self.queue.selected_id() == Some(&act.id);
        match (problem.code.as_str(), &act.verdict) {
            (code::PIN_REQUIRED, _) if here => {
                self.pin_set = true;
                self.lock.restart(now);
                self.mode = Mode::Pin(act, String::new(), None);
            }
            (code::PIN_WRONG, _) if here => {
                self.lock.restart(now);
                self.mode = Mode::Pin(act, String::new(), Some(problem.message));
            }
            (code::INVALID_ARGUMENTS, Verdict::Approve { args: Some(args), .. }) if here => {
                self.mode = Mode::Refused(act.id, args.clone(), problem.message);
            }
            (code::DIGEST_CHANGED, _) => {
                // It is shown anew before anything can be decided about it.
                self.shown = None;
                self.say(now, Ink::Bad, problem.message);
            }
            _ => {
                let next = problem.next.map(|next| format!(" Next: {next}")).unwrap_or_default();
                self.say(now, Ink::Bad, format!("{}{next}", problem.message));
            }
        }
    }

    /// What came out of an editor.
    pub(super) fn edited(&mut self, now: Now, id: &str, edited: Edited, effects: &mut Vec<Effect>) {
        effects.push(Effect::Redraw);
        self.lock.restart(now);
        self.mode = Mode::Browse;
        let screen = self.screen;
        let text = match edited {
            Edited::Failed(why) => return self.say(now, Ink::Bad, why),
            Edited::Text(text) => text,
        };
        let Some(shown) = self.shown.as_mut().filter(|shown| shown.identity().0 == id) else {
            return self.say(now, Ink::Warm, "What was edited does not wait any more; nothing was sent.");
        };
        let before = crate::show::json::pretty(shown.arguments());
        if text.trim() == before.trim() {
            return self.say_of_it(now, Ink::Plain, "Nothing was changed.");
        }
        match serde_json::from_str::<&serde_json::value::RawValue>(text.trim()) {
            Err(error) => self.mode = Mode::Refused(id.into(), text, format!("This is not JSON: {error}")),
            Ok(json) => {
                shown.put_draft(Some(json.get().to_owned()), &screen);
                self.say_of_it(now, Ink::Warm, "Read it once more, then approve it; Esc drops it.");
            }
        }
    }
}

fn follows(answer: &Decided) -> String {
    match (answer.follows, &answer.keeps) {
        (Follows::Runs, _) => "It runs now.".into(),
        (Follows::NextCall, None) => "It runs when its client calls again.".into(),
        (Follows::NextCall, Some(keeps)) => format!("It can't run now: {}.", escape(keeps)),
        (Follows::Nothing, _) => String::new(),
    }
}

/// A decision in one line of visible text.
pub fn told(decision: &Decision, screen: &Screen) -> String {
    escape(&decided(decision, screen)).into_owned()
}

/// Why edited arguments were refused, in lines of a width.
pub fn reasons(message: &str, width: usize) -> Vec<Line> {
    let text = escape_lines(message);
    super::super::text::prose(&text, width).into_iter().map(|line| Line::of(Ink::Plain, line)).collect()
}

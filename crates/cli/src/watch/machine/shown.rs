//! The detail: one call as lines of a width, how far it was scrolled, and how far its arguments have been on screen.

use super::super::text::{Line, chop, padded, prose};
use crate::show::approvals::{badge, class, history, waiters};
use crate::show::arguments::{Field, fields, many};
use crate::show::remembered::beside;
use crate::show::screen::{Ink, Screen, columns};
use crate::show::when;
use operator::visible::{escape, escape_lines};
use operator::words::{Approval, ApprovalDetail, Effect};

/// Columns of the labels.
const LABEL: usize = 9;
/// Widest column of names of arguments.
const KEY: usize = 24;

/// How the arguments are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// One by one, with type and length.
    #[default]
    Fields,
    /// The very text that would be sent.
    Raw,
}

/// One call on the screen.
#[derive(Debug)]
pub struct Shown {
    detail: ApprovalDetail,
    /// Other arguments in place of those that were asked for, not sent yet.
    draft: Option<String>,
    view: View,
    lines: Vec<Line>,
    /// Line after the arguments.
    arguments_end: usize,
    size: (usize, usize),
    top: usize,
    /// Whether all arguments have been on screen.
    is_seen: bool,
    /// Lines up to this one have been.
    seen: usize,
}

impl Shown {
    /// That call, not laid out yet.
    pub fn new(detail: ApprovalDetail) -> Shown {
        Shown {
            detail,
            draft: None,
            view: View::Fields,
            lines: vec![],
            arguments_end: 0,
            size: (0, 0),
            top: 0,
            is_seen: false,
            seen: 0,
        }
    }

    /// Its id and digest.
    pub fn identity(&self) -> (&str, &str) {
        (&self.detail.approval.id, &self.detail.approval.digest)
    }
    /// Whether it is this call with these arguments.
    pub fn is_of(&self, approval: &Approval) -> bool {
        self.identity() == (approval.id.as_str(), approval.digest.as_str())
    }
    /// At a glance.
    pub fn approval(&self) -> &Approval {
        &self.detail.approval
    }
    /// The arguments that would be sent.
    pub fn arguments(&self) -> &str {
        self.draft.as_deref().unwrap_or(&self.detail.arguments)
    }
    /// What was edited, if it was.
    pub fn draft(&self) -> Option<&str> {
        self.draft.as_deref()
    }
    /// How the arguments are shown.
    pub fn view(&self) -> View {
        self.view
    }
    /// The lines on the screen.
    pub fn window(&self) -> &[Line] {
        let end = (self.top + self.size.1).min(self.lines.len());
        &self.lines[self.top.min(end)..end]
    }
    /// Lines below the screen.
    pub fn below(&self) -> usize {
        self.lines.len().saturating_sub(self.top + self.size.1)
    }
    /// Lines above the screen.
    pub fn above(&self) -> usize {
        self.top
    }
    /// Lines of the arguments that were not on screen yet.
    pub fn unseen(&self) -> usize {
        if self.is_seen { 0 } else { self.arguments_end.saturating_sub(self.seen) }
    }

    /// Takes over what is newer about the same call; whether anything of weight changed.
    pub fn renew(&mut self, detail: ApprovalDetail, screen: &Screen) -> bool {
        let weight = |detail: &ApprovalDetail| {
            let it = &detail.approval;
            let definition = (it.definition, it.definition_hash.clone(), detail.changes.clone());
            (it.state, it.effect, it.tier, it.most, it.rule.clone(), it.again.clone(), it.keeps.clone(), definition)
        };
        let changed = weight(&self.detail) != weight(&detail);
        self.detail = detail;
        self.build(screen);
        self.scroll_to(if changed { 0 } else { self.top });
        changed
    }

    /// Puts other arguments in place, or those that were asked for.
    pub fn put_draft(&mut self, draft: Option<String>, screen: &Screen) {
        self.draft = draft;
        (self.top, self.is_seen, self.seen) = (0, false, 0);
        self.build(screen);
    }
    /// Shows the arguments the other way.
    pub fn turn(&mut self, screen: &Screen) {
        self.view = match self.view {
            View::Fields => View::Raw,
            View::Raw => View::Fields,
        };
        (self.top, self.seen) = (0, 0);
        self.build(screen);
    }
    /// Scrolls by so many lines.
    pub fn scroll(&mut self, by: isize) {
        self.scroll_to(self.top.saturating_add_signed(by));
    }
    /// Scrolls to a line, or as far as there are any.
    pub fn scroll_to(&mut self, top: usize) {
        self.top = top.min(self.lines.len().saturating_sub(self.size.1));
        self.note_seen();
    }
    /// Rows of the pane.
    pub fn height(&self) -> usize {
        self.size.1
    }

    /// Lays it out for a pane of that size; whether anything of it moved: another height alone moves nothing.
    pub fn fit(&mut self, size: (usize, usize), screen: &Screen) -> bool {
        if self.size == size && !self.lines.is_empty() {
            return false;
        }
        let wider = self.size.0 != size.0;
        self.size = size;
        if size.1 == 0 {
            return false;
        }
        if wider || self.lines.is_empty() {
            // Lines are others now: what of them was seen is known only where all was.
            self.seen = 0;
            self.build(screen);
        }
        let before = self.top;
        self.scroll(0);
        wider || before != self.top
    }

    fn build(&mut self, screen: &Screen) {
        let mut page = Page { width: self.size.0.max(10), lines: vec![] };
        page.facts(&self.detail, screen);
        let title = match (&self.draft, self.view) {
            (Some(_), _) => "Edited arguments, not sent yet",
            (None, View::Fields) => "Arguments",
            (None, View::Raw) => "Arguments as they would be sent",
        };
        let bytes = many(self.arguments().len(), "byte");
        page.lines.push(Line::default());
        page.lines.push(Line::of(Ink::Bold, title).and(Ink::Faint, format!("  {bytes}")));
        match self.view {
            View::Fields => page.fields(&fields(self.arguments())),
            View::Raw => page.raw(self.arguments()),
        }
        self.arguments_end = page.lines.len();
        page.rest(&self.detail);
        self.lines = page.lines;
        self.note_seen();
    }

    fn note_seen(&mut self) {
        if self.size.1 > 0 {
            self.seen = self.seen.max(self.top + self.size.1);
            self.is_seen |= self.seen >= self.arguments_end;
        }
    }
}

struct Page {
    width: usize,
    lines: Vec<Line>,
}

impl Page {
    fn fact(&mut self, label: &str, ink: Ink, text: &str) {
        let label = padded(label, LABEL);
        for (at, line) in prose(&escape_lines(text), self.width - LABEL.min(self.width - 4)).into_iter().enumerate() {
            let label = if at == 0 { label.clone() } else { " ".repeat(LABEL) };
            self.lines.push(Line::of(Ink::Faint, label).and(ink, line));
        }
    }

    fn facts(&mut self, detail: &ApprovalDetail, screen: &Screen) {
        let it = &detail.approval;
        self.fact("client", Ink::Plain, &it.client);
        self.fact("server", Ink::Plain, &it.server);
        self.fact("effect", ink(it.effect), &class(it));
        self.fact("why", Ink::Plain, &it.why);
        if let Some(rule) = &it.rule {
            self.fact("rule", Ink::Plain, rule);
        }
        if let Some(again) = &it.again {
            self.fact("again", Ink::Warm, again);
        }
        if let Some(keeps) = &it.keeps {
            self.fact("not now", Ink::Bad, keeps);
        }
        if let Some(badge) = badge(it.definition) {
            self.fact("tool", Ink::Bad, badge);
        }
        for change in &detail.changes {
            self.fact("", Ink::Warm, change);
        }
        self.fact("asked", Ink::Plain, &format!("{}; {}", when::clock(it.asked_ms, screen), waiters(it)));
        for it in &detail.remembered {
            self.fact("holds", Ink::Plain, &beside(it, screen));
        }
        self.fact("history", Ink::Plain, &history(it));
    }

    fn fields(&mut self, fields: &[Field]) {
        if fields.is_empty() {
            self.lines.push(Line::of(Ink::Faint, "none"));
        }
        let name = |field: &Field| columns(&field.key) + 2 * field.depth;
        let key = fields.iter().map(name).filter(|&wide| wide <= KEY).max().unwrap_or(0);
        for field in fields {
            self.field(field, key, name(field));
        }
    }

    fn field(&mut self, field: &Field, key: usize, name: usize) {
        let indent = " ".repeat(2 * field.depth);
        let space = " ".repeat((key + 2).saturating_sub(name).max(2));
        let alarm = field.alarm.as_ref().map(|alarm| format!("  ! {alarm}"));
        if let (None, [value]) = (&alarm, field.lines.as_slice())
            && name.max(key) + 2 + columns(value) + 2 + columns(&field.kind) <= self.width
        {
            let head = Line::of(Ink::Bold, format!("{indent}{}{space}", field.key)).and(Ink::Plain, value);
            return self.lines.push(head.and(Ink::Faint, format!("  {}", field.kind)));
        }
        // Names are of the one who asks and may be longer than the screen.
        let pieces = [
            (Ink::Bold, format!("{indent}{}{space}", field.key)),
            (Ink::Faint, field.kind.clone()),
            (Ink::Bad, alarm.unwrap_or_default()),
        ];
        let (mut line, mut used) = (Line::default(), 0);
        for (ink, text) in pieces {
            if used > 0 && used + columns(&text) > self.width {
                self.lines.push(std::mem::take(&mut line));
                line = Line::of(Ink::Plain, format!("{indent}  "));
                used = indent.len() + 2;
            }
            let parts = chop(&text, self.width);
            for part in &parts[..parts.len() - 1] {
                self.lines.push(std::mem::take(&mut line).and(ink, *part));
                used = 0;
            }
            used += columns(parts[parts.len() - 1]);
            line = line.and(ink, parts[parts.len() - 1]);
        }
        self.lines.push(line);
        let indent = " ".repeat((2 * field.depth + 2).min(self.width / 2));
        for text in &field.lines {
            for part in chop(text, self.width - indent.len()) {
                self.lines.push(Line::of(Ink::Plain, format!("{indent}{part}")));
            }
        }
    }

    fn raw(&mut self, json: &str) {
        for line in json.split('\n') {
            for part in chop(&escape(line), self.width) {
                self.lines.push(Line::of(Ink::Plain, part));
            }
        }
    }

    /// What is not a part of the decision: the server's own words, after all that is.
    fn rest(&mut self, detail: &ApprovalDetail) {
        self.lines.push(Line::default());
        if let Some(original) = &detail.original {
            self.lines.push(Line::of(Ink::Bold, "What the client asked for"));
            self.raw(original);
            self.lines.push(Line::default());
        }
        if let Some(about) = &detail.description {
            self.lines.push(Line::of(Ink::Bold, "What the server says of this tool"));
            for line in prose(&escape_lines(about), self.width) {
                self.lines.push(Line::of(Ink::Faint, line));
            }
            self.lines.push(Line::default());
        }
        self.fact("call", Ink::Faint, &detail.approval.call);
        self.fact("digest", Ink::Faint, &detail.approval.digest);
        if let Some(hash) = &detail.approval.definition_hash {
            self.fact("tool", Ink::Faint, hash);
        }
    }
}

fn ink(effect: Effect) -> Ink {
    crate::show::tools::ink(effect)
}

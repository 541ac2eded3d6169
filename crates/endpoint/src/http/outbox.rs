//! What a legacy session is told outside of its requests: goes to its one GET stream. Bounded: without a reader
//! only the fact that a list has changed is kept, log lines are dropped.

use super::call::log_notice;
use frame::Rope;
use hub::agent::{Notice, Notices};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wire::http::server::{Events, Refused};

/// The lists that can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// Tools.
    Tools,
    /// Prompts.
    Prompts,
    /// Resources and templates.
    Resources,
}

impl List {
    /// All of them.
    pub const ALL: [List; 3] = [List::Tools, List::Prompts, List::Resources];

    /// The list that a notice is about.
    pub fn of(notice: &Notice) -> Option<List> {
        match notice {
            Notice::ToolsChanged => Some(List::Tools),
            Notice::PromptsChanged => Some(List::Prompts),
            Notice::ResourcesChanged => Some(List::Resources),
            Notice::Log { .. } => None,
        }
    }
    /// Its name, as capabilities and methods have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            List::Tools => "tools",
            List::Prompts => "prompts",
            List::Resources => "resources",
        }
    }
}

/// The way to one session.
#[derive(Default)]
pub struct Outbox {
    stream: RefCell<Option<Events>>,
    /// Counts the streams, so that the end of an old one does not take the new one away.
    streams: Cell<u64>,
    untold: Cell<[bool; 3]>,
}

impl Outbox {
    /// Whether the client listens.
    pub fn is_open(&self) -> bool {
        self.stream.borrow().is_some()
    }

    /// A new stream takes the place of the old one, which ends, and tells what had nobody to be told to.
    pub fn open(self: &Rc<Self>, events: Events) {
        let number = self.streams.get() + 1;
        self.streams.set(number);
        let outbox = Rc::downgrade(self);
        events.on_closed(Box::new(move || {
            if let Some(outbox) = outbox.upgrade().filter(|outbox| outbox.streams.get() == number) {
                outbox.close();
            }
        }));
        self.stream.replace(Some(events));
        let untold = self.untold.take();
        for list in List::ALL.into_iter().filter(|&list| untold[list as usize]) {
            self.changed(list);
        }
    }

    /// Ends the stream.
    pub fn close(&self) {
        drop(self.stream.take());
    }

    fn changed(&self, list: List) {
        let text = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/{}/list_changed\"}}", list.as_str());
        if self.send(&text.into()) != Some(Ok(())) {
            // Who does not read has to connect again, and hears of it then.
            self.close();
            let mut untold = self.untold.get();
            untold[list as usize] = true;
            self.untold.set(untold);
        }
    }

    fn send(&self, text: &Rope) -> Option<Result<(), Refused>> {
        self.stream.borrow().as_ref().map(|stream| stream.event(text))
    }
}

impl Notices for Outbox {
    fn notice(&self, notice: &Notice) {
        match List::of(notice) {
            Some(list) => self.changed(list),
            None => {
                if let Notice::Log { params, .. } = notice
                    && self.send(&log_notice(params)) == Some(Err(Refused::Gone))
                {
                    self.close();
                }
            }
        }
    }
}

//! The place in the hub that stateless requests of one token share, and their listen streams. Knows no session:
//! nothing of one request is of any meaning for another.

use super::Bounds;
use super::call::Calls;
use super::outbox::List;
use super::place::Place;
use super::session::Holder;
use contract::Hash;
use frame::Rope;
use hub::agent::{Notice, Notices};
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tokio::time::Instant;
use wire::era::meta::SUBSCRIPTION_ID;
use wire::http::server::Events;

/// The lists that a listen stream is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter([bool; 3]);

impl Filter {
    /// With or without one list.
    pub fn with(mut self, list: List, wanted: bool) -> Filter {
        self.0[list as usize] = wanted;
        self
    }
    fn has(self, list: List) -> bool {
        self.0[list as usize]
    }
    /// As it stands in a message.
    fn json(self) -> String {
        let wanted = List::ALL.into_iter().filter(|&list| self.has(list));
        let members: Vec<_> = wanted.map(|list| format!("\"{}ListChanged\":true", list.as_str())).collect();
        format!("{{{}}}", members.join(","))
    }
}

struct Listen {
    number: u64,
    /// Raw id of the request, which is the id of the subscription.
    id: String,
    filter: Filter,
    events: Events,
}

impl Listen {
    fn tag(&self) -> String {
        format!("\"_meta\":{{\"{SUBSCRIPTION_ID}\":{}}}", self.id)
    }
    fn acknowledge(&self) -> Rope {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{{{},\
             \"notifications\":{}}}}}",
            self.tag(),
            self.filter.json()
        )
        .into()
    }
    fn changed(&self, list: List) -> Rope {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/{}/list_changed\",\"params\":{{{}}}}}",
            list.as_str(),
            self.tag()
        )
        .into()
    }
    /// Ends it in good order.
    fn end(self) {
        let text = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{\"resultType\":\"complete\",{}}}}}",
            self.id,
            self.tag()
        );
        // Who has gone needs no end.
        let _ = self.events.end(&text.into());
    }
}

/// The open listen streams of one token and view.
#[derive(Default)]
pub struct Listens {
    list: RefCell<Vec<Listen>>,
    last: Cell<u64>,
}

impl Listens {
    /// Acknowledges a listen request and keeps its stream; over `max` the oldest one ends.
    pub fn open(self: &Rc<Self>, id: &[u8], filter: Filter, events: Events, max: usize) {
        let number = self.last.get() + 1;
        self.last.set(number);
        let listens = Rc::downgrade(self);
        events.on_closed(Box::new(move || {
            if let Some(listens) = listens.upgrade() {
                listens.list.borrow_mut().retain(|listen| listen.number != number);
            }
        }));
        let listen = Listen { number, id: String::from_utf8_lossy(id).into_owned(), filter, events };
        if listen.events.event(&listen.acknowledge()).is_err() {
            return;
        }
        let mut list = self.list.borrow_mut();
        let oldest = (list.len() >= max).then(|| list.remove(0));
        list.push(listen);
        drop(list);
        if let Some(oldest) = oldest {
            oldest.end();
        }
    }

    /// Ends all of them in good order.
    pub fn close(&self) {
        let all = self.list.take();
        all.into_iter().for_each(Listen::end);
    }

    fn is_empty(&self) -> bool {
        self.list.borrow().is_empty()
    }
}

impl Notices for Listens {
    fn notice(&self, notice: &Notice) {
        // Log lines belong to requests in this era; outside of one there is nobody to tell.
        let Some(list) = List::of(notice) else { return };
        // Who does not read has to listen anew.
        let told = |listen: &Listen| !listen.filter.has(list) || listen.events.event(&listen.changed(list)).is_ok();
        let mut all = self.list.borrow_mut();
        let lost: Vec<_> = all.extract_if(.., |listen| !told(listen)).collect();
        drop(all);
        drop(lost);
    }
}

/// The place itself.
pub struct Shared {
    /// In the hub.
    pub place: Box<dyn Place>,
    /// What runs.
    pub calls: Rc<Calls>,
    /// Who listens.
    pub listens: Rc<Listens>,
    /// When it was last used.
    pub used: Cell<Instant>,
}

/// All of them.
#[derive(Default)]
pub struct Places {
    list: RefCell<FxHashMap<Holder, Rc<Shared>>>,
}

impl Places {
    /// The place of that holder.
    pub fn get(&self, holder: &Holder) -> Option<Rc<Shared>> {
        let shared = self.list.borrow().get(holder).cloned()?;
        shared.used.set(Instant::now());
        Some(shared)
    }

    /// Keeps a new one.
    pub fn add(&self, holder: Holder, shared: Shared) -> Rc<Shared> {
        let shared = Rc::new(shared);
        let old = self.list.borrow_mut().insert(holder, shared.clone());
        drop(old);
        shared
    }

    /// Lets go of those that nobody has used for so long, and those whose token is gone.
    pub fn sweep(&self, now: Instant, bounds: &Bounds, valid: impl Fn(&Hash) -> bool) {
        let mut list = self.list.borrow_mut();
        let gone = list.extract_if(|holder, shared| {
            if shared.calls.running() > 0 || !shared.listens.is_empty() {
                shared.used.set(now);
                return !valid(&holder.token);
            }
            !valid(&holder.token) || now.duration_since(shared.used.get()) >= bounds.place_idle
        });
        let gone: Vec<_> = gone.collect();
        drop(list);
        gone.iter().for_each(|(_, shared)| shared.listens.close());
    }

    /// Ends all listen streams in good order.
    pub fn close_streams(&self) {
        let all: Vec<_> = self.list.borrow().values().cloned().collect();
        all.iter().for_each(|shared| shared.listens.close());
    }
}

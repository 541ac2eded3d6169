//! The place in the hub that stateless requests of one token share, and their listen streams. Knows no session:
//! nothing of one request is of any meaning for another.

use super::Bounds;
use super::call::Calls;
use super::outbox::List;
use super::place::Place;
use super::session::Holder;
use bytes::Bytes;
use contract::Hash;
use frame::Rope;
use hub::agent::{Notice, Notices, Watched};
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
}

/// What one listen request was granted.
pub struct Subscription {
    /// Of [`Listens::number`].
    pub number: u64,
    /// Raw id of the request, which is the id of the subscription.
    pub id: Bytes,
    /// The lists.
    pub filter: Filter,
    /// The tasks.
    pub tasks: Watched,
}

impl Subscription {
    /// As it stands in a message.
    fn json(&self) -> String {
        let wanted = List::ALL.into_iter().filter(|&list| self.filter.has(list));
        let mut members: Vec<_> = wanted.map(|list| format!("\"{}ListChanged\":true", list.as_str())).collect();
        members.extend(self.tasks.accepted().map(|ids| format!("\"taskIds\":{ids}")));
        format!("{{{}}}", members.join(","))
    }
}

struct Listen {
    to: Subscription,
    events: Events,
}

impl Listen {
    fn tag(&self) -> String {
        format!("\"_meta\":{{\"{SUBSCRIPTION_ID}\":{}}}", String::from_utf8_lossy(&self.to.id))
    }
    fn acknowledge(&self) -> Rope {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{{{},\
             \"notifications\":{}}}}}",
            self.tag(),
            self.to.json()
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
    /// `task`: members of a task object.
    fn task(&self, task: &str) -> Rope {
        format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tasks\",\"params\":{{{task},{}}}}}", self.tag())
            .into()
    }
    /// Ends it in good order.
    fn end(self) {
        let text = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{\"resultType\":\"complete\",{}}}}}",
            String::from_utf8_lossy(&self.to.id),
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
    /// A number for one more subscription.
    pub fn number(&self) -> u64 {
        self.last.set(self.last.get() + 1);
        self.last.get()
    }

    /// Tells the subscription of that number how a task of its client stands.
    pub fn teller(self: &Rc<Self>, number: u64) -> Rc<dyn Fn(&str)> {
        let listens = Rc::downgrade(self);
        Rc::new(move |task| {
            let Some(listens) = listens.upgrade() else { return };
            let told = |listen: &Listen| listen.to.number != number || listen.events.event(&listen.task(task)).is_ok();
            listens.tell(told);
        })
    }

    /// Acknowledges a listen request and keeps its stream; over `max` the oldest one ends.
    pub fn open(self: &Rc<Self>, to: Subscription, events: Events, max: usize) {
        let number = to.number;
        let listens = Rc::downgrade(self);
        events.on_closed(Box::new(move || {
            let Some(listens) = listens.upgrade() else { return };
            let gone: Vec<_> = listens.list.borrow_mut().extract_if(.., |listen| listen.to.number == number).collect();
            drop(gone);
        }));
        let listen = Listen { to, events };
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

    /// Who does not read has to listen anew: those for whom `told` is false are let go.
    fn tell(&self, told: impl Fn(&Listen) -> bool) {
        let lost: Vec<_> = self.list.borrow_mut().extract_if(.., |listen| !told(listen)).collect();
        drop(lost);
    }
}

impl Notices for Listens {
    fn notice(&self, notice: &Notice) {
        // Log lines belong to requests in this era; outside of one there is nobody to tell.
        let Some(list) = List::of(notice) else { return };
        self.tell(|listen| !listen.to.filter.has(list) || listen.events.event(&listen.changed(list)).is_ok());
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

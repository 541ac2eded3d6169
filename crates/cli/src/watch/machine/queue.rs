//! The list: which calls show, in which order, and which one the cursor is on. The cursor holds on to a call, not to
//! a row.

use operator::words::{Approval, ApprovalState};
use std::collections::{HashSet, VecDeque};

/// So many that are gone are remembered.
const GONE: usize = 64;

/// In which order the list stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Longest waiting first.
    #[default]
    Oldest,
    /// Latest first.
    Newest,
}

/// The list.
#[derive(Debug, Default)]
pub struct Queue {
    items: Vec<Approval>,
    /// Places in `items` of what shows, in order.
    rows: Vec<usize>,
    selected: Option<String>,
    /// Id and tool of those that went last: who decided them may be told after it.
    gone: VecDeque<(String, String)>,
    /// Row of the selected call.
    at: usize,
    top: usize,
    /// Words that a call must have to show.
    pub search: String,
    /// The only server whose calls show.
    pub server: Option<String>,
    /// The order.
    pub order: Order,
}

impl Queue {
    /// All calls, whether they show or not.
    pub fn items(&self) -> &[Approval] {
        &self.items
    }
    /// How many show.
    pub fn len(&self) -> usize {
        self.rows.len()
    }
    /// How many of all wait for a decision.
    pub fn waiting(&self) -> usize {
        self.items.iter().filter(|item| item.state == ApprovalState::Waiting).count()
    }
    /// The calls that stand on that many rows of the screen, each with whether the cursor is on it.
    pub fn window(&self, rows: usize) -> impl Iterator<Item = (&Approval, bool)> {
        let shown = self.rows.iter().enumerate().skip(self.top).take(rows);
        shown.map(|(row, &place)| (&self.items[place], row == self.at))
    }
    /// The call under the cursor.
    pub fn selected(&self) -> Option<&Approval> {
        self.rows.get(self.at).map(|&place| &self.items[place])
    }
    /// Its id.
    pub fn selected_id(&self) -> Option<&String> {
        self.selected.as_ref()
    }
    /// The tool of the call with that id, also of one that has just gone.
    pub fn name(&self, id: &str) -> Option<String> {
        let here = self.items.iter().find(|item| item.id == id).map(|item| &item.name);
        here.or_else(|| self.gone.iter().find(|(gone, _)| gone == id).map(|(_, name)| name)).cloned()
    }
    /// What the cursor is on, and on which row of the screen.
    pub fn place(&self) -> (Option<String>, usize) {
        (self.selected.clone(), self.at.saturating_sub(self.top))
    }

    /// Takes over what the hub has now.
    pub fn replace(&mut self, items: Vec<Approval>, height: usize) {
        let here: HashSet<&str> = items.iter().map(|item| item.id.as_str()).collect();
        let gone = self.items.iter().filter(|item| !here.contains(item.id.as_str()));
        for item in gone {
            self.gone.push_front((item.id.clone(), item.name.clone()));
        }
        self.gone.truncate(GONE);
        self.items = items;
        self.arrange(height);
    }
    /// Takes over what is newer about one.
    pub fn update(&mut self, item: Approval) {
        if let Some(known) = self.items.iter_mut().find(|known| known.id == item.id) {
            *known = item;
        }
    }
    /// Takes one out.
    pub fn remove(&mut self, id: &str, height: usize) {
        self.items.retain(|item| item.id != id);
        self.arrange(height);
    }
    /// Shows only calls with these words.
    pub fn search_for(&mut self, words: String, height: usize) {
        self.search = words;
        self.arrange(height);
    }
    /// Turns the order round.
    pub fn turn(&mut self, height: usize) {
        self.order = match self.order {
            Order::Oldest => Order::Newest,
            Order::Newest => Order::Oldest,
        };
        self.arrange(height);
    }
    /// Shows the calls of the next server only, and after the last one those of all.
    pub fn next_server(&mut self, height: usize) {
        let mut servers: Vec<&String> = self.items.iter().map(|item| &item.server).collect();
        servers.sort();
        servers.dedup();
        self.server = match &self.server {
            None => servers.first().map(|server| (*server).clone()),
            Some(now) => servers.iter().find(|server| **server > now).map(|server| (*server).clone()),
        };
        self.arrange(height);
    }

    /// Moves the cursor by so many rows.
    pub fn step(&mut self, by: isize) {
        let last = self.rows.len().saturating_sub(1);
        self.put(self.at.saturating_add_signed(by).min(last));
    }
    /// Puts the cursor on a row, or on the last one.
    pub fn put(&mut self, row: usize) {
        self.at = row.min(self.rows.len().saturating_sub(1));
        self.selected = self.selected_now();
    }

    /// Keeps the cursor on the screen.
    pub fn scroll_into_view(&mut self, height: usize) {
        let height = height.max(1);
        self.top = self.top.clamp((self.at + 1).saturating_sub(height), self.at);
        self.top = self.top.min(self.rows.len().saturating_sub(height));
    }

    fn selected_now(&self) -> Option<String> {
        self.selected().map(|item| item.id.clone())
    }

    /// Anew what shows, with the cursor on the same call and that on the same row of the screen, wherever it went; if
    /// it is gone, on what took its row.
    fn arrange(&mut self, height: usize) {
        let words: Vec<String> = self.search.split_whitespace().map(str::to_lowercase).collect();
        let (items, server) = (&self.items, &self.server);
        let shows = |item: &Approval| {
            server.as_ref().is_none_or(|server| *server == item.server)
                && (words.is_empty() || words.iter().all(|word| haystack(item).contains(word)))
        };
        self.rows = (0..items.len()).filter(|&place| shows(&items[place])).collect();
        self.rows.sort_by_key(|&place| (items[place].asked_ms, place));
        if self.order == Order::Newest {
            self.rows.reverse();
        }
        let on_screen = self.at.saturating_sub(self.top);
        let found = self.rows.iter().position(|&place| Some(&items[place].id) == self.selected.as_ref());
        self.at = found.unwrap_or(self.at).min(self.rows.len().saturating_sub(1));
        self.top = self.at.saturating_sub(on_screen);
        self.selected = self.selected_now();
        self.scroll_into_view(height);
    }
}

fn haystack(item: &Approval) -> String {
    [&item.id, &item.name, &item.client, &item.server, &item.why, &item.preview]
        .map(|text| text.to_lowercase())
        .join("\n")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::show::samples::approval;

    fn items(ids: &[u64]) -> Vec<Approval> {
        let item = |&number: &u64| Approval { asked_ms: number, ..approval(&format!("c{number}"), "shop__order") };
        ids.iter().map(item).collect()
    }

    fn shown(queue: &Queue, height: usize) -> String {
        let row = |(item, selected): (&Approval, bool)| format!("{}{}", if selected { ">" } else { "" }, item.id);
        queue.window(height).map(row).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_cursor_stays_on_its_call_and_its_row() {
        let mut queue = Queue::default();
        queue.replace(items(&[10, 20, 30, 40, 50, 60]), 3);
        assert_eq!(shown(&queue, 3), ">c10 c20 c30");
        queue.step(4);
        queue.scroll_into_view(3);
        assert_eq!(shown(&queue, 3), "c30 c40 >c50");
        // One that waits longer joins above: the row under the cursor stays where it is.
        queue.replace(items(&[5, 10, 20, 30, 40, 50, 60]), 3);
        assert_eq!(shown(&queue, 3), "c30 c40 >c50");
        queue.remove("c10", 3);
        assert_eq!(shown(&queue, 3), "c30 c40 >c50");
        queue.turn(3);
        assert_eq!(shown(&queue, 3), "c60 >c50 c40");
        queue.turn(3);
        queue.remove("c50", 3);
        assert_eq!(shown(&queue, 3), "c30 c40 >c60", "what took its row");
        queue.replace(vec![], 3);
        assert_eq!((shown(&queue, 3).as_str(), queue.selected_id()), ("", None));
        queue.replace(items(&[7]), 3);
        assert_eq!(shown(&queue, 3), ">c7");
    }

    #[test]
    fn search_and_server_narrow_the_list() {
        let mut queue = Queue::default();
        let mut all = items(&[1, 2, 3]);
        all[1].server = "notes".into();
        all[2].preview = "{\"Item\": \"GADGET\"}".into();
        queue.replace(all, 9);
        queue.search_for("gadget ITEM".into(), 9);
        assert_eq!(shown(&queue, 9), ">c3");
        queue.search_for("nothing of it".into(), 9);
        assert_eq!(queue.len(), 0);
        queue.search_for(String::new(), 9);
        assert_eq!(queue.len(), 3);
        queue.next_server(9);
        assert_eq!((queue.server.as_deref(), shown(&queue, 9).as_str()), (Some("notes"), ">c2"));
        queue.next_server(9);
        assert_eq!((queue.server.as_deref(), queue.len()), (Some("shop"), 2));
        queue.next_server(9);
        assert_eq!((queue.server.as_deref(), queue.len()), (None, 3));
    }
}

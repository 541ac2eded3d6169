//! What a client is told without having asked just now: by its session, or on the `subscriptions/listen` it has open.

use super::conn::Conn;
use super::unanswered::Question;
use bytes::Bytes;
use frame::{Origin, Sink, object};
use hub::agent::{Notice, Notices, Seat, Watched};
use std::rc::Rc;
use wire::era::{meta, modern_host};

/// A `subscriptions/listen` that is open.
pub(super) struct Listen {
    pub id: Bytes,
    tools: bool,
    prompts: bool,
    resources: bool,
    /// The tasks that it hears of.
    tasks: Watched,
}

impl Conn {
    pub(super) fn listen(&self, seat: &Seat, id: Bytes, params: &Bytes, origin: &Origin) {
        let filter = object::get(params, "notifications").unwrap_or_default();
        let (me, subscription) = (self.me.clone(), id.clone());
        let tell = move |task: &str| {
            if let Some(me) = me.upgrade() {
                // Its client waits for it as for an answer.
                me.put(|sink| tag(sink, "notifications/tasks", &format!("{task},"), &subscription), None);
            }
        };
        let tasks = match seat.watch(origin, &filter, Rc::new(tell)) {
            Ok(tasks) => tasks,
            Err(error) => return self.say(&id, &modern_host::answer(error, ""), None),
        };
        let wants = |key: &str| object::get(&filter, key).as_deref() == Some(b"true");
        let listen = Listen {
            id: id.clone(),
            tools: wants("toolsListChanged"),
            prompts: wants("promptsListChanged"),
            resources: wants("resourcesListChanged"),
            tasks,
        };
        let mut accepted: Vec<String> = [
            (listen.tools, "toolsListChanged"),
            (listen.prompts, "promptsListChanged"),
            (listen.resources, "resourcesListChanged"),
        ]
        .iter()
        .filter(|(wanted, _)| *wanted)
        .map(|(_, key)| format!("\"{key}\":true"))
        .collect();
        accepted.extend(listen.tasks.accepted().map(|ids| format!("\"taskIds\":{ids}")));
        let params = format!("\"notifications\":{{{}}},", accepted.join(","));
        self.tagged("notifications/subscriptions/acknowledged", &params, &id);
        self.wait_for(&id, Question::Other, None);
        self.listens.borrow_mut().push(listen);
    }

    /// A modern notice on one listen request. `params`: further members, each with a comma behind it.
    fn tagged(&self, method: &str, params: &str, id: &Bytes) {
        let _ = self.out.line(|sink| tag(sink, method, params, id));
    }
}

fn tag(sink: &mut dyn Sink, method: &str, params: &str, id: &Bytes) {
    let key = meta::SUBSCRIPTION_ID;
    let head = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{{{params}\"_meta\":{{\"{key}\":");
    sink.put(head.as_bytes());
    sink.put(id);
    sink.put(b"}}}");
}

impl Notices for Conn {
    fn notice(&self, notice: &Notice) {
        let session = self.session.borrow().clone();
        let (method, wanted): (_, fn(&Listen) -> bool) = match notice {
            Notice::ToolsChanged => ("notifications/tools/list_changed", |listen| listen.tools),
            Notice::PromptsChanged => ("notifications/prompts/list_changed", |listen| listen.prompts),
            Notice::ResourcesChanged => ("notifications/resources/list_changed", |listen| listen.resources),
            Notice::Log { params, .. } => {
                // Modern clients take log lines of their own requests only.
                if session.is_some() {
                    let _ = self.out.line(|sink| {
                        sink.put(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":");
                        sink.put_shared(params);
                        sink.put(b"}");
                    });
                }
                return;
            }
        };
        if session.is_some() {
            let _ =
                self.out.line(|sink| sink.put(format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\"}}").as_bytes()));
        }
        let ids: Vec<Bytes> =
            self.listens.borrow().iter().filter(|listen| wanted(listen)).map(|listen| listen.id.clone()).collect();
        for id in ids {
            self.tagged(method, "", &id);
        }
    }
}

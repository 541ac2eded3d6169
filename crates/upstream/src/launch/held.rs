//! A tree that the guard holds for us.

use super::Inner;
use super::tree::{Hold, Owns};
use crate::guard::words::Force;
use std::rc::Weak;

pub struct Held {
    launcher: Weak<Inner>,
    id: u64,
    pid: i32,
}

impl Held {
    pub fn new(launcher: Weak<Inner>, id: u64, pid: i32) -> Held {
        Held { launcher, id, pid }
    }

    fn end(&self, force: Force) {
        if let Some(launcher) = self.launcher.upgrade() {
            launcher.end(self.id, force);
        }
    }
}

impl Hold for Held {
    fn terminate(&self) {
        self.end(Force::Terminate);
    }

    fn kill(&self) {
        self.end(Force::Kill);
    }

    fn owns(&self, pid: i32) -> Owns {
        let kin = self.launcher.upgrade().map(|launcher| {
            let mark = format!("{}{}", launcher.run.borrow(), self.id).into_bytes();
            (launcher.guard(), mark)
        });
        let root = self.pid;
        Box::pin(async move {
            let Some((guard, mark)) = kin else { return false };
            let looked = tokio::task::spawn_blocking(move || crate::guard::is_kin(pid, root, guard, &mark));
            looked.await.unwrap_or(false)
        })
    }
}

//! Windows: empties the stderr pipes of all servers in tasks of the relay, a bounded piece of each in turn. Writes to
//! no file itself. Type-checked, not run yet.

use super::Source;
use super::book::Book;
use crate::task;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use wire::pipe::Incoming;

/// Read from one pipe before the next has its turn.
const PIECE: usize = 16 << 10;

/// The tasks. They end with their pipes, or when this is dropped.
#[derive(Default)]
pub struct Drains(Mutex<Vec<JoinHandle<()>>>);

impl Drains {
    pub fn start() -> io::Result<Drains> {
        Ok(Drains::default())
    }

    /// Empties a pipe into a book; must be called inside a `LocalSet`. What is returned ends when the pipe does.
    pub fn take(&self, pipe: Incoming, source: Source, book: Arc<Book>) -> io::Result<oneshot::Receiver<()>> {
        let (ended, ending) = oneshot::channel();
        let task = task::spawn("stderr of a server", drain(pipe, source, book, ended));
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.retain(|task| !task.is_finished());
        tasks.push(task);
        Ok(ending)
    }
}

impl Drop for Drains {
    fn drop(&mut self) {
        for task in self.0.get_mut().unwrap_or_else(PoisonError::into_inner) {
            task.abort();
        }
    }
}

async fn drain(pipe: Incoming, source: Source, book: Arc<Book>, _ended: oneshot::Sender<()>) {
    let mut splitter = Default::default();
    let mut buffer = vec![0; PIECE];
    while pipe.readable().await.is_ok() {
        match pipe.try_read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => book.piece(source, &mut splitter, &buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // A broken pipe is how the other side's end is told here.
            Err(_) => break,
        }
        tokio::task::yield_now().await;
    }
    book.end(source, &mut splitter);
}

//! The desk: the thread behind the person's door, which also watches the config file. Nothing of a call passes here.

use control::{AuditSource, ControlParts, Door, LogSource};
use hub::config::{ConfigWatch, Places};
use hub::operate::OperatorHandle;
use hub::pin::Pin;
use hub::tokens::Tokens;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// The running desk.
pub(super) struct Desk {
    end: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Desk {
    /// Closes the door and waits for the thread.
    pub(super) fn end(self) {
        // If it has ended already there is nobody to tell.
        let _ = self.end.send(());
        if self.thread.join().is_err() {
            tracing::error!("the desk ended badly");
        }
    }
}

/// Opens the person's door; whether it is open is told when it is.
pub(super) fn start(
    places: &Places,
    hub: OperatorHandle,
    logs: Arc<dyn LogSource>,
    audit: Arc<dyn AuditSource>,
    tokens: Arc<Tokens>,
    pin: Arc<Pin>,
) -> io::Result<(Desk, oneshot::Receiver<io::Result<()>>)> {
    let owned = places.clone();
    let socket = places.operator_socket();
    let file = places.config.clone();
    let (end, ended) = oneshot::channel::<()>();
    let (open, opened) = oneshot::channel();
    let thread = std::thread::Builder::new().name("desk".into()).spawn(move || {
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(4).build() {
            Ok(runtime) => runtime,
            Err(error) => return drop(open.send(Err(error))),
        };
        runtime.block_on(async move {
            let door = match Door::open(&socket) {
                Ok(door) => door,
                Err(error) => return drop(open.send(Err(error))),
            };
            let published = hub::config::publish(&owned);
            let is_over = published.is_err();
            drop(open.send(published));
            if is_over {
                return;
            }
            // Without a watcher a person can still say `callgate server …`, which reloads.
            let mut watch = ConfigWatch::new(&file)
                .inspect_err(|error| tracing::warn!(%error, "the config file is not watched"))
                .ok();
            let reloads = async {
                while let Some(watch) = &mut watch {
                    watch.changed().await;
                    if hub.reload().await.is_err() {
                        return;
                    }
                }
                std::future::pending::<()>().await;
            };
            let parts = ControlParts { hub: hub.clone(), logs, audit, tokens, pin, places: owned };
            let serving = control::serve(door, parts, async {
                let _ = ended.await;
            });
            tokio::select! {
                () = serving => {}
                () = reloads => {}
            }
        });
    })?;
    Ok((Desk { end, thread }, opened))
}

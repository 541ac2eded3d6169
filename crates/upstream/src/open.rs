//! The beginning of a connection: starts a program where one is to be started, takes its pipes or waits until it
//! listens. Sends nothing to a listener that is not the program's own.

use crate::connect::Fault;
use crate::drive::Live;
use crate::port;
use crate::server::Server;
use crate::session::Session;
use crate::spec::{Process, Transport};
use crate::wired::{Ear, Wired};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use tokio::time::Instant;
use wire::http::{HttpLimits, HttpLink, PlainHttp};
use wire::link::Inbox;
use wire::pipe::{Incoming, Outgoing};
use wire::stdio::StdioLink;

/// Starts what is to be started; what comes back can be spoken with.
pub(crate) async fn open(server: &Rc<Server>, deadline: Instant) -> Result<Live, Fault> {
    let listener = Rc::downgrade(server);
    let session = Session::new(Rc::clone(&server.counters), listener);
    let mut live = Live { session, tree: None, stdin: RefCell::default() };
    match &server.spec.transport {
        Transport::Stdio(process) => {
            let pipes = launch(server, &mut live, process).await?;
            let inbox: Rc<dyn Inbox> = Rc::new(Ear(Rc::downgrade(&live.session)));
            let link = StdioLink::open(pipes.stdin, pipes.stdout, server.spec.max_message, inbox)
                .map_err(|error| Fault::Failed(format!("its pipes cannot be used: {error}")))?;
            live.session.plug(Wired::Pipes(link));
        }
        Transport::Http { url, headers } => plug(server, &live.session, url, headers)?,
        Transport::HttpChild { process, url, headers, owner } => {
            plug(server, &live.session, url, headers)?;
            let pipes = launch(server, &mut live, process).await?;
            live.stdin = RefCell::new(Some(pipes.stdin));
            server.parts.drain_stdout(&server.name, pipes.stdout);
            if let Err(why) = port::opened(server, &live, url, *owner, deadline).await {
                live.session.close(&why);
                crate::connect::stop(server, &live).await;
                return Err(Fault::Failed(why));
            }
        }
    }
    Ok(live)
}

struct Pipes {
    stdin: Outgoing,
    stdout: Incoming,
}

async fn launch(server: &Server, live: &mut Live, process: &Process) -> Result<Pipes, Fault> {
    let (child, program) = server.parts.launch(&server.name, process).await.map_err(Fault::Failed)?;
    *server.program.borrow_mut() = Some(program.display().to_string());
    server.pid.set(u32::try_from(child.tree.pid()).ok());
    server.parts.drain(&server.name, child.stderr);
    live.tree = Some(child.tree);
    Ok(Pipes { stdin: child.stdin, stdout: child.stdout })
}

fn plug(server: &Server, session: &Rc<Session>, url: &str, headers: &BTreeMap<String, String>) -> Result<(), Fault> {
    let fields: Vec<(String, String)> = headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    // What is sent to another machine unencrypted can be read on the way: no credentials then.
    let plain = if fields.is_empty() { PlainHttp::Anywhere } else { PlainHttp::Loopback };
    let limits = HttpLimits { max_message: server.spec.max_message, ..HttpLimits::default() };
    let inbox: Rc<dyn Inbox> = Rc::new(Ear(Rc::downgrade(session)));
    let link = HttpLink::new(url, &fields, plain, limits, inbox).map_err(|fault| Fault::Unusable(fault.to_string()))?;
    session.plug(Wired::Http(link));
    Ok(())
}

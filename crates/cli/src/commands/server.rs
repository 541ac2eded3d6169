//! `callgate server …`

use super::add;
use super::fault::{Exit, Fault};
use super::logs;
use super::out::Out;
use crate::args::Server;
use crate::show::servers as show;
use operator::client::blocking::Client;
use operator::op;
use operator::operations::Document;
use operator::words::{ConfigChange, Nothing, Server as Words, ServerName, ServerState};

/// Does one of them.
pub fn server(command: Server, hub: &Client, out: &Out) -> Result<Exit, Fault> {
    match command {
        Server::List => {
            let list = hub.call::<op::ServerList>(&Nothing {})?;
            out.document(&list, |screen| show::list(&list.servers, screen))
        }
        Server::Show(args) => {
            let detail = hub.call::<op::ServerShow>(&ServerName { name: args.name })?;
            out.document(&detail, |screen| show::detail(&detail, screen))
        }
        Server::Add(args) => {
            let change = hub.call::<op::ServerAdd>(&add::entry(args)?)?;
            changed(&change, out)
        }
        Server::Remove(args) => change::<op::ServerRemove>(args.name, hub, out),
        Server::Enable(args) => change::<op::ServerEnable>(args.name, hub, out),
        Server::Disable(args) => change::<op::ServerDisable>(args.name, hub, out),
        Server::Start(args) => act::<op::ServerStart>(args.name, hub, out),
        Server::Stop(args) => act::<op::ServerStop>(args.name, hub, out),
        Server::Restart(args) => act::<op::ServerRestart>(args.name, hub, out),
        Server::Logs { name, range } => logs::server(name, range, hub, out),
    }
}

fn change<O>(name: String, hub: &Client, out: &Out) -> Result<Exit, Fault>
where
    O: Document<Input = ServerName, Output = ConfigChange>,
{
    changed(&hub.call::<O>(&ServerName { name })?, out)
}

fn changed(change: &ConfigChange, out: &Out) -> Result<Exit, Fault> {
    out.document(change, |screen| show::change(change, screen))?;
    Ok(if change.problems.is_empty() { Exit::Done } else { Exit::Usage })
}

fn act<O>(name: String, hub: &Client, out: &Out) -> Result<Exit, Fault>
where
    O: Document<Input = ServerName, Output = Words>,
{
    let server = hub.call::<O>(&ServerName { name })?;
    out.document(&server, |screen| show::acted(&server, screen))?;
    Ok(if server.state == ServerState::Failing { Exit::Failed } else { Exit::Done })
}

//! The commands: each asks one operation of the hub and shows its answer. Results go to stdout, everything else to
//! stderr; a command never does itself what an operation does.

mod add;
mod approval;
mod audit;
mod completions;
mod config;
mod fault;
mod gate;
mod logs;
mod out;
mod pin;
mod server;
mod stop;
mod tool;
mod usage;

use crate::args::{Cli, Command, Globals, Stdio, Token};
use crate::{serve, show, stdio};
pub use fault::{Exit, Fault, say, sentence};
use hub::config::Places;
use operator::client::blocking::Client;
use operator::op;
use operator::words::{Nothing, TokenName};
pub use out::{Form, Out};
use std::process::ExitCode;
pub use usage::parse;

/// What to do first; everything else is behind `--help`.
const FIRST_STEPS: &str = "\
Callgate: one local hub in front of all your MCP servers.

  callgate serve                              run the hub
  callgate server add NAME -- COMMAND ARGS…   configure a server, once for every host
  callgate status                             see what runs, and who is attached

A host launches:  callgate stdio
Everything else:  callgate --help
";

/// Parses the command line and does the command.
pub fn run() -> ExitCode {
    let cli: Cli = match parse(std::env::args_os().collect()) {
        Ok(cli) => cli,
        Err(exit) => return exit,
    };
    let globals = cli.globals;
    let out = Out::of_process(&globals);
    let done = match cli.command {
        None => out.text(FIRST_STEPS).map(|()| Exit::Done),
        Some(Command::Serve(args)) => return serve::run(&args, &globals),
        // `main` has seen to these when they stand first; after a global option they come here.
        Some(Command::Stdio(args)) => return stdio::run(Stdio { json: globals.json, ..args }),
        Some(Command::Guard) => return crate::system::guard(),
        Some(Command::SampleServer) => return crate::system::sample_server(),
        Some(command) => act(command, &globals, &out),
    };
    match done {
        Ok(exit) => exit.into(),
        Err(fault) => fault.report(Form::of(&globals)),
    }
}

fn act(command: Command, globals: &Globals, out: &Out) -> Result<Exit, Fault> {
    let hub = || connect(globals);
    match command {
        Command::Status => {
            let status = hub()?.call::<op::Status>(&Nothing {})?;
            out.document(&status, |screen| show::status::status(&status, screen))
        }
        Command::Stop => stop::stop(&hub()?, out),
        Command::Server(command) => server::server(command, &hub()?, out),
        Command::Tool(command) => tool::tool(command, &hub()?, out),
        Command::Approval(command) => approval::approval(command, &hub()?, out),
        Command::Call(command) => gate::call(command, &hub()?, out),
        Command::Pause => approval::pause(&hub()?, out),
        Command::Resume { server } => approval::resume(server, &hub()?, out),
        Command::Catalog(command) => gate::catalog(command, &hub()?, out),
        Command::Policy(command) => gate::policy(command, &hub()?, out),
        Command::Audit(command) => audit::audit(command, &hub()?, out),
        Command::Token(command) => token(command, &hub()?, out),
        Command::Logs(range) => logs::hub(range, &hub()?, out),
        Command::Config(command) => config::config(&command, globals, out),
        Command::Completions { shell } => completions::completions(shell, out),
        Command::Serve(_) | Command::Stdio(_) | Command::Guard | Command::SampleServer => Ok(Exit::Done),
    }
}

fn connect(globals: &Globals) -> Result<Client, Fault> {
    let places = Places::here(globals.config.as_deref())?;
    Client::new(places.operator_socket()).map_err(|cause| Fault::io("no runtime", cause))
}

fn token(command: Token, hub: &Client, out: &Out) -> Result<Exit, Fault> {
    match command {
        Token::List => {
            let list = hub.call::<op::TokenList>(&Nothing {})?;
            out.document(&list, |screen| show::tokens::list(&list.tokens, screen))
        }
        Token::Add(args) => {
            let made = pin::decide::<op::TokenAdd>(hub, |pin| TokenName { name: args.name.clone(), pin })?;
            // Only the token goes to stdout, so that it can be caught in a variable.
            out.aside("Shown this once. A host sends it as:  Authorization: Bearer TOKEN");
            out.document(&made, |_| format!("{}\n", made.token))
        }
        Token::Remove(args) => {
            let removed = pin::decide::<op::TokenRemove>(hub, |pin| TokenName { name: args.name.clone(), pin })?;
            out.document(&removed, |screen| {
                let unwritten = show::approvals::unwritten(removed.unwritten.as_deref(), screen);
                format!("{unwritten}The token of {} is worthless now.\n", operator::visible::escape(&removed.name))
            })
        }
    }
}

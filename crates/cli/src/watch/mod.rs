//! `callgate approval watch`: the queue on the whole screen, good enough to work in all day over SSH. The state is a
//! pure machine (`machine`), its looks a pure function (`draw`); here are the terminal, the hub and the editor.

mod draw;
mod editor;
mod hub;
mod machine;
mod panes;
mod steady;
mod terminal;
mod text;

#[cfg(test)]
mod tests;

use crate::commands::{Exit, Fault, Form, Out};
use crate::show::screen::Screen;
use crate::system;
use draw::Pen;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use hub::{Answer, Ear};
use machine::{Effect, Input, Now, State};
use operator::client::Client;
use operator::op;
use operator::words::ApprovalFilter;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use terminal::{Keyboard, Surface};

/// Works the queue until the person leaves.
pub fn watch(socket: &Path, out: &Out) -> Result<Exit, Fault> {
    if out.form() == Form::Json {
        return Err(Fault::Usage("the screen has no JSON form; use:  callgate approval list --json".into()));
    }
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(Fault::Usage("the screen needs a terminal; use:  callgate approval list".into()));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|cause| Fault::io("no runtime", cause))?.block_on(work(socket, out.screen()))
}

async fn work(socket: &Path, screen: Screen) -> Result<Exit, Fault> {
    let client = Client::new(socket);
    // Before the screen is taken over: without a hub there is nothing to see.
    client.call::<op::ApprovalList>(&ApprovalFilter::default()).await?;
    let nest = socket.parent().map(Path::to_owned).unwrap_or_default();
    editor::clear(&nest);
    let shell = Shell { surface: Surface::open().map_err(broken)?, began: Instant::now(), screen, nest };
    shell.run(client).await
}

fn broken(cause: io::Error) -> Fault {
    // A terminal that is gone has nobody in front of it.
    match cause.raw_os_error() {
        Some(_) if cause.kind() == io::ErrorKind::BrokenPipe => Fault::Closed,
        _ => Fault::io("the terminal does not take it", cause),
    }
}

/// The screen and what it is driven with.
struct Shell {
    surface: Surface,
    began: Instant,
    screen: Screen,
    /// A folder of this user alone.
    nest: PathBuf,
}

impl Shell {
    fn now(&self) -> Now {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Now { mono_ms: ms(self.began.elapsed()) + 1, wall_ms: ms(wall) }
    }

    async fn run(mut self, client: Client) -> Result<Exit, Fault> {
        let mut state = State::new(self.surface.size().map_err(broken)?, self.screen);
        let mut keyboard = Keyboard::open();
        let mut ear = Ear::new(client.clone());
        let mut answers: FuturesUnordered<Answer> = FuturesUnordered::new();
        let mut ends = system::Ends::listen().map_err(|cause| Fault::io("no signals", cause))?;
        loop {
            let now = self.now();
            self.surface
                .draw(|frame| draw::draw(frame, &Pen { state: &state, now, screen: &self.screen }))
                .map_err(broken)?;
            let input = tokio::select! {
                () = ends.come() => return Ok(Exit::Done),
                input = keyboard.next() => match input {
                    Ok(Some(input)) => input,
                    Ok(None) => continue,
                    Err(cause) => return Err(broken(cause)),
                },
                said = ear.next() => Input::Hub(said),
                Some(said) = answers.next() => Input::Hub(said),
                () = tokio::time::sleep(Duration::from_millis(state.wake(now))) => Input::Tick,
            };
            let mut inputs = vec![input];
            while let Some(input) = inputs.pop() {
                let now = self.now();
                for effect in state.next(now, input) {
                    match effect {
                        Effect::Leave => return Ok(Exit::Done),
                        Effect::Redraw => self.surface.redraw().map_err(broken)?,
                        Effect::Suspend => {
                            drop(keyboard);
                            self.surface.away(system::suspend).map_err(broken)?;
                            keyboard = Keyboard::open();
                            inputs.push(Input::Back);
                            inputs.push(self.resized()?);
                        }
                        Effect::Edit { id, text } => {
                            drop(keyboard);
                            let nest = &self.nest;
                            let edited = self.surface.away(|| editor::edit(nest, &id, &text)).map_err(broken)?;
                            // A Ctrl-C that was meant for the editor reached this process, too.
                            ends.forget_keys().await.map_err(|cause| Fault::io("no signals", cause))?;
                            keyboard = Keyboard::open();
                            inputs.push(Input::Edited(id, edited));
                            inputs.push(self.resized()?);
                        }
                        effect => answers.extend(hub::ask(&client, effect)),
                    }
                }
            }
        }
    }

    /// While it was away, the terminal may have become another size.
    fn resized(&self) -> Result<Input, Fault> {
        let (width, height) = self.surface.size().map_err(broken)?;
        Ok(Input::Resize(width, height))
    }
}

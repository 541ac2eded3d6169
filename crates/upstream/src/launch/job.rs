//! One program in its job object. It is put there before its first instruction runs, so that nothing it starts can be
//! outside. The hub holds the only handle of the job: when that is closed, the system ends all that is in it.

use super::program::Launch;
use super::tree::{Exit, Hold, Life, Owns};
use process_wrap::tokio::{ChildWrapper, CommandWrap, CommandWrapper, JobObject};
use std::fs::File;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::process::{Child, Command};
use tokio::sync::{Notify, watch};
use win32job::{ExtendedLimitInfo, Job};

/// The program's first thread waits until it is told to go on.
const CREATE_SUSPENDED: u32 = 0x4;
/// No console window, and out of reach of the keys of ours.
const CREATE_NO_WINDOW: u32 = 0x0800_0000;
/// Looks for what a program has left running: the shortest and the longest pause.
const PAUSES: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(250)];

/// A job, and the order to end it.
pub struct Held {
    job: Arc<Job>,
    order: Notify,
}

impl Held {
    /// Ends all that is in the job.
    pub fn kill(&self) {
        self.order.notify_one();
    }

    fn processes(&self) -> Vec<usize> {
        self.job.query_process_id_list().unwrap_or_default()
    }
}

impl Hold for Rc<Held> {
    fn terminate(&self) {
        Held::kill(self);
    }

    fn kill(&self) {
        Held::kill(self);
    }

    fn owns(&self, pid: i32) -> Owns {
        let owns = usize::try_from(pid).is_ok_and(|pid| self.processes().contains(&pid));
        Box::pin(std::future::ready(owns))
    }
}

/// Puts the program, while it is suspended, into our own job: the one that [`JobObject`] makes tells no members.
#[derive(Debug)]
struct Joins(Arc<Job>);

impl CommandWrapper for Joins {
    fn pre_spawn(&mut self, command: &mut Command, _: &CommandWrap) -> io::Result<()> {
        // Comes after that of `JobObject`, which has set the first flag alone and will resume the program.
        command.creation_flags(CREATE_SUSPENDED | CREATE_NO_WINDOW);
        Ok(())
    }

    fn post_spawn(&mut self, _: &mut Command, child: &mut Child, _: &CommandWrap) -> io::Result<()> {
        let handle = child.raw_handle().ok_or_else(|| io::Error::other("the program has ended at once"))?;
        self.0.assign_process(handle as isize).map_err(io::Error::other)
    }
}

/// Starts a program with these as its stdin, stdout and stderr.
pub fn start(launch: &Launch, [stdin, stdout, stderr]: [File; 3]) -> io::Result<(Held, Box<dyn ChildWrapper>)> {
    let mut limits = ExtendedLimitInfo::new();
    limits.limit_kill_on_job_close();
    let job = Arc::new(Job::create_with_limit_info(&limits).map_err(io::Error::other)?);
    let mut command = Command::new(&launch.program);
    command.args(&launch.args).env_clear().envs(launch.env.iter().map(|(name, value)| (name, value)));
    command.current_dir(&launch.cwd).stdin(stdin).stdout(stdout).stderr(stderr);
    // One that could not be put into its job must not stay behind, suspended.
    command.kill_on_drop(true);
    let child = CommandWrap::from(command).wrap(JobObject).wrap(Joins(Arc::clone(&job))).spawn()?;
    Ok((Held { job, order: Notify::new() }, child))
}

/// Tells how the program ends and when all that it started is gone, and ends them when that is ordered.
pub async fn watch(mut child: Box<dyn ChildWrapper>, held: &Held, life: &watch::Sender<Life>) {
    let exit = loop {
        tokio::select! {
            // Of the program alone: waiting for the job would keep a thread busy.
            status = child.inner_mut().wait() => {
                break status.ok().and_then(|status| status.code()).map_or(Exit::Lost, Exit::Code);
            }
            () = held.order.notified() => end(&mut *child),
        }
    };
    life.send_modify(|life| life.exit = Some(exit));
    let mut pause = PAUSES[0];
    while !held.processes().is_empty() {
        tokio::select! {
            () = tokio::time::sleep(pause) => pause = PAUSES[1].min(pause * 2),
            () = held.order.notified() => end(&mut *child),
        }
    }
    life.send_modify(|life| life.gone = true);
}

fn end(child: &mut dyn ChildWrapper) {
    if let Err(error) = child.start_kill() {
        tracing::warn!(%error, "a server's job could not be ended");
    }
}

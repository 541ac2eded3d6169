//! `callgate stop`: asks the hub to end, and returns when its process is gone.

use super::fault::{Exit, Fault};
use super::out::Out;
use operator::client::blocking::Client;
use operator::op;
use operator::words::Nothing;
use std::io;
use std::time::Duration;

/// How long a hub may take: it waits for running calls and stops its servers.
const PATIENCE: Duration = Duration::from_secs(60);

/// Stops the hub.
pub fn stop(hub: &Client, out: &Out) -> Result<Exit, Fault> {
    // Watched before it is asked, so that its process id cannot have become another's.
    let watch = Watch::new(hub, hub.call::<op::Status>(&Nothing {})?.pid)?;
    let stopping = hub.call::<op::Stop>(&Nothing {})?;
    watch.wait()?;
    out.document(&stopping, |_| format!("Stopped (pid {}).\n", stopping.pid))
}

#[cfg(target_os = "linux")]
struct Watch(rustix::fd::OwnedFd);

#[cfg(target_os = "linux")]
impl Watch {
    fn new(_: &Client, pid: u32) -> Result<Watch, Fault> {
        use rustix::process::{Pid, PidfdFlags, pidfd_open};
        let pid =
            i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or_else(|| Fault::Usage("the hub has no pid".into()))?;
        pidfd_open(pid, PidfdFlags::empty()).map(Watch).map_err(|cause| Fault::io("cannot watch the hub", cause.into()))
    }

    fn wait(self) -> Result<(), Fault> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let patience = Timespec { tv_sec: PATIENCE.as_secs().cast_signed(), tv_nsec: 0 };
        match poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&patience)) {
            Ok(0) => Err(Fault::Io { what: "the hub is still stopping", source: io::ErrorKind::TimedOut.into() }),
            Ok(_) => Ok(()),
            Err(cause) => Err(Fault::io("cannot watch the hub", cause.into())),
        }
    }
}

/// Elsewhere the end of the hub's events is the nearest thing to the end of its process. Written, not tested.
#[cfg(not(target_os = "linux"))]
struct Watch<'a>(operator::client::blocking::EventIter<'a>);

#[cfg(not(target_os = "linux"))]
impl<'a> Watch<'a> {
    fn new(hub: &'a Client, _: u32) -> Result<Watch<'a>, Fault> {
        Ok(Watch(hub.events()?))
    }

    fn wait(self) -> Result<(), Fault> {
        let until = std::time::Instant::now() + PATIENCE;
        match self.0.take_while(|_| std::time::Instant::now() < until).find(Result::is_err) {
            _ if std::time::Instant::now() >= until => {
                Err(Fault::Io { what: "the hub is still stopping", source: io::ErrorKind::TimedOut.into() })
            }
            _ => Ok(()),
        }
    }
}

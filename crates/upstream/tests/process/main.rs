//! Real processes: what the guard starts, it ends. The test binary runs itself again as the guard and as a hub that
//! gets killed; nothing outside a temporary folder is touched.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, clippy::print_stdout, missing_docs)]

#[cfg(unix)]
mod life;
#[cfg(unix)]
mod search;
#[cfg(unix)]
mod stage;
#[cfg(unix)]
mod start;
#[cfg(windows)]
mod windows;

use libtest_mimic::{Arguments, Failed, Trial};
use std::process::ExitCode;

#[cfg(windows)]
fn main() -> ExitCode {
    run(windows::all())
}

#[cfg(unix)]
fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(upstream::guard::COMMAND) => return upstream::guard::run(),
        Some(stage::HUB) => return stage::hub(),
        _ => {}
    }
    run(start::all().into_iter().chain(life::all()).chain(search::all()))
}

fn run(tests: impl IntoIterator<Item = (&'static str, fn())>) -> ExitCode {
    let trials = tests.into_iter().map(|(name, test)| {
        Trial::test(name, move || {
            test();
            Ok::<(), Failed>(())
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

//! Real processes: what the guard starts, it ends. The test binary runs itself again as the guard and as a hub that
//! gets killed; nothing outside a temporary folder is touched.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, clippy::print_stdout, missing_docs)]

mod life;
mod search;
mod stage;
mod start;

use libtest_mimic::{Arguments, Failed, Trial};
use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(upstream::guard::COMMAND) => return upstream::guard::run(),
        Some(stage::HUB) => return stage::hub(),
        _ => {}
    }
    let trials = start::all().into_iter().chain(life::all()).chain(search::all()).map(|(name, test)| {
        Trial::test(name, move || {
            test();
            Ok::<(), Failed>(())
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

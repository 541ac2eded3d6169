//! How trees end: at the end of the ladder, with the hub, with the guard, with the last handle.

use crate::stage::{FAMILY, FAMILY_SIZE, HUB, LONG, Stage, Tests, Witness, busy, lives, local, patience, shell};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use upstream::launch::{Exit, Step, stop_ladder};

pub fn all() -> Tests {
    vec![
        ("life::a_server_leaves_when_its_input_closes", a_server_leaves_when_its_input_closes),
        ("life::a_deaf_server_leaves_at_sigterm", a_deaf_server_leaves_at_sigterm),
        ("life::a_stubborn_family_is_killed_whole", a_stubborn_family_is_killed_whole),
        ("life::one_tree_ends_and_others_stay", one_tree_ends_and_others_stay),
        ("life::a_dead_wrapper_is_noticed", a_dead_wrapper_is_noticed),
        ("life::a_stopped_server_is_woken_to_leave", a_stopped_server_is_woken_to_leave),
        ("life::the_last_handle_kills", the_last_handle_kills),
        ("life::a_start_nobody_waits_for_is_undone", a_start_nobody_waits_for_is_undone),
        ("life::close_leaves_nothing", close_leaves_nothing),
        ("life::a_killed_hub_leaves_nothing", a_killed_hub_leaves_nothing),
        ("life::a_killed_guard_is_told_and_swept_up_after", a_killed_guard_is_told_and_swept_up_after),
        ("life::leftovers_of_a_killed_hub_and_guard_are_swept", leftovers_of_a_killed_hub_and_guard_are_swept),
        ("life::the_guard_ignores_the_terminal", the_guard_ignores_the_terminal),
    ]
}

fn kill(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

fn a_server_leaves_when_its_input_closes() {
    local(async {
        let stage = Stage::new();
        let mut running = stage.sh("sh -c 'echo $$; cat >/dev/null'; exit 4").await;
        let witness = running.pids(1).await;
        running.stdin.take();
        let stopped = stop_ladder(&running.tree, patience(Step::Closed)).await;
        assert_eq!((stopped.step, stopped.exit), (Step::Closed, Some(Exit::Code(4))));
        assert_eq!(witness.living(), 0);
    });
}

fn a_deaf_server_leaves_at_sigterm() {
    local(async {
        let stage = Stage::new();
        let mut running = stage.sh("trap 'exit 5' TERM; echo $$; while :; do sleep 1000 & wait; done").await;
        let witness = running.pids(1).await;
        running.stdin.take();
        let stopped = stop_ladder(&running.tree, patience(Step::Terminated)).await;
        assert_eq!((stopped.step, stopped.exit), (Step::Terminated, Some(Exit::Code(5))));
        assert_eq!(witness.living(), 0);
    });
}

fn a_stubborn_family_is_killed_whole() {
    local(async {
        let stage = Stage::new();
        let mut running = stage.sh(FAMILY).await;
        let witness = running.pids(FAMILY_SIZE).await;
        assert_eq!(witness.living(), FAMILY_SIZE);
        running.stdin.take();
        let stopped = stop_ladder(&running.tree, patience(Step::Killed)).await;
        assert_eq!(stopped.step, Step::Killed);
        // All of the tree are gone when it says so; the one without a mark goes with the last instance.
        assert!(witness.survivors(LONG).is_empty());
    });
}

fn one_tree_ends_and_others_stay() {
    local(async {
        let stage = Stage::new();
        let mut one = stage.sh(FAMILY).await;
        let mut other = stage.sh("setsid sh -c 'echo $$; sleep 1000' & (sh -c 'echo $$; sleep 1000' &) ; read x").await;
        let of_one = one.pids(FAMILY_SIZE).await;
        let of_other = other.pids(2).await;
        one.tree.kill();
        one.tree.gone().await;
        assert!(of_one.living() <= 1, "the stray without a mark may wait for the last instance");
        assert_eq!(of_other.living(), 2);
        assert_eq!(other.tree.exit(), None);
        other.tree.kill();
        other.tree.gone().await;
        assert_eq!(of_other.living(), 0);
        assert!(of_one.survivors(LONG).is_empty());
    });
}

fn a_dead_wrapper_is_noticed() {
    local(async {
        let stage = Stage::new();
        let mut running = stage.sh("sh -c 'echo $$; exec sleep 1000' & echo $$; wait").await;
        let witness = running.pids(2).await;
        kill(running.tree.pid(), Signal::KILL);
        assert_eq!(running.tree.exited().await, Exit::Signal(9));
        assert_eq!(witness.living(), 1, "the child lives and holds the pipe");
        running.stdin.take();
        assert_eq!(stop_ladder(&running.tree, patience(Step::Terminated)).await.step, Step::Terminated);
        assert_eq!(witness.living(), 0);
    });
}

fn a_stopped_server_is_woken_to_leave() {
    local(async {
        let stage = Stage::new();
        let mut running = stage.sh("echo $$; kill -STOP $$; exec cat").await;
        let witness = running.pids(1).await;
        running.stdin.take();
        let stopped = stop_ladder(&running.tree, patience(Step::Terminated)).await;
        assert_eq!((stopped.step, stopped.exit), (Step::Terminated, Some(Exit::Signal(15))));
        assert_eq!(witness.living(), 0);
    });
}

fn the_last_handle_kills() {
    local(async {
        let stage = Stage::new();
        let mut running = stage.sh(FAMILY).await;
        let witness = running.pids(FAMILY_SIZE).await;
        drop(running);
        tokio::task::yield_now().await;
        assert!(witness.survivors(LONG).is_empty());
    });
}

fn a_start_nobody_waits_for_is_undone() {
    local(async {
        let stage = Stage::new();
        let path = stage.home.path().join("pid");
        let fifo = path.to_str().unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let script = format!("exec 0<>/dev/zero; echo $$ > {fifo}; exec sleep 1000");
        let launcher = stage.launcher.clone();
        let asked = upstream::task::spawn("test", async move { launcher.spawn(shell(&script)).await.map(drop) });
        tokio::task::yield_now().await;
        asked.abort();
        let read = tokio::task::spawn_blocking(move || std::fs::read_to_string(path).unwrap());
        // Killed before it could tell its number, or after.
        let told = tokio::time::timeout(Duration::from_millis(500), read).await;
        if let Some(pid) = told.ok().and_then(|text| text.unwrap().trim().parse().ok()) {
            let deadline = Instant::now() + LONG;
            while lives(pid) && Instant::now() < deadline {
                tokio::task::yield_now().await;
            }
            assert!(!lives(pid));
        }
        // Lets go the reader of the fifo, if the program was killed before it opened it.
        drop(std::fs::OpenOptions::new().read(true).write(true).open(stage.home.path().join("pid")));
    });
}

fn close_leaves_nothing() {
    local(async {
        let stage = Stage::new();
        let mut running = stage.sh(FAMILY).await;
        let witness = running.pids(FAMILY_SIZE).await;
        let guard = Witness::new(&[stage.launcher.guard().unwrap() as i32]);
        running.stdin.take();
        assert!(stage.launcher.close(LONG).await);
        assert_eq!(witness.living() + guard.living(), 0);
    });
}

/// A hub in a process of its own, with the pids of all it started, its guard's last.
fn hub(home: &std::path::Path, scripts: &[&str]) -> (Child, Vec<i32>) {
    let mut hub = Command::new(std::env::current_exe().unwrap());
    let mut hub = hub.arg(HUB).arg(home).args(scripts).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(hub.stdout.take().unwrap()).lines().map(Result::unwrap);
    let pids = lines.take_while(|line| line != "ready").map(|line| line.trim().parse().unwrap()).collect();
    (hub, pids)
}

fn family_then_done() -> String {
    // The last line must come after the six pids: count them through a pipe.
    format!(
        "({FAMILY}) | {{ n=0; while read pid; do echo $pid; n=$((n+1)); [ $n = {FAMILY_SIZE} ] && echo done; done; }}"
    )
}

fn a_killed_hub_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let (mut hub, pids) = hub(home.path(), &[&family_then_done(), "echo done; cat", &family_then_done()]);
    assert_eq!(pids.len(), 3 + 2 * FAMILY_SIZE + 1);
    let witness = Witness::new(&pids);
    assert_eq!(witness.living(), pids.len());
    let killed = Instant::now();
    hub.kill().unwrap();
    hub.wait().unwrap();
    let survivors = witness.survivors(LONG);
    assert!(survivors.is_empty(), "{survivors:?} of {pids:?}");
    // The promise is three seconds; a machine that is busy with other things can't show it.
    let took = killed.elapsed();
    assert!(took < Duration::from_secs(3) || busy(), "it took {took:?}");
}

fn a_killed_guard_is_told_and_swept_up_after() {
    local(async {
        let stage = Stage::new();
        let mut running = stage.sh("trap '' TERM; echo $$; setsid sh -c 'trap \"\" TERM; echo $$; sleep 1000'").await;
        let witness = running.pids(2).await;
        let first = stage.launcher.guard().unwrap();
        kill(first as i32, Signal::KILL);
        assert_eq!(running.tree.exited().await, Exit::Lost);
        running.tree.gone().await;
        // The next start works, through another guard, and only after the leftovers are gone.
        let next = stage.sh("exit 7").await;
        assert_eq!(witness.living(), 0);
        assert_eq!(next.tree.exited().await, Exit::Code(7));
        assert_ne!(stage.launcher.guard().unwrap(), first);
        assert!(stage.launcher.swept() >= 2);
    });
}

fn leftovers_of_a_killed_hub_and_guard_are_swept() {
    let home = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let script = "trap '' TERM HUP; echo $$; echo done; while :; do sleep 1000; done";
    let (mut first, mut pids) = hub(home.path(), &[script]);
    let (mut other, others) = hub(elsewhere.path(), &[script]);
    let guard = pids.pop().unwrap();
    let witness = Witness::new(&pids);
    let bystander = Witness::new(&others);
    kill(guard, Signal::STOP);
    first.kill().unwrap();
    first.wait().unwrap();
    kill(guard, Signal::KILL);
    assert_eq!(witness.living(), pids.len());
    local(async {
        let launcher = upstream::launch::Launcher::start(
            &std::env::current_exe().unwrap(),
            home.path(),
            None,
            upstream::launch::Past::Unknown,
        )
        .unwrap();
        launcher.spawn(shell("exit 0")).await.unwrap();
        assert_eq!(witness.living(), 0, "the next hub of this home ends them");
        assert_eq!(bystander.living(), others.len(), "and nobody else's");
    });
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(bystander.survivors(LONG).is_empty());
}

fn the_guard_ignores_the_terminal() {
    local(async {
        let stage = Stage::new();
        let mut running = stage.sh("echo $$; read line; echo $line").await;
        let witness = running.pids(1).await;
        let guard = stage.launcher.guard().unwrap() as i32;
        for signal in [Signal::INT, Signal::HUP, Signal::TERM, Signal::QUIT] {
            kill(guard, signal);
        }
        // It still answers, and its child lives.
        assert_eq!(stage.sh("exit 9").await.tree.exited().await, Exit::Code(9));
        assert_eq!(witness.living(), 1);
        rustix::io::write(running.stdin.as_ref().unwrap(), b"hello\n").unwrap();
        assert_eq!(running.line().await, "hello");
    });
}

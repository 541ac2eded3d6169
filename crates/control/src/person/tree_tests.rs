//! The walk over made-up tables of processes.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::hosts::Hosts;
use super::processes::{Process, Processes};
use super::tree::{Attached, Caller, Speaker, Suspicion, describe, suspect};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

const HUB: u32 = 900;

/// Lines of `pid parent born name|program|words…`; the next table is shown once a look has failed.
struct Table {
    now: RefCell<BTreeMap<u32, Row>>,
    later: RefCell<Vec<BTreeMap<u32, Row>>>,
}

#[derive(Clone)]
struct Row {
    process: Process,
    program: Option<PathBuf>,
    words: Vec<String>,
}

fn rows(text: &str) -> BTreeMap<u32, Row> {
    let row = |line: &str| {
        let (head, tail) = line.trim().split_once(' ').unwrap();
        let (parent, tail) = tail.split_once(' ').unwrap();
        let mut tail = tail.split('|');
        let name = tail.next().unwrap().to_owned();
        let program = tail.next().filter(|file| !file.is_empty()).map(PathBuf::from);
        let words = tail.next().map(|words| words.split(' ').map(str::to_owned).collect()).unwrap_or_default();
        let pid: u32 = head.parse().unwrap();
        let terminal = name.contains("bash").then(|| "pts/3".to_owned());
        let process = Process { parent: parent.parse().unwrap(), born: u64::from(pid), name, terminal };
        (pid, Row { process, program, words })
    };
    text.lines().filter(|line| !line.trim().is_empty()).map(row).collect()
}

fn table(text: &str) -> Table {
    Table { now: RefCell::new(rows(text)), later: RefCell::default() }
}

impl Processes for Table {
    fn look(&self, pid: u32) -> Option<Process> {
        let found = self.now.borrow().get(&pid).map(|row| row.process.clone());
        if found.is_none()
            && let Some(next) = self.later.borrow_mut().pop()
        {
            *self.now.borrow_mut() = next;
        }
        found
    }
    fn program(&self, pid: u32) -> Option<PathBuf> {
        self.now.borrow().get(&pid)?.program.clone()
    }
    fn words(&self, pid: u32) -> Vec<String> {
        self.now.borrow().get(&pid).map(|row| row.words.clone()).unwrap_or_default()
    }
}

fn caller(pid: u32) -> Option<Caller> {
    Some(Caller { pid, born: u64::from(pid) })
}

fn adapter(pid: u32) -> Vec<Attached> {
    vec![Attached { name: "agent".into(), pid, speaker: Speaker::Adapter }]
}

fn host() -> Option<Suspicion> {
    Some(Suspicion::Host("agent".into()))
}

/// Two terminals; in the first a host with its adapter (30) and a shell tool (40, 41); the hub (900) with a guard and a
/// server; a person in the second (60).
const USUAL: &str = "1 0 systemd
    10 1 bash||-bash
    20 10 claude|/bin/node|node /bin/claude
    30 20 callgate|/bin/callgate|callgate stdio
    40 20 bash||bash -c x
    41 40 callgate|/bin/callgate|callgate approval
    50 1 bash||bash -il
    60 50 callgate|/bin/callgate|callgate approval
    61 10 callgate|/bin/callgate|callgate approval
    900 1 callgate|/bin/callgate|callgate serve
    901 900 callgate-guard|/bin/callgate
    902 901 python
    903 902 callgate";

#[test]
fn what_descends_from_a_host_or_the_hub_is_no_person() {
    let check = |pid: u32, expect: Option<Suspicion>| {
        assert_eq!(suspect(&table(USUAL), caller(pid), HUB, &adapter(30), &[]), expect, "{pid}");
    };
    for pid in [20, 30, 40, 41] {
        check(pid, host());
    }
    for pid in [900, 901, 902, 903] {
        check(pid, Some(Suspicion::Server));
    }
    // The terminal that the host runs in is the person's, too.
    for pid in [10, 50, 60, 61, 1] {
        check(pid, None);
    }
    check(99, Some(Suspicion::Untold));
}

#[test]
fn a_caller_that_is_gone_or_another_by_now_is_untold_and_a_client_that_is_gone_is_no_match() {
    let table = table(USUAL);
    assert_eq!(suspect(&table, None, HUB, &[], &[]), Some(Suspicion::Untold));
    let reused = Some(Caller { pid: 60, born: 59 });
    assert_eq!(suspect(&table, reused, HUB, &[], &[]), Some(Suspicion::Untold));
    assert_eq!(suspect(&table, caller(41), HUB, &adapter(31), &[]), None);
    assert_eq!(suspect(&table, caller(41), HUB, &[], &[]), None);
}

#[test]
fn what_only_starts_others_is_not_the_host() {
    // What stands between the host (20) and the adapter (30).
    let check = |between: &str, is_climbed: bool| {
        let text = format!("1 0 systemd\n20 1 host\n25 20 {between}\n30 25 callgate\n40 20 sh\n41 40 callgate");
        let expect = if is_climbed { host() } else { None };
        assert_eq!(suspect(&table(&text), caller(41), HUB, &adapter(30), &[]), expect, "{between}");
    };
    for between in [
        "sh||sh -c callgate",
        "bash||/bin/bash -lc callgate",
        "bash||bash -o pipefail -c callgate",
        "bash||bash /opt/start-callgate",
        "fish||fish --command callgate",
        "npm exec callga||npm exec callgate",
        "node||node /usr/lib/npx-cli.js callgate",
        "uvx||/home/u/uvx callgate",
        "env||env A=b callgate",
    ] {
        check(between, true);
    }
    for between in [
        "bash||-bash",
        "bash||bash -il",
        "zsh||zsh",
        "bash||bash --init-file /c/shell.sh",
        "bash||bash --rcfile conf -i",
        "claude||node /usr/bin/claude",
        "host||",
        "host",
    ] {
        check(between, false);
    }
    // Several of them, the one below the host being the host's own shell.
    let text = "1 0 systemd\n10 1 bash||-bash\n20 10 host\n22 20 sh||sh -c x\n24 22 npm||npm exec x\n26 24 sh||sh -c y\n\
        30 26 callgate\n41 20 callgate\n42 10 callgate";
    assert_eq!(suspect(&table(text), caller(41), HUB, &adapter(30), &[]), host());
    assert_eq!(suspect(&table(text), caller(42), HUB, &adapter(30), &[]), None);
}

#[test]
fn an_editor_is_one_host_with_its_windows_and_terminals() {
    let text = "1 0 systemd\n10 1 code|/opt/code\n20 10 code|/opt/code\n30 20 callgate|/bin/callgate\n\
        21 10 code|/opt/code\n40 21 bash|/bin/bash|bash --init-file x\n41 40 callgate|/bin/callgate\n60 1 callgate";
    assert_eq!(suspect(&table(text), caller(41), HUB, &adapter(30), &[]), host());
    assert_eq!(suspect(&table(text), caller(60), HUB, &adapter(30), &[]), None);
    // One shell below another is not one host.
    let text = "1 0 systemd\n10 1 bash|/bin/bash|bash\n20 10 bash|/bin/bash|bash\n30 20 callgate\n60 10 callgate";
    assert_eq!(suspect(&table(text), caller(60), HUB, &adapter(30), &[]), None);
    assert_eq!(suspect(&table(text), caller(20), HUB, &adapter(30), &[]), host());
}

#[test]
fn what_everything_descends_from_is_nobodys_host() {
    for above in ["systemd", "init", "launchd", "tmux: server", "sshd"] {
        let text = format!("1 0 {above}\n20 1 sh||sh -c callgate\n30 20 callgate\n40 1 callgate\n50 30 callgate");
        assert_eq!(suspect(&table(&text), caller(40), HUB, &adapter(30), &[]), None, "{above}");
        assert_eq!(suspect(&table(&text), caller(20), HUB, &adapter(30), &[]), host(), "{above}");
        // An adapter that lost its host.
        assert_eq!(suspect(&table(&text), caller(40), HUB, &adapter(40), &[]), host(), "{above}");
        assert_eq!(suspect(&table(&text), caller(50), HUB, &adapter(40), &[]), None, "{above}");
    }
    // In a container the host may be the first of all.
    let text = "1 0 claude\n30 1 callgate\n40 1 sh\n41 40 callgate\n60 0 bash\n61 60 callgate";
    assert_eq!(suspect(&table(text), caller(41), HUB, &adapter(30), &[]), host());
    assert_eq!(suspect(&table(text), caller(61), HUB, &adapter(30), &[]), None);
}

#[test]
fn a_host_that_speaks_itself_is_its_own_root() {
    let text = "1 0 init\n10 1 bash||bash\n20 10 agent\n41 20 callgate\n60 10 callgate";
    let speaks = [Attached { name: "agent".into(), pid: 20, speaker: Speaker::Host }];
    assert_eq!(suspect(&table(text), caller(41), HUB, &speaks, &[]), host());
    assert_eq!(suspect(&table(text), caller(60), HUB, &speaks, &[]), None);
}

#[test]
fn a_parent_that_ends_between_two_looks_does_not_hide_who_is_above() {
    let before = "1 0 init\n20 1 agent\n30 20 callgate\n41 40 callgate";
    let table = table(before);
    // Its parent (40) has ended and it was taken over by 20.
    table.later.borrow_mut().push(rows("1 0 init\n20 1 agent\n30 20 callgate\n41 20 callgate"));
    assert_eq!(suspect(&table, caller(41), HUB, &adapter(30), &[]), host());
    // A parent that cannot be seen is the end of what can be known.
    assert_eq!(suspect(&self::table(before), caller(41), HUB, &adapter(30), &[]), None);
    // One that is younger than its child is another process with the parent's number.
    let young = "1 0 init\n20 1 agent\n30 20 callgate\n41 60 callgate\n60 20 sh";
    assert_eq!(suspect(&self::table(young), caller(41), HUB, &adapter(30), &[]), None);
    // A table that goes in circles ends.
    let ring = "40 41 a\n41 40 b";
    assert_eq!(suspect(&self::table(ring), caller(41), HUB, &adapter(30), &[]), None);
}

#[test]
fn a_host_stays_known_while_its_process_lives_although_its_adapter_is_gone() {
    let hosts = Hosts::default();
    hosts.look(&table(USUAL), &adapter(30));
    let without: String = USUAL.lines().filter(|line| !line.trim().starts_with("30 ")).collect::<Vec<_>>().join("\n");
    let later = table(&without);
    let known = hosts.look(&later, &[]);
    for pid in [20, 40, 41] {
        assert_eq!(suspect(&later, caller(pid), HUB, &[], &known), host(), "{pid}");
    }
    for pid in [10, 50, 60, 61] {
        assert_eq!(suspect(&later, caller(pid), HUB, &[], &known), None, "{pid}");
    }
    // When it has ended, or another process has its number, it is nobody's host any more.
    let ended = table("1 0 systemd\n40 1 bash||bash -c x\n41 40 callgate");
    assert_eq!(hosts.look(&ended, &[]), []);
    // A terminal in which an adapter was started by hand is the person's again.
    let by_hand = "1 0 systemd\n10 1 bash||-bash\n30 10 callgate|/bin/callgate|callgate stdio\n60 10 callgate";
    let by_hand = table(by_hand);
    let known = hosts.look(&by_hand, &adapter(30));
    assert_eq!(suspect(&by_hand, caller(60), HUB, &adapter(30), &known), host());
    assert_eq!(suspect(&by_hand, caller(60), HUB, &[], &known), None);
}

#[test]
fn people_read_who_it_was() {
    let check = |pid: u32, expect: &str| {
        let text = "1 0 init\n50 1 bash\n60 50 callgate\n61 50 bash\n62 7 x\u{1b}[31m";
        assert_eq!(describe(&table(text), caller(pid).unwrap()), expect);
    };
    check(60, "callgate (pid 60, from bash)");
    check(61, "bash (pid 61, from bash on pts/3)");
    check(62, "x\\u{1B}[31m (pid 62)");
    check(63, "pid 63, gone");
}

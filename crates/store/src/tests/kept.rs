//! What is remembered from one run to the next.

use super::*;

#[test]
fn what_was_saved_is_there_after_a_restart() {
    let home = tempfile::tempdir().unwrap();
    let desk = Desk::open(home.path());
    assert_eq!(desk.opened.kept, Kept::default());
    let snapshot = Snapshot {
        server: "files".into(),
        launch: "sha256:1".into(),
        at_ms: 5,
        version: "2025-06-18".into(),
        server_info: r#"{"name":"x"}"#.into(),
        capabilities: "{}".into(),
        instructions: None,
        tools: Some(r#"[{"name":"a"},{"name":"b"}]"#.into()),
        facts: Some(vec![0, 255, 7]),
        ..Snapshot::default()
    };
    let era = EraMemory { server: "web".into(), launch: "l".into(), version: "2026-07-28".into(), at_ms: 6 };
    let committer = &desk.opened.committer;
    let other = Snapshot { launch: "sha256:2".into(), ..snapshot.clone() };
    let newer = Snapshot { facts: None, tools: None, at_ms: 8, ..snapshot.clone() };
    for job in [
        Job::SaveSnapshot(Box::new(other.clone())),
        Job::SaveSnapshot(Box::new(snapshot)),
        Job::SaveSnapshot(Box::new(newer.clone())),
        Job::SaveEra(era.clone()),
        Job::Set { key: "port".into(), value: Some("7".into()), note: None },
        Job::Set { key: "port".into(), value: Some("8".into()), note: None },
        Job::Set { key: "gone".into(), value: Some("1".into()), note: None },
        Job::Set { key: "gone".into(), value: None, note: None },
    ] {
        committer.submit_and_wait(job).unwrap();
    }
    desk.stop();
    let desk = Desk::open(home.path());
    let settings = vec![("port".into(), "8".into())];
    let expect = Kept { catalogs: vec![other, newer], eras: vec![era], settings, ..Kept::default() };
    assert_eq!(desk.opened.kept, expect);
    desk.opened.committer.submit_and_wait(Job::ForgetServer("files".into())).unwrap();
    desk.stop();
    assert_eq!(Desk::open(home.path()).opened.kept.catalogs, []);
}

#[test]
fn only_the_newest_launches_of_a_server_are_remembered() {
    let home = tempfile::tempdir().unwrap();
    let desk = Desk::open(home.path());
    for number in 0..12 {
        let (server, launch) = ("files".to_owned(), format!("l{number}"));
        let era = EraMemory { server, launch, version: "v".into(), at_ms: number };
        desk.opened.committer.submit_and_wait(Job::SaveEra(era)).unwrap();
    }
    desk.stop();
    let eras = Desk::open(home.path()).opened.kept.eras;
    assert_eq!(eras.iter().map(|era| era.at_ms).collect::<Vec<_>>(), (4..12).collect::<Vec<_>>());
}

#[test]
fn notes_are_rows_of_the_chain() {
    let home = tempfile::tempdir().unwrap();
    let desk = Desk::open(home.path());
    let note = Note {
        client: "cursor".into(),
        item: "cursor".into(),
        detail: r#"{"added":true}"#.into(),
        ..Note::new(Kind::Token, 3)
    };
    desk.opened.committer.submit_and_wait(Job::Note(note)).unwrap();
    desk.stop();
    let rows = whole_log(home.path());
    assert_eq!(
        (rows[1].kind.as_str(), rows[1].client.as_str(), rows[1].detail.as_str()),
        ("token", "cursor", r#"{"added":true}"#)
    );
    assert_eq!(Reader::open(home.path()).unwrap().verify().unwrap().broken, None);
}

#[test]
fn a_stopped_committer_says_so() {
    let home = tempfile::tempdir().unwrap();
    let desk = Desk::open(home.path());
    let Opened { mut ledger, committer, thread, .. } = desk.opened;
    thread.stop().unwrap();
    assert_eq!(committer.submit_and_wait(Job::ForgetServer("x".into())), Err(JobFault::Stopped));
    let (tell, told) = sync_channel(1);
    committer.submit(Job::ForgetServer("x".into()), Some(Box::new(move |result| tell.send(result).unwrap())));
    assert_eq!(told.recv().unwrap(), Err(JobFault::Stopped));
    let call = ledger.next_call();
    assert_eq!(ledger.push(&Entry::new(call, Kind::Intent, 1)), Due::Now);
    assert_eq!(ledger.flush(), Handed::Gone);
}

#[test]
fn a_resting_store_leaves_no_long_log_for_the_next_start() {
    let home = tempfile::tempdir().unwrap();
    let desk = Desk::open(home.path());
    for value in 0..40 {
        do_job(&desk, Job::Set { key: "n".into(), value: Some(value.to_string()), note: None });
    }
    let log = home.path().join(format!("{}-wal", crate::places::DATABASE));
    // Frames that are of the log's present turn: those a start has to read.
    let frames = || {
        let log = std::fs::read(&log).unwrap();
        let salts = &log[16..24];
        log[32..].chunks_exact(24 + 4096).take_while(|frame| frame[8..16] == *salts).count()
    };
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while frames() > 4 {
        assert!(std::time::Instant::now() < deadline, "the log is not emptied");
        std::thread::yield_now();
    }
    desk.crash();
    let desk = Desk::open(home.path());
    assert_eq!(desk.opened.kept.settings, [("n".to_owned(), "39".to_owned())]);
    desk.stop();
}

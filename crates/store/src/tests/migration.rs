//! A store of version 1, made by the program of that version, is carried over: `version_1/` holds its files.

use super::*;

fn version_1() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("run")).unwrap();
    let files: [(&str, &[u8]); 4] = [
        ("callgate.db", include_bytes!("version_1/callgate.db")),
        ("audit.key", include_bytes!("version_1/audit.key")),
        ("audit.anchor", include_bytes!("version_1/audit.anchor")),
        ("run/flight", include_bytes!("version_1/flight")),
    ];
    for (name, content) in files {
        std::fs::write(home.path().join(name), content).unwrap();
    }
    home
}

#[test]
fn everything_is_carried_over_and_the_log_stays_whole() {
    let home = version_1();
    let desk = Desk::open(home.path());
    let kept = &desk.opened.kept;
    assert_eq!((kept.catalogs.len(), kept.catalogs[0].server.as_str()), (1, "files"));
    assert_eq!((kept.catalogs[0].tools.as_deref(), &kept.catalogs[0].facts), (Some(&br#"[{"name":"a"}]"#[..]), &None));
    assert_eq!((kept.eras.len(), kept.eras[0].version.as_str()), (1, "2026-07-28"));
    assert_eq!(kept.settings, [("port".to_owned(), "8".to_owned())]);
    assert_eq!((kept.pins.len(), kept.grants.len()), (0, 0));
    // Two intents were open, the first with a flight mark.
    let recovered: Vec<_> = desk.opened.recovered.iter().map(|it| (it.call.to_string(), it.fate, it.state)).collect();
    assert_eq!(
        recovered,
        [
            ("c1-33".to_owned(), Fate::OutcomeUnknown, CallState::Unknown),
            ("c1-34".to_owned(), Fate::NotSent, CallState::Freed)
        ]
    );
    let unknown: Vec<_> = kept.calls.iter().map(|record| (record.call.to_string(), record.state)).collect();
    assert_eq!(unknown, [("c1-33".to_owned(), CallState::Unknown)]);
    assert!(desk.opened.has_gap && desk.opened.trust == Trust::Whole);
    do_job(&desk, Job::Chores);
    desk.stop();

    let reader = Reader::open(home.path()).unwrap();
    let findings = reader.verify().unwrap();
    assert_eq!((findings.broken, findings.rows), (None, 42));
    let rows = whole_log(home.path());
    assert_eq!(rows[1].item, "list_files");
    assert_eq!(rows[1].arguments[0][..16], *"path: string 3 B");
    assert_eq!((rows[31].kind.as_str(), rows[31].detail.as_str()), ("token", r#"{"added":true}"#));
    assert!(rows[32].item.starts_with("(4 B #"), "{}", rows[32].item);
    let count = |filter: Filter| reader.page(&filter, 1000).unwrap().len();
    assert_eq!(count(Filter { item: Some("list_files".into()), ..Filter::default() }), 10);
    assert_eq!(count(Filter { text: Some("added cursor".into()), ..Filter::default() }), 1);
}

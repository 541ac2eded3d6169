#![allow(clippy::unwrap_used)]
use super::book::{LAG, NOISE, STDERR, TAIL_BYTES};
use super::lines::LONGEST;
use super::*;
use rustix::pipe::{PipeFlags, pipe_with};
use std::fs;
use std::time::Duration;
use tempfile::TempDir;

fn logs() -> (TempDir, Logs) {
    let home = tempfile::tempdir().unwrap();
    let logs = Logs::open(&home.path().join("logs")).unwrap();
    (home, logs)
}

/// Writes all of it into a drained pipe, as fast as it goes, and waits for its end.
fn through(log: &ServerLog, pieces: impl Iterator<Item = Vec<u8>>) {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let ended = log.drain(read).unwrap();
    let mut write = std::fs::File::from(write);
    pieces.for_each(|piece| write.write_all(&piece).unwrap());
    drop(write);
    ended.blocking_recv().unwrap_err();
}

fn texts(lines: &[Line]) -> Vec<&str> {
    lines.iter().map(|line| &*line.text).collect()
}

#[test]
fn a_burst_with_bad_text_is_kept_whole() {
    let (home, logs) = logs();
    let log = logs.server("spam");
    let long = vec![b'x'; 200 << 10];
    let burst = [b"bad \xff\xfe\n".to_vec(), long.clone(), b"\n".to_vec(), vec![b'y'; 56 << 10], b"\nend\n".to_vec()];
    through(&log, burst.into_iter());
    let last = log.tail(1);
    assert_eq!(texts(&last), ["end"]);
    assert!(log.tail(usize::MAX).iter().map(|line| line.text.len()).sum::<usize>() <= TAIL_BYTES);
    drop((log, logs));
    let file = fs::read_to_string(home.path().join("logs/spam.log")).unwrap();
    assert!(file.contains("err bad \u{fffd}\u{fffd}\n") && file.ends_with(" err end\n"));
    assert_eq!(file.matches('x').count(), long.len());
    assert!(file.lines().all(|line| line.len() <= LONGEST + 64));
}

#[test]
fn an_endless_line_is_drained_in_bounded_memory() {
    let (home, logs) = logs();
    let log = logs.server("flood");
    // 64 MiB without a line end, then last words.
    through(&log, (0..1024).map(|_| vec![b'z'; 64 << 10]).chain([b"\nwhy it died".to_vec()]));
    let lines = log.tail(usize::MAX);
    assert!(lines.iter().map(|line| line.text.len()).sum::<usize>() <= TAIL_BYTES);
    assert_eq!(&*lines.last().unwrap().text, "why it died");
    assert!(lines.iter().any(|line| line.source == Source::Hub && line.text.contains("bytes of stderr dropped")));
    drop((log, logs));
    let size = fs::read_dir(home.path().join("logs")).unwrap().map(|file| file.unwrap().metadata().unwrap().len());
    assert!(size.sum::<u64>() < STDERR.0 * 2);
}

#[test]
fn one_flood_does_not_hold_up_another_server() {
    let (_home, logs) = logs();
    let (loud, quiet) = (logs.server("loud"), logs.server("quiet"));
    let (read, write) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let ended = loud.drain(read).unwrap();
    let flood = std::thread::spawn(move || {
        let mut write = std::fs::File::from(write);
        while write.write_all(&[b'\n'; 4096]).is_ok() && Arc::strong_count(&loud.book) > 0 {
            if loud.tail(1).first().is_some_and(|line| &*line.text == "stop") {
                return;
            }
        }
    });
    through(&quiet, [b"here\n".to_vec()].into_iter());
    assert_eq!(texts(&quiet.tail(9)), ["here"]);
    logs.server("loud").say("stop");
    // It floods on until it happens to see that word as the last one.
    while !flood.is_finished() {
        logs.server("loud").say("stop");
    }
    flood.join().unwrap();
    ended.blocking_recv().unwrap_err();
}

#[test]
fn noise_is_kept_in_part_and_counted() {
    let (_home, logs) = logs();
    let log = logs.server("noisy");
    let start = Instant::now();
    for number in 0..NOISE.0 + 50 {
        log.book.note(format!("line {number}\r\n").as_bytes(), start);
    }
    assert_eq!(log.book.page().tail.len() as u64, NOISE.0);
    log.book.note(&vec![b'n'; 3 * LONGEST], start + Duration::from_secs(5));
    let lines = log.tail(2);
    assert_eq!(&*lines[0].text, "50 more lines on stdout that were no messages");
    assert!(lines[1].text.ends_with('\u{2026}') && lines[1].text.len() < LONGEST + 8);
    assert!(log.last_heard().is_some());
}

#[test]
fn followers_miss_and_double_nothing() {
    let (_home, logs) = logs();
    let log = logs.server("a");
    log.say("one");
    log.say("two");
    let (last, mut live) = log.follow(1);
    log.say("three");
    assert_eq!(texts(&last), ["two"]);
    assert_eq!(&*live.try_recv().unwrap().text, "three");
    assert!(live.try_recv().is_err());
    (0..2 * LAG).for_each(|number| log.say(&number.to_string()));
    assert!(matches!(live.try_recv(), Err(broadcast::error::TryRecvError::Lagged(missed)) if missed >= LAG as u64));
}

#[test]
fn files_outlive_the_hub_and_are_read_back() {
    let home = tempfile::tempdir().unwrap();
    let open = || Logs::bounded(&home.path().join("logs"), Bounds { size: 256, old: 1 }).unwrap();
    for round in 0..3 {
        let logs = open();
        let log = logs.server("a");
        (0..4).for_each(|number| log.say(&format!("{round} {number} \u{1b}[31m")));
    }
    let logs = open();
    let back = logs.server("a").read_back(5).unwrap();
    assert_eq!(back.len(), 5);
    assert!(back[0].ends_with("hub 1 3 \\x1b[31m") && back[4].ends_with("hub 2 3 \\x1b[31m"), "{back:?}");
    assert!(logs.server("b").read_back(5).unwrap().is_empty());
}

#[test]
fn a_file_that_cannot_be_written_is_told_and_the_rest_goes_on() {
    let (home, logs) = logs();
    std::os::unix::fs::symlink("/dev/null", home.path().join("logs/a.log")).unwrap();
    let (bad, good) = (logs.server("a"), logs.server("b"));
    bad.say("lost");
    good.say("kept");
    assert_eq!(texts(&bad.tail(1)), ["lost"]);
    let book = bad.book.clone();
    drop((bad, good, logs));
    assert!(fs::read_to_string(home.path().join("logs/b.log")).unwrap().ends_with("hub kept\n"));
    assert_eq!(book.unwritten.load(Ordering::Relaxed), 1);
    assert!(book.page().trouble.is_some());
}

#[test]
fn any_name_makes_a_file_name() {
    for (name, expect) in [("files", Some("files")), ("a.b-c_D9", Some("a.b-c_D9")), ("callgate", None), ("..", None)] {
        assert_eq!(Some(stem(name).as_str()).filter(|stem| *stem == name), expect, "{name}");
    }
    for name in ["", "..", "a/b", "../../etc/passwd", ".hidden", "Callgate", &"x".repeat(200), "\u{e9}\0\n"] {
        let stem = stem(name);
        assert!(stem.len() < 80 && !stem.contains(['/', '\0', '.']), "{stem}");
    }
    assert_ne!(stem("a/b"), stem("a:b"));
}

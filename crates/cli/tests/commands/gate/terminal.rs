//! What needs a terminal, in a real one: the screen of the queue, and the PIN.

use super::tmux::Tmux;
use super::{Gate, waiting};
use insta::assert_snapshot;
use operator::words::*;

const ORDER: &str = "{\"item\": \"blue widget\", \"count\": 3, \"note\": \"for\\n\u{202e}yadrutas\"}";
const BINARY: &str = env!("CARGO_BIN_EXE_callgate");

fn three() -> Vec<ApprovalDetail> {
    let mut all = vec![
        waiting("c1-7", "shop__place_order", ORDER),
        waiting("c1-8", "notes__add", "{\"text\": \"hello\"}"),
        waiting("c1-9", "mail__send", "{\"to\": \"ann@example.com\"}"),
    ];
    for (at, item) in all.iter_mut().enumerate() {
        item.approval.asked_ms += at as u64;
    }
    all
}

/// The screen once it has read the queue, then what the shell after it sees of its end.
fn watch(gate: &Gate, size: (u16, u16), env: &[(&str, &str)]) -> Tmux {
    let modes = "stty -a | tr ' ;' '\\n\\n' | grep -x -e echo -e icanon -e isig | tr '\\n' ' '";
    let script = format!("{BINARY} approval watch; echo \"left with $?\"; {modes}; echo; read line");
    let tmux = Tmux::run(size, gate.home.path(), env, &script);
    tmux.shows("● live");
    // It hears the hub before it has read the queue; what is not read yet can't be told about.
    tmux.shows(&format!("{} waiting", gate.door.queue().items.len()));
    tmux
}

/// The screen with what depends on the time of the day taken out.
fn timeless(seen: &str) -> String {
    let line = |line: &str| {
        let mut line = line.to_owned();
        if let Some(at) = line.find(" left ") {
            line.replace_range(at - 5..at, "MM:SS");
        }
        if let Some(at) = line.find("asked    ") {
            line.replace_range(at + 9..at + 23, "MM-DD HH:MM:SS");
        }
        line.trim_end().to_owned()
    };
    seen.trim_end().lines().map(line).collect::<Vec<_>>().join("\n")
}

fn decision(id: &str, kind: DecisionKind) -> Decision {
    Decision {
        id: id.into(),
        call: id.into(),
        kind,
        by: "the window".into(),
        at_ms: 1_796_032_800_000,
        remember: None,
        reason: Some("not this week".into()),
        edited: false,
    }
}

#[test]
fn the_queue_on_a_real_screen() {
    let gate = Gate::with(three());
    let tmux = watch(&gate, (80, 24), &[]);
    tmux.ready();
    assert_snapshot!("screen_80x24", timeless(&tmux.seen()));
    tmux.resize((120, 40));
    tmux.shows("│─ c1-7");
    tmux.keys(&["j"]);
    tmux.shows("\"hello\"");
    tmux.ready();
    assert_snapshot!("screen_120x40", timeless(&tmux.seen()));
    tmux.resize((40, 12));
    tmux.until("a small screen", |seen| !seen.contains('│') && seen.contains("─ c1-8"));
    assert_snapshot!("screen_40x12", timeless(&tmux.seen()));
    tmux.keys(&["q"]);
    tmux.shows("left with 0");
    tmux.shows("isig icanon echo");
    assert_eq!((tmux.word("alternate_on"), tmux.word("cursor_flag")), ("0".into(), "1".into()));
}

/// Characters of which this terminal thinks otherwise than we, by themselves and in long runs.
#[test]
fn nothing_of_one_call_stays_on_the_card_of_another() {
    let family = "👨\u{200D}👩\u{200D}👧\u{200D}👦".repeat(60);
    let odd = format!(
        "\u{600}\u{600}x\u{6DD} ⚠\u{FE0F} 👍🏽 🇩🇪 \u{1F1E6} 1\u{FE0F}\u{20E3} क्षि नि \u{E000} لا ㇀ ﷽ {family} end"
    );
    let arguments = serde_json::json!({ "a": odd, &odd: 1 }).to_string();
    let mut all = vec![
        waiting("c1-7", "shop__place_order", &arguments),
        waiting("c1-8", "notes__add", "{\"text\": \"hello\"}"),
        waiting("c1-9", "mail__send", &format!("{{\"to\": \"{}\"}}", "ann@example.com ".repeat(200))),
    ];
    for (at, item) in all.iter_mut().enumerate() {
        item.approval.asked_ms += at as u64;
        item.approval.client = format!("{at} 👨\u{200D}👩 ⚠\u{FE0F}\u{FE0F} क्षि");
    }
    let gate = Gate::with(all);
    for size in [(80, 24), (120, 30)] {
        let tmux = watch(&gate, size, &[]);
        for key in ["j", "k", "j", "j", "k", "k", "j"] {
            let before = tmux.seen();
            tmux.keys(&[key]);
            tmux.until("another card", |seen| timeless(seen) != timeless(&before));
            let moved = tmux.still(timeless);
            // Everything anew, over a screen that was emptied.
            tmux.keys(&["C-l"]);
            assert_eq!(moved, tmux.still(timeless), "{key}");
        }
    }
}

#[test]
fn keys_decide_one_call_each() {
    let gate = Gate::with(three());
    let tmux = watch(&gate, (80, 24), &[]);
    tmux.ready();
    tmux.types("aaaaaaaaaa");
    tmux.shows("2 waiting");
    tmux.ready();
    tmux.types("d");
    tmux.shows("Why not?");
    tmux.types("not now");
    tmux.shows("not now");
    // The Enter that comes at once is not meant for this.
    tmux.until("the line to be ready", |_| tmux.painted().contains("\u{1b}[1m Enter\u{1b}[2m deny"));
    tmux.keys(&["Enter"]);
    tmux.shows("1 waiting");
    tmux.ready();
    tmux.types("t");
    tmux.shows("Nothing waits for a person.");
    let sent: Vec<Approve> =
        gate.asked("approval.approve").iter().map(|it| serde_json::from_str(it).unwrap()).collect();
    let sent: Vec<_> = sent.iter().map(|it| (it.id.as_str(), it.remember, it.args.is_some())).collect();
    assert_eq!(sent, [("c1-7", Some(Scope::Once), false), ("c1-9", Some(Scope::Tool), false)]);
    let denied: Deny = serde_json::from_str(&gate.asked("approval.deny")[0]).unwrap();
    assert_eq!((denied.id.as_str(), denied.reason.as_deref()), ("c1-8", Some("not now")));
}

#[test]
fn somebody_else_decides_and_the_hub_goes_and_comes() {
    let mut gate = Gate::with(three());
    let tmux = watch(&gate, (100, 24), &[]);
    gate.door.decide(decision("c1-7", DecisionKind::Denied));
    tmux.shows("shop__place_order was denied by the window at");
    tmux.shows("2 waiting");
    gate.door.go();
    tmux.shows("✗ no hub for");
    tmux.types("a");
    tmux.shows("The hub is not there: nothing can be decided.");
    gate.door.queue().items.remove(0);
    gate.door.come();
    tmux.shows("● live");
    let seen = tmux.shows("1 waiting");
    assert!(seen.contains("The hub is back."), "{seen}");
    gate.door.change(|queue| queue.items.push(waiting("c2-1", "files__delete", "{}")));
    tmux.shows("files__delete");
}

#[test]
fn a_thousand_calls() {
    let one = |at: u64| {
        let mut item = waiting(&format!("c1-{at}"), "shop__place_order", ORDER);
        item.approval.asked_ms += at;
        item
    };
    let gate = Gate::with((0..1000).map(one).collect());
    let tmux = watch(&gate, (80, 24), &[]);
    tmux.types("G");
    tmux.shows("─ c1-999 shop__place_order");
    tmux.types(&"k".repeat(500));
    tmux.shows("─ c1-499 shop__place_order");
    tmux.types("/c1-73");
    tmux.keys(&["Enter"]);
    tmux.shows("/c1-73");
    tmux.types("G");
    tmux.shows("─ c1-739 shop__place_order");
}

#[test]
fn arguments_are_edited_in_the_persons_editor() {
    let gate = Gate::with(three());
    let editor = "sh -c 'kill -INT $PPID; sed -i \"s/blue/red/\" \"$1\"; echo $1 > ~/where; stat -c %a ~/run/edit-* > ~/mode' ed";
    let tmux = watch(&gate, (80, 24), &[("EDITOR", editor)]);
    tmux.ready();
    tmux.types("e");
    tmux.shows("Edited arguments, not sent yet");
    tmux.shows("red widget");
    let mode = std::fs::read_to_string(gate.home.path().join("mode")).unwrap();
    let path = std::fs::read_to_string(gate.home.path().join("where")).unwrap();
    assert_eq!(mode, "700\n");
    assert!(!std::path::Path::new(path.trim()).parent().unwrap().exists(), "{path}");
    gate.door.queue().unfit = Some("/count: is not a number".into());
    tmux.ready();
    tmux.types("a");
    tmux.shows("/count: is not a number");
    tmux.types("e");
    tmux.shows("Nothing was changed.");
    gate.door.queue().unfit = None;
    tmux.ready();
    tmux.types("a");
    tmux.shows("2 waiting");
    let sent: Approve = serde_json::from_str(gate.asked("approval.approve").last().unwrap()).unwrap();
    let expect = "{\n  \"item\": \"red widget\",\n  \"count\": 3,\n  \"note\": \"for\\n\\u202eyadrutas\"\n}";
    assert_eq!((sent.args.as_deref(), sent.digest), (Some(expect), three()[0].approval.digest.clone()));
}

#[test]
fn the_terminal_is_given_back_on_a_signal_and_for_a_while() {
    for signal in ["TERM", "INT", "HUP"] {
        let gate = Gate::with(three());
        let tmux = watch(&gate, (80, 24), &[]);
        let status = std::process::Command::new("pkill")
            .args([&format!("-{signal}"), "-P", &tmux.word("pane_pid"), "-f", "approval watch"])
            .status();
        assert!(status.unwrap().success());
        tmux.shows("left with 0");
        tmux.shows("isig icanon echo");
        assert_eq!(tmux.word("alternate_on"), "0");
    }
    let gate = Gate::with(three());
    let tmux = Tmux::run((80, 24), gate.home.path(), &[], "exec bash --norc -i");
    tmux.types(&format!("PS1='ready '; {BINARY} approval watch\n"));
    tmux.shows("● live");
    tmux.keys(&["C-z"]);
    tmux.shows("Stopped");
    tmux.types("fg\n");
    tmux.shows("● live");
    tmux.ready();
    tmux.types("a");
    tmux.shows("2 waiting");
}

#[test]
fn without_colour_nothing_is_coloured() {
    let gate = Gate::with(three());
    let coloured = |painted: &str| {
        let codes = painted.split("\u{1b}[").skip(1).filter_map(|piece| piece.split_once('m'));
        codes.flat_map(|(code, _)| code.split(';')).any(|code| ["31", "32", "33", "38"].contains(&code))
    };
    let plain = watch(&gate, (80, 24), &[("NO_COLOR", "1")]);
    plain.ready();
    let painted = plain.painted();
    assert!(!coloured(&painted), "{painted:?}");
    let tmux = watch(&gate, (80, 24), &[]);
    tmux.ready();
    let painted = tmux.painted();
    assert!(coloured(&painted), "{painted:?}");
}

#[test]
fn the_pin_is_typed_and_does_not_show() {
    let gate = Gate::with(three());
    let script = |line: &str| format!("{BINARY} {line}; echo \"left with $?\"; stty -a | grep -o ' echo '; read line");
    let tmux = Tmux::run((80, 24), gate.home.path(), &[], &script("approval pin"));
    tmux.shows("New PIN:");
    tmux.types("47x\u{7f}11");
    tmux.keys(&["Enter"]);
    tmux.shows("New PIN once more:");
    tmux.types("4711");
    tmux.keys(&["Enter"]);
    let seen = tmux.shows("left with 0");
    assert!(seen.contains("The PIN is set: decisions need it.") && !seen.contains("47"), "{seen}");
    assert_eq!(gate.door.queue().pin.as_deref(), Some("4711"));

    let tmux = Tmux::run((80, 24), gate.home.path(), &[], &script("approval approve c1-7 < /dev/null"));
    tmux.shows("PIN:");
    tmux.types("0000");
    tmux.keys(&["Enter"]);
    tmux.shows("This is not the PIN; 4 tries are left. PIN:");
    tmux.types("4711");
    tmux.keys(&["Enter"]);
    let seen = tmux.shows("left with 0");
    assert!(seen.contains("Approved for this call") && !seen.contains("4711") && !seen.contains("0000"), "{seen}");
    tmux.shows("\n echo");

    let tmux = Tmux::run((80, 24), gate.home.path(), &[], &script("approval deny c1-8"));
    tmux.shows("PIN:");
    tmux.types("47");
    tmux.keys(&["C-c"]);
    let seen = tmux.shows("left with 1");
    assert!(seen.contains("callgate: nothing was done"), "{seen}");
    tmux.shows("\n echo");

    let tmux = watch(&gate, (80, 24), &[]);
    tmux.ready();
    tmux.types("a");
    tmux.shows("PIN:");
    tmux.types("4711");
    tmux.shows("PIN: ••••");
    tmux.keys(&["Enter"]);
    tmux.shows("1 waiting");
}

#[test]
fn where_there_is_no_terminal_it_says_so() {
    let gate = Gate::with(three());
    let run = gate.home.run(&["approval", "watch"]);
    assert!(run.code == 2 && run.err.contains("the screen needs a terminal"), "{}", run.err);
    assert_eq!(gate.home.run(&["approval", "watch", "--json"]).code, 2);
    let home = crate::fake::Home::new();
    let tmux =
        Tmux::run((80, 24), home.path(), &[], &format!("{BINARY} approval watch; echo \"left with $?\"; read line"));
    assert!(tmux.shows("left with 3").contains("no hub is running"));
}

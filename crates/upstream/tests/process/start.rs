//! What a started program finds, and what is said when it cannot be started.

use crate::stage::{Running, Stage, Tests, local, program, shell};
use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use upstream::launch::{Exit, LaunchFault};

pub fn all() -> Tests {
    vec![
        ("start::environment_is_what_was_given", environment_is_what_was_given),
        ("start::descriptors_are_three", descriptors_are_three),
        ("start::signals_are_as_at_login", signals_are_as_at_login),
        ("start::arguments_pass_unchanged", arguments_pass_unchanged),
        ("start::own_group_without_terminal", own_group_without_terminal),
        ("start::pipes_do_not_block_us", pipes_do_not_block_us),
        ("start::reasons", reasons),
        ("start::unfit_text_is_refused", unfit_text_is_refused),
        ("start::fifty_at_once", fifty_at_once),
        ("start::a_flood_on_stderr_does_not_hold_up_the_answer", a_flood_on_stderr_does_not_hold_up_the_answer),
    ]
}

fn environment_is_what_was_given() {
    local(async {
        let stage = Stage::new();
        let mut launch = program("/usr/bin/env", &[]);
        launch.env = vec![("A".into(), "1 2".into()), ("CALLGATE_INSTANCE".into(), "forged".into())];
        let mut running = Running::new(stage.launcher.spawn(launch).await.unwrap());
        let mut lines = Vec::new();
        while let Some(line) = running.lines.next_line().await.unwrap() {
            lines.push(line);
        }
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(lines[0], "A=1 2");
        let mark = lines[1].strip_prefix("CALLGATE_INSTANCE=").unwrap();
        assert!(mark.ends_with("-1") && !mark.contains("forged"), "{mark}");
    });
}

fn descriptors_are_three() {
    // One that is open in this process without being close-on-exec, as a careless starter leaves it.
    let leak = tempfile::tempfile().unwrap();
    rustix::io::fcntl_setfd(&leak, rustix::io::FdFlags::empty()).unwrap();
    local(async {
        let stage = Stage::new();
        let script = "n=3; while [ $n -lt 256 ]; do [ -e /proc/$$/fd/$n ] && printf '%s ' $n; n=$((n+1)); done; echo;
            for n in 0 1 2; do readlink /proc/$$/fd/$n; done";
        let mut running = stage.sh(script).await;
        assert_eq!(running.line().await, "", "beyond 0, 1 and 2");
        let mut pipes = BTreeSet::new();
        for _ in 0..3 {
            let link = running.line().await;
            assert!(link.starts_with("pipe:"), "{link}");
            pipes.insert(link);
        }
        assert_eq!(pipes.len(), 3);
    });
    drop(leak);
}

fn signals_are_as_at_login() {
    local(async {
        let stage = Stage::new();
        let mut running = stage.sh("grep -E '^Sig(Blk|Ign)' /proc/self/status").await;
        for _ in 0..2 {
            let line = running.line().await;
            // The two above 31 are the C library's own; whoever started the tests may have them ignored.
            let bits = u64::from_str_radix(line.split_once('\t').unwrap().1, 16).unwrap();
            assert_eq!(bits & 0x7fff_ffff, 0, "{line}");
        }
    });
}

fn arguments_pass_unchanged() {
    local(async {
        let stage = Stage::new();
        let args = ["--output=/tmp/x", "; rm", "$(id)", "a\nb", "", "%PATH%", "ü\u{1F600}", "*"];
        let script = ["-c", "for a in \"$@\"; do printf '<%s>' \"$a\"; done; echo; echo END", "sh"];
        let all: Vec<&str> = script.iter().chain(&args).copied().collect();
        let mut running = Running::new(stage.launcher.spawn(program("/bin/sh", &all)).await.unwrap());
        let mut text = String::new();
        loop {
            let line = running.line().await;
            if line == "END" {
                break;
            }
            text += &line;
            text += "\n";
        }
        let expect: String = args.iter().map(|arg| format!("<{arg}>")).collect();
        assert_eq!(text, expect + "\n");
        assert_eq!(running.tree.exited().await, Exit::Code(0));
    });
}

fn own_group_without_terminal() {
    local(async {
        let stage = Stage::new();
        let mut running = stage.sh("cut -d' ' -f5,6,7 /proc/$$/stat; read x").await;
        let line = running.line().await;
        let fields: Vec<i32> = line.split(' ').map(|field| field.parse().unwrap()).collect();
        let guard = stage.launcher.guard().unwrap() as i32;
        assert_eq!(fields, [running.tree.pid(), guard, 0], "group, session, terminal");
    });
}

fn pipes_do_not_block_us() {
    local(async {
        let stage = Stage::new();
        let child = stage.launcher.spawn(shell("cat")).await.unwrap();
        for end in [&child.stdin, &child.stdout, &child.stderr] {
            assert!(rustix::fs::fcntl_getfl(end).unwrap().contains(rustix::fs::OFlags::NONBLOCK));
            assert!(rustix::io::fcntl_getfd(end).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
        }
        assert_eq!(child.capacity.stdin, rustix::pipe::fcntl_getpipe_size(&child.stdin).unwrap());
        assert!(child.capacity.stdout >= 64 << 10);
        drop(child.stdin);
        assert_eq!(child.tree.exited().await, Exit::Code(0));
        child.tree.gone().await;
    });
}

fn reasons() {
    local(async {
        let stage = Stage::new();
        let home = stage.home.path();
        let file = |name: &str, text: &str, mode: u32| {
            let path = home.join(name);
            let mut file = std::fs::File::create(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            file.set_permissions(std::fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        let plain = file("plain", "x", 0o600);
        let lost = file("lost", "#!/no/such/interpreter\n", 0o700);
        let noise = file("noise", "\u{7f}no program", 0o700);

        let spawn = async |program: &Path, cwd: &Path| {
            let mut launch = shell("");
            launch.program = program.to_owned();
            launch.cwd = cwd.to_owned();
            stage.launcher.spawn(launch).await.unwrap_err()
        };
        let sh = Path::new("/bin/sh");
        assert!(matches!(spawn(&home.join("none"), home).await, LaunchFault::Program(..)));
        assert!(matches!(spawn(&plain, home).await, LaunchFault::Program(..)));
        assert!(matches!(spawn(&noise, home).await, LaunchFault::Program(..)));
        assert!(matches!(spawn(home, home).await, LaunchFault::Program(..)));
        assert!(matches!(spawn(&lost, home).await, LaunchFault::Interpreter(..)));
        let fault = spawn(sh, &home.join("none")).await;
        assert!(matches!(fault, LaunchFault::Cwd(..)));
        assert!(fault.to_string().contains("none"));
        assert!(matches!(spawn(sh, &plain).await, LaunchFault::Cwd(..)));
        // A folder that is missing is told even if the program is missing too; the guard goes on.
        assert!(matches!(spawn(&home.join("x"), &home.join("none")).await, LaunchFault::Cwd(..)));
        assert_eq!(stage.sh("exit 3").await.tree.exited().await, Exit::Code(3));
        assert_eq!(stage.sh("kill -9 $$").await.tree.exited().await, Exit::Signal(9));
    });
}

fn unfit_text_is_refused() {
    local(async {
        let stage = Stage::new();
        let check = async |change: fn(&mut upstream::launch::Launch)| {
            let mut launch = shell("");
            change(&mut launch);
            let fault = stage.launcher.spawn(launch).await.unwrap_err();
            assert!(matches!(fault, LaunchFault::Unfit(_)), "{fault:?}");
        };
        check(|launch| launch.args.push("a\0b".into())).await;
        check(|launch| launch.env.push(("A".into(), "\0".into()))).await;
        check(|launch| launch.env.push(("A=B".into(), "".into()))).await;
        check(|launch| launch.env.push(("".into(), "".into()))).await;
        check(|launch| launch.program = "sh".into()).await;
        check(|launch| launch.cwd = ".".into()).await;
        let mut launch = shell("");
        launch.args = vec!["x".repeat(5 << 20).into()];
        assert!(matches!(stage.launcher.spawn(launch).await, Err(LaunchFault::TooLong)));
        // Within our frame, but over the system's limit for one argument.
        let mut launch = shell("");
        launch.args = vec!["x".repeat(1 << 20).into()];
        assert!(matches!(stage.launcher.spawn(launch).await, Err(LaunchFault::TooLong)));
    });
}

fn fifty_at_once() {
    local(async {
        let stage = Stage::new();
        let starts = (0..50).map(|number| {
            let launcher = stage.launcher.clone();
            let script = format!("read line; echo {number} $line; exit {number}");
            upstream::task::spawn("test", async move { launcher.spawn(shell(&script)).await.unwrap() })
        });
        let starts: Vec<_> = starts.collect();
        for (number, start) in starts.into_iter().enumerate() {
            let mut running = Running::new(start.await.unwrap());
            let stdin = running.stdin.take().unwrap();
            rustix::io::write(&stdin, format!("word{number}\n").as_bytes()).unwrap();
            assert_eq!(running.line().await, format!("{number} word{number}"));
            assert_eq!(running.tree.exited().await, Exit::Code(number as i32));
            running.tree.gone().await;
        }
    });
}

fn a_flood_on_stderr_does_not_hold_up_the_answer() {
    local(async {
        let stage = Stage::new();
        let logs = upstream::logs::Logs::open(&stage.home.path().join("logs")).unwrap();
        let log = logs.server("spam");
        let script = "dd if=/dev/zero bs=1024 count=256 2>/dev/null >&2; printf '\\377\\n%0204800d\\nlast\\n' 1 >&2; echo answer";
        let child = stage.launcher.spawn(shell(script)).await.unwrap();
        let (mut running, stderr) = Running::apart(child);
        let ended = log.drain(stderr).unwrap();
        assert_eq!(running.line().await, "answer");
        ended.await.unwrap_err();
        assert_eq!(&*log.tail(1)[0].text, "last");
    });
}

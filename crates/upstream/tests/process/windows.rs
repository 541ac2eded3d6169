//! Windows: what a job holds, it ends. Type-checked; waits for its first run by the CI file for that system.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::timeout;
use upstream::launch::{Child, Exit, Launch, LaunchFault, Launcher, Patience, Step, stop_ladder};

/// The longest that anything may take.
const LIMIT: Duration = Duration::from_secs(20);

pub fn all() -> Vec<(&'static str, fn())> {
    vec![
        ("windows::what_it_says_arrives_and_its_code_is_told", what_it_says_arrives_and_its_code_is_told),
        ("windows::a_deaf_family_is_ended_whole", a_deaf_family_is_ended_whole),
        ("windows::a_dropped_handle_ends_the_tree", a_dropped_handle_ends_the_tree),
        ("windows::a_batch_file_gets_no_argument_that_is_a_command", a_batch_file_gets_no_argument_that_is_a_command),
    ]
}

fn run(story: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let limited = async { timeout(LIMIT, story).await.expect("too slow") };
    tokio::task::LocalSet::new().block_on(&runtime, limited);
}

fn system_folder() -> PathBuf {
    PathBuf::from(std::env::var_os("SystemRoot").unwrap()).join("System32")
}

fn launch(program: PathBuf, args: &[&str], cwd: &Path) -> Launch {
    let env = ["SystemRoot", "COMSPEC", "PATH"].map(|name| (name.into(), std::env::var_os(name).unwrap_or_default()));
    Launch { program, args: args.iter().map(OsString::from).collect(), env: env.into(), cwd: cwd.into() }
}

async fn cmd(launcher: &Launcher, script: &str) -> Child {
    launcher.spawn(launch(system_folder().join("cmd.exe"), &["/d", "/c", script], &system_folder())).await.unwrap()
}

fn launcher() -> Launcher {
    Launcher::start(Path::new(""), Path::new(""), None, Past::Unknown).unwrap()
}

async fn said(child: &Child, text: &str) {
    let mut heard = Vec::new();
    while !String::from_utf8_lossy(&heard).contains(text) {
        child.stdout.readable().await.unwrap();
        match child.stdout.try_read_buf(&mut heard) {
            Ok(0) => panic!("it ended without {text}"),
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
        }
    }
}

fn what_it_says_arrives_and_its_code_is_told() {
    run(async {
        let child = cmd(&launcher(), "echo hello& exit 7").await;
        said(&child, "hello").await;
        assert_eq!(child.tree.exited().await, Exit::Code(7));
        child.tree.gone().await;
    });
}

fn a_deaf_family_is_ended_whole() {
    run(async {
        let launcher = launcher();
        // The program and a grandchild that reads no input.
        let Child { stdin, stdout: _stdout, stderr: _stderr, tree, .. } =
            cmd(&launcher, "ping -n 600 127.0.0.1 >nul").await;
        assert!(tree.owns(tree.pid()).await);
        assert!(!tree.owns(std::process::id().cast_signed()).await);
        drop(stdin);
        let short = Duration::from_millis(200);
        let patience = Patience { close: short, offspring: short, ..Patience::default() };
        assert_eq!(stop_ladder(&tree, patience).await.step, Step::Terminated);
        assert!(launcher.close(LIMIT).await);
    });
}

fn a_dropped_handle_ends_the_tree() {
    run(async {
        let launcher = launcher();
        let child = cmd(&launcher, "echo up& ping -n 600 127.0.0.1 >nul").await;
        said(&child, "up").await;
        let tree = child.tree.clone();
        tree.kill();
        tree.gone().await;
        drop((child, tree));
        assert!(launcher.close(LIMIT).await);
    });
}

fn a_batch_file_gets_no_argument_that_is_a_command() {
    run(async {
        let home = tempfile::tempdir().unwrap();
        let batch = home.path().join("tool.cmd");
        std::fs::write(&batch, "@echo got %1\r\n").unwrap();
        let launcher = launcher();
        let mut fit = launch(batch.clone(), &["a&b"], home.path());
        said(&launcher.spawn(fit.clone()).await.unwrap(), "got \"a&b\"").await;
        fit.args = vec!["a\r\nb".into()];
        assert!(matches!(launcher.spawn(fit).await, Err(LaunchFault::Unfit(_))));
    });
}

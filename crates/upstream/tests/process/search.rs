//! Commands that a terminal would find are found from a bare PATH too, and what is not found is told in full.

use crate::stage::{LONG, Stage, Tests, local};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use upstream::search_path::{Search, SearchFault};

pub fn all() -> Tests {
    vec![
        ("search::a_bare_path_asks_the_login_shell_once", a_bare_path_asks_the_login_shell_once),
        ("search::well_known_folders_help_without_a_shell", well_known_folders_help_without_a_shell),
        ("search::a_shell_that_hangs_or_talks", a_shell_that_hangs_or_talks),
        ("search::nothing_found_is_told_in_full", nothing_found_is_told_in_full),
        ("search::paths_and_declared_path", paths_and_declared_path),
    ]
}

fn tool(path: &Path) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    path.to_owned()
}

fn search(stage: &Stage, path: &str, shell: &str) -> Search {
    let env: BTreeMap<OsString, OsString> =
        [("PATH", path.into()), ("HOME", stage.home.path().as_os_str().to_owned()), ("SHELL", shell.into())]
            .into_iter()
            .map(|(name, value)| (name.into(), value))
            .collect();
    Search::new(stage.launcher.clone(), env, LONG)
}

fn a_bare_path_asks_the_login_shell_once() {
    local(async {
        let stage = Stage::new();
        let home = stage.home.path();
        let npx = tool(&home.join("own versions/bin/callgate-npx"));
        let folder = npx.parent().unwrap().display().to_string();
        let profile =
            format!("echo welcome; echo oops >&2; echo x >> '{}/runs'; PATH='{folder}':$PATH\n", home.display());
        fs::write(home.join(".bash_profile"), profile).unwrap();
        let search = search(&stage, "/usr/bin:/bin", "/bin/bash");
        for _ in 0..3 {
            let found = search.resolve("callgate-npx", home, None).await.unwrap();
            assert_eq!(found.program, npx);
            assert!(found.path.to_str().unwrap().starts_with(&format!("{folder}:")), "{:?}", found.path);
        }
        // A program of the system, too, gets the PATH of the terminal.
        let found = search.resolve("sh", home, None).await.unwrap();
        assert!(found.path.to_str().unwrap().starts_with(&folder));
        assert_eq!(fs::read_to_string(home.join("runs")).unwrap(), "x\n", "once");
    });
}

fn well_known_folders_help_without_a_shell() {
    local(async {
        let stage = Stage::new();
        let home = stage.home.path();
        let npx = tool(&home.join(".nvm/versions/node/v22.1.0/bin/callgate-npx"));
        for shell in ["", "nu", "/no/such/bash"] {
            let found = search(&stage, "/usr/bin:/bin", shell).resolve("callgate-npx", home, None).await.unwrap();
            assert_eq!(found.program, npx, "{shell}");
            assert!(found.path.to_str().unwrap().starts_with(npx.parent().unwrap().to_str().unwrap()));
        }
    });
}

fn a_shell_that_hangs_or_talks() {
    local(async {
        let stage = Stage::new();
        let home = stage.home.path();
        let npx = tool(&home.join(".local/bin/callgate-npx"));
        let shell = home.join("bash");
        for body in
            ["exec sleep 1000", "cat /dev/zero", "cat /dev/zero >&2", "read x; exit 1", "setsid sleep 1000 & wait"]
        {
            tool(&shell);
            fs::write(&shell, format!("#!/bin/sh\n{body}\n")).unwrap();
            let mut env = BTreeMap::new();
            env.insert("HOME".into(), home.as_os_str().to_owned());
            env.insert("SHELL".into(), shell.as_os_str().to_owned());
            env.insert("PATH".into(), "/usr/bin:/bin".into());
            let search = Search::new(stage.launcher.clone(), env, Duration::from_millis(300));
            let began = Instant::now();
            assert_eq!(search.resolve("callgate-npx", home, None).await.unwrap().program, npx, "{body}");
            assert!(began.elapsed() < LONG, "{body}");
        }
    });
}

fn nothing_found_is_told_in_full() {
    local(async {
        let stage = Stage::new();
        let home = stage.home.path();
        let open = home.join("open");
        tool(&open.join("npx"));
        fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
        let search = search(&stage, &format!("{}::relative:/usr/sbin", open.display()), "tcsh");
        let fault = search.resolve("callgate-none", home, None).await.unwrap_err();
        let text = fault.to_string();
        for part in ["callgate-none was not found", "/usr/sbin", "anyone may write there", "open", "tcsh", "full path"]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains("relative"));
        assert_eq!(search.resolve("", home, None).await, Err(SearchFault::Empty));
    });
}

fn paths_and_declared_path() {
    local(async {
        let stage = Stage::new();
        let home = stage.home.path();
        let server = tool(&home.join("work/server"));
        let search = search(&stage, "/usr/bin:/opt", "");
        let work = home.join("work");
        assert_eq!(search.resolve("./server", &work, None).await.unwrap().program.canonicalize().unwrap(), server);
        assert_eq!(search.resolve(server.to_str().unwrap(), home, None).await.unwrap().program, server);
        let none = search.resolve("./none", &work, None).await.unwrap_err();
        assert_eq!(none, SearchFault::NoneThere { command: "./none".into(), folder: work.clone() });
        assert!(none.to_string().contains(&format!("which is {}.", work.display())), "{none}");
        let none = work.join("none");
        let absolute = search.resolve(none.to_str().unwrap(), home, None).await;
        assert_eq!(absolute, Err(SearchFault::NoProgram(none)));
        // A name is never looked for in the working folder.
        assert!(matches!(search.resolve("server", &work, None).await, Err(SearchFault::NotFound(_))));
        let found = search.resolve("server", home, work.to_str()).await.unwrap();
        assert_eq!(found.program, server);
        fs::set_permissions(&server, Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(search.resolve("./server", &work, None).await, Err(SearchFault::Writable(_))));
    });
}

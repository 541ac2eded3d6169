//! Where files lie.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::{PlaceError, Places, Platform};
use std::path::{Path, PathBuf};

fn of(platform: Platform, vars: &[(&str, &str)]) -> Result<Places, PlaceError> {
    let env = |name: &str| vars.iter().find(|(known, _)| *known == name).map(|(_, value)| PathBuf::from(value));
    Places::of(platform, &env, None)
}

#[test]
fn places_follow_the_platform_and_callgate_home() {
    let check = |platform, vars: &[(&str, &str)], config: &str, state: &str| {
        let places = of(platform, vars).unwrap();
        assert_eq!((places.config.to_str().unwrap(), places.state.to_str().unwrap()), (config, state));
        assert_eq!(places.run, places.state.join("run"));
    };
    let xdg = Platform::Xdg;
    check(xdg, &[("HOME", "/h")], "/h/.config/callgate/callgate.jsonc", "/h/.local/share/callgate");
    check(
        xdg,
        &[("HOME", "/h"), ("XDG_CONFIG_HOME", "/c"), ("XDG_DATA_HOME", "/d")],
        "/c/callgate/callgate.jsonc",
        "/d/callgate",
    );
    check(
        xdg,
        &[("HOME", "/h"), ("XDG_CONFIG_HOME", "relative"), ("CALLGATE_HOME", "")],
        "/h/.config/callgate/callgate.jsonc",
        "/h/.local/share/callgate",
    );
    check(
        Platform::Mac,
        &[("HOME", "/Users/u")],
        "/Users/u/Library/Application Support/Callgate/callgate.jsonc",
        "/Users/u/Library/Application Support/Callgate",
    );
    for platform in [Platform::Xdg, Platform::Mac] {
        check(platform, &[("HOME", "/h"), ("CALLGATE_HOME", "/own")], "/own/callgate.jsonc", "/own");
    }
    check(xdg, &[("CALLGATE_HOME", "/own")], "/own/callgate.jsonc", "/own");
    assert!(matches!(of(xdg, &[]), Err(PlaceError::NoHome)));
    assert!(matches!(of(xdg, &[("HOME", "h")]), Err(PlaceError::NoHome)));
    assert!(matches!(of(xdg, &[("HOME", "/h"), ("CALLGATE_HOME", "own")]), Err(PlaceError::Relative)));
}

#[test]
fn a_config_named_on_the_command_line_moves_nothing_else() {
    let env = |name: &str| (name == "CALLGATE_HOME").then(|| PathBuf::from("/own"));
    let places = Places::of(Platform::Xdg, &env, Some(Path::new("/e/x.jsonc"))).unwrap();
    assert_eq!(places.config, Path::new("/e/x.jsonc"));
    assert_eq!(places.schema(), Path::new("/e/callgate.schema.json"));
    assert_eq!(places.database(), Path::new("/own/callgate.db"));
    assert_eq!(places.operator_socket(), Path::new("/own/run/operator.sock"));
}

#[test]
fn sockets_of_a_deep_home_lie_in_a_short_private_folder() {
    let fits = format!("/{}", "h".repeat(81));
    let deep = format!("/{}", "h".repeat(82));
    let at =
        |home: &str, more: &[(&str, &str)]| of(Platform::Xdg, &[&[("CALLGATE_HOME", home)], more].concat()).unwrap();
    assert_eq!(at(&fits, &[]).operator_socket().as_os_str().len(), 100);
    let places = at(&deep, &[]);
    assert_eq!(places.lock(), Path::new(&deep).join("run/hub.lock"));
    assert!(places.sockets.starts_with("/tmp") && places.operator_socket().as_os_str().len() <= 100);
    assert_eq!(places.sockets, at(&deep, &[]).sockets);
    assert_ne!(places.sockets, at(&format!("{deep}x"), &[]).sockets);
    assert!(at(&deep, &[("XDG_RUNTIME_DIR", "/run/user/1")]).sockets.starts_with("/run/user/1"));
    assert!(at(&deep, &[("TMPDIR", &deep)]).sockets.starts_with("/tmp"));
}

#[cfg(unix)]
#[test]
fn folders_are_private_and_those_of_others_are_refused() {
    use std::os::unix::fs::PermissionsExt;
    let temp = tempfile::tempdir().unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let set = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    let home = temp.path().join("a");
    let sockets = temp.path().join("s");
    let mut places = of(Platform::Xdg, &[("CALLGATE_HOME", home.to_str().unwrap())]).unwrap();
    places.sockets = sockets.clone();
    places.create().unwrap();
    let logs = places.logs();
    for folder in [&home, &logs, &places.run, &sockets] {
        assert_eq!(mode(folder), 0o700, "{}", folder.display());
    }
    set(&sockets, 0o777);
    set(&places.run, 0o755);
    places.create().unwrap();
    assert_eq!((mode(&sockets), mode(&places.run)), (0o700, 0o700));
    std::fs::remove_dir(&sockets).unwrap();
    std::os::unix::fs::symlink(temp.path(), &sockets).unwrap();
    assert!(matches!(places.create(), Err(PlaceError::NotPrivate { path, .. }) if path == sockets));
    std::fs::remove_file(&sockets).unwrap();
    std::fs::write(&sockets, "").unwrap();
    assert!(matches!(places.create(), Err(PlaceError::Create { path, .. }) if path == sockets));
}

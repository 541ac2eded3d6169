//! Windows has no login shell that would know more than the hub does.

use crate::launch::Launcher;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Nothing to add to the PATH that is known.
pub async fn read(
    _launcher: &Launcher,
    _shell: PathBuf,
    _home: PathBuf,
    _env: Vec<(OsString, OsString)>,
    _patience: Duration,
) -> Result<OsString, String> {
    Ok(OsString::new())
}

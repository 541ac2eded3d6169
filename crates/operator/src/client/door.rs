//! Connects to the socket, after making sure that only this user can be behind it.

use super::ClientError;
use rustix::process::geteuid;
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use tokio::net::UnixStream;

/// A connection.
pub type Stream = UnixStream;

/// Bits that let the group or anybody write.
const OTHERS_WRITE: u32 = 0o022;

/// Connects. The folder and the socket must be ours and closed to others, and so must be the process that listens.
pub async fn connect(socket: &Path) -> Result<Stream, ClientError> {
    check(socket)?;
    let stream = UnixStream::connect(socket).await.map_err(|cause| match cause.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => ClientError::NoHub { socket: socket.into() },
        _ => ClientError::broken(cause),
    })?;
    let peer = stream.peer_cred().map_err(ClientError::broken)?;
    if peer.uid() != geteuid().as_raw() {
        return Err(untrusted(socket, format!("a process of user {} listens there", peer.uid())));
    }
    Ok(stream)
}

fn check(socket: &Path) -> Result<(), ClientError> {
    let absent = |cause: std::io::Error| match cause.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => ClientError::NoHub { socket: socket.into() },
        ErrorKind::PermissionDenied => untrusted(socket, "it belongs to another user".into()),
        _ => ClientError::broken(cause),
    };
    let ours = geteuid().as_raw();
    let folder = socket.parent().unwrap_or(Path::new("/"));
    let meta = std::fs::metadata(folder).map_err(absent)?;
    if meta.uid() != ours {
        return Err(untrusted(folder, format!("it belongs to user {}", meta.uid())));
    }
    if meta.mode() & OTHERS_WRITE != 0 {
        return Err(untrusted(folder, format!("others can write to it (mode {:03o})", meta.mode() & 0o777)));
    }
    let meta = std::fs::symlink_metadata(socket).map_err(absent)?;
    if !meta.file_type().is_socket() {
        return Err(untrusted(socket, "it is not a socket".into()));
    }
    if meta.uid() != ours {
        return Err(untrusted(socket, format!("it belongs to user {}", meta.uid())));
    }
    Ok(())
}

fn untrusted(path: &Path, why: String) -> ClientError {
    ClientError::Untrusted { path: path.into(), why }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    fn verdict(socket: &Path) -> String {
        match check(socket) {
            Ok(()) => "ok".into(),
            Err(ClientError::NoHub { .. }) => "no hub".into(),
            Err(ClientError::Untrusted { why, .. }) => why,
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_a_socket_in_a_closed_folder_of_ours_is_trusted() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("run");
        let socket = folder.join("operator.sock");
        assert_eq!(verdict(&socket), "no hub");
        std::fs::create_dir(&folder).unwrap();
        set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
        assert_eq!(verdict(&socket), "no hub");
        std::fs::write(&socket, "").unwrap();
        assert_eq!(verdict(&socket), "it is not a socket");
        std::fs::remove_file(&socket).unwrap();
        let _listener = UnixListener::bind(&socket).unwrap();
        assert_eq!(verdict(&socket), "ok");
        set_permissions(&folder, Permissions::from_mode(0o770)).unwrap();
        assert_eq!(verdict(&socket), "others can write to it (mode 770)");
        set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
        std::os::unix::fs::symlink(&socket, folder.join("link.sock")).unwrap();
        assert_eq!(verdict(&folder.join("link.sock")), "it is not a socket");
    }

    #[test]
    fn a_socket_of_another_user_is_refused() {
        let home = tempfile::tempdir().unwrap();
        set_permissions(home.path(), Permissions::from_mode(0o700)).unwrap();
        let socket = home.path().join("operator.sock");
        let _listener = UnixListener::bind(&socket).unwrap();
        if !geteuid().is_root() {
            // Nobody but root can give a file away: the folder of root stands for the stranger's.
            assert_eq!(verdict(Path::new("/operator.sock")), "it belongs to user 0");
            return;
        }
        std::os::unix::fs::lchown(&socket, Some(65534), None).unwrap();
        assert_eq!(verdict(&socket), "it belongs to user 65534");
        std::os::unix::fs::lchown(&socket, Some(0), None).unwrap();
        std::os::unix::fs::chown(home.path(), Some(65534), None).unwrap();
        assert_eq!(verdict(&socket), "it belongs to user 65534");
    }
}

//! Where Callgate keeps its files (docs/config.md). [`Places::of`] only computes; [`Places::create`] makes the folders,
//! readable by their owner alone from the first moment.

use std::io;
use std::path::{Path, PathBuf};

/// All paths of one home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The config file.
    pub config: PathBuf,
    /// Folder of the database, the logs and the runtime folder.
    pub state: PathBuf,
    /// Folder of the lock, the endpoint document and, unless its path is too long for one, the sockets.
    pub run: PathBuf,
    /// Folder of the sockets: `run`, or a private temporary folder.
    pub sockets: PathBuf,
    /// The user's home folder.
    pub home: PathBuf,
}

/// Why the places cannot be told or made.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// Neither a home folder nor `CALLGATE_HOME` is known.
    #[error("neither HOME nor CALLGATE_HOME is set to an absolute path")]
    NoHome,
    /// `CALLGATE_HOME` is not absolute. Each host has a working folder of its own: one hub would become many.
    #[error("CALLGATE_HOME must be an absolute path: hosts start Callgate in folders of their own")]
    Relative,
    /// `--config FILE` names nothing.
    #[error("--config must name a file")]
    Config(#[source] io::Error),
    /// A folder could not be made.
    #[error("cannot create the folder {}", .path.display())]
    Create {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Somebody else could put files into a folder of ours.
    #[error("the folder {} is not private: {why}", .path.display())]
    NotPrivate {
        /// Which one.
        path: PathBuf,
        /// In which way.
        why: &'static str,
    },
}

impl PlaceError {
    /// Whether a variable is set wrongly, or not set: nothing has failed, and nothing would change by itself.
    pub fn is_wrong_setting(&self) -> bool {
        match self {
            PlaceError::NoHome | PlaceError::Relative | PlaceError::Config(_) => true,
            PlaceError::Create { .. } | PlaceError::NotPrivate { .. } => false,
        }
    }
}

/// Conventions of an operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// Linux and its kin: the XDG folders.
    Xdg,
    /// macOS.
    Mac,
    /// Windows.
    Windows,
}

impl Platform {
    /// The one this binary is made for.
    pub const HERE: Platform = if cfg!(target_os = "macos") {
        Platform::Mac
    } else if cfg!(windows) {
        Platform::Windows
    } else {
        Platform::Xdg
    };
}

/// Longest path of a socket file, in bytes; systems refuse more than 103 or 107.
const MAX_SOCKET_PATH: usize = 100;
/// The longest name in the folder of the sockets.
const LONGEST_SOCKET: &str = "operator.sock";

impl Places {
    /// Computes the places. `env` is the environment; `config` is `--config FILE`, already absolute.
    pub fn of(
        platform: Platform,
        env: &dyn Fn(&str) -> Option<PathBuf>,
        config: Option<&Path>,
    ) -> Result<Places, PlaceError> {
        let folder = |name: &str| env(name).filter(|path| path.is_absolute());
        let user_home = match platform {
            Platform::Windows => folder("USERPROFILE"),
            Platform::Xdg | Platform::Mac => folder("HOME"),
        };
        let (config_folder, state) = match env("CALLGATE_HOME").filter(|home| !home.as_os_str().is_empty()) {
            Some(own) if own.is_absolute() => (own.clone(), own),
            Some(_) => return Err(PlaceError::Relative),
            None => {
                let home = user_home.clone().ok_or(PlaceError::NoHome)?;
                match platform {
                    Platform::Xdg => (
                        folder("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")).join("callgate"),
                        folder("XDG_DATA_HOME").unwrap_or_else(|| home.join(".local/share")).join("callgate"),
                    ),
                    Platform::Mac => {
                        let both = home.join("Library/Application Support/Callgate");
                        (both.clone(), both)
                    }
                    Platform::Windows => {
                        let local = folder("LOCALAPPDATA").unwrap_or_else(|| home.join("AppData").join("Local"));
                        let both = local.join("Callgate");
                        (both.clone(), both)
                    }
                }
            }
        };
        let run = state.join("run");
        let sockets = if run.join(LONGEST_SOCKET).as_os_str().len() > MAX_SOCKET_PATH && platform != Platform::Windows {
            let temp = folder("XDG_RUNTIME_DIR").or_else(|| folder("TMPDIR")).filter(|path| short_enough(path));
            temp.unwrap_or_else(|| "/tmp".into()).join(short_name(&run))
        } else {
            run.clone()
        };
        Ok(Places {
            config: config.map_or_else(|| config_folder.join("callgate.jsonc"), Path::to_owned),
            home: user_home.unwrap_or_else(|| state.clone()),
            sockets,
            run,
            state,
        })
    }

    /// The places of this process. A relative `config` is meant from its working folder; a hub that it starts has
    /// another one.
    pub fn here(config: Option<&Path>) -> Result<Places, PlaceError> {
        let config = config.map(std::path::absolute).transpose().map_err(PlaceError::Config)?;
        Places::of(Platform::HERE, &|name| std::env::var_os(name).map(PathBuf::from), config.as_deref())
    }

    /// The JSON Schema beside the config.
    pub fn schema(&self) -> PathBuf {
        self.config.with_file_name("callgate.schema.json")
    }
    /// The database.
    pub fn database(&self) -> PathBuf {
        self.state.join("callgate.db")
    }
    /// The folder of the logs.
    pub fn logs(&self) -> PathBuf {
        self.state.join("logs")
    }
    /// The file whose lock makes a hub the only one.
    pub fn lock(&self) -> PathBuf {
        self.run.join("hub.lock")
    }
    /// The document that says where a running hub is.
    pub fn endpoint(&self) -> PathBuf {
        self.run.join("endpoint.json")
    }
    /// The socket for agents.
    pub fn agent_socket(&self) -> PathBuf {
        self.sockets.join("agent.sock")
    }
    /// The socket for the person.
    pub fn operator_socket(&self) -> PathBuf {
        self.sockets.join(LONGEST_SOCKET)
    }
    /// The file with the agents' default token.
    pub fn token(&self) -> PathBuf {
        self.run.join("token")
    }

    /// Makes the folders that are missing (0700), closes those of logs, run and sockets to others, and refuses what is not ours.
    pub fn create(&self) -> Result<(), PlaceError> {
        let config = self.config.parent().unwrap_or(Path::new("."));
        for folder in [config, &self.state, &self.logs(), &self.run, &self.sockets] {
            make(folder).map_err(|source| PlaceError::Create { path: folder.to_owned(), source })?;
        }
        for folder in [&self.logs(), &self.run, &self.sockets] {
            private(folder, &self.run)?;
        }
        Ok(())
    }
}

fn short_enough(temp: &Path) -> bool {
    temp.as_os_str().len() + short_name(temp).len() + LONGEST_SOCKET.len() + 2 <= MAX_SOCKET_PATH
}

/// A name that is the same for every process of this home. FNV-1a: it only has to tell homes apart, the folder's
/// owner and mode are what protects it.
fn short_name(run: &Path) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in run.as_os_str().as_encoded_bytes() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("callgate-{hash:016x}")
}

#[cfg(unix)]
fn make(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn make(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)
}

/// The folder is a real one, of the owner of `run`, and closed to others; an open one is closed.
#[cfg(unix)]
fn private(folder: &Path, run: &Path) -> Result<(), PlaceError> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let failed = |source| PlaceError::Create { path: folder.to_owned(), source };
    let not = |why| PlaceError::NotPrivate { path: folder.to_owned(), why };
    let meta = std::fs::symlink_metadata(folder).map_err(failed)?;
    if !meta.is_dir() {
        return Err(not("it is no folder"));
    }
    if meta.uid() != std::fs::metadata(run).map_err(failed)?.uid() {
        return Err(not("it belongs to somebody else"));
    }
    if meta.permissions().mode() & 0o077 != 0 {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700)).map_err(failed)?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn private(_: &Path, _: &Path) -> Result<(), PlaceError> {
    Ok(())
}

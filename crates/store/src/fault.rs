//! Why the store can't be opened, read or written. Each family for its own operation.

use std::path::{Path, PathBuf};

/// Why the store was not opened. Nothing was changed then, but for a missing folder that was made.
#[derive(Debug, thiserror::Error)]
pub enum StoreFault {
    /// A folder or file could not be made, read or written.
    #[error("{path}: {doing} failed")]
    File {
        /// Which.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },
    /// A folder or file belongs to somebody else, or is a link or no plain file.
    #[error("{path}: {problem}")]
    Untrusted {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The file is there but is no intact database.
    #[error("{path} is damaged or is no database; move it away to begin anew, or restore a backup")]
    Corrupt {
        /// Which.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// A database of another program.
    #[error("{path} is a database of another program")]
    Foreign {
        /// Which.
        path: PathBuf,
    },
    /// The database was written by a newer version of this program.
    #[error("{path} was written by a newer Callgate (schema {found}, this one knows {known}); update Callgate")]
    TooNew {
        /// Which.
        path: PathBuf,
        /// Schema version in the file.
        found: i64,
        /// Newest schema version of this program.
        known: i64,
    },
    /// The SQLite library has known faults that lose data.
    #[error("SQLite {found} is too old: 3.51.3 or newer is needed")]
    Library {
        /// Its version.
        found: &'static str,
    },
    /// The database holds an audit log, but the key that it was written with is gone.
    #[error("{path} is missing, but the audit log was written with it; restore it")]
    KeyAbsent {
        /// Where the key should be.
        path: PathBuf,
    },
    /// Another key lies in the place of the one with which the audit log was written.
    #[error("{path} is not the key with which the audit log was written; restore that")]
    KeyOther {
        /// Which.
        path: PathBuf,
    },
    /// The file of the audit key holds no key.
    #[error("{path} holds no audit key (64 hex digits)")]
    KeyUnreadable {
        /// Which.
        path: PathBuf,
    },
    /// The anchor or flight file holds something else.
    #[error("{path} can't be understood; move it away to go on without it")]
    Unreadable {
        /// Which.
        path: PathBuf,
    },
    /// The system gives no random bytes.
    #[error("no random bytes from the system")]
    Random,
    /// The committer thread could not be started or has ended.
    #[error("the committer thread: {0}")]
    Thread(&'static str),
    /// No space is left for it.
    #[error("the disk is full: {doing} in {path} failed; free some space and start again")]
    Full {
        /// The database.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
    },
    /// A statement failed.
    #[error("{doing} in {path} failed")]
    Sql {
        /// The database.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What SQLite says.
        source: rusqlite::Error,
    },
}

impl StoreFault {
    pub(crate) fn file(path: &Path, doing: &'static str) -> impl FnOnce(std::io::Error) -> StoreFault {
        move |source| StoreFault::File { path: path.to_owned(), doing, source }
    }

    /// Tells a damaged file from a statement that failed for another reason. A value of another kind than was ever
    /// written there is damage too.
    pub(crate) fn sql(path: &Path, doing: &'static str) -> impl FnOnce(rusqlite::Error) -> StoreFault {
        use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error};
        use rusqlite::ErrorCode::{DatabaseCorrupt, DiskFull, NotADatabase};
        move |source| {
            let is_damaged = matches!(source.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
                || matches!(
                    source,
                    FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) | Utf8Error(..)
                );
            if source.sqlite_error_code() == Some(DiskFull) {
                return StoreFault::Full { path: path.to_owned(), doing };
            }
            match is_damaged {
                true => StoreFault::Corrupt { path: path.to_owned(), source },
                false => StoreFault::Sql { path: path.to_owned(), doing, source },
            }
        }
    }
}

/// Why a job of the committer was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobFault {
    /// The queue is full; try again later.
    #[error("the committer's queue is full")]
    Full,
    /// The committer has stopped.
    #[error("the committer has stopped")]
    Stopped,
    /// The database can't be written.
    #[error("the store can't be written: {0}")]
    Unavailable(#[from] crate::Cause),
}

/// Why something could not be read. Never to be taken for "there is nothing".
#[derive(Debug, thiserror::Error)]
pub enum ReadFault {
    /// A statement failed or the file is damaged.
    #[error("reading the store failed")]
    Sql(#[from] rusqlite::Error),
    /// A key, anchor or other file beside the database can't be used.
    #[error(transparent)]
    Store(#[from] StoreFault),
    /// It is there, but was sealed with another key, or is damaged.
    #[error("{what} is stored but can't be unsealed: the key file is another one, or it is damaged")]
    Sealed {
        /// What was asked for.
        what: &'static str,
    },
}

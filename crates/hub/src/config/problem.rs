//! What is wrong in a config file, and where. Never quotes a value: it may be a secret.

use serde::Serialize;
use std::fmt;
use std::path::PathBuf;

/// One fault of a config file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file as it was named when it was read.
    pub file: PathBuf,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Where in the tree: `mcpServers.files.args[2]`; empty for the file as a whole.
    pub key_path: String,
    /// What is wrong and, where it can be told, what would be right.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: ", self.file.display(), self.line, self.column)?;
        if !self.key_path.is_empty() {
            write!(f, "{}: ", self.key_path)?;
        }
        f.write_str(&self.message)
    }
}

/// Why there is no config. Absent, unreadable and wrong are three things.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is no file at that place.
    #[error("there is no config file at {}", .0.display())]
    Absent(PathBuf),
    /// It is there and cannot be read.
    #[error("cannot read {}", .file.display())]
    Unreadable {
        /// Which file.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It was read and has faults; sorted by place, at least one.
    #[error("{}", list(.0))]
    Wrong(Vec<Problem>),
}

impl ReadError {
    /// One line for each fault.
    pub fn lines(&self) -> Vec<String> {
        match self {
            ReadError::Absent(_) => vec![self.to_string()],
            ReadError::Unreadable { source, .. } => vec![format!("{self}: {source}")],
            ReadError::Wrong(problems) => problems.iter().map(Problem::to_string).collect(),
        }
    }
}

fn list(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}

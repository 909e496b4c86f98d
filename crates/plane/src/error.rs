//! Why a plane could not be started, found or stopped, and the way out.

use std::io;
use std::path::PathBuf;

use crate::pki;

/// Trouble with a plane.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not a name we can use for a directory and a context.
    #[error("`{name}` is no name for a plane")]
    Name {
        /// The name given.
        name: String,
    },
    /// Another process holds the plane of this name.
    #[error("a plane `{name}` is already running")]
    AlreadyRunning {
        /// Its name.
        name: String,
    },
    /// There is no plane of this name.
    #[error("no plane `{name}` is running")]
    NotRunning {
        /// The name asked for.
        name: String,
    },
    /// The plane's supervisor does not end, not even when killed.
    #[error("plane `{name}` did not stop (process {pid})")]
    NotStopped {
        /// Its name.
        name: String,
        /// Its supervisor.
        pid: i32,
    },
    /// A file of the plane could not be read or written.
    #[error("failed to {action} `{path}`")]
    File {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Certificates could not be made.
    #[error("failed to make the plane's certificates")]
    Certificates(#[from] pki::Error),
    /// No free ports.
    #[error("failed to find free ports on 127.0.0.1")]
    Ports(#[source] io::Error),
    /// A program could not be started.
    #[error("failed to start {component} (`{program}`)")]
    Launch {
        /// Which component.
        component: String,
        /// Its program.
        program: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A component ended.
    #[error("{0}")]
    Died(Death),
    /// A component did not become ready.
    #[error("{component} was not ready after {after_s:.0} s: {answer}{}", indent(lines))]
    NotReady {
        /// Which component.
        component: String,
        /// How long we waited.
        after_s: f64,
        /// What it said last.
        answer: String,
        /// Its last log lines.
        lines: Vec<String>,
    },
    /// The user interrupted the start.
    #[error("interrupted")]
    Interrupted,
    /// A detached start failed in its own process.
    #[error("the plane did not start\n{output}")]
    Detached {
        /// What that process said.
        output: String,
    },
}

/// A component that ended by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Death {
    /// Which component.
    pub component: String,
    /// How: an exit code or a signal.
    pub how: String,
    /// Its last log lines.
    pub lines: Vec<String>,
}

impl std::fmt::Display for Death {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ended with {}{}", self.component, self.how, indent(&self.lines))
    }
}

impl Error {
    /// What the reader can do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Name { .. } => "use up to 40 of a-z, 0-9 and `-`, beginning with a letter".into(),
            Self::AlreadyRunning { name } => {
                format!(
                    "use it with `skctl plane exec --name {name}`, stop it with `skctl plane down --name {name}`, or start another with `--name`"
                )
            }
            Self::NotRunning { name } => {
                format!(
                    "start it with `skctl plane up --name {name}`; if it ended by itself, `skctl plane logs --name {name}` tells why"
                )
            }
            Self::File { source, .. } if is_denied(source) => {
                "planes live in XDG_STATE_HOME (usually ~/.local/state): set it to a writable directory"
                    .into()
            }
            Self::File { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                "an idle plane needs 100 MB: free some, or set XDG_STATE_HOME to another disk".into()
            }
            Self::Launch { .. } => "check the binaries with `skctl plane build`, or `--plane-bin`".into(),
            Self::Died(_) | Self::NotReady { .. } => {
                "the logs are kept until the next start: `skctl plane logs`".into()
            }
            _ => return None,
        })
    }

    pub(crate) fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { action, path, source }
    }
}

/// Not ours to write, or nobody's.
fn is_denied(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// Shown under the message; the whole log is in its file.
fn indent(lines: &[String]) -> String {
    let shown = &lines[lines.len().saturating_sub(15)..];
    shown.iter().fold(String::new(), |text, line| text + "\n    " + line)
}

//! Exit codes, and errors that know theirs.

use std::fmt;

/// The documented exit codes; scripts rely on them (docs/cli.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    Ok = 0,
    /// Something went wrong.
    Failed = 1,
    /// The command line makes no sense.
    Usage = 2,
    /// There is nothing to work on.
    Nothing = 3,
    /// This machine lacks something, or what should run does not.
    NotReady = 12,
    /// The user stopped it.
    Interrupted = 130,
}

/// How a command ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// `trace diff` found differences: exit code 1, as `diff` and `kubectl diff` do.
    Different,
}

impl Outcome {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => Code::Ok as u8,
            Self::Different => 1,
        }
    }
}

/// Why a command failed, with the code to exit with and, where there is one, a way out.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    pub(crate) error: anyhow::Error,
    pub(crate) hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(code: Code, error: impl Into<anyhow::Error>) -> Self {
        Self { code, error: error.into(), hint: None }
    }

    pub(crate) fn usage(message: impl fmt::Display + fmt::Debug + Send + Sync + 'static) -> Self {
        Self::new(Code::Usage, anyhow::Error::msg(message))
    }

    pub(crate) fn failed(message: impl fmt::Display + fmt::Debug + Send + Sync + 'static) -> Self {
        Self::new(Code::Failed, anyhow::Error::msg(message))
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn context(mut self, context: impl fmt::Display + Send + Sync + 'static) -> Self {
        self.error = self.error.context(context);
        self
    }
}

/// Errors without a better code of their own mean that the command failed.
impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::new(Code::Failed, error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(Code::Failed, error)
    }
}

//! What can be wrong with a trace, and where.

use std::fmt;
use std::io;

/// Why a trace could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file or pipe itself failed.
    #[error("failed to {action} the trace")]
    Io {
        /// `read` or `write`.
        action: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
    /// Nothing to read at all.
    #[error("the file is empty")]
    Empty,
    /// The first bytes belong to no trace format that we know.
    #[error("this is not a trace: {0}")]
    NotATrace(String),
    /// A trace of another format version.
    #[error("unsupported trace format {found}; this version of skctl reads {readable}")]
    Version {
        /// What the file says it is.
        found: String,
        /// What we read instead.
        readable: &'static str,
    },
    /// A SimKube file without a single event: not even its window is known.
    #[error("the trace has no events")]
    NoEvents,
    /// The contents break the format; everything before `place` was good.
    #[error("damaged trace at {place}: {what}")]
    Damaged {
        /// Where reading stopped.
        place: Place,
        /// What was found there.
        what: String,
    },
    /// The contents are larger than we are willing to take in.
    #[error("refused at {place}: {what}")]
    Limit {
        /// Where reading stopped.
        place: Place,
        /// Which bound was passed.
        what: String,
    },
    /// A record that the trace being written cannot hold at this point.
    #[error("cannot write record {record}: {what}")]
    Record {
        /// Number of the record, counted from 1 after the header.
        record: u64,
        /// The rule it breaks.
        what: String,
    },
}

impl Error {
    pub(crate) fn damaged(place: impl Into<Place>, what: impl Into<String>) -> Self {
        Self::Damaged { place: place.into(), what: what.into() }
    }

    pub(crate) fn limit(place: impl Into<Place>, what: impl Into<String>) -> Self {
        Self::Limit { place: place.into(), what: what.into() }
    }

    pub(crate) fn read(source: io::Error) -> Self {
        Self::Io { action: "read", source }
    }

    pub(crate) fn write(source: io::Error) -> Self {
        Self::Io { action: "write", source }
    }

    /// True when what came before the error is a good part of a trace, so that salvaging makes sense.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. })
    }
}

/// A position inside a trace file, in the words of its format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In our own format. Frames and records count from 1; the header is record 0.
    Record {
        /// Compressed frame, absent when the trace is plain JSON lines.
        frame: Option<u64>,
        /// Byte of the file at which that frame (or line) begins.
        offset: u64,
        /// The record that could not be read.
        record: u64,
    },
    /// In SimKube's format: a path such as `events[3].applied_objs[0]`.
    Path(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record { frame: Some(frame), offset, record } => {
                write!(f, "frame {frame} (byte {offset}), record {record}")
            }
            Self::Record { frame: None, offset, record } => write!(f, "byte {offset}, record {record}"),
            Self::Path(path) => f.write_str(path),
        }
    }
}

impl From<String> for Place {
    fn from(path: String) -> Self {
        Self::Path(path)
    }
}

impl From<&str> for Place {
    fn from(path: &str) -> Self {
        Self::Path(path.to_owned())
    }
}

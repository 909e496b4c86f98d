//! The trace as data: a header, then records in order, then a closing.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Gvk, Key, Object, PodLife};

/// What a trace says of itself before its records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The part of history that the trace covers.
    pub window: Window,
    /// Where it was recorded.
    #[serde(default, skip_serializing_if = "Source::is_empty")]
    pub source: Source,
    /// The kinds that were recorded, and how.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tracked: BTreeMap<Gvk, Tracked>,
    /// What was taken out before anything reached a disk: `secret-data`, `env-values`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<String>,
    /// Anything a producer wants to add; passed through untouched.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, Value>,
}

impl Header {
    /// The header of a trace about which nothing is known but its window.
    pub fn new(start: Timestamp, end: Option<Timestamp>) -> Self {
        Self {
            window: Window { start, end },
            source: Source::default(),
            tracked: BTreeMap::new(),
            redacted: Vec::new(),
            annotations: BTreeMap::new(),
        }
    }
}

/// The span of a trace. The end is absent while it is not known when the header is written; the closing
/// record then has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// First instant; the initial objects were alive then.
    pub start: Timestamp,
    /// Last instant.
    pub end: Option<Timestamp>,
}

/// Where a trace comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Version of the recorded API server, as `v1.35.2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<String>,
    /// Fingerprint of the recorded cluster; equal for traces of one cluster, and no name of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The format it was converted from, as `simkube/2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
}

impl Source {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// How one kind was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tracked {
    /// JSON pointers to the kind's pod templates; a `*` segment means every element of an array. Absent for
    /// the built-in kinds, whose place is known, and for kinds that make no pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_templates: Option<Vec<String>>,
    /// Lives of its pods were recorded.
    #[serde(default, skip_serializing_if = "is_false")]
    pub pod_lives: bool,
    /// Objects that have an owner were left out.
    #[serde(default, skip_serializing_if = "is_false")]
    pub skip_owned: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// One entry of the stream. Initial objects come first; the times of changes and ticks never decrease.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// An object that was alive when the window opened.
    Initial {
        /// The object as it was then.
        object: Object,
    },
    /// An object was created or changed.
    Applied {
        /// When.
        at: Timestamp,
        /// The recorder's own stamp, only where it says more than `at`: an earlier time, where its clock
        /// ran backwards and `at` had to wait for it, or the same time, where it began a new batch.
        stamp: Option<Timestamp>,
        /// The object after the change.
        object: Object,
    },
    /// An object was deleted.
    Deleted {
        /// When.
        at: Timestamp,
        /// The recorder's own stamp, as for `Applied`.
        stamp: Option<Timestamp>,
        /// At least the names of the object; its last state if the recorder kept it.
        object: Object,
    },
    /// A pod's life. Stands where it begins, or at the start of the window; lives of one owner and
    /// template keep the order in which they were recorded.
    Life(Box<PodLife>),
    /// A time in which changes may have been missed.
    Gap(Gap),
    /// The recorder was alive and saw nothing: silence here is not a gap.
    Tick {
        /// When.
        at: Timestamp,
        /// The recorder's own stamp, as for `Applied`.
        stamp: Option<Timestamp>,
    },
    /// An object that the recorder knew although the window does not show it in this state.
    Known {
        /// Which object.
        key: Key,
        /// SimKube's hash of its spec.
        spec_hash: u64,
    },
}

impl Record {
    /// When the record happened, for those that are bound to an instant.
    pub fn at(&self) -> Option<Timestamp> {
        match self {
            Self::Applied { at, .. } | Self::Deleted { at, .. } | Self::Tick { at, .. } => Some(*at),
            Self::Initial { .. } | Self::Life(_) | Self::Gap(_) | Self::Known { .. } => None,
        }
    }
}

/// A hole in the recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gap {
    /// Last instant before the hole.
    pub from: Timestamp,
    /// First instant after it.
    pub to: Timestamp,
    /// What happened, for people.
    pub why: String,
    /// The kinds that it touches; all of them when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<Gvk>,
}

/// The last record of a file: what should have been read by then.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Closing {
    /// End of the window.
    pub end: Timestamp,
    /// Records between header and closing.
    pub records: u64,
    /// Initial objects among them.
    pub initial: u64,
    /// Applied changes.
    pub applied: u64,
    /// Deletions.
    pub deleted: u64,
    /// Pod lives.
    pub pod_lives: u64,
    /// Gaps.
    pub gaps: u64,
    /// Ticks.
    pub ticks: u64,
    /// Known objects.
    pub known: u64,
    /// `blake3:` and the hash of every line before this one, line ends included. It names the trace.
    pub hash: String,
}

impl Closing {
    /// Counts one more record and moves the end of the window along.
    pub(crate) fn count(&mut self, record: &Record) {
        self.records += 1;
        let counter = match record {
            Record::Initial { .. } => &mut self.initial,
            Record::Applied { .. } => &mut self.applied,
            Record::Deleted { .. } => &mut self.deleted,
            Record::Life(_) => &mut self.pod_lives,
            Record::Gap(_) => &mut self.gaps,
            Record::Tick { .. } => &mut self.ticks,
            Record::Known { .. } => &mut self.known,
        };
        *counter += 1;
        if let Some(at) = record.at() {
            self.end = self.end.max(at);
        }
    }
}

//! What is in a trace, at a glance.

use std::collections::{BTreeMap, HashSet};
use std::io::Read;

use jiff::Timestamp;

use crate::{Closing, Error, Gvk, Header, Reader, Record};

/// Counts over a whole trace.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The header.
    pub header: Header,
    /// `sktrace/1`, `simkube/2` or `simkube/1`.
    pub format: &'static str,
    /// Counts of records, the end of the window, and the hash if the file has one.
    pub closing: Closing,
    /// Distinct objects of each kind, over the initial ones and all changes.
    pub kinds: BTreeMap<Gvk, u64>,
    /// Recorded time that the gaps cover, overlaps counted twice, in seconds.
    pub gap_seconds: f64,
    /// Pod lives that ended with a failure: a non-zero exit code.
    pub failed_lives: u64,
}

impl Summary {
    /// Reads a trace to its end, or to its damage: the error then comes with what was counted before it.
    /// `each` is called after every record and stops the reading by answering false.
    ///
    /// Objects are told apart by a hash of their name, so that a million of them take some 50 MB.
    pub fn of<R: Read>(
        reader: &mut Reader<R>,
        mut each: impl FnMut(&Reader<R>) -> bool,
    ) -> (Self, Option<Error>) {
        let mut seen: HashSet<[u8; 16]> = HashSet::new();
        let mut summary = Self {
            header: reader.header().clone(),
            format: reader.format(),
            closing: Closing::default(),
            kinds: BTreeMap::new(),
            gap_seconds: 0.0,
            failed_lives: 0,
        };
        let mut error = None;
        while let Some(record) = reader.next() {
            match record {
                Ok(record) => summary.count(&record, &mut seen),
                Err(damage) => error = Some(damage),
            }
            if !each(reader) {
                break;
            }
        }
        summary.closing = reader.closing();
        (summary, error)
    }

    fn count(&mut self, record: &Record, seen: &mut HashSet<[u8; 16]>) {
        match record {
            Record::Initial { object } | Record::Applied { object, .. } | Record::Deleted { object, .. } => {
                let key = object.key();
                let mut hasher = blake3::Hasher::new();
                for part in [&key.gvk.api_version, &key.gvk.kind, &key.namespace, &key.name] {
                    hasher.update(part.as_bytes());
                    hasher.update(&[0]);
                }
                let mut short = [0; 16];
                short.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
                if seen.insert(short) {
                    match self.kinds.get_mut(&key.gvk) {
                        Some(count) => *count += 1,
                        None => drop(self.kinds.insert(key.gvk.clone(), 1)),
                    }
                }
            }
            Record::Life(life) => {
                self.failed_lives += u64::from(life.exit_code.is_some_and(|code| code != 0));
            }
            Record::Gap(gap) => self.gap_seconds += gap.to.duration_since(gap.from).as_secs_f64(),
            Record::Tick { .. } | Record::Known { .. } => {}
        }
    }

    /// First instant of the window.
    pub fn start(&self) -> Timestamp {
        self.header.window.start
    }

    /// Last instant of the window.
    pub fn end(&self) -> Timestamp {
        self.closing.end
    }

    /// Length of the window in seconds.
    pub fn duration_s(&self) -> f64 {
        self.end().duration_since(self.start()).as_secs_f64()
    }
}

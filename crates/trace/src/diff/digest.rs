//! A trace boiled down for comparison: for each object, when it changed and a hash of what it became.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{Entry, Fetched, Part};
use crate::{Error, Gvk, Key, Object, PodLife, Reader, Record, Tracked, Window};

/// The comparable parts of one trace. Takes about 50 bytes per change and one name per object.
#[derive(Debug)]
pub struct Digest {
    pub(super) window: Window,
    pub(super) tracked: BTreeMap<Gvk, Tracked>,
    changes: BTreeMap<Key, Vec<Digested>>,
    lives: BTreeMap<Key, Vec<Digested>>,
    /// From and to since the start, why, and for which kinds.
    pub(super) gaps: Vec<(SignedDuration, SignedDuration, String, Vec<Gvk>)>,
}

/// One entry of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digested {
    kind: &'static str,
    at: Option<SignedDuration>,
    content: [u8; 16],
}

impl Digested {
    pub(super) fn entry(&self) -> Entry {
        Entry { kind: self.kind, at_s: self.at.map(|at| at.as_secs_f64()) }
    }
}

impl Digest {
    /// Reads a trace to its end. `go_on` is asked before every record; what was read until it says no is not
    /// worth comparing.
    pub fn of<R: Read>(reader: &mut Reader<R>, mut go_on: impl FnMut() -> bool) -> Result<Self, Error> {
        let header = reader.header();
        let mut digest = Self {
            window: header.window,
            tracked: header.tracked.clone(),
            changes: BTreeMap::new(),
            lives: BTreeMap::new(),
            gaps: Vec::new(),
        };
        let start = digest.window.start;
        for record in reader.by_ref().take_while(|_| go_on()) {
            let record = record?;
            if let Record::Gap(gap) = &record {
                let since = |time: Timestamp| time.duration_since(start);
                digest.gaps.push((since(gap.from), since(gap.to), gap.why.clone(), gap.kinds.clone()));
            }
            if let Some((part, key, digested)) = digested(&record, start) {
                let histories = match part {
                    Part::Changes => &mut digest.changes,
                    Part::Lives => &mut digest.lives,
                };
                match histories.get_mut(key) {
                    Some(history) => history.push(digested),
                    None => drop(histories.insert(key.clone(), vec![digested])),
                }
            }
        }
        digest.window.end = Some(reader.closing().end);
        Ok(digest)
    }

    pub(super) fn histories(&self, part: Part) -> &BTreeMap<Key, Vec<Digested>> {
        match part {
            Part::Changes => &self.changes,
            Part::Lives => &self.lives,
        }
    }
}

/// Which history a record belongs to, if any.
fn place(record: &Record) -> Option<(Part, &Key)> {
    match record {
        Record::Initial { object } | Record::Applied { object, .. } | Record::Deleted { object, .. } => {
            Some((Part::Changes, object.key()))
        }
        Record::Life(life) => Some((Part::Lives, &life.owner)),
        Record::Gap(_) | Record::Tick { .. } | Record::Known { .. } => None,
    }
}

fn digested(record: &Record, start: Timestamp) -> Option<(Part, &Key, Digested)> {
    let (part, key) = place(record)?;
    let kind = match record {
        Record::Initial { .. } => "initial",
        Record::Applied { .. } => "applied",
        Record::Deleted { .. } => "deleted",
        _ => "life",
    };
    let at = match record {
        Record::Life(life) => life.begins(),
        other => other.at(),
    };
    let content = content(record, start).to_string();
    let mut short = [0; 16];
    short.copy_from_slice(&blake3::hash(content.as_bytes()).as_bytes()[..16]);
    Some((part, key, Digested { kind, at: at.map(|at| at.duration_since(start)), content: short }))
}

/// What is compared of a record: the object, or a life with its times counted from the start.
fn content(record: &Record, start: Timestamp) -> Value {
    match record {
        Record::Initial { object } | Record::Applied { object, .. } => tree(object),
        Record::Life(life) => life_tree(life, start),
        // Recorders keep a deleted object whole or only its names; it is the same deletion.
        Record::Deleted { .. } | Record::Gap(_) | Record::Tick { .. } | Record::Known { .. } => Value::Null,
    }
}

fn tree(object: &Object) -> Value {
    object.to_value().unwrap_or_else(|_| object.json().into())
}

fn life_tree(life: &PodLife, start: Timestamp) -> Value {
    let mut tree = serde_json::to_value(life).unwrap_or_default();
    let PodLife { created, scheduled, started, finished, deleted, .. } = life;
    for (name, time) in [
        ("created", created),
        ("scheduled", scheduled),
        ("started", started),
        ("finished", finished),
        ("deleted", deleted),
    ] {
        if let Some(time) = time {
            tree[name] = since_start(time.duration_since(start)).into();
        }
    }
    tree
}

/// Exact to the nanosecond, because it is hashed, and readable, because it is shown: `+12.5 s`.
fn since_start(duration: SignedDuration) -> String {
    let sign = if duration.is_negative() { '-' } else { '+' };
    let (seconds, nanos) = (duration.as_secs().unsigned_abs(), duration.subsec_nanos().unsigned_abs());
    let fraction = format!("{nanos:09}");
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{seconds}{point}{fraction} s")
}

/// Entries of histories whose contents are needed.
#[derive(Debug, Default)]
pub struct Wanted(HashMap<(Part, Key), usize>);

impl Wanted {
    pub(super) fn add(&mut self, part: Part, key: &Key, position: usize) {
        self.0.insert((part, key.clone()), position);
    }

    /// Reads the trace once more and keeps what is wanted of it, for as long as `go_on` says so.
    pub fn fetch<R: Read>(
        &self,
        reader: &mut Reader<R>,
        mut go_on: impl FnMut() -> bool,
    ) -> Result<Fetched, Error> {
        let start = reader.header().window.start;
        let mut fetched = Fetched::new();
        let mut passed: HashMap<(Part, Key), usize> = HashMap::new();
        if self.0.is_empty() {
            return Ok(fetched);
        }
        for record in reader.by_ref().take_while(|_| go_on()) {
            let record = record?;
            let Some((part, key)) = place(&record) else { continue };
            let history = (part, key.clone());
            let Some(position) = self.0.get(&history) else { continue };
            let passed = passed.entry(history.clone()).or_default();
            *passed += 1;
            if passed == position {
                fetched.insert(history, content(&record, start));
            }
        }
        Ok(fetched)
    }
}

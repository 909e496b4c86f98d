//! Writes records as a SimKube file, version 2, that SimKube 2.6 and newer accept.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;

use jiff::Timestamp;

use super::losses::Losses;
use super::msgpack::Cursor;
use super::transcode::{self, push_array, push_map, push_signed, push_text, push_unsigned};
use super::{config, hash, index};
use crate::{Error, Gvk, Header, Key, Object, PodLife, Record, TemplateHash, json};

/// Collects a whole trace in memory: SimKube's lengths stand before what they count.
pub struct Writer<W: Write> {
    output: W,
    header: Header,
    events: Vec<u8>,
    event_count: usize,
    open: Event,
    index: BTreeMap<Gvk, BTreeMap<String, u64>>,
    lives: BTreeMap<(Gvk, String), BTreeMap<u64, Vec<Times>>>,
    /// SimKube's hashes of the bare pods in the trace, which name their own lives.
    bare_pods: HashMap<Key, u64>,
    losses: Losses,
    records: u64,
    last_second: i64,
}

/// Start and end of a life, in whole seconds.
type Times = (Option<i64>, Option<i64>);

/// The event that takes the next changes. SimKube applies all of `applied`, then all of `deleted`.
struct Event {
    second: i64,
    is_start: bool,
    is_tick: bool,
    applied: Vec<u8>,
    applied_count: usize,
    deleted: Vec<u8>,
    deleted_count: usize,
}

impl Event {
    fn new(second: i64) -> Self {
        Self {
            second,
            is_start: false,
            is_tick: false,
            applied: Vec::new(),
            applied_count: 0,
            deleted: Vec::new(),
            deleted_count: 0,
        }
    }
}

impl Event {
    /// Whether a change belongs to this event: a stamp equal to its time begins a new batch.
    fn takes(&self, second: i64, at: Timestamp, stamp: Option<Timestamp>) -> bool {
        second == self.second && !self.is_tick && stamp != Some(at)
    }
}

impl<W: Write> Writer<W> {
    /// Starts a trace. Nothing is written before [`Writer::finish`].
    pub fn new(output: W, header: &Header) -> Self {
        let start = header.window.start.as_second();
        let mut losses = Losses::of_header(header);
        losses.fractions += u64::from(header.window.start.subsec_nanosecond() != 0);
        Self {
            output,
            header: header.clone(),
            events: Vec::new(),
            event_count: 0,
            open: Event { is_start: true, ..Event::new(start) },
            index: BTreeMap::new(),
            lives: BTreeMap::new(),
            bare_pods: HashMap::new(),
            losses,
            records: 0,
            last_second: start,
        }
    }

    /// Adds one record.
    pub fn write(&mut self, record: &Record) -> Result<(), Error> {
        self.records += 1;
        match record {
            Record::Initial { object } => self.apply(object)?,
            Record::Applied { at, stamp, object } => {
                let second = self.second(stamp.unwrap_or(*at));
                // What the start marker applies was alive before the window, and a deletion comes after
                // the applies of its event: the order may ask for a new event in the same second.
                let joins = !self.open.is_start && self.open.deleted_count == 0;
                if !joins || !self.open.takes(second, *at, *stamp) {
                    self.next_event(second);
                }
                self.apply(object)?;
            }
            Record::Deleted { at, stamp, object } => {
                let second = self.second(stamp.unwrap_or(*at));
                if !self.open.takes(second, *at, *stamp) {
                    self.next_event(second);
                }
                self.note_limits(object);
                self.open.deleted_count += 1;
                transcode::from_json(object.json(), &mut self.open.deleted)
                    .map_err(|error| self.unfit(&error))?;
            }
            Record::Tick { at, stamp } => {
                let second = self.second(stamp.unwrap_or(*at));
                self.next_event(second);
                self.open.is_tick = true;
            }
            Record::Life(life) => self.live(life),
            Record::Gap(_) => self.losses.gaps += 1,
            Record::Known { key, spec_hash } => self.remember(key, *spec_hash),
        }
        Ok(())
    }

    /// Says how far the window reaches, where that is later than the header and the records say.
    pub fn extend_to(&mut self, end: Timestamp) {
        self.header.window.end = Some(self.header.window.end.map_or(end, |known| known.max(end)));
    }

    fn unfit(&self, error: &serde_json::Error) -> Error {
        Error::Record { record: self.records, what: format!("MessagePack cannot hold it: {error}") }
    }

    fn second(&mut self, time: Timestamp) -> i64 {
        let second = floor(time);
        self.losses.fractions += u64::from(time.subsec_nanosecond() != 0);
        self.last_second = self.last_second.max(second);
        second
    }

    fn apply(&mut self, object: &Object) -> Result<(), Error> {
        self.note_limits(object);
        let start = self.open.applied.len();
        transcode::from_json(object.json(), &mut self.open.applied).map_err(|error| self.unfit(&error))?;
        self.open.applied_count += 1;
        let packed = Cursor::new(&self.open.applied[start..]);
        let spec_hash = index::hash_of_spec(packed).unwrap_or_else(hash::of_nothing);
        self.remember(object.key(), spec_hash);
        if object.key().gvk.built_in_pod_template() == Some("")
            && let Ok(pod) = object.to_value()
        {
            self.bare_pods.insert(object.key().clone(), hash::stable_pod_hash(&pod["spec"]));
        }
        Ok(())
    }

    fn note_limits(&mut self, object: &Object) {
        self.losses.wide_numbers += u64::from(json::has_wide_integer(object.json().as_bytes()));
        let key = object.key();
        if key.namespace.is_empty() && !key.name.is_empty() {
            self.losses.cluster_scoped.insert(key.gvk.clone());
        }
    }

    fn remember(&mut self, key: &Key, spec_hash: u64) {
        if !is_nameable(&key.gvk) {
            self.losses.nameless += 1;
            return;
        }
        self.index.entry(key.gvk.clone()).or_default().insert(key.namespaced_name(), spec_hash);
    }

    fn live(&mut self, life: &PodLife) {
        if !is_nameable(&life.owner.gvk) {
            self.losses.nameless += 1;
            return;
        }
        self.losses.count_life(life);
        let hash = match life.template {
            TemplateHash::Simkube(hash) => hash,
            // SimKube looks at the hash of custom kinds only, and there it never matches (it changes the
            // template first). Any number that tells templates apart will do, except for bare pods, whose
            // hash we can compute.
            TemplateHash::Blake3(bytes) => self.bare_pods.get(&life.owner).copied().unwrap_or_else(|| {
                let mut first = [0; 8];
                first.copy_from_slice(&bytes[..8]);
                u64::from_be_bytes(first)
            }),
        };
        let mut whole = |time: Option<Timestamp>| {
            time.map(|time| {
                self.losses.fractions += u64::from(time.subsec_nanosecond() != 0);
                floor(time)
            })
        };
        let times = (whole(life.started), whole(life.finished));
        let owner = (life.owner.gvk.clone(), life.owner.namespaced_name());
        self.lives.entry(owner).or_default().entry(hash).or_default().push(times);
    }

    /// Closes the open event and opens one at `second`.
    fn next_event(&mut self, second: i64) {
        let event = std::mem::replace(&mut self.open, Event::new(second));
        self.event_count += 1;
        let out = &mut self.events;
        push_map(out, 3);
        push_text(out, "ts");
        push_signed(out, event.second);
        push_text(out, "applied_objs");
        push_array(out, event.applied_count);
        out.extend_from_slice(&event.applied);
        push_text(out, "deleted_objs");
        push_array(out, event.deleted_count);
        out.extend_from_slice(&event.deleted);
    }

    /// Writes the file, gives the output back and says what did not fit.
    pub fn finish(mut self) -> Result<(W, Losses), Error> {
        // SimKube has no end marker: the window ends with the last event, so an idle tail becomes an event.
        let end = self.header.window.end.map(floor).filter(|end| *end > self.last_second);
        self.next_event(end.unwrap_or_default());
        if let Some(end) = end {
            self.next_event(end);
        }
        let mut out = Vec::new();
        push_map(&mut out, 5);
        push_text(&mut out, "version");
        push_unsigned(&mut out, 2);
        push_text(&mut out, "config");
        (self.losses.untracked, self.losses.paths) = config::write(&mut out, &self.header.tracked);
        push_text(&mut out, "events");
        push_array(&mut out, self.event_count);
        self.output
            .write_all(&out)
            .and_then(|()| self.output.write_all(&self.events))
            .map_err(Error::write)?;
        out.clear();
        push_text(&mut out, "index");
        push_map(&mut out, self.index.len());
        for (gvk, names) in &self.index {
            push_text(&mut out, &gvk.to_string());
            push_map(&mut out, names.len());
            for (name, hash) in names {
                push_text(&mut out, name);
                push_unsigned(&mut out, *hash);
            }
        }
        push_text(&mut out, "pod_lifecycles");
        push_lives(&mut out, &self.lives);
        self.output.write_all(&out).and_then(|()| self.output.flush()).map_err(Error::write)?;
        Ok((self.output, self.losses))
    }
}

/// SimKube refuses a whole file for one kind that it cannot parse.
fn is_nameable(gvk: &Gvk) -> bool {
    gvk.to_string().parse::<Gvk>().is_ok_and(|parsed| parsed == *gvk)
}

/// Whole seconds, downwards also before 1970.
fn floor(time: Timestamp) -> i64 {
    time.as_second() - i64::from(time.subsec_nanosecond() < 0)
}

fn push_lives(out: &mut Vec<u8>, lives: &BTreeMap<(Gvk, String), BTreeMap<u64, Vec<Times>>>) {
    push_map(out, lives.len());
    for ((gvk, name), templates) in lives {
        push_array(out, 2);
        push_text(out, &gvk.to_string());
        push_text(out, name);
        push_map(out, templates.len());
        for (hash, lives) in templates {
            push_unsigned(out, *hash);
            push_array(out, lives.len());
            for life in lives {
                match *life {
                    (Some(start), Some(end)) => {
                        push_map(out, 1);
                        push_text(out, "Finished");
                        push_array(out, 2);
                        push_signed(out, start);
                        push_signed(out, end);
                    }
                    (Some(start), None) => {
                        push_map(out, 1);
                        push_text(out, "Running");
                        push_signed(out, start);
                    }
                    (None, _) => push_text(out, "Empty"),
                }
            }
        }
    }
}

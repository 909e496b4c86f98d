//! Turns a SimKube file into records.

use std::collections::HashMap;

use jiff::Timestamp;

use super::lives::{self, Lives};
use super::msgpack::{Cursor, Token};
use super::notes::Notes;
use super::outline::{Event, Outline};
use super::owners::Owners;
use super::{config, index, transcode};
use crate::{Error, Header, Key, Limits, Object, Record, Source, json};

/// A stream of records out of a file that is held in memory: SimKube puts pod lives and index behind the
/// events, and the order of its parts is free, so nothing can be handed out before all of it was seen.
/// Beyond the file itself, memory grows with the number of objects and lives, not with their size.
pub struct Reader {
    bytes: Vec<u8>,
    header: Header,
    version: u8,
    notes: Vec<String>,
    /// Largest object, as JSON, that is handed out.
    most: usize,
    lives: Lives,
    events: Events,
    /// Second at which the stream stands; it never goes back, although stamps may.
    latest: i64,
    /// Where the last applied state of each object stands in the file.
    applied: HashMap<Key, usize>,
    /// What the file's own index says of each object, by name; looked at when the events are over.
    index: std::vec::IntoIter<(Key, u64)>,
    over: bool,
}

/// Position in the list of events.
struct Events {
    all: Vec<Event>,
    begun: usize,
    current: Option<OpenEvent>,
}

/// An event whose objects are being handed out: the applied ones, then the deleted ones, as SimKube replays.
struct OpenEvent {
    second: i64,
    /// The recorder began a new batch in the second of the one before: its first change says so.
    is_new_batch: bool,
    list: List,
    element: usize,
    elements: usize,
    next: usize,
    deleted: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum List {
    Applied,
    Deleted,
}

impl List {
    fn name(self) -> &'static str {
        match self {
            Self::Applied => "applied_objs",
            Self::Deleted => "deleted_objs",
        }
    }
}

impl Reader {
    /// Reads MessagePack of version 1 or 2.
    pub fn from_msgpack(bytes: Vec<u8>, limits: Limits) -> Result<Self, Error> {
        let mut notes = Notes::default();
        let outline = Outline::of(&bytes, limits, &mut notes)?;
        let tracked = config::read(Cursor::at(&bytes, outline.config), &mut notes)?;
        let owners = match outline.version {
            1 => Owners::by_name(&bytes, &outline, &tracked)?,
            _ => Owners::default(),
        };
        let at = |position| Cursor::at(&bytes, position);
        let lives = lives::read(at(outline.lives), outline.first_second(), &owners, &mut notes, limits)?;
        let index = index::read(at(outline.index), outline.version, &owners, &mut notes, limits)?;
        let instant =
            |second| Timestamp::from_second(second).expect("the outline checked every event's time");
        let source = Source { format: Some(format!("simkube/{}", outline.version)), ..Source::default() };
        let (start, end) = (instant(outline.first_second()), instant(outline.last_second()));
        let header = Header { source, tracked, ..Header::new(start, Some(end)) };
        Ok(Self {
            header,
            version: outline.version,
            notes: notes.into_lines(),
            most: limits.record_bytes,
            lives,
            events: Events { all: outline.events, begun: 0, current: None },
            latest: start.as_second(),
            applied: HashMap::new(),
            index: index.into_iter(),
            over: false,
            bytes,
        })
    }

    /// Reads the JSON spelling of the same structures.
    pub fn from_json(text: &str, limits: Limits) -> Result<Self, Error> {
        let mut bytes = Vec::with_capacity(text.len());
        transcode::from_json(text, &mut bytes).map_err(|error| {
            let place = format!("line {}, column {}", error.line(), error.column());
            // serde_json ends its message with the place; ours stands in front.
            let what = error.to_string();
            let what = what.split(" at line ").next().unwrap_or_default().to_owned();
            Error::damaged(place, what)
        })?;
        let mut reader = Self::from_msgpack(bytes, limits)?;
        if json::has_wide_integer(text.as_bytes()) {
            reader.notes.push("integers beyond 64 bits were rounded".to_owned());
        }
        Ok(reader)
    }

    /// What the file says of itself, in our words.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// 1 or 2.
    pub fn version(&self) -> u8 {
        self.version
    }

    /// What was understood differently from how it stands in the file, for people.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    fn next_record(&mut self) -> Result<Option<Record>, Error> {
        loop {
            if let Some(event) = &mut self.events.current {
                if event.element < event.elements {
                    return self.next_object().map(Some);
                }
                if event.list == List::Applied {
                    let list = Cursor::at(&self.bytes, event.deleted);
                    (event.elements, event.next) = open_list(list);
                    (event.list, event.element) = (List::Deleted, 0);
                    continue;
                }
                self.events.current = None;
            }
            if self.events.begun < self.events.all.len() {
                if let Some(record) = self.next_event() {
                    return Ok(Some(record));
                }
                continue;
            }
            if let Some(life) = self.lives.pop() {
                return Ok(Some(Record::Life(Box::new(life))));
            }
            // An entry that the events confirm says nothing new.
            let known = self.index.find(|(key, hash)| {
                let object = self.applied.get(key).map(|position| Cursor::at(&self.bytes, *position));
                object.and_then(index::hash_of_spec) != Some(*hash)
            });
            return Ok(known.map(|(key, spec_hash)| Record::Known { key, spec_hash }));
        }
    }

    /// Opens the next event; gives a record instead if a life comes before it, or if the event is empty.
    fn next_event(&mut self) -> Option<Record> {
        let number = self.events.begun;
        let event = self.events.all[number];
        let at = self.latest.max(event.second);
        // Lives that begin in the same second stand behind the changes.
        if number > 0 && self.lives.next_second().is_some_and(|second| second < at) {
            return self.lives.pop().map(|life| Record::Life(Box::new(life)));
        }
        self.latest = at;
        self.events.begun += 1;
        let (elements, next) = open_list(Cursor::at(&self.bytes, event.applied));
        let (deleted_elements, _) = open_list(Cursor::at(&self.bytes, event.deleted));
        if elements == 0 && deleted_elements == 0 && number > 0 {
            let (at, stamp) = self.times(event.second);
            return Some(Record::Tick { at, stamp });
        }
        let is_new_batch = number > 0 && self.joins_previous(number, elements > 0);
        self.events.current = Some(OpenEvent {
            second: event.second,
            is_new_batch,
            list: List::Applied,
            element: 0,
            elements,
            next,
            deleted: event.deleted,
        });
        None
    }

    /// Whether nothing but a stamp keeps this event apart from the one before it. A tick does, and a change
    /// at the start is told apart from the initial objects anyway.
    fn joins_previous(&self, number: usize, applies: bool) -> bool {
        let (previous, event) = (self.events.all[number - 1], self.events.all[number]);
        let is_empty = |list: usize| open_list(Cursor::at(&self.bytes, list)).0 == 0;
        let is_start = number == 1;
        let is_tick = !is_start && is_empty(previous.applied) && is_empty(previous.deleted);
        previous.second == event.second && !is_tick && !(is_start && applies)
    }

    fn next_object(&mut self) -> Result<Record, Error> {
        let number = self.events.begun - 1;
        let event = self.events.current.as_mut().expect("called inside an event");
        let mut cursor = Cursor::at(&self.bytes, event.next);
        let object = transcode::object(&mut cursor).map_err(|malformed| {
            let place = format!("events[{number}].{}[{}]", event.list.name(), event.element);
            Error::damaged(place, malformed.to_string())
        })?;
        if object.json().len() > self.most {
            let place = format!("events[{number}].{}[{}]", event.list.name(), event.element);
            return Err(Error::limit(place, format!("an object is larger than {} bytes", self.most)));
        }
        let (begin, list, second) = (event.next, event.list, event.second);
        let is_new_batch = std::mem::take(&mut event.is_new_batch);
        event.next = cursor.position();
        event.element += 1;
        if list == List::Applied {
            self.applied.insert(object.key().clone(), begin);
        }
        // The first event is the start marker: what it applies was alive when the window opened.
        let is_start = self.events.begun == 1;
        let (at, stamp) = self.times(second);
        let stamp = stamp.or(is_new_batch.then_some(at));
        Ok(change(list, is_start, at, stamp, object))
    }
    /// When a change of this stamp happened: never before the one in front of it.
    fn times(&self, second: i64) -> (Timestamp, Option<Timestamp>) {
        let instant =
            |second| Timestamp::from_second(second).expect("the outline checked every event's time");
        (instant(self.latest), (second < self.latest).then(|| instant(second)))
    }
}

fn change(list: List, is_start: bool, at: Timestamp, stamp: Option<Timestamp>, object: Object) -> Record {
    match list {
        List::Applied if is_start => Record::Initial { object },
        List::Applied => Record::Applied { at, stamp, object },
        List::Deleted => Record::Deleted { at, stamp, object },
    }
}

/// Length of a list, and where its first element begins.
fn open_list(mut cursor: Cursor<'_>) -> (usize, usize) {
    match cursor.token() {
        Ok(Token::Array(elements)) => (elements, cursor.position()),
        _ => unreachable!("Event::at checked that both are arrays"),
    }
}

impl Iterator for Reader {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let next = self.next_record().transpose();
        self.over = !matches!(next, Some(Ok(_)));
        next
    }
}

//! Finds the parts of a SimKube file and checks its shape, once, before anything in it is used.
//!
//! Afterwards nesting is known to be bounded and every length to fit, so the readers of the parts may recurse.

use super::msgpack::{Cursor, Malformed, Token};
use super::notes::Notes;
use crate::{Error, Limits};

/// Where the parts of a file begin.
pub(super) struct Outline {
    pub(super) version: u8,
    pub(super) config: usize,
    /// Never empty.
    pub(super) events: Vec<Event>,
    pub(super) index: usize,
    pub(super) lives: usize,
}

/// SimKube's names of the five parts, in the order in which it declares them.
pub(crate) const PARTS: [&str; 5] = ["version", "config", "events", "index", "pod_lifecycles"];
const VERSION: usize = 0;
const EVENTS: usize = 2;

impl Outline {
    pub(super) fn of(bytes: &[u8], limits: Limits, notes: &mut Notes) -> Result<Self, Error> {
        let mut cursor = Cursor::new(bytes);
        let mut parts = [None; 5];
        let mut events = Vec::new();
        let broken = |malformed: Malformed| Error::damaged("the top level", malformed.to_string());
        let top = cursor.token().map_err(broken)?;
        match top {
            Token::Map(entries) => {
                for _ in 0..entries {
                    let Some(key) = cursor.next_text().map_err(broken)? else {
                        return Err(Error::NotATrace(
                            "its top level has keys that are no strings".to_owned(),
                        ));
                    };
                    let part = PARTS.iter().position(|part| *part == key);
                    match part {
                        Some(part) => parts[part] = Some(cursor.position()),
                        None => notes.add(format!("unknown key `{key}` at the top level was left out")),
                    }
                    pass(&mut cursor, key, part == Some(EVENTS), &mut events, limits, notes)?;
                }
            }
            // Version 1 was four parts without a version; version 2 may come as an array too.
            Token::Array(elements @ (4 | 5)) => {
                for (part, slot) in parts.iter_mut().enumerate().skip(5 - elements) {
                    *slot = Some(cursor.position());
                    pass(&mut cursor, PARTS[part], part == EVENTS, &mut events, limits, notes)?;
                }
            }
            other => {
                let what = format!("its top level is {}, where a trace has a map", other.name());
                return Err(Error::NotATrace(what));
            }
        }
        if !cursor.is_at_end() {
            return Err(Error::damaged("the end of the file", "data after the trace"));
        }
        if parts.iter().all(Option::is_none) {
            return Err(Error::NotATrace("it has none of a trace's parts".to_owned()));
        }
        let part = |number: usize| {
            parts[number]
                .ok_or_else(|| Error::damaged("the top level", format!("`{}` is missing", PARTS[number])))
        };
        let version = if top == Token::Array(4) { 1 } else { version(Cursor::at(bytes, part(VERSION)?))? };
        part(EVENTS)?;
        if events.is_empty() {
            return Err(Error::NoEvents);
        }
        Ok(Self { version, config: part(1)?, events, index: part(3)?, lives: part(4)? })
    }

    /// Second of the start marker.
    pub(super) fn first_second(&self) -> i64 {
        self.events[0].second
    }

    /// Latest second of any event.
    pub(super) fn last_second(&self) -> i64 {
        self.events.iter().map(|event| event.second).max().unwrap_or(self.first_second())
    }
}

/// Moves behind one part, checking it; of the events, notes where each begins.
fn pass(
    cursor: &mut Cursor<'_>,
    name: &str,
    are_events: bool,
    events: &mut Vec<Event>,
    limits: Limits,
    notes: &mut Notes,
) -> Result<(), Error> {
    let broken = |malformed: Malformed| Error::damaged(name, malformed.to_string());
    if !are_events {
        return cursor.skip(limits.depth).map_err(broken);
    }
    let Token::Array(count) = cursor.token().map_err(broken)? else {
        return Err(Error::damaged(name, "it is not an array"));
    };
    limits.check_entries(name, count)?;
    events.clear();
    for number in 0..count {
        let event = Event::at(cursor, limits.depth, notes);
        events.push(event.map_err(|what| Error::damaged(format!("events[{number}]"), what))?);
    }
    Ok(())
}

fn version(mut cursor: Cursor<'_>) -> Result<u8, Error> {
    match cursor.token() {
        Ok(Token::Unsigned(2)) => Ok(2),
        Ok(Token::Unsigned(1)) => {
            Err(Error::damaged("version", "a trace of version 1 has no version and is an array"))
        }
        Ok(Token::Unsigned(other)) => {
            Err(Error::Version { found: format!("simkube/{other}"), readable: "simkube/1 and simkube/2" })
        }
        _ => Err(Error::damaged("version", "it is not an integer")),
    }
}

/// One event: its second, and where its two lists begin.
#[derive(Clone, Copy)]
pub(super) struct Event {
    pub(super) second: i64,
    pub(super) applied: usize,
    pub(super) deleted: usize,
}

impl Event {
    /// Reads the event at the cursor, a map or an array, and moves behind it.
    fn at<'a>(cursor: &mut Cursor<'a>, depth: usize, notes: &mut Notes) -> Result<Self, String> {
        const FIELDS: [&[u8]; 3] = [b"ts", b"applied_objs", b"deleted_objs"];
        let mut fields = [None; 3];
        let mut skip = |cursor: &mut Cursor<'a>, field: Option<usize>| {
            if let Some(field) = field {
                fields[field] = Some(*cursor);
            }
            cursor.skip(depth).map_err(|malformed| malformed.to_string())
        };
        match cursor.token().map_err(|malformed| malformed.to_string())? {
            Token::Map(entries) => {
                for _ in 0..entries {
                    let Ok(Token::Text(key)) = cursor.token() else {
                        return Err("an event has a key that is no string".to_owned());
                    };
                    let field = FIELDS.iter().position(|field| *field == key);
                    if field.is_none() {
                        notes.add(format!("events: unknown key `{}` was left out", key.escape_ascii()));
                    }
                    skip(cursor, field)?;
                }
            }
            Token::Array(3) => (0..3).try_for_each(|field| skip(cursor, Some(field)))?,
            other => return Err(format!("an event must be a map, not {}", other.name())),
        }
        let field = |number: usize| {
            fields[number].ok_or_else(|| format!("`{}` is missing", FIELDS[number].escape_ascii()))
        };
        let second = match field(0)?.token() {
            Ok(Token::Unsigned(second)) => {
                i64::try_from(second).map_err(|_| "`ts` is out of range".to_owned())?
            }
            Ok(Token::Negative(second)) => second,
            Ok(other) => return Err(format!("`ts` must be whole seconds, not {}", other.name())),
            Err(malformed) => return Err(malformed.to_string()),
        };
        // jiff's range is the years -9999 to 9999; a time outside it cannot be meant.
        if jiff::Timestamp::from_second(second).is_err() {
            return Err(format!("`ts` {second} is out of range"));
        }
        for (number, name) in FIELDS.iter().enumerate().skip(1) {
            if !matches!(field(number)?.token(), Ok(Token::Array(_))) {
                return Err(format!("`{}` is not an array", name.escape_ascii()));
            }
        }
        Ok(Self { second, applied: field(1)?.position(), deleted: field(2)?.position() })
    }
}

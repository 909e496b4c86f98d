//! `pod_lifecycles`: owner, then pod hash, then a list of lives in the order in which they were recorded.

use std::collections::VecDeque;

use jiff::Timestamp;

use super::msgpack::{Cursor, Malformed, Token};
use super::notes::Notes;
use super::owners::Owners;
use crate::{Error, Gvk, Key, Limits, PodLife, TemplateHash};

/// All lives of a file, in the order of the stream. They are kept small until they are asked for: a hostile file
/// can spell a life in a single byte.
pub(super) struct Lives {
    owners: Vec<Key>,
    placed: VecDeque<Placed>,
}

/// A life and the second at which it goes into the stream.
struct Placed {
    second: i64,
    owner: usize,
    hash: u64,
    times: Times,
}

impl Lives {
    /// Where in the stream the next life stands.
    pub(super) fn next_second(&self) -> Option<i64> {
        self.placed.front().map(|placed| placed.second)
    }

    /// Takes the next life.
    pub(super) fn pop(&mut self) -> Option<PodLife> {
        let placed = self.placed.pop_front()?;
        let mut life = PodLife::new(self.owners[placed.owner].clone(), TemplateHash::Simkube(placed.hash));
        let instant = |second| Timestamp::from_second(second).expect("`read` checked every time");
        life.started = placed.times.0.map(instant);
        life.finished = placed.times.1.map(instant);
        Some(life)
    }
}

/// Reads every life, sorted by where it goes into the stream. Lives of one list keep their order: one that
/// seems to begin before its predecessor waits for it.
pub(super) fn read(
    mut cursor: Cursor<'_>,
    window_start: i64,
    names: &Owners,
    notes: &mut Notes,
    limits: Limits,
) -> Result<Lives, Error> {
    let (mut owners, mut lives) = (Vec::new(), Vec::new());
    let broken = |malformed: Malformed| Error::damaged("pod_lifecycles", malformed.to_string());
    // JSON has no maps with arrays as keys, so there the entries may come as a list of pairs.
    let (entries, in_pairs) = match cursor.token().map_err(broken)? {
        Token::Map(entries) => (entries, false),
        Token::Array(pairs) => (pairs, true),
        other => return Err(Error::damaged("pod_lifecycles", format!("it is {}, not a map", other.name()))),
    };
    limits.check_entries("pod_lifecycles", entries)?;
    for number in 0..entries {
        let place = format!("pod_lifecycles[{number}]");
        let broken = |malformed: Malformed| Error::damaged(&*place, malformed.to_string());
        if in_pairs && cursor.token().map_err(broken)? != Token::Array(2) {
            return Err(Error::damaged(&*place, "it is not a pair of owner and lives"));
        }
        let (gvk, name) = owner_name(&mut cursor).map_err(|what| Error::damaged(&*place, what))?;
        let owner = owners.len();
        owners.push(names.key(gvk, &name, notes));
        let Token::Map(templates) = cursor.token().map_err(broken)? else {
            return Err(Error::damaged(&*place, "the lives are not grouped by pod hash"));
        };
        for _ in 0..templates {
            let hash = match cursor.token().map_err(broken)? {
                Token::Unsigned(hash) => Some(hash),
                Token::Text(text) => str::from_utf8(text).ok().and_then(|text| text.parse().ok()),
                _ => None,
            };
            let hash = hash.ok_or_else(|| Error::damaged(&*place, "a pod hash is no 64-bit number"))?;
            let Token::Array(count) = cursor.token().map_err(broken)? else {
                return Err(Error::damaged(&*place, "the lives of a pod hash are not a list"));
            };
            limits.check_entries("pod_lifecycles", lives.len() + count)?;
            let mut second = window_start;
            for position in 0..count {
                let times = times(&mut cursor)
                    .map_err(|what| Error::damaged(format!("{place}[{position}]"), what))?;
                second = second.max(times.0.unwrap_or(second));
                lives.push(Placed { second, owner, hash, times });
            }
        }
    }
    // The sort is stable, so the order within a list survives. Owners are compared because SimKube writes
    // its maps in random order: two exports of one recording become the same trace.
    lives.sort_by(|a, b| (a.second, &owners[a.owner], a.hash).cmp(&(b.second, &owners[b.owner], b.hash)));
    Ok(Lives { owners, placed: lives.into() })
}

/// `[kind, name]`, the name alone (version 1), or the pair spelled as JSON text.
fn owner_name(cursor: &mut Cursor<'_>) -> Result<(Option<Gvk>, String), String> {
    let pair = |gvk: &str, name: &str| match gvk.parse::<Gvk>() {
        Ok(gvk) => Ok((Some(gvk), name.to_owned())),
        Err(error) => Err(error.to_string()),
    };
    match token(cursor)? {
        Token::Array(2) => match (cursor.next_text(), cursor.next_text()) {
            (Ok(Some(gvk)), Ok(Some(name))) => pair(gvk, name),
            _ => Err("an owner is not a pair of kind and name".to_owned()),
        },
        Token::Text(text) => {
            let text = cursor.text(text).map_err(|malformed| malformed.to_string())?;
            match serde_json::from_str::<(String, String)>(text) {
                Ok((gvk, name)) => pair(&gvk, &name),
                Err(_) => Ok((None, text.to_owned())),
            }
        }
        other => Err(format!("an owner is {}", other.name())),
    }
}

type Times = (Option<i64>, Option<i64>);

/// `"Empty"`, `{"Running": start}` or `{"Finished": [start, end]}`; variants may be given by number, and the
/// form with named times that SimKube documents (but never writes) is understood too.
fn times(cursor: &mut Cursor<'_>) -> Result<Times, String> {
    let unknown = || "it is none of Empty, Running and Finished".to_owned();
    match token(cursor)? {
        Token::Text(b"Empty" | b"0") | Token::Unsigned(0) => Ok((None, None)),
        Token::Map(entries @ (1 | 2)) => {
            let mut times = (None, None);
            for _ in 0..entries {
                match token(cursor)? {
                    Token::Text(b"Empty" | b"0") | Token::Unsigned(0) => {
                        cursor.skip(usize::MAX).map_err(|malformed| malformed.to_string())?;
                    }
                    Token::Text(b"Running" | b"1" | b"start_ts") | Token::Unsigned(1) => {
                        times.0 = Some(second(cursor)?);
                    }
                    Token::Text(b"end_ts") => times.1 = Some(second(cursor)?),
                    Token::Text(b"Finished" | b"2") | Token::Unsigned(2) => {
                        if token(cursor)? != Token::Array(2) {
                            return Err("`Finished` is not a pair of times".to_owned());
                        }
                        times = (Some(second(cursor)?), Some(second(cursor)?));
                    }
                    _ => return Err(unknown()),
                }
            }
            Ok(times)
        }
        _ => Err(unknown()),
    }
}

fn token<'a>(cursor: &mut Cursor<'a>) -> Result<Token<'a>, String> {
    cursor.token().map_err(|malformed| malformed.to_string())
}

fn second(cursor: &mut Cursor<'_>) -> Result<i64, String> {
    let second = match token(cursor)? {
        Token::Unsigned(second) => i64::try_from(second).ok(),
        Token::Negative(second) => Some(second),
        other => return Err(format!("a time is {}, not whole seconds", other.name())),
    };
    let in_calendar = second.filter(|second| Timestamp::from_second(*second).is_ok());
    in_calendar.ok_or_else(|| "a time is out of range".to_owned())
}

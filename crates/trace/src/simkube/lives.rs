//! `pod_lifecycles`: owner, then pod hash, then a list of lives in the order in which they were recorded.

use jiff::Timestamp;

use super::msgpack::{Cursor, Malformed, Token};
use crate::{Error, Gvk, Key, PodLife, TemplateHash};

/// A life and the second at which it goes into the stream.
pub(super) struct Placed {
    pub(super) second: i64,
    pub(super) life: PodLife,
}

/// Reads every life, sorted by where it goes into the stream. Lives of one list keep their order: one that
/// seems to begin before its predecessor waits for it.
///
/// `owner` completes a name to a key: version 1 does not say of which kind an owner is.
pub(super) fn read(
    mut cursor: Cursor<'_>,
    window_start: i64,
    owner: &mut dyn FnMut(Option<Gvk>, &str) -> Key,
) -> Result<Vec<Placed>, Error> {
    let mut lives = Vec::new();
    let broken = |malformed: Malformed| Error::damaged("pod_lifecycles", malformed.to_string());
    // JSON has no maps with arrays as keys, so there the entries may come as a list of pairs.
    let (entries, in_pairs) = match cursor.token().map_err(broken)? {
        Token::Map(entries) => (entries, false),
        Token::Array(pairs) => (pairs, true),
        other => return Err(Error::damaged("pod_lifecycles", format!("it is {}, not a map", other.name()))),
    };
    for number in 0..entries {
        let place = format!("pod_lifecycles[{number}]");
        let broken = |malformed: Malformed| Error::damaged(&*place, malformed.to_string());
        if in_pairs && cursor.token().map_err(broken)? != Token::Array(2) {
            return Err(Error::damaged(&*place, "it is not a pair of owner and lives"));
        }
        let (gvk, name) = owner_name(&mut cursor).map_err(|what| Error::damaged(&*place, what))?;
        let owner = owner(gvk, &name);
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
            let mut second = window_start;
            for position in 0..count {
                let place = format!("{place}[{position}]");
                let times = times(&mut cursor).map_err(|what| Error::damaged(&*place, what))?;
                let mut life = PodLife::new(owner.clone(), TemplateHash::Simkube(hash));
                let instant = |second: i64| {
                    Timestamp::from_second(second)
                        .map_err(|_| Error::damaged(&*place, format!("time {second} is out of range")))
                };
                life.started = times.0.map(instant).transpose()?;
                life.finished = times.1.map(instant).transpose()?;
                second = second.max(times.0.unwrap_or(second));
                lives.push(Placed { second, life });
            }
        }
    }
    // The sort is stable, so the order within a list survives. Owners are compared because SimKube writes
    // its maps in random order: two exports of one recording become the same trace.
    lives.sort_by(|a, b| {
        (a.second, &a.life.owner, a.life.template).cmp(&(b.second, &b.life.owner, b.life.template))
    });
    Ok(lives)
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
    match token(cursor)? {
        Token::Unsigned(second) => i64::try_from(second).map_err(|_| "a time is out of range".to_owned()),
        Token::Negative(second) => Ok(second),
        other => Err(format!("a time is {}, not whole seconds", other.name())),
    }
}

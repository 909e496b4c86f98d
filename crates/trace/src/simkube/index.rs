//! The `index` of a SimKube file: which objects its recorder knew, with a hash of each one's spec.

use super::hash;
use super::msgpack::{Cursor, Malformed, Token};
use super::notes::Notes;
use super::owners::Owners;
use crate::{Error, Gvk, Key, Limits};

/// Reads all entries, sorted by name: SimKube writes them in random order.
pub(super) fn read(
    mut cursor: Cursor<'_>,
    version: u8,
    owners: &Owners,
    notes: &mut Notes,
    limits: Limits,
) -> Result<Vec<(Key, u64)>, Error> {
    let broken = |malformed: Malformed| Error::damaged("index", malformed.to_string());
    let mut entries = Vec::new();
    if version == 1 {
        read_names(&mut cursor, None, owners, notes, limits, &mut entries)?;
    } else {
        let Token::Map(kinds) = cursor.token().map_err(broken)? else {
            return Err(Error::damaged("index", "it is not a map"));
        };
        for _ in 0..kinds {
            let Some(kind) = cursor.next_text().map_err(broken)? else {
                return Err(Error::damaged("index", "a kind is no string"));
            };
            let gvk: Gvk =
                kind.parse().map_err(|error: crate::GvkError| Error::damaged("index", error.to_string()))?;
            read_names(&mut cursor, Some(&gvk), owners, notes, limits, &mut entries)?;
        }
    }
    entries.sort();
    Ok(entries)
}

fn read_names(
    cursor: &mut Cursor<'_>,
    gvk: Option<&Gvk>,
    owners: &Owners,
    notes: &mut Notes,
    limits: Limits,
    entries: &mut Vec<(Key, u64)>,
) -> Result<(), Error> {
    let broken = |malformed: Malformed| Error::damaged("index", malformed.to_string());
    let Token::Map(names) = cursor.token().map_err(broken)? else {
        return Err(Error::damaged("index", "its names are not a map"));
    };
    limits.check_entries("index", entries.len() + names)?;
    for _ in 0..names {
        match (cursor.next_text().map_err(broken)?, cursor.token().map_err(broken)?) {
            (Some(name), Token::Unsigned(hash)) => {
                entries.push((owners.key(gvk.cloned(), name, notes), hash));
            }
            _ => return Err(Error::damaged("index", "an entry is not a name with a hash")),
        }
    }
    Ok(())
}

/// Hash of the spec of the object at the cursor, if it can be walked.
pub(super) fn hash_of_spec(mut object: Cursor<'_>) -> Option<u64> {
    let Ok(Token::Map(entries)) = object.token() else { return None };
    for _ in 0..entries {
        if object.token().ok()? == Token::Text(b"spec") {
            return hash::of_msgpack(&mut object).ok();
        }
        object.skip(usize::MAX).ok()?;
    }
    Some(hash::of_nothing())
}

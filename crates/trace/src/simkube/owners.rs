//! Full names for the `namespace/name` strings of a SimKube file.

use std::collections::{BTreeMap, BTreeSet};

use super::msgpack::{Cursor, Token};
use super::notes::Notes;
use super::outline::Outline;
use super::transcode;
use crate::{Error, Gvk, Key, Tracked};

/// Completes names to keys. Version 1 does not say of which kind an owner is; there the objects of the file
/// that bear the name decide.
#[derive(Default)]
pub(super) struct Owners {
    /// Kinds by `namespace/name`, those whose pod lives were tracked first.
    kinds: BTreeMap<String, Vec<Gvk>>,
}

impl Owners {
    /// Looks through all events for the kinds behind each name.
    pub(super) fn by_name(
        bytes: &[u8],
        outline: &Outline,
        tracked: &BTreeMap<Gvk, Tracked>,
    ) -> Result<Self, Error> {
        let mut kinds: BTreeMap<String, BTreeSet<Gvk>> = BTreeMap::new();
        for (number, event) in outline.events.iter().enumerate() {
            let damaged = |what: String| Error::damaged(format!("events[{number}]"), what);
            for list in [event.applied, event.deleted] {
                let mut list = Cursor::at(bytes, list);
                let Ok(Token::Array(objects)) = list.token() else { continue };
                for _ in 0..objects {
                    let object =
                        transcode::object(&mut list).map_err(|malformed| damaged(malformed.to_string()))?;
                    let key = object.key();
                    kinds.entry(key.namespaced_name()).or_default().insert(key.gvk.clone());
                }
            }
        }
        let has_lives = |gvk: &Gvk| tracked.get(gvk).is_some_and(|tracked| tracked.pod_lives);
        let sorted = kinds.into_iter().map(|(name, kinds)| {
            let (first, rest): (Vec<Gvk>, Vec<Gvk>) = kinds.into_iter().partition(has_lives);
            (name, first.into_iter().chain(rest).collect())
        });
        Ok(Self { kinds: sorted.collect() })
    }

    /// The key for a name, of the given kind or of the one that the file suggests.
    pub(super) fn key(&self, gvk: Option<Gvk>, name: &str, notes: &mut Notes) -> Key {
        let gvk = gvk.unwrap_or_else(|| {
            let candidates = self.kinds.get(name).map_or(&[][..], Vec::as_slice);
            if candidates.len() != 1 {
                notes.add(match candidates.first() {
                    Some(first) => format!("`{name}` may be of several kinds; {first} was taken"),
                    None => format!("`{name}` is no object of the trace; its kind is not known"),
                });
            }
            candidates.first().cloned().unwrap_or_default()
        });
        let (namespace, name) = name.split_once('/').unwrap_or(("", name));
        Key { gvk, namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

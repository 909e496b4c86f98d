//! The `config` of a SimKube file: which kinds were tracked, and how.

use std::collections::BTreeMap;

use super::msgpack::{Cursor, Malformed, Token};
use super::notes::Notes;
use super::transcode::{push_array, push_map, push_text};
use crate::{Error, Gvk, Tracked};

/// Reads the tracked kinds. Kinds that SimKube refuses (no pod template, a `ReplicaSet`'s true path) are
/// welcome; keys that nobody knows are reported through `notes`.
pub(super) fn read(cursor: Cursor<'_>, notes: &mut Notes) -> Result<BTreeMap<Gvk, Tracked>, Error> {
    let mut tracked = BTreeMap::new();
    let Some(mut objects) = tracked_objects(cursor, notes).map_err(broken("config"))? else {
        return Err(Error::damaged("config", "`trackedObjects` is missing"));
    };
    let Token::Map(kinds) = objects.token().map_err(broken("config.trackedObjects"))? else {
        return Err(Error::damaged("config.trackedObjects", "it is not a map"));
    };
    for _ in 0..kinds {
        let Some(key) = objects.next_text().map_err(broken("config.trackedObjects"))? else {
            return Err(Error::damaged("config.trackedObjects", "a kind is no string"));
        };
        let place = format!("config.trackedObjects[{key:?}]");
        let gvk: Gvk =
            key.parse().map_err(|error: crate::GvkError| Error::damaged(&*place, error.to_string()))?;
        let entry = entry(&mut objects, &gvk, &place, notes)?;
        tracked.insert(gvk, entry);
    }
    Ok(tracked)
}

fn broken(place: &str) -> impl Fn(Malformed) -> Error {
    move |malformed| Error::damaged(place, malformed.to_string())
}

/// Where `trackedObjects` stands: in a map, or first in an array.
fn tracked_objects<'a>(mut cursor: Cursor<'a>, notes: &mut Notes) -> Result<Option<Cursor<'a>>, Malformed> {
    let mut found = None;
    match cursor.token()? {
        Token::Array(1) => found = Some(cursor),
        Token::Map(entries) => {
            for _ in 0..entries {
                match cursor.next_text()? {
                    Some("trackedObjects") => found = Some(cursor),
                    other => {
                        notes.add(format!("config: unknown key `{}` was left out", other.unwrap_or("?")));
                    }
                }
                cursor.skip(usize::MAX)?;
            }
        }
        _ => {}
    }
    Ok(found)
}

fn entry(cursor: &mut Cursor<'_>, gvk: &Gvk, place: &str, notes: &mut Notes) -> Result<Tracked, Error> {
    let mut tracked = Tracked::default();
    let mut deprecated_path = None;
    let fields = match cursor.token().map_err(broken(place))? {
        Token::Map(fields) => fields,
        Token::Nil => 0,
        other => return Err(Error::damaged(place, format!("it is {}, not a map", other.name()))),
    };
    for _ in 0..fields {
        let Some(field) = cursor.next_text().map_err(broken(place))? else {
            return Err(Error::damaged(place, "a key is no string"));
        };
        let wrong = || Error::damaged(place, format!("`{field}` has the wrong type"));
        match field {
            "podSpecTemplatePaths" => {
                tracked.pod_templates = paths(cursor).map_err(broken(place))?.ok_or_else(wrong)?;
            }
            "podSpecTemplatePath" => match cursor.token().map_err(broken(place))? {
                Token::Text(path) => {
                    deprecated_path = Some(cursor.text(path).map_err(broken(place))?.to_owned());
                }
                Token::Nil => {}
                _ => return Err(wrong()),
            },
            "trackLifecycle" | "skipOwned" => {
                let Token::Bool(flag) = cursor.token().map_err(broken(place))? else { return Err(wrong()) };
                if field == "skipOwned" {
                    tracked.skip_owned = flag;
                } else {
                    tracked.pod_lives = flag;
                }
            }
            _ => {
                notes.add(format!("{place}: unknown key `{field}` was left out"));
                cursor.skip(usize::MAX).map_err(broken(place))?;
            }
        }
    }
    let plural_is_given = tracked.pod_templates.as_ref().is_some_and(|paths| !paths.is_empty());
    if !plural_is_given && let Some(path) = deprecated_path {
        tracked.pod_templates = Some(vec![path]);
    }
    // SimKube's built-in path of this kind is wrong, and it refuses the right one.
    if *gvk == Gvk::new("apps/v1", "ReplicaSet")
        && tracked.pod_templates.as_deref() == Some(&["/spec".to_owned()])
    {
        tracked.pod_templates = Some(vec!["/spec/template".to_owned()]);
        notes.add(format!("{place}: SimKube's path `/spec` was read as `/spec/template`"));
    }
    Ok(tracked)
}

/// A list of paths, or nil. The outer `None` means something else stands there.
#[expect(clippy::option_option, reason = "absent list and wrong type are different answers")]
fn paths(cursor: &mut Cursor<'_>) -> Result<Option<Option<Vec<String>>>, Malformed> {
    let elements = match cursor.token()? {
        Token::Nil => return Ok(Some(None)),
        Token::Array(elements) => elements,
        _ => return Ok(None),
    };
    let mut paths = Vec::new();
    for _ in 0..elements {
        let Some(path) = cursor.next_text()? else { return Ok(None) };
        paths.push(path.to_owned());
    }
    Ok(Some(Some(paths)))
}

/// Writes the tracked kinds that SimKube accepts. Returns those that it would refuse, and the built-in ones that
/// have template paths of their own, which it would refuse too.
pub(super) fn write(out: &mut Vec<u8>, tracked: &BTreeMap<Gvk, Tracked>) -> (Vec<Gvk>, Vec<Gvk>) {
    let mut other_paths = Vec::new();
    let (accepted, refused): (Vec<_>, Vec<_>) = tracked.iter().partition(|(gvk, tracked)| {
        let has_paths = tracked.pod_templates.as_ref().is_some_and(|paths| !paths.is_empty());
        gvk.built_in_pod_template().is_some() || has_paths
    });
    push_map(out, 1);
    push_text(out, "trackedObjects");
    push_map(out, accepted.len());
    for (gvk, tracked) in accepted {
        push_text(out, &gvk.to_string());
        let paths = tracked.pod_templates.as_deref().filter(|paths| may_be_written(gvk, paths));
        let built_in = gvk.built_in_pod_template();
        let own = tracked.pod_templates.as_deref().filter(|paths| !paths.is_empty());
        if own.is_some_and(|own| built_in.is_some_and(|built_in| own != [built_in])) {
            other_paths.push(gvk.clone());
        }
        push_map(
            out,
            [paths.is_some(), tracked.pod_lives, tracked.skip_owned].into_iter().filter(|is| *is).count(),
        );
        if let Some(paths) = paths {
            push_text(out, "podSpecTemplatePaths");
            push_array(out, paths.len());
            for path in paths {
                push_text(out, path);
            }
        }
        for (name, flag) in [("trackLifecycle", tracked.pod_lives), ("skipOwned", tracked.skip_owned)] {
            if flag {
                push_text(out, name);
                out.push(0xc3);
            }
        }
    }
    (refused.into_iter().map(|(gvk, _)| gvk.clone()).collect(), other_paths)
}

/// For a built-in kind SimKube takes its own path or none; for `ReplicaSet` its own is wrong, so none.
fn may_be_written(gvk: &Gvk, paths: &[String]) -> bool {
    match gvk.built_in_pod_template() {
        Some(_) if gvk.kind == "ReplicaSet" => false,
        Some(built_in) => paths == [built_in],
        None => !paths.is_empty(),
    }
}

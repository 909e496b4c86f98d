//! Compares two traces: objects and times, in words that a person wants to know.
//!
//! Two passes. The first makes a [`Digest`] of each trace, a few dozen bytes per change, and [`compare`] finds
//! where they part; the second ([`Wanted::fetch`]) reads only the objects needed to show how. Times count from
//! the start of each window, so that two recordings of the same story can be laid side by side. Ticks and
//! known objects are a recorder's bookkeeping and are not compared.

mod digest;
mod fields;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

pub use digest::{Digest, Wanted};
pub use fields::{Field, fields};

use crate::{Gvk, Key, Tracked, Window};

/// One thing in which two traces differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Difference {
    /// The windows are not equally long.
    Window {
        /// Of the first trace.
        a: Window,
        /// Of the second.
        b: Window,
    },
    /// A kind was recorded in another way.
    Tracked {
        /// The kind.
        kind: Gvk,
        /// How the first trace tracked it, if at all.
        a: Option<Tracked>,
        /// How the second did.
        b: Option<Tracked>,
    },
    /// An object, or an owner of pod lives, that only one of them has.
    Missing {
        /// The object.
        object: Key,
        /// Which trace lacks it.
        missing_in: Side,
        /// What the other one has of it.
        part: Part,
        /// How many changes, or lives, that is.
        count: usize,
    },
    /// An object, or the lives of an owner, with another history.
    History {
        /// The object.
        object: Key,
        /// Changes or lives.
        part: Part,
        /// How many the first trace has.
        count_a: usize,
        /// How many the second has.
        count_b: usize,
        /// The first one that differs, counted from 1.
        position: usize,
        /// What stands there in the first trace.
        a: Option<Entry>,
        /// What stands there in the second.
        b: Option<Entry>,
        /// How the two differ inside, once fetched.
        fields: Vec<Field>,
    },
    /// The gaps are not the same.
    Gaps {
        /// Number of gaps in the first trace.
        count_a: usize,
        /// And in the second.
        count_b: usize,
    },
}

/// One of the two traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The first.
    A,
    /// The second.
    B,
}

/// Which history of an object is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Its changes, the initial state included.
    Changes,
    /// The lives of its pods.
    Lives,
}

/// One entry of a history.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// `initial`, `applied`, `deleted` or `life`.
    pub kind: &'static str,
    /// Seconds since the start of the window.
    pub at_s: Option<f64>,
}

/// Finds everything in which two traces differ, by kind and name.
pub fn compare(a: &Digest, b: &Digest) -> Vec<Difference> {
    let mut differences = Vec::new();
    // Where a window stands in history is no part of the story; how long it is, is.
    let length = |digest: &Digest| digest.window.end.map(|end| end.duration_since(digest.window.start));
    if length(a) != length(b) {
        differences.push(Difference::Window { a: a.window, b: b.window });
    }
    let kinds: BTreeSet<&Gvk> = a.tracked.keys().chain(b.tracked.keys()).collect();
    for kind in kinds {
        let (a, b) = (a.tracked.get(kind), b.tracked.get(kind));
        if a.map(|tracked| spelled_out(kind, tracked)) != b.map(|tracked| spelled_out(kind, tracked)) {
            differences.push(Difference::Tracked { kind: kind.clone(), a: a.cloned(), b: b.cloned() });
        }
    }
    for part in [Part::Changes, Part::Lives] {
        compare_histories(part, a.histories(part), b.histories(part), &mut differences);
    }
    if a.gaps != b.gaps {
        differences.push(Difference::Gaps { count_a: a.gaps.len(), count_b: b.gaps.len() });
    }
    differences
}

/// A built-in kind's template path is the same whether or not it is written.
fn spelled_out(kind: &Gvk, tracked: &Tracked) -> Tracked {
    let built_in = || kind.built_in_pod_template().map(|path| vec![path.to_owned()]);
    Tracked { pod_templates: tracked.pod_templates.clone().or_else(built_in), ..tracked.clone() }
}

type Histories = BTreeMap<Key, Vec<digest::Digested>>;

fn compare_histories(part: Part, a: &Histories, b: &Histories, differences: &mut Vec<Difference>) {
    let objects: BTreeSet<&Key> = a.keys().chain(b.keys()).collect();
    for object in objects {
        let missing =
            |missing_in, count| Difference::Missing { object: object.clone(), missing_in, part, count };
        let (a, b) = match (a.get(object), b.get(object)) {
            (Some(a), Some(b)) => (a, b),
            (Some(a), None) => {
                differences.push(missing(Side::B, a.len()));
                continue;
            }
            (None, Some(b)) => {
                differences.push(missing(Side::A, b.len()));
                continue;
            }
            (None, None) => continue,
        };
        let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        if same < a.len() || same < b.len() {
            differences.push(Difference::History {
                object: object.clone(),
                part,
                count_a: a.len(),
                count_b: b.len(),
                position: same + 1,
                a: a.get(same).map(digest::Digested::entry),
                b: b.get(same).map(digest::Digested::entry),
                fields: Vec::new(),
            });
        }
    }
}

/// The contents that a second pass should fetch, to show how the histories differ.
pub fn wanted(differences: &[Difference]) -> Wanted {
    let mut wanted = Wanted::default();
    for difference in differences {
        if let Difference::History { object, part, position, a: Some(_), b: Some(_), .. } = difference {
            wanted.add(*part, object, *position);
        }
    }
    wanted
}

/// Fills in how the histories differ, from what was fetched of both traces.
pub fn explain(differences: &mut [Difference], a: &Fetched, b: &Fetched) {
    for difference in differences {
        if let Difference::History { object, part, fields: found, .. } = difference {
            let place = (*part, object.clone());
            if let (Some(a), Some(b)) = (a.get(&place), b.get(&place)) {
                *found = fields(a, b);
            }
        }
    }
}

/// Contents by history and object.
pub type Fetched = BTreeMap<(Part, Key), Value>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, open};

    const HEADER: &str =
        r#"{"type":"header","format":"sktrace/1","window":{"start":"2025-01-01T00:00:00Z","end":null}}"#;

    fn web(at: &str, replicas: u32) -> String {
        format!(
            r#"{{"type":"applied","at":"2025-01-01T00:00:{at}Z","object":{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"web"}},"spec":{{"replicas":{replicas}}}}}}}"#
        )
    }

    fn differences(a: &[String], b: &[String]) -> Vec<Difference> {
        let file = |lines: &[String]| format!("{HEADER}\n{}\n", lines.join("\n"));
        let (a, b) = (file(a), file(b));
        let digest =
            |text: &str| Digest::of(&mut open(text.as_bytes(), Limits::default()).unwrap(), || true).unwrap();
        let mut differences = compare(&digest(&a), &digest(&b));
        differences.retain(|difference| !matches!(difference, Difference::Window { .. }));
        let wanted = wanted(&differences);
        let fetch = |text: &str| {
            wanted.fetch(&mut open(text.as_bytes(), Limits::default()).unwrap(), || true).unwrap()
        };
        explain(&mut differences, &fetch(&a), &fetch(&b));
        differences
    }

    #[test]
    fn a_trace_does_not_differ_from_itself() {
        let lines = [web("01", 1), web("02", 2)];
        assert_eq!(differences(&lines, &lines), vec![]);
    }

    #[test]
    fn key_order_and_white_space_inside_objects_are_no_difference() {
        let spaced = web("01", 1)
            .replace(r#""spec":{"replicas":1}"#, "")
            .replace("},}", "}}")
            .replace(r#""kind":"Deployment","#, r#""spec" : { "replicas" : 1 }, "kind":"Deployment","#);
        assert_eq!(differences(&[web("01", 1)], &[spaced]), vec![]);
    }

    #[test]
    fn the_first_differing_change_is_named_with_its_fields() {
        let found = differences(&[web("01", 1), web("02", 2)], &[web("01", 1), web("02", 5)]);
        let [Difference::History { position: 2, fields, .. }] = &found[..] else { panic!("{found:?}") };
        assert_eq!(fields[0].path, "spec.replicas");
        assert_eq!((fields[0].a.clone(), fields[0].b.clone()), (Some(2.into()), Some(5.into())));
    }

    #[test]
    fn the_same_change_at_another_time_is_a_difference_of_time_alone() {
        let found = differences(&[web("01", 1)], &[web("03.5", 1)]);
        let [Difference::History { a: Some(a), b: Some(b), fields, .. }] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!((a.at_s, b.at_s, fields.len()), (Some(1.0), Some(3.5), 0));
    }

    #[test]
    fn lives_are_compared_to_the_nanosecond_and_gaps_with_their_kinds() {
        let life = |nanos: &str| {
            format!(
                r#"{{"type":"life","owner":{{"apiVersion":"v1","kind":"Pod","name":"a"}},"template":"simkube:1","finished":"2025-01-01T00:00:05.{nanos}Z"}}"#
            )
        };
        let found = differences(&[life("0001")], &[life("0004")]);
        let [Difference::History { fields, .. }] = &found[..] else { panic!("{found:?}") };
        assert_eq!(fields[0].a, Some("+5.0001 s".into()));
        let gap = |kind: &str| {
            format!(
                r#"{{"type":"gap","from":"2025-01-01T00:00:01Z","to":"2025-01-01T00:00:02Z","why":"x","kinds":["{kind}"]}}"#
            )
        };
        assert_eq!(
            differences(&[gap("v1.Pod")], &[gap("v1.Node")]),
            [Difference::Gaps { count_a: 1, count_b: 1 }]
        );
    }

    #[test]
    fn the_same_story_on_another_day_is_the_same() {
        let lines = [web("01", 1)];
        let shifted = |text: &str| text.replace("2025-01-01", "2025-06-01");
        let file = |lines: &[String]| format!("{HEADER}\n{}\n", lines.join("\n"));
        let (a, b) = (file(&lines), shifted(&file(&lines)));
        let digest =
            |text: &str| Digest::of(&mut open(text.as_bytes(), Limits::default()).unwrap(), || true).unwrap();
        assert_eq!(compare(&digest(&a), &digest(&b)), vec![]);
    }

    #[test]
    fn an_object_or_a_change_that_one_side_lacks_is_named() {
        let found = differences(&[web("01", 1)], &[]);
        assert!(
            matches!(&found[..], [Difference::Missing { missing_in: Side::B, count: 1, .. }]),
            "{found:?}"
        );
        let found = differences(&[web("01", 1)], &[web("01", 1), web("09", 1)]);
        assert!(
            matches!(&found[..], [Difference::History { count_a: 1, count_b: 2, position: 2, a: None, .. }]),
            "{found:?}"
        );
    }
}

//! What we write for SimKube, and what we say that it cannot hold.

use jiff::Timestamp;
use serde_json::json;

use super::trace::{Format, Gap, Gvk, Header, Key, Object, PodLife, Record, TemplateHash, Tracked, create};
use super::{generated, read_all, small, written};

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(millis).unwrap()
}

fn object(kind: &str, namespace: &str, name: &str) -> Object {
    let metadata = json!({"namespace": namespace, "name": name});
    Object::from_value(
        &json!({"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": {"containers": []}}),
    )
    .unwrap()
}

fn losses(header: &Header, records: &[Record]) -> String {
    let mut writer = create(Vec::new(), Format::Simkube, header).unwrap();
    for record in records {
        writer.write(record).unwrap();
    }
    writer.finish().unwrap().losses.to_string()
}

#[test]
fn whatever_does_not_fit_is_said() {
    let mut header = Header::new(at(0), Some(at(9_000)));
    header.source.kubernetes = Some("v1.35.2".to_owned());
    header.redacted.push("env-values".to_owned());
    header.tracked.insert(Gvk::new("v1", "ConfigMap"), Tracked::default());
    let own_path = Tracked { pod_templates: Some(vec!["/spec/other".to_owned()]), ..Tracked::default() };
    header.tracked.insert(Gvk::new("apps/v1", "Deployment"), own_path);
    let mut life = PodLife::new(Key::new("v1", "Pod", "shop", "task"), TemplateHash::Simkube(1));
    life.node = Some("node-1".to_owned());
    life.started = Some(at(1_500));
    let records = [
        Record::Initial { object: object("Namespace", "", "shop") },
        Record::Applied { at: at(1_001), stamp: None, object: object("Pod", "shop", "task") },
        Record::Life(Box::new(life)),
        Record::Gap(Gap { from: at(2_000), to: at(3_000), why: "watch broke".to_owned(), kinds: Vec::new() }),
        Record::Applied {
            at: at(4_000),
            stamp: None,
            object: Object::parse("{\"n\":123456789012345678901234567890}").unwrap(),
        },
    ];
    let said = losses(&header, &records);
    assert_eq!(
        said.lines().collect::<Vec<_>>(),
        [
            "times cut to whole seconds: 2",
            "pod lives reduced to their start and end: 1",
            "gaps not written: 1",
            "objects with integers beyond 64 bits, now rounded: 1",
            "SimKube knows other template paths for: apps/v1.Deployment",
            "entries without a proper kind, left out of index and lives: 1",
            "SimKube tracks no kinds without pod templates: v1.ConfigMap",
            "SimKube's driver stops at cluster-scoped objects: v1.Namespace",
            "the header loses where it was recorded and what was redacted",
        ]
    );
}

#[test]
fn a_trace_that_fits_loses_nothing() {
    let mut header = Header::new(at(0), Some(at(9_000)));
    header.tracked.insert(Gvk::new("v1", "Pod"), Tracked { pod_lives: true, ..Tracked::default() });
    let records = [
        Record::Initial { object: object("Pod", "shop", "a") },
        Record::Tick { at: at(2_000), stamp: None },
        Record::Applied { at: at(2_000), stamp: None, object: object("Pod", "shop", "b") },
        Record::Known { key: Key::new("v1", "Pod", "shop", "old"), spec_hash: 5 },
    ];
    assert_eq!(losses(&header, &records), "");
    let (read_header, read_records) = read_all(&written(&header, records.clone(), Format::Simkube));
    assert_eq!(read_header.window, header.window);
    // The idle tail of the window became an event, and comes back as a tick.
    assert_eq!(read_records[..3], records[..3]);
    assert_eq!(read_records[3..], [Record::Tick { at: at(9_000), stamp: None }, records[3].clone()]);
}

#[test]
fn template_paths_are_written_only_as_simkube_accepts_them() {
    let mut header = Header::new(at(0), None);
    let with = |paths: &[&str]| Tracked {
        pod_templates: Some(paths.iter().map(ToString::to_string).collect()),
        ..Tracked::default()
    };
    for (kind, tracked) in [
        ("apps/v1.Deployment", with(&["/spec/template"])),
        ("apps/v1.ReplicaSet", with(&["/spec/template"])),
        ("x.io/v1.Foo", with(&["/spec/tasks/*/template"])),
        ("v1.Pod", Tracked::default()),
    ] {
        header.tracked.insert(kind.parse().unwrap(), tracked);
    }
    let tracked = read_all(&written(&header, [], Format::Simkube)).0.tracked;
    let paths = |kind: &str| tracked[&kind.parse::<Gvk>().unwrap()].pod_templates.clone();
    assert_eq!(paths("apps/v1.Deployment"), Some(vec!["/spec/template".to_owned()]));
    assert_eq!(paths("apps/v1.ReplicaSet"), None);
    assert_eq!(paths("x.io/v1.Foo"), Some(vec!["/spec/tasks/*/template".to_owned()]));
    assert_eq!(paths("v1.Pod"), None);
}

#[test]
fn the_index_holds_simkubes_hash_of_every_object() {
    let file = written(
        &Header::new(at(0), None),
        [Record::Initial { object: object("Pod", "shop", "a") }],
        Format::Simkube,
    );
    // "shop/a" and a 64-bit integer: the hash of {"containers":[]}, by an independent walk of the same rules.
    let expected = super::trace::simkube::spec_hash(&json!({"containers": []}));
    let mut entry = b"\xa6shop/a\xcf".to_vec();
    entry.extend_from_slice(&expected.to_be_bytes());
    assert!(file.windows(entry.len()).any(|window| window == entry));
}

#[test]
fn bare_pods_get_the_hash_that_simkube_would_compute() {
    let owner = Key::new("v1", "Pod", "shop", "a");
    let mut life = PodLife::new(owner, TemplateHash::Blake3([7; 16]));
    life.started = Some(at(0));
    let records = [Record::Initial { object: object("Pod", "shop", "a") }, Record::Life(Box::new(life))];
    let (_, records) = read_all(&written(&Header::new(at(0), None), records, Format::Simkube));
    let [_, Record::Life(life), ..] = &records[..] else { panic!("{records:?}") };
    assert_eq!(life.template, TemplateHash::Simkube(17_506_812_802_394_981_455));
}

#[test]
fn the_same_trace_gives_the_same_bytes() {
    assert_eq!(generated(&small(), Format::Simkube), generated(&small(), Format::Simkube));
}

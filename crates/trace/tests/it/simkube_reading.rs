//! SimKube's reader accepts more than its writer writes. So do we, and more: each tolerance has its case here.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::trace::{Gvk, Limits, PodLife, Record, TemplateHash, open};
use super::{complaint, read_all};

/// A good trace, to be bent.
fn good() -> Value {
    json!({
        "version": 2,
        "config": {"trackedObjects": {"apps/v1.Deployment": {"podSpecTemplatePaths": ["/spec/template"]}}},
        "events": [
            {"ts": 100, "applied_objs": [], "deleted_objs": []},
            {"ts": 105, "applied_objs": [web(1)], "deleted_objs": []},
        ],
        "index": {"apps/v1.Deployment": {"shop/web": 7}},
        "pod_lifecycles": {},
    })
}

fn web(replicas: u32) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "shop", "name": "web"},
        "spec": {"replicas": replicas}})
}

/// JSON spelling and MessagePack of the same value.
fn spellings(value: &Value) -> [Vec<u8>; 2] {
    [value.to_string().into_bytes(), rmp_serde::to_vec_named(value).unwrap()]
}

fn records(value: &Value) -> Vec<Record> {
    let [json, packed] = spellings(value).map(|file| read_all(&file));
    assert_eq!(json, packed, "both spellings read alike");
    json.1
}

fn notes(value: &Value) -> Vec<String> {
    open(&spellings(value)[1][..], Limits::default()).unwrap().notes().to_vec()
}

fn lives(value: &Value) -> Vec<PodLife> {
    let life = |record: Record| match record {
        Record::Life(life) => Some(*life),
        _ => None,
    };
    records(value).into_iter().filter_map(life).collect()
}

#[test]
fn keys_may_come_in_any_order() {
    let text = format!(
        r#"{{"pod_lifecycles":{{}},"index":{{}},"events":[{{"deleted_objs":[],"applied_objs":[{}],"ts":9}}],"config":{{"trackedObjects":{{}}}},"version":2}}"#,
        web(1)
    );
    assert!(matches!(&read_all(text.as_bytes()).1[..], [Record::Initial { .. }]));
}

#[test]
fn unknown_keys_are_passed_over_and_said() {
    let mut trace = good();
    trace["extra"] = json!({"a": [1]});
    trace["config"]["other"] = json!(1);
    trace["events"][0]["odd"] = json!(1);
    trace["events"][1]["odd"] = json!(1);
    trace["config"]["trackedObjects"]["apps/v1.Deployment"]["newer"] = json!(true);
    assert_eq!(records(&trace), records(&good()));
    assert_eq!(
        notes(&trace),
        [
            "events: unknown key `odd` was left out",
            "unknown key `extra` at the top level was left out",
            "config: unknown key `other` was left out",
            "config.trackedObjects[\"apps/v1.Deployment\"]: unknown key `newer` was left out",
        ]
    );
}

#[test]
fn a_missing_part_is_named() {
    for part in ["version", "config", "events", "index", "pod_lifecycles"] {
        let mut trace = good();
        trace.as_object_mut().unwrap().remove(part);
        for file in spellings(&trace) {
            assert_eq!(complaint(&file), format!("damaged trace at the top level: `{part}` is missing"));
        }
    }
    for list in ["applied_objs", "deleted_objs", "ts"] {
        let mut trace = good();
        trace["events"][1].as_object_mut().unwrap().remove(list);
        for file in spellings(&trace) {
            assert_eq!(complaint(&file), format!("damaged trace at events[1]: `{list}` is missing"));
        }
    }
}

#[test]
fn structures_may_be_positional_arrays() {
    let named = good();
    let positional = json!([
        2,
        [named["config"]["trackedObjects"]],
        [[100, [], []], [105, [web(1)], []]],
        named["index"],
        {},
    ]);
    assert_eq!(records(&positional), records(&named));
}

#[test]
fn lives_may_be_tagged_by_number_and_owners_listed_in_pairs() {
    let mut trace = good();
    trace["pod_lifecycles"] = json!([
        [["apps/v1.Deployment", "shop/web"], {"17": [
            "Empty", {"Running": 101}, {"Finished": [102, 103]}, {"1": 104}, {"2": [105, 106]}, {"0": null},
            {"start_ts": 107, "end_ts": 108},
        ]}],
    ]);
    let times: Vec<_> = lives(&trace)
        .iter()
        .map(|life| (life.started.map(Timestamp::as_second), life.finished.map(Timestamp::as_second)))
        .collect();
    assert_eq!(
        times,
        [
            (None, None),
            (Some(101), None),
            (Some(102), Some(103)),
            (Some(104), None),
            (Some(105), Some(106)),
            (None, None),
            (Some(107), Some(108)),
        ]
    );
}

#[test]
fn a_file_as_simkubes_own_types_write_it_has_arrays_and_integers_as_keys() {
    #[derive(Serialize)]
    enum Lifecycle {
        Running(i64),
        Finished(i64, i64),
    }
    #[derive(Serialize)]
    struct Trace {
        version: u16,
        config: Value,
        events: Vec<Value>,
        index: Value,
        pod_lifecycles: BTreeMap<(&'static str, &'static str), BTreeMap<u64, Vec<Lifecycle>>>,
    }
    let lifecycles = BTreeMap::from([(17, vec![Lifecycle::Running(101), Lifecycle::Finished(102, 103)])]);
    let file = rmp_serde::to_vec_named(&Trace {
        version: 2,
        config: good()["config"].clone(),
        events: vec![good()["events"][0].clone()],
        index: json!({}),
        pod_lifecycles: BTreeMap::from([(("v1.Pod", "shop/task"), lifecycles)]),
    })
    .unwrap();
    let records = read_all(&file).1;
    let [Record::Life(first), Record::Life(second)] = &records[..] else { panic!("{records:?}") };
    assert_eq!(first.owner.to_string(), "v1.Pod shop/task");
    assert_eq!(first.template, TemplateHash::Simkube(17));
    assert_eq!(second.finished.unwrap().as_second(), 103);
}

#[test]
fn other_versions_are_refused_by_name() {
    for version in [0, 3, 70000] {
        let mut trace = good();
        trace["version"] = json!(version);
        let message = complaint(&spellings(&trace)[1]);
        assert!(message.starts_with(&format!("unsupported trace format simkube/{version};")), "{message}");
    }
}

#[test]
fn notes_do_not_flood() {
    let mut trace = good();
    for number in 0..1000 {
        trace[format!("extra-{number}")] = json!(1);
    }
    let notes = notes(&trace);
    assert_eq!(notes.len(), 11);
    assert_eq!(notes[10], "990 more of the kind");
}

#[test]
fn json_is_recognised_by_its_own_keys() {
    let mut trace = good();
    trace["events"][1]["applied_objs"][0]["spec"] = json!({"type": "header", "format": "sktrace/1"});
    assert_eq!(records(&trace).len(), records(&good()).len());
    let with_mark = format!("\u{feff}{}", good());
    assert_eq!(read_all(with_mark.as_bytes()).1, records(&good()));
}

#[test]
fn integers_that_no_reader_holds_are_said_to_be_rounded() {
    let text = good().to_string().replace("\"replicas\":1", "\"replicas\":123456789012345678901234567890");
    let reader = open(text.as_bytes(), Limits::default()).unwrap();
    assert_eq!(reader.notes(), ["integers beyond 64 bits were rounded"]);
}

#[test]
fn times_must_be_whole_seconds_within_the_calendar() {
    for (ts, expected) in [
        (json!(1.5), "`ts` must be whole seconds, not a float"),
        (json!("1"), "`ts` must be whole seconds, not a string"),
        (json!(u64::MAX), "`ts` is out of range"),
        (json!(i64::MAX), "`ts` 9223372036854775807 is out of range"),
    ] {
        let mut trace = good();
        trace["events"][1]["ts"] = ts;
        assert_eq!(complaint(&spellings(&trace)[1]), format!("damaged trace at events[1]: {expected}"));
    }
}

#[test]
fn a_trace_without_events_says_so() {
    let mut trace = good();
    trace["events"] = json!([]);
    for file in spellings(&trace) {
        assert_eq!(complaint(&file), "the trace has no events");
    }
}

#[test]
fn an_object_without_kind_is_read() {
    let mut trace = good();
    trace["events"][1]["applied_objs"] = json!([{"metadata": {"name": "x"}}, {}]);
    let read = records(&trace);
    let keys: Vec<_> = read
        .iter()
        .filter_map(|record| match record {
            Record::Applied { object, .. } => Some((object.key().gvk.clone(), object.key().name.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(keys, [(Gvk::default(), "x"), (Gvk::default(), "")]);
}

#[test]
fn template_paths_may_be_nil_singular_or_wrong_as_simkube_has_them() {
    let paths = |entry: Value, kind: &str| {
        let mut trace = good();
        trace["config"]["trackedObjects"] = json!({kind: entry});
        let [json, packed] = spellings(&trace).map(|file| read_all(&file).0.tracked);
        assert_eq!(json, packed);
        json[&kind.parse::<Gvk>().unwrap()].pod_templates.clone()
    };
    let path = |path: &str| Some(vec![path.to_owned()]);
    assert_eq!(paths(json!({"podSpecTemplatePaths": null}), "v1.Pod"), None);
    assert_eq!(
        paths(json!({"podSpecTemplatePath": "/spec/template"}), "x.io/v1.Foo"),
        path("/spec/template")
    );
    let both = json!({"podSpecTemplatePath": "/a", "podSpecTemplatePaths": ["/b"]});
    assert_eq!(paths(both, "x.io/v1.Foo"), path("/b"));
    let both = json!({"podSpecTemplatePath": "/a", "podSpecTemplatePaths": []});
    assert_eq!(paths(both, "x.io/v1.Foo"), path("/a"));
    // SimKube insists on the wrong path and refuses the right one; a kind without pods it refuses as well.
    assert_eq!(
        paths(json!({"podSpecTemplatePaths": ["/spec"]}), "apps/v1.ReplicaSet"),
        path("/spec/template")
    );
    assert_eq!(
        paths(json!({"podSpecTemplatePaths": ["/spec/template"]}), "apps/v1.ReplicaSet"),
        path("/spec/template")
    );
    assert_eq!(paths(json!({}), "v1.ServiceAccount"), None);
    assert_eq!(paths(json!(null), "/v1.ConfigMap"), None);
}

#[test]
fn a_leading_slash_names_the_core_group_everywhere() {
    let mut trace = good();
    trace["config"]["trackedObjects"] = json!({"/v1.Pod": {"trackLifecycle": true, "skipOwned": true}});
    trace["index"] = json!({"/v1.Pod": {"shop/task": 1}});
    trace["pod_lifecycles"] = json!({"[\"/v1.Pod\",\"shop/task\"]": {"5": [{"Running": 101}]}});
    let header = read_all(&spellings(&trace)[1]).0;
    let tracked = &header.tracked[&Gvk::new("v1", "Pod")];
    assert!(tracked.pod_lives && tracked.skip_owned);
    assert_eq!(lives(&trace)[0].owner.gvk, Gvk::new("v1", "Pod"));
}

#[test]
fn deleted_objects_may_be_whole_or_only_names_and_events_empty_or_of_one_second() {
    let mut trace = good();
    let names = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "shop", "name": "web"}});
    trace["events"] = json!([
        {"ts": 100, "applied_objs": [web(1)], "deleted_objs": []},
        {"ts": 100, "applied_objs": [web(2)], "deleted_objs": [web(2)]},
        {"ts": 103, "applied_objs": [], "deleted_objs": []},
        {"ts": 104, "applied_objs": [], "deleted_objs": [names]},
    ]);
    let read = records(&trace);
    assert!(
        matches!(
            &read[..],
            [
                Record::Initial { .. },
                Record::Applied { .. },
                Record::Deleted { .. },
                Record::Tick { .. },
                Record::Deleted { .. },
                Record::Known { .. }
            ]
        ),
        "{read:?}"
    );
}

#[test]
fn stamps_that_run_backwards_are_kept_and_time_waits() {
    let mut trace = good();
    trace["events"] = json!([
        {"ts": 100, "applied_objs": [], "deleted_objs": []},
        {"ts": 110, "applied_objs": [web(1)], "deleted_objs": []},
        {"ts": 108, "applied_objs": [web(2)], "deleted_objs": []},
        {"ts": 112, "applied_objs": [web(3)], "deleted_objs": []},
    ]);
    let times: Vec<_> = records(&trace)
        .iter()
        .filter_map(|record| match record {
            Record::Applied { at, stamp, .. } => Some((at.as_second(), stamp.map(Timestamp::as_second))),
            _ => None,
        })
        .collect();
    assert_eq!(times, [(110, None), (110, Some(108)), (112, None)]);
}

#[test]
fn a_stale_or_missing_index_neither_stops_reading_nor_gets_lost() {
    let mut trace = good();
    trace["index"] = json!({"apps/v1.Deployment": {"shop/web": 1, "shop/gone": 2}});
    let known: Vec<_> = records(&trace)
        .into_iter()
        .filter_map(|record| match record {
            Record::Known { key, spec_hash } => Some((key.name, spec_hash)),
            _ => None,
        })
        .collect();
    assert_eq!(known, [("gone".to_owned(), 2), ("web".to_owned(), 1)]);
    trace["index"] = json!({});
    assert!(!records(&trace).iter().any(|record| matches!(record, Record::Known { .. })));
}

#[test]
fn version_one_is_read_and_its_owners_get_their_kinds() {
    let config = json!({"trackedObjects": {"apps/v1.Deployment": {"podSpecTemplatePath": "/spec/template", "trackLifecycle": true}}});
    let trace = json!([
        config,
        [{"ts": 100, "applied_objs": [web(1)], "deleted_objs": []}],
        {"shop/web": 7, "shop/gone": 8},
        {"shop/web": {"17": [{"Finished": [101, 102]}]}},
    ]);
    for file in spellings(&trace) {
        let reader = open(&file[..], Limits::default()).unwrap();
        assert_eq!(reader.format(), "simkube/1");
        assert_eq!(reader.notes(), ["`shop/gone` is no object of the trace; its kind is not known"]);
        let records: Vec<Record> = reader.map(Result::unwrap).collect();
        let owner = records.iter().find_map(|record| match record {
            Record::Life(life) => Some(life.owner.to_string()),
            _ => None,
        });
        assert_eq!(owner.as_deref(), Some("apps/v1.Deployment shop/web"));
    }
}

#[test]
fn a_broken_object_is_told_with_its_place_and_earlier_ones_are_read() {
    let mut trace = good();
    trace["events"][1]["applied_objs"] = json!([web(1), "no object"]);
    for file in spellings(&trace) {
        let (records, error) = super::read(&file);
        assert_eq!(records.len(), 1);
        let message = error.unwrap().to_string();
        assert!(
            message.starts_with("damaged trace at events[1].applied_objs[1]: an object must be a map"),
            "{message}"
        );
    }
}

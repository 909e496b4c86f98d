//! What is written is what is read, byte for byte where that is promised.

use proptest::prelude::*;
use serde_json::json;

use super::trace::{Format, Gap, Gvk, Header, Key, Object, PodLife, Record, TemplateHash, Tracked};
use super::trace::{Limits, create, open};
use super::{generated, read_all, small, written};
use jiff::Timestamp;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(millis).unwrap()
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,8}", ".{0,12}"]
}

fn object() -> impl Strategy<Value = Object> {
    (text(), text(), text(), text(), any::<i32>()).prop_map(|(kind, namespace, name, value, number)| {
        let metadata = json!({"namespace": namespace, "name": name});
        let value = json!({"apiVersion": "v1", "kind": kind, "metadata": metadata, "data": {value: number}});
        Object::from_value(&value).unwrap()
    })
}

fn time() -> impl Strategy<Value = Option<Timestamp>> {
    prop::option::of((0..10_000_000i64).prop_map(at))
}

fn life() -> impl Strategy<Value = PodLife> {
    let hash = prop_oneof![
        any::<u64>().prop_map(TemplateHash::Simkube),
        any::<[u8; 16]>().prop_map(TemplateHash::Blake3)
    ];
    (hash, time(), time(), time(), prop::option::of(text()), prop::option::of(any::<i32>()), any::<u32>())
        .prop_map(|(hash, created, started, finished, node, exit_code, restarts)| PodLife {
            created,
            started,
            finished,
            node,
            exit_code,
            restarts,
            ..PodLife::new(Key::new("apps/v1", "Deployment", "shop", "web"), hash)
        })
}

/// A record whose time, if it has one, is filled in by its place in the stream.
fn record() -> impl Strategy<Value = Record> {
    let zero = Timestamp::UNIX_EPOCH;
    prop_oneof![
        object().prop_map(move |object| Record::Applied { at: zero, stamp: None, object }),
        object().prop_map(move |object| Record::Deleted { at: zero, stamp: Some(zero), object }),
        life().prop_map(|life| Record::Life(Box::new(life))),
        text().prop_map(move |why| {
            Record::Gap(Gap { from: zero, to: at(5), why, kinds: vec![Gvk::new("v1", "Pod")] })
        }),
        Just(Record::Tick { at: zero, stamp: None }),
        any::<u64>().prop_map(|spec_hash| Record::Known { key: Key::new("v1", "Pod", "", "p"), spec_hash }),
    ]
}

fn stream() -> impl Strategy<Value = Vec<Record>> {
    let initial = prop::collection::vec(object().prop_map(|object| Record::Initial { object }), 0..4);
    let steps = prop::collection::vec((record(), 0..5_000i64), 0..24);
    (initial, steps).prop_map(|(mut records, steps)| {
        let mut now = 0;
        for (mut record, step) in steps {
            now += step;
            if let Record::Applied { at: time, .. }
            | Record::Deleted { at: time, .. }
            | Record::Tick { at: time, .. } = &mut record
            {
                *time = at(now);
            }
            records.push(record);
        }
        records
    })
}

proptest! {
    #[test]
    fn any_stream_survives_its_file(records in stream()) {
        let mut header = Header::new(Timestamp::UNIX_EPOCH, None);
        header.tracked.insert(Gvk::new("v1", "Pod"), Tracked { pod_lives: true, ..Tracked::default() });
        header.redacted.push("env-values".to_owned());
        header.annotations.insert("note".to_owned(), json!({"deep": [1, 2.5, null]}));
        for format in [Format::Sktrace, Format::Lines] {
            let file = written(&header, records.clone(), format);
            let (read_header, read_records) = read_all(&file);
            prop_assert_eq!(&read_header, &header);
            prop_assert_eq!(&read_records, &records);
            prop_assert_eq!(written(&read_header, read_records, format), file);
        }
    }
}

#[test]
fn a_packed_file_holds_exactly_the_plain_lines() {
    let packed = generated(&small(), Format::Sktrace);
    let lines = zstd::decode_all(&packed[..]).unwrap();
    assert_eq!(lines, generated(&small(), Format::Lines));
    let parsed: Vec<serde_json::Value> =
        str::from_utf8(&lines).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(parsed[0]["type"], "header");
    assert_eq!(parsed[0]["format"], "sktrace/1");
    assert_eq!(parsed.last().unwrap()["type"], "end");
    assert_eq!(parsed.last().unwrap()["records"], parsed.len() - 2);
}

#[test]
fn an_end_that_only_the_closing_knows_survives_conversion() {
    let header = Header::new(Timestamp::UNIX_EPOCH, None);
    for format in [Format::Sktrace, Format::Lines, Format::Simkube] {
        let mut file = Vec::new();
        let mut writer = create(&mut file, format, &header).unwrap();
        writer.write(&Record::Tick { at: at(5_000), stamp: None }).unwrap();
        writer.extend_to(at(3_600_000));
        writer.finish().unwrap();
        let mut reader = open(&file[..], Limits::default()).unwrap();
        assert!(reader.by_ref().all(|record| record.is_ok()));
        assert_eq!(reader.closing().end, at(3_600_000), "{format:?}");
    }
}

#[test]
fn a_record_that_no_reader_would_take_is_not_written() {
    let mut writer = create(Vec::new(), Format::Sktrace, &Header::new(Timestamp::UNIX_EPOCH, None)).unwrap();
    let object = Object::parse(format!(r#"{{"a":"{}"}}"#, "x".repeat(17 << 20))).unwrap();
    let error = writer.write(&Record::Initial { object }).unwrap_err();
    assert_eq!(error.to_string(), "cannot write record 1: it is larger than 16777216 bytes");
}

#[test]
fn sub_second_times_and_numbers_keep_their_spelling() {
    let object =
        Object::parse(r#"{"kind":"X","metadata":{"name":"n"},"v":[1.50,1e400,12345678901234567890123]}"#);
    let record = Record::Applied { at: at(1_001), stamp: None, object: object.unwrap() };
    let header = Header::new(Timestamp::UNIX_EPOCH, None);
    let lines = String::from_utf8(written(&header, [record.clone()], Format::Lines)).unwrap();
    assert!(lines.contains(r#""at":"1970-01-01T00:00:01.001Z""#), "{lines}");
    assert!(lines.contains("[1.50,1e400,12345678901234567890123]"), "{lines}");
    assert_eq!(read_all(lines.as_bytes()).1, [record]);
}

#[test]
fn a_file_packed_by_other_tools_reads_the_same() {
    let lines = generated(&small(), Format::Lines);
    let one_frame = zstd::encode_all(&lines[..], 19).unwrap();
    // Frames that end in the middle of a line, as parallel compressors cut them.
    let cut: Vec<u8> = lines.chunks(1000).flat_map(|part| zstd::encode_all(part, 1).unwrap()).collect();
    let expected = read_all(&generated(&small(), Format::Sktrace));
    assert_eq!(read_all(&one_frame), expected);
    assert_eq!(read_all(&cut), expected);
    assert_eq!(read_all(&lines), expected);
}

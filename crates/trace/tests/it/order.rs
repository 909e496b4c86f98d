//! The order of changes is what a replay stands on.

use jiff::Timestamp;

use super::trace::{Error, Format, Header, Object, Record, create};
use super::{read, written};

fn second(at: i64) -> Timestamp {
    Timestamp::from_second(at).unwrap()
}

fn object(name: &str) -> Object {
    Object::parse(format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}"}},"spec":{{}}}}"#))
        .unwrap()
}

fn applied(at: i64, name: &str) -> Record {
    Record::Applied { at: second(at), stamp: None, object: object(name) }
}

fn deleted(at: i64, name: &str) -> Record {
    Record::Deleted { at: second(at), stamp: None, object: object(name) }
}

#[test]
fn delete_then_create_of_one_name_within_a_second_keeps_its_order_in_every_format() {
    let records = [applied(5, "a"), deleted(9, "a"), applied(9, "a"), deleted(9, "b"), applied(9, "b")];
    let header = Header::new(second(5), Some(second(9)));
    for format in [Format::Sktrace, Format::Lines, Format::Simkube] {
        let file = written(&header, records.clone(), format);
        let (read, error) = read(&file);
        assert!(error.is_none());
        let shape = |records: &[Record]| -> Vec<(bool, Option<Timestamp>)> {
            records.iter().map(|record| (matches!(record, Record::Applied { .. }), record.at())).collect()
        };
        assert_eq!(shape(&read), shape(&records), "{format:?}");
    }
}

#[test]
fn a_record_out_of_order_is_refused_by_the_writer() {
    let mut file = Vec::new();
    let mut writer = create(&mut file, Format::Sktrace, &Header::new(second(5), None)).unwrap();
    writer.write(&applied(9, "a")).unwrap();
    let error = writer.write(&applied(8, "a")).unwrap_err();
    assert!(matches!(error, Error::Record { record: 2, .. }), "{error}");
    assert!(writer.write(&Record::Initial { object: object("late") }).is_err());
}

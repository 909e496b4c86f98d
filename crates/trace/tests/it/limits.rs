//! Hostile input meets limits: one step below is read, one step above is refused.

use super::trace::{Error, Format, Limits};
use super::{generated, read_within, small};

const HEADER: &str =
    r#"{"type":"header","format":"sktrace/1","window":{"start":"2025-01-01T00:00:00Z","end":null}}"#;

fn refusal(file: &[u8], limits: Limits) -> Option<String> {
    match read_within(file, limits).1 {
        None => None,
        Some(Error::Limit { what, .. }) => Some(what),
        Some(other) => panic!("{other}"),
    }
}

fn nested(levels: usize) -> String {
    format!(r#"{{"a":{}0{}}}"#, "[".repeat(levels - 1), "]".repeat(levels - 1))
}

#[test]
fn nesting_is_limited_in_lines() {
    for (levels, is_refused) in [(100, false), (101, true), (1_000_000, true)] {
        let file = format!("{HEADER}\n{{\"type\":\"initial\",\"object\":{}}}\n", nested(levels));
        assert_eq!(refusal(file.as_bytes(), Limits::default()).is_some(), is_refused, "{levels} levels");
    }
}

#[test]
fn nesting_is_limited_in_simkube_files() {
    let file = |levels: usize| {
        let object = nested(levels);
        format!(
            r#"{{"version":2,"config":{{"trackedObjects":{{}}}},"events":[{{"ts":1,"applied_objs":[{object}],"deleted_objs":[]}}],"index":{{}},"pod_lifecycles":{{}}}}"#
        )
    };
    assert!(read_within(file(90).as_bytes(), Limits::default()).1.is_none());
    for levels in [120, 1_000_000] {
        assert!(read_within(file(levels).as_bytes(), Limits::default()).1.is_some(), "{levels} levels");
    }
    // The same as MessagePack, where nothing else limits the depth.
    let mut bytes = b"\x81\xa6events".to_vec();
    bytes.extend(std::iter::repeat_n(0x91, 1_000_000));
    assert!(read_within(&bytes, Limits::default()).1.is_some());
}

#[test]
fn one_record_is_limited_to_the_byte() {
    let line = |length: usize| {
        let empty = r#"{"type":"initial","object":{"a":""}}"#.len();
        format!("{HEADER}\n{{\"type\":\"initial\",\"object\":{{\"a\":\"{}\"}}}}", "x".repeat(length - empty))
    };
    let limits = Limits { record_bytes: 1000, ..Limits::default() };
    for end in ["", "\n", "\n\n"] {
        assert_eq!(refusal((line(1000) + end).as_bytes(), limits), None, "{end:?}");
        let refused = refusal((line(1001) + end).as_bytes(), limits);
        assert_eq!(refused.as_deref(), Some("a record is larger than 1000 bytes"), "{end:?}");
    }
}

#[test]
fn the_decompressed_size_is_limited_to_the_byte() {
    let file = generated(&small(), Format::Sktrace);
    let size = generated(&small(), Format::Lines).len() as u64;
    assert_eq!(refusal(&file, Limits { total_bytes: size, ..Limits::default() }), None);
    assert!(refusal(&file, Limits { total_bytes: size - 1, ..Limits::default() }).is_some());
}

#[test]
fn a_compression_bomb_is_refused_early() {
    // A gigabyte of spaces behind a good header, in 33 kB.
    let mut bomb = zstd::encode_all(format!("{HEADER}\n").as_bytes(), 1).unwrap();
    let spaces = " ".repeat(1 << 20) + "\n";
    let mut encoder = zstd::Encoder::new(&mut bomb, 1).unwrap();
    for _ in 0..1024 {
        std::io::Write::write_all(&mut encoder, spaces.as_bytes()).unwrap();
    }
    encoder.finish().unwrap();
    let what = refusal(&bomb, Limits::default());
    assert_eq!(what.as_deref(), Some("the trace expands more than 4000 times when decompressed"));
}

#[test]
fn simkube_files_are_limited_in_size_and_in_the_length_of_their_lists() {
    let file = generated(&small(), Format::Simkube);
    let size = file.len() as u64;
    assert_eq!(refusal(&file, Limits { simkube_bytes: size, ..Limits::default() }), None);
    assert!(refusal(&file, Limits { simkube_bytes: size - 1, ..Limits::default() }).is_some());
    let longest = read_within(&file, Limits::default()).0.len();
    assert_eq!(refusal(&file, Limits { entries: longest, ..Limits::default() }), None);
    assert!(refusal(&file, Limits { entries: 2, ..Limits::default() }).is_some());
    // Three million lives of one byte each must not become three million pod lives in memory.
    let count = 3_000_000u32;
    let mut bytes =
        b"\x85\xa7version\x02\xa6config\x81\xaetrackedObjects\x80\xa6events\x91\x93\x01\x90\x90\xa5index\x80"
            .to_vec();
    bytes.extend_from_slice(b"\xaepod_lifecycles\x81\x92\xa6v1.Pod\xa3a/b\x81\x01\xdd");
    bytes.extend_from_slice(&count.to_be_bytes());
    bytes.extend(std::iter::repeat_n(0, count as usize));
    assert_eq!(refusal(&bytes, Limits::default()).as_deref(), Some("it has more than 2000000 entries"));
}

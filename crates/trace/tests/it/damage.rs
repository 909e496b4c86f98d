//! Damaged files: every byte matters, nothing panics, and what stands before the damage is good.

use super::trace::{Error, Format, Place};
use super::{complaint, generated, read, small};

#[test]
fn a_file_cut_anywhere_is_reported_and_gives_what_stands_before_the_cut() {
    let file = generated(&small(), Format::Sktrace);
    let (whole, _) = read(&file);
    for length in 1..file.len() {
        let (records, error) = read(&file[..length]);
        assert!(whole.starts_with(&records), "cut at {length}");
        assert!(error.is_some(), "cut at {length}");
    }
    // zstd hands out blocks of 128 KiB: of a trace with several of them, a cut near the end costs one.
    let settings = super::trace::generate::Settings { services: 40, env: 200, lives: false, ..small() };
    let file = generated(&settings, Format::Sktrace);
    let (whole, _) = read(&file);
    let (records, error) = read(&file[..file.len() - 1]);
    assert!(error.is_some_and(|error| error.to_string().contains("the file ends in the middle of a frame")));
    assert!(whole.starts_with(&records));
    assert!(records.len() * 2 > whole.len(), "{} of {} records", records.len(), whole.len());
}

#[test]
fn a_flipped_bit_is_reported_or_changes_nothing() {
    let file = generated(&small(), Format::Sktrace);
    let (whole, _) = read(&file);
    for position in 0..file.len() {
        let mut damaged = file.clone();
        damaged[position] ^= 1 << (position % 8);
        let (records, error) = read(&damaged);
        assert!(whole.starts_with(&records), "flipped in byte {position}");
        assert!(error.is_some() || records == whole, "flipped in byte {position}");
    }
}

#[test]
fn damage_is_told_with_its_frame_and_record_and_earlier_frames_are_good() {
    // Three megabytes of records make several frames behind the header's.
    let settings = super::trace::generate::Settings { services: 120, env: 500, lives: false, ..small() };
    let mut file = generated(&settings, Format::Sktrace);
    let (whole, _) = read(&file);
    let late = file.len() * 4 / 5;
    file[late] ^= 0x55;
    let (records, error) = read(&file);
    let Some(Error::Damaged { place: Place::Record { frame: Some(frame), offset, record }, .. }) = error
    else {
        panic!("{error:?}")
    };
    assert!(frame > 2 && offset > 0, "frame {frame} at byte {offset}");
    assert_eq!(record, records.len() as u64 + 1);
    assert!(!records.is_empty() && whole.starts_with(&records));
}

#[test]
fn a_missing_changed_or_repeated_closing_is_noticed() {
    let lines = String::from_utf8(generated(&small(), Format::Lines)).unwrap();
    let all: Vec<&str> = lines.lines().collect();
    let pack = |lines: &[&str]| zstd::encode_all(format!("{}\n", lines.join("\n")).as_bytes(), 1).unwrap();
    let (closing, rest) = all.split_last().unwrap();
    assert!(complaint(&pack(rest)).contains("the file ends without its closing record"));
    let without_one: Vec<&str> = rest[..rest.len() - 1].iter().copied().chain([*closing]).collect();
    assert!(complaint(&pack(&without_one)).contains("the closing record counts"));
    let edited = rest.join("\n").replacen("images.example", "images.changed", 1);
    let edited: Vec<&str> = edited.lines().chain([*closing]).collect();
    assert!(complaint(&pack(&edited)).contains("not those that the closing record was written for"));
    let twice: Vec<&str> = all.iter().copied().chain([*closing]).collect();
    assert!(complaint(&pack(&twice)).contains("data after the closing record"));
}

#[test]
fn plain_lines_may_lack_the_closing_so_that_people_can_edit_them() {
    let lines = String::from_utf8(generated(&small(), Format::Lines)).unwrap();
    let kept: String = lines
        .lines()
        .filter(|line| !line.contains(r#""type":"end""#))
        .flat_map(|line| [line, "\n"])
        .collect();
    let (records, error) = read(kept.as_bytes());
    assert!(error.is_none(), "{error:?}");
    assert_eq!(records, read(lines.as_bytes()).0);
}

#[test]
fn a_broken_line_is_told_with_its_byte_and_record() {
    let lines = String::from_utf8(generated(&small(), Format::Lines)).unwrap();
    let broken = lines.replacen(r#"{"type":"applied""#, r#"{"type":"appplied""#, 1);
    let message = complaint(broken.as_bytes());
    assert!(message.contains("unknown record type `appplied`"), "{message}");
    assert!(message.contains("byte ") && message.contains("record "), "{message}");
}

#[test]
fn files_that_are_no_traces_are_told_apart() {
    for (bytes, expected) in [
        (&b""[..], "the file is empty"),
        (b"   \n", "nothing but white space"),
        (b"\x7fELF", "it begins with \\x7fELF"),
        (b"\x1f\x8b\x08", "compressed with gzip"),
        (b"{}", "none of a trace's parts"),
        (b"[]", "its top level is an array"),
        (b"{\"type\":\"header\",\"format\":\"sktrace/2\"}\n", "unsupported trace format sktrace/2"),
        (b"{\"type\":\"header\"}\n", "does not say its `format`"),
        (
            b"{\"type\":\"header\",\"format\":\"sktrace/1\",\"window\":{\"start\":\"2025-01-02T00:00:00Z\",\"end\":\"2025-01-01T00:00:00Z\"}}",
            "the window ends before it starts",
        ),
        (b"\x80", "none of a trace's parts"),
        (b"{\"version\":2", "damaged trace at line 1"),
    ] {
        let message = complaint(bytes);
        assert!(message.contains(expected), "{}: {message}", bytes.escape_ascii());
    }
    let not_ours = zstd::encode_all(&b"hello\n"[..], 1).unwrap();
    assert!(complaint(&not_ours).contains("damaged trace"), "{}", complaint(&not_ours));
}

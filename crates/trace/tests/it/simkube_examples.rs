//! SimKube's own example files, where they are at hand (`../shared/data/simkube`): loaded, converted, and back.

use std::path::PathBuf;

use super::trace::simkube::stable_pod_hash;
use super::trace::{Format, Record, TemplateHash};
use super::{read_all, written};

/// The file, or nothing on a machine that does not have it. Where changes are accepted (`CI`), it must be there.
fn example(name: &str) -> Option<Vec<u8>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/simkube").join(name);
    let file = std::fs::read(&path).ok();
    assert!(file.is_some() || std::env::var_os("CI").is_none(), "{} is missing", path.display());
    file
}

const ALL: [&str; 6] = [
    "bare-pods.sktrace",
    "cronjob.sktrace",
    "dsb-scaling.sktrace",
    "large_trace.json",
    "trace.json",
    "validation_trace.json",
];

#[test]
fn every_example_survives_the_way_to_our_format_and_back() {
    for name in ALL {
        let Some(original) = example(name) else { continue };
        let (header, records) = read_all(&original);
        let ours = written(&header, records.clone(), Format::Sktrace);
        assert_eq!(read_all(&ours), (header.clone(), records.clone()), "{name}");
        let back = written(&header, records.clone(), Format::Simkube);
        let (back_header, back_records) = read_all(&back);
        assert_eq!(back_header, header, "{name}");
        assert_eq!(back_records, records, "{name}");
        if name.ends_with(".sktrace") {
            // The shipped files keep their maps sorted or small: same size means the same structure.
            assert_eq!(back.len(), original.len(), "{name}");
        }
    }
}

#[test]
fn the_hash_of_every_bare_pod_is_the_one_that_simkube_recorded() {
    let Some(file) = example("bare-pods.sktrace") else { return };
    let (_, records) = read_all(&file);
    let lives = records.iter().filter(|record| {
        matches!(record, Record::Life(life) if life.template == TemplateHash::Simkube(2_151_974_655_102_796_215))
    });
    assert_eq!(lives.count(), 4);
    let mut pods = 0;
    for record in &records {
        if let Record::Initial { object } | Record::Applied { object, .. } = record {
            assert_eq!(stable_pod_hash(&object.to_value().unwrap()["spec"]), 2_151_974_655_102_796_215);
            pods += 1;
        }
    }
    assert_eq!(pods, 4);
}

#[test]
fn what_the_examples_hold_is_found_in_them() {
    let Some(file) = example("cronjob.sktrace") else { return };
    let (header, records) = read_all(&file);
    assert_eq!(header.window.start.to_string(), "2025-03-29T22:20:23Z");
    let kinds: Vec<&str> = records
        .iter()
        .map(|record| match record {
            Record::Applied { .. } => "applied",
            Record::Deleted { .. } => "deleted",
            Record::Life(_) => "life",
            _ => "other",
        })
        .collect();
    // Lives stand where they begin: before the deletion that ends the window.
    assert_eq!(kinds, ["applied", "life", "life", "life", "deleted"]);
    let Some(file) = example("bare-pods.sktrace") else { return };
    let known = read_all(&file).1.iter().filter(|record| matches!(record, Record::Known { .. })).count();
    // Twelve pods ended before the window, and a transformation left the hashes of the other four stale.
    assert_eq!(known, 16);
}

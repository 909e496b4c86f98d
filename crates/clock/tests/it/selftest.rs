//! The self-test that users run.

use std::time::Duration;

use simkube_clock::selftest;

use crate::go::build_here;

#[test]
fn every_way_of_waiting_takes_as_long_as_it_should() {
    let program = build_here("../../plane/clock/selftest");
    let dir = tempfile::tempdir().unwrap();
    let report = selftest::run(&program, dir.path(), Duration::from_millis(20)).unwrap();
    let failed: Vec<_> = report.checks.iter().filter(|check| !check.passed()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(report.checks.len() >= 12 && report.passed > Duration::from_secs(4000), "{report:#?}");
}

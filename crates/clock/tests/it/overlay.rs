//! The overlay with the real toolchain.

use crate::go::{Program, build, build_here};

#[test]
fn the_clock_compiles_for_arm64() {
    build("tests/go/peer", "arm64");
}

#[test]
fn without_a_clock_page_a_program_lives_in_real_time() {
    // It says its date and how long 50 ms took.
    let mut program = Program::start(&build_here("tests/go/sleep"), &["-wait".into(), "50ms".into()], None);
    #[expect(clippy::disallowed_methods, reason = "compared with the real date")]
    let real = jiff::Timestamp::now();
    let date: jiff::Timestamp = program.read_line().parse().unwrap();
    assert!(date.duration_since(real).as_secs().abs() < 60, "{date} is not {real}");
    assert!(program.read_line().parse::<i64>().unwrap() >= 50_000_000);
}

#[test]
fn a_page_that_cannot_be_used_ends_the_program() {
    let program = build_here("tests/go/sleep");
    let out = std::process::Command::new(program).env(simkube_clock::ENV, "/proc/version").output().unwrap();
    assert_eq!(out.status.code(), Some(2));
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(said.starts_with("simkube: clock page /proc/version "), "{said}");
}

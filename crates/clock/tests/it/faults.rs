//! Processes that die, stop, or never rest must not stop or spoil the time of the others.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rustix::process::{Pid, Signal, kill_process};
use simkube_clock::{Clock, Merge, Options};

use crate::go::{Program, build_here};

const SECOND: i64 = 1_000_000_000;

fn new_clock() -> (tempfile::TempDir, Clock) {
    let dir = tempfile::tempdir().unwrap();
    let start = "2025-03-29T22:20:23Z".parse().unwrap();
    let options = Options { merge: Merge::Fixed(Duration::from_millis(20)), ..Options::default() };
    let clock = Clock::virtual_at(dir.path().join("clock"), start, &options).unwrap();
    (dir, clock)
}

/// A program that sleeps for `wait` again and again. It prints nothing: an hour of lines that nobody reads
/// would fill the pipe and keep it awake.
fn sleeper(clock: &Clock, wait: &str) -> Program {
    let args = ["-forever".to_owned(), "-quiet".to_owned(), format!("-wait={wait}")];
    let mut program = Program::start(&build_here("tests/go/sleep"), &args, Some(clock));
    program.read_line();
    program
}

fn until(mut condition: impl FnMut() -> bool) {
    // Real time on purpose: this only ends a test that would hang.
    let give_up = monotonic() + 60 * SECOND;
    while !condition() {
        assert!(monotonic() < give_up, "waited in vain");
        std::thread::yield_now();
    }
}

fn monotonic() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec * SECOND + now.tv_nsec
}

fn signal(program: &Program, signal: Signal) {
    kill_process(Pid::from_raw(program.pid()).unwrap(), signal).unwrap();
}

#[test]
fn a_program_sees_the_date_at_which_the_clock_starts() {
    let (_dir, clock) = new_clock();
    let mut program = Program::start(&build_here("tests/go/sleep"), &["-wait=24h".into()], Some(&clock));
    let date: Timestamp = program.read_line().parse().unwrap();
    assert!(date.to_string().starts_with("2025-03-29T22:20:2"), "{date}");
    assert!(program.read_line().parse::<i64>().unwrap() >= 24 * 3600 * SECOND);
    assert!(clock.now() >= date + SignedDuration::from_hours(24));
}

#[test]
fn a_killed_process_is_noticed_and_time_jumps_again() {
    let (_dir, clock) = new_clock();
    let _other = sleeper(&clock, "1h");
    let spinner = Program::start(&build_here("tests/go/sleep"), &["-spin".into()], Some(&clock));
    until(|| clock.processes().iter().any(|process| process.pid == spinner.pid()));
    signal(&spinner, Signal::KILL);
    let (killed, jumps) = (clock.now(), clock.stats().jumps);
    until(|| clock.now() > killed + SignedDuration::from_hours(3));
    assert!(clock.stats().jumps > jumps && clock.stats().reaped == 1);
    until(|| clock.processes().iter().all(|process| process.pid != spinner.pid()));
}

#[test]
fn a_process_that_never_rests_is_named_and_time_goes_on() {
    let (_dir, clock) = new_clock();
    let spinner = Program::start(&build_here("tests/go/sleep"), &["-spin".into()], Some(&clock));
    let before = clock.now();
    let busy = |pid| clock.processes().into_iter().find(|process| process.pid == pid);
    until(|| busy(spinner.pid()).is_some_and(|process| process.sleepless_ns > SECOND / 5));
    let process = busy(spinner.pid()).unwrap();
    assert!(process.name.starts_with("sleep-") && process.awake > 0, "{process:?}");
    assert!(clock.now() > before);
    assert_eq!(clock.stats().jumps, 0);
}

#[test]
fn a_stopped_process_slows_time_and_nothing_passes_its_timer() {
    let (_dir, clock) = new_clock();
    let stopped = sleeper(&clock, "10s");
    let _other = sleeper(&clock, "1s");
    signal(&stopped, Signal::STOP);
    // Wherever it was stopped, awake or asleep, the jumping ends at its timer at the latest.
    let mut last = clock.stats();
    until(|| {
        let stats = clock.stats();
        if stats.jumps != last.jumps {
            last = stats;
        }
        stats.looks > last.looks + 20
    });
    let (jumps, real, virt) = (clock.stats().jumps, monotonic(), clock.now());
    until(|| monotonic() > real + SECOND / 5);
    let passed = clock.now().duration_since(virt);
    assert_eq!(clock.stats().jumps, jumps);
    assert!(passed <= SignedDuration::from_nanos(monotonic() - real), "{passed:?}");
    signal(&stopped, Signal::CONT);
    until(|| clock.stats().jumps > jumps + 3);
}

#[test]
fn held_time_is_the_same_instant_in_every_process() {
    let (_dir, clock) = new_clock();
    let _busy = sleeper(&clock, "7s");
    let mut peer = Program::start(&build_here("tests/go/peer"), &["-exchanges=0".into()], Some(&clock));
    let address = peer.read_line();
    peer.write_line("");
    peer.read_line();
    let stop = clock.now() + SignedDuration::from_mins(10);
    clock.hold(Some(stop));
    until(|| clock.now() == stop);
    let mut stamps = TcpStream::connect(address).unwrap();
    let mut ask = || {
        stamps.write_all(&[0; 16]).unwrap();
        let mut stamp = [0; 8];
        stamps.read_exact(&mut stamp).unwrap();
        Timestamp::from_nanosecond(i64::from_le_bytes(stamp).into()).unwrap()
    };
    for _ in 0..200 {
        assert_eq!(ask(), stop);
    }
    clock.release();
    until(|| ask() > stop + SignedDuration::from_mins(10));
}

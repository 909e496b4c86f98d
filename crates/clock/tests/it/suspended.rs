//! The process with the coordinator is stopped as a whole (SIGSTOP, Ctrl-Z): the plane's time must stand, not
//! run on alone.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use simkube_clock::{Clock, Options};

use crate::go::{Program, build_here};

/// This test program starts itself again with this set: the process that is stopped.
const STOPPABLE: &str = "SIMKUBE_TEST_STOPPABLE";

/// Not a test by itself.
#[test]
fn stoppable() {
    if std::env::var_os(STOPPABLE).is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let start = "2025-03-29T22:20:23Z".parse().unwrap();
    let clock = Clock::virtual_at(dir.path().join("clock"), start, &Options::default()).unwrap();
    let _guard = clock.guard();
    let mut peer = Program::start(&build_here("tests/go/peer"), &["-exchanges=0".into()], Some(&clock));
    let address = peer.read_line();
    peer.write_line("");
    #[expect(clippy::print_stdout, reason = "the other process reads it")]
    {
        println!("address {address}");
    }
    // Until the test closes our input.
    std::io::stdin().read_to_end(&mut vec![]).unwrap();
    // A starved machine may have stopped it more than once.
    assert!(clock.stats().suspensions >= 1);
}

#[test]
fn time_stands_while_the_coordinator_is_stopped_and_goes_on_after() {
    build_here("tests/go/peer");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "suspended::stoppable", "--nocapture"])
        .env(STOPPABLE, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = Pid::from_child(&child);
    // Kept until the end: a test that cannot print its result fails.
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let address = lines.find_map(|line| Some(line.split_once("address ")?.1.to_owned()));
    let mut peer = TcpStream::connect(address.unwrap()).unwrap();
    let mut date = || {
        peer.write_all(&[0; 16]).unwrap();
        let mut stamp = [0; 8];
        peer.read_exact(&mut stamp).unwrap();
        i64::from_le_bytes(stamp)
    };
    let running = date();
    while date() <= running {}

    kill_process(pid, Signal::STOP).unwrap();
    let stopped = date();
    // It stands when two thousand answers come from the same instant.
    let (mut last, mut same) = (stopped, 0);
    while same < 2000 {
        let now = date();
        same = if now == last { same + 1 } else { 0 };
        last = now;
    }
    assert!(last - stopped <= 1_000_000_000, "{}", last - stopped);

    kill_process(pid, Signal::CONT).unwrap();
    while date() <= last {}
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

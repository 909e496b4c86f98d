//! Does virtual time work on this machine? Two processes of `plane/clock/selftest` wait in every way that Go
//! programs wait; every duration must be right within the slack. This is `skctl plane check-clock`.

use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Clock, Merge, Options, Stats};

/// So that what this machine takes to run the programs hardly shows, and the verdict is about the clock.
const SLOWNESS: u32 = 1_000_000;
/// A thousand seconds of real time in each measure.
const TOLERANCE: Duration = Duration::from_millis(1);

/// One way of waiting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was waited for.
    pub name: String,
    /// How long it should take, in virtual time.
    pub wanted: Duration,
    /// How much longer it may take.
    pub allowed: Duration,
    /// How long it took.
    pub took: Duration,
}

impl Check {
    /// Neither early nor too late.
    pub fn passed(&self) -> bool {
        self.took >= self.wanted && self.took <= self.wanted + self.allowed
    }
}

/// All of them.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// In the order they ran.
    pub checks: Vec<Check>,
    /// Virtual time that passed.
    pub passed: Duration,
    /// What the coordinator did meanwhile.
    pub stats: Stats,
}

/// Why the self-test could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No clock.
    #[error("failed to start the clock for the self-test")]
    Clock(#[from] crate::Error),
    /// The program could not be run.
    #[error("failed to run the self-test program")]
    Run(#[from] io::Error),
    /// The program ended before it was done.
    #[error("the self-test program ended with {0}")]
    Ended(std::process::ExitStatus),
    /// The program said something else.
    #[error("the self-test program printed {0:?}")]
    Said(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Measure {
    name: String,
    wanted: u64,
    timers: u32,
    took: u64,
}

/// Run the self-test with `program` (built from `plane/clock/selftest` with the overlay) and a clock page in
/// `dir`. It takes about a second.
pub fn run(program: &Path, dir: &Path, slack: Duration) -> Result<Report, Error> {
    let options = Options { merge: Merge::Fixed(slack), busy_rate: (1, SLOWNESS), ..Options::default() };
    let start: Timestamp = "2025-03-29T22:20:23Z".parse().expect("a date");
    let clock = Clock::virtual_at(dir.join("selftest.clock"), start, &options)?;
    let starting = clock.guard();
    let (_server, mut lines) = child(program, "serve", &clock)?;
    let mut address = String::new();
    lines.read_line(&mut address)?;
    let (mut client, lines) = child(program, address.trim(), &clock)?;
    drop(starting);
    let mut checks = vec![];
    for line in lines.lines() {
        let line = line?;
        let measure: Measure = serde_json::from_str(&line).map_err(|_| Error::Said(line))?;
        checks.push(Check {
            name: measure.name,
            wanted: Duration::from_nanos(measure.wanted),
            allowed: slack * measure.timers + TOLERANCE,
            took: Duration::from_nanos(measure.took),
        });
    }
    let status = client.0.wait()?;
    if !status.success() {
        return Err(Error::Ended(status));
    }
    let passed = clock.now().duration_since(start).unsigned_abs();
    Ok(Report { checks, passed, stats: clock.stats() })
}

/// Killed when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Already ended is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn child(
    program: &Path,
    arg: &str,
    clock: &Clock,
) -> io::Result<(Running, BufReader<std::process::ChildStdout>)> {
    let mut command = Command::new(program);
    command.arg(arg).stdin(Stdio::null()).stdout(Stdio::piped()).envs(clock.env());
    let mut child = Running(command.spawn()?);
    let out = child.0.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    Ok((child, BufReader::new(out)))
}

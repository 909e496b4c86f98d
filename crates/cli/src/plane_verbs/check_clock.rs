//! `skctl plane check-clock`: does virtual time work on this machine?

use std::fmt::Write;
use std::fs;
use std::time::Duration;

use clock::selftest::{self, Report};
use plane::build::OtherProgram;
use serde::Serialize;

use super::arguments::CheckClock;
use crate::arguments::OutputFormat;
use crate::exit::{Code, Failure, Outcome};
use crate::{output, progress};

/// The self-test's program, carried along so that it works outside a clone.
const SOURCES: [(&str, &str); 2] = [
    ("go.mod", include_str!("../../../../plane/clock/selftest/go.mod")),
    ("main.go", include_str!("../../../../plane/clock/selftest/main.go")),
];

/// What `-o json` prints.
#[derive(Serialize)]
struct Answer {
    passed: bool,
    simulated_s: f64,
    jumps: u64,
    checks: Vec<CheckAnswer>,
}

#[derive(Serialize)]
struct CheckAnswer {
    name: String,
    wanted_s: f64,
    allowed_s: f64,
    took_s: f64,
    passed: bool,
}

pub(super) fn run(arguments: &CheckClock, mode: progress::Mode) -> Result<Outcome, Failure> {
    let slack =
        Duration::try_from(arguments.slack).map_err(|_| Failure::usage("slack cannot be negative"))?;
    let home = super::home()?;
    let source = home.cache.join("selftest");
    let unwritable = |error| {
        Failure::from(error)
            .context(format!("failed to write `{}`", source.display()))
            .hint("set XDG_CACHE_HOME to a writable directory")
    };
    fs::create_dir_all(&source).map_err(unwritable)?;
    for (name, text) in SOURCES {
        fs::write(source.join(name), text).map_err(unwritable)?;
    }
    let program =
        super::build::other(&home, &arguments.source, &OtherProgram::Directory(source.clone()), mode)?;
    let dir = tempfile::tempdir()?;
    let report = selftest::run(&program, dir.path(), slack).map_err(|error| {
        Failure::new(Code::NotReady, error).hint("`skctl plane up --clock wall` does without virtual time")
    })?;
    let passed = report.checks.iter().all(selftest::Check::passed);
    match arguments.output {
        OutputFormat::Json => output::json(&answer(&report, passed))?,
        OutputFormat::Text => output::data(text(&report).as_bytes())?,
    }
    if passed {
        return Ok(Outcome::Done);
    }
    let message = "virtual time does not work on this machine as it should";
    Err(Failure::new(Code::NotReady, anyhow::Error::msg(message))
        .hint("`skctl plane up --clock wall` does without it; please report the lines above"))
}

fn answer(report: &Report, passed: bool) -> Answer {
    let checks = report.checks.iter().map(|check| CheckAnswer {
        name: check.name.clone(),
        wanted_s: check.wanted.as_secs_f64(),
        allowed_s: check.allowed.as_secs_f64(),
        took_s: check.took.as_secs_f64(),
        passed: check.passed(),
    });
    Answer {
        passed,
        simulated_s: report.passed.as_secs_f64(),
        jumps: report.stats.jumps,
        checks: checks.collect(),
    }
}

fn text(report: &Report) -> String {
    let mut text = format!("{:<44} {:>12} {:>12}\n", "waited for", "should be s", "took s");
    for check in &report.checks {
        let (wanted, took) = (check.wanted.as_secs_f64(), check.took.as_secs_f64());
        let verdict = if check.passed() { "" } else { "  WRONG" };
        let _ = writeln!(text, "{:<44} {wanted:>12.3} {took:>12.3}{verdict}", check.name);
    }
    let jumps = output::count(report.stats.jumps, "jump");
    let _ = writeln!(text, "{:.0} virtual seconds in {jumps}", report.passed.as_secs_f64());
    text
}

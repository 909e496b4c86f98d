//! `skctl plane exec|hold|release`: what another terminal does with a running plane.

use std::os::unix::process::CommandExt;
use std::time::Duration;

use super::arguments::{Exec, Which};
use super::clock;
use crate::exit::{Code, Failure, Outcome};
use crate::output;

/// A clock answers in milliseconds, unless its process is stopped or starved.
const PATIENCE: Duration = Duration::from_secs(10);

/// Becomes the command, so that signals, the terminal and the exit code are its own.
pub(super) fn exec(arguments: &Exec) -> Result<Outcome, Failure> {
    let home = super::home()?;
    let name = &arguments.which.name;
    let Some((program, rest)) = arguments.command.split_first() else {
        return Err(Failure::usage("no command was given"));
    };
    let trouble = |error| super::trouble(&home, error);
    let layout = plane::manage::running(&home, name).map_err(trouble)?;
    let mut command = plane::manage::command(&home, name, program, rest).map_err(trouble)?;
    let outside = clock::outside(&layout)?;
    if let Some(outside) = outside {
        // Ages and dates by the plane's clock, in programs that were built with it; others do not look.
        command.env(::clock::ENV, layout.clock());
        if !arguments.let_time_run {
            // Never given back: the attendance belongs to this process, and ends with whatever it becomes.
            std::mem::forget(outside.attend()?);
        }
    }
    let error = command.exec();
    Err(not_run(program, error))
}

fn not_run(program: &std::ffi::OsStr, error: std::io::Error) -> Failure {
    Failure::from(error).context(format!("failed to run `{}`", program.to_string_lossy()))
}

/// Lets time stand, or go on.
pub(super) fn hold(which: &Which, wanted: bool) -> Result<Outcome, Failure> {
    let home = super::home()?;
    let layout = plane::manage::running(&home, &which.name).map_err(|error| super::trouble(&home, error))?;
    let Some(outside) = clock::outside(&layout)? else {
        let message = format!("plane `{}` lives in real time, which cannot be held", which.name);
        return Err(Failure::new(Code::Usage, anyhow::Error::msg(message)));
    };
    let name = &which.name;
    if wanted {
        let Some(now) = outside.hold_now(PATIENCE) else {
            let message = format!("plane `{name}` does not answer; time will stand when it does");
            return Err(Failure::failed(message));
        };
        output::done(&format!("time stands at {now} in plane `{name}`; `skctl plane release` lets it go on"));
    } else {
        let now = outside.now();
        outside.release();
        output::done(&format!("time goes on in plane `{name}`, from {now}"));
    }
    Ok(Outcome::Done)
}

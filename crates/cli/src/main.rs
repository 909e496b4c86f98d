//! `skctl`: arguments in, data on stdout, talk on stderr, an exit code that scripts can rely on.

mod arguments;
mod exit;
mod files;
mod interrupt;
mod output;
mod plane_verbs;
mod progress;
mod trace_verbs;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use arguments::{Arguments, Verb};
use exit::{Failure, Outcome};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // A plane has children to stop and its own way of listening.
    let is_plane = matches!(arguments.verb, Verb::Plane(_));
    let listening = if is_plane { Ok(()) } else { interrupt::install() };
    output::conclude(listening.and_then(|()| run(arguments)))
}

fn run(arguments: Arguments) -> Result<Outcome, Failure> {
    match arguments.verb {
        Verb::Trace(verb) => trace_verbs::run(verb, arguments.progress),
        Verb::Plane(verb) => plane_verbs::run(verb, arguments.progress),
        Verb::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "skctl", &mut script);
            output::data(&script)?;
            Ok(Outcome::Done)
        }
        Verb::Version { output } => {
            output::version(output)?;
            Ok(Outcome::Done)
        }
    }
}

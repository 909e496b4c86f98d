//! `skctl`: arguments in, data on stdout, talk on stderr, an exit code that scripts can rely on.

mod arguments;
mod exit;
mod files;
mod interrupt;
mod output;
mod progress;
mod trace_verbs;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use arguments::{Arguments, Verb};
use exit::{Failure, Outcome};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = interrupt::install().and_then(|()| run(arguments));
    output::conclude(outcome)
}

fn run(arguments: Arguments) -> Result<Outcome, Failure> {
    match arguments.verb {
        Verb::Trace(verb) => trace_verbs::run(verb, arguments.progress),
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

//! `skctl plane …`: a control plane on this machine and its clock. What the verbs share is how trouble is told.

pub(crate) mod arguments;
mod beside;
mod build;
mod check_clock;
mod clock;
mod logs;
mod status;
mod up;

use plane::Home;

use crate::exit::{Code, Failure, Outcome};
use crate::{output, progress};
use arguments::PlaneVerb;

pub(crate) fn run(verb: PlaneVerb, mode: progress::Mode) -> Result<Outcome, Failure> {
    match verb {
        PlaneVerb::Build(arguments) => build::run(&arguments, mode),
        PlaneVerb::Up(arguments) => up::run(&arguments, mode),
        PlaneVerb::Down(which) => {
            let home = home()?;
            plane::manage::down(&home, &which.name).map_err(|error| nothing_there(&home, error))?;
            output::done(&format!("plane `{}` is down", which.name));
            Ok(Outcome::Done)
        }
        PlaneVerb::Status(arguments) => status::run(&arguments),
        PlaneVerb::Exec(arguments) => beside::exec(&arguments),
        PlaneVerb::Logs(arguments) => logs::run(&arguments),
        PlaneVerb::Hold(which) => beside::hold(&which, true),
        PlaneVerb::Release(which) => beside::hold(&which, false),
        PlaneVerb::CheckClock(arguments) => check_clock::run(&arguments, mode),
    }
}

fn home() -> Result<Home, Failure> {
    Home::from_env().map_err(|error| Failure::new(Code::NotReady, error))
}

/// Trouble with a plane, with its exit code and its way out.
fn trouble(home: &Home, error: plane::Error) -> Failure {
    use plane::Error;
    let code = match &error {
        Error::Interrupted => Code::Interrupted,
        Error::Name { .. } => Code::Usage,
        Error::AlreadyRunning { .. } | Error::NotStopped { .. } => Code::Failed,
        _ => Code::NotReady,
    };
    let mut hint = error.hint();
    if let Error::NotRunning { .. } = &error {
        let others = plane::manage::names(home).unwrap_or_default();
        if !others.is_empty() {
            hint = Some(format!("running are: {} (choose with --name)", others.join(", ")));
        }
    }
    let failure = Failure::new(code, error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// The same for verbs that are content when there is no plane.
fn nothing_there(home: &Home, error: plane::Error) -> Failure {
    let is_nothing = matches!(error, plane::Error::NotRunning { .. });
    let failure = trouble(home, error);
    if is_nothing { Failure { code: Code::Nothing, ..failure } } else { failure }
}

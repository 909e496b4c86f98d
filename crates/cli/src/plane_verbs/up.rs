//! `skctl plane up`: start a plane and its clock, and stay with them; or leave that to a process of its own.

use std::process::Command;
use std::time::Duration;

use clock::Clock;
use plane::build::Binaries;
use plane::{Ending, Home, Interrupt, NodeLifecycle, Plane, Settings, StartEvent};

use super::arguments::{ClockKind, Up};
use super::{build, clock as plane_clock};
use crate::exit::{Code, Failure, Outcome};
use crate::{output, progress};

/// Less work for the garbage collector than Go's 100, less memory than 400; docs/plane.md has the figures.
pub(super) const GOGC: u32 = 200;
/// How long nodes' leases last, as the kubelet's do.
const LEASE_SECONDS: u32 = 40;
/// Longer than the sum of what the components may take.
const DETACH_PATIENCE: Duration = Duration::from_secs(180);

pub(super) fn run(arguments: &Up, mode: progress::Mode) -> Result<Outcome, Failure> {
    check(arguments)?;
    let home = super::home()?;
    let mut settings = settings(arguments)?;
    if arguments.dry_run {
        return dry_run(&home, arguments, &mut settings);
    }
    // Before signals are taken over: Ctrl-C simply ends a build.
    let binaries = match &arguments.plane_bin {
        Some(dir) => {
            let given = Binaries::given(dir).map_err(build::failure)?;
            if arguments.time.clock == ClockKind::Virtual {
                build::require_clock(&given)?;
            }
            given
        }
        None => build::binaries(&home, &arguments.source, mode)?,
    };
    if arguments.detach { detach(&home, arguments) } else { stay(&home, arguments, settings, &binaries) }
}

fn check(arguments: &Up) -> Result<(), Failure> {
    if arguments.time.clock == ClockKind::Wall && arguments.time.start.is_some() {
        return Err(Failure::usage("real time begins when it wants: --start needs --clock virtual"));
    }
    Ok(())
}

fn settings(arguments: &Up) -> Result<Settings, Failure> {
    let mut settings = Settings { stages: arguments.stages.clone(), ..Settings::default() };
    if arguments.nodes_can_fail {
        settings.nodes = NodeLifecycle::Leases { seconds: LEASE_SECONDS };
    }
    settings.gogc = Some(arguments.tuning.gogc).filter(|gogc| *gogc > 0);
    // One thread to fall idle instead of many; docs/plane.md has the figures.
    let alone = (arguments.time.clock == ClockKind::Virtual).then_some(1);
    settings.gomaxprocs = arguments.tuning.gomaxprocs.or(alone);
    for line in &arguments.run {
        let words = shlex::split(line).filter(|words| !words.is_empty());
        let mut words =
            words.ok_or_else(|| Failure::usage(format!("cannot make sense of --run {line:?}")))?;
        // It is started in the plane's directory, and `./it` was meant from here.
        if let Some(program) = words.first_mut().filter(|program| program.contains('/')) {
            *program = std::path::absolute(&*program)?.display().to_string();
        }
        settings.run.push(words);
    }
    for text in &arguments.arg {
        let known = |name: &str| plane::recipe::PROGRAMS.iter().any(|(program, _)| *program == name);
        match text.split_once('=') {
            Some((component, argument)) if known(component) => {
                settings.extra_args.entry(component.into()).or_default().push(argument.into());
            }
            _ => {
                return Err(Failure::usage(format!("--arg {text:?} does not begin with a component's name"))
                    .hint("as kube-scheduler=--v=4"));
            }
        }
    }
    Ok(settings)
}

/// The commands with the ports that would be chosen if they were free.
fn dry_run(home: &Home, arguments: &Up, settings: &mut Settings) -> Result<Outcome, Failure> {
    let layout = plane::Layout::new(home.planes.join(&arguments.which.name));
    if arguments.time.clock == ClockKind::Virtual {
        settings.env.insert(clock::ENV.into(), layout.clock().display().to_string());
    }
    let binaries = match &arguments.plane_bin {
        Some(dir) => Binaries::given(dir).map_err(build::failure)?,
        None => build::expected(home, &arguments.source),
    };
    let ports = plane::Ports::choose(0)?;
    let waves = plane::component::waves(&layout, ports, &binaries, settings);
    output::data(plane::component::dry_run(&waves).as_bytes())?;
    Ok(Outcome::Done)
}

/// Starts the same command again without `--detach`, in a session of its own.
fn detach(home: &Home, arguments: &Up) -> Result<Outcome, Failure> {
    let mut supervisor = Command::new(std::env::current_exe()?);
    let is_flag = |word: &std::ffi::OsStr| word == "--detach" || word == "-d";
    supervisor.args(std::env::args_os().skip(1).filter(|word| !is_flag(word)));
    let status = plane::manage::detach(home, &arguments.which.name, supervisor, DETACH_PATIENCE);
    let status = status.map_err(|error| detached(home, error))?;
    let parts: Vec<(String, f64)> = status
        .components
        .iter()
        .filter_map(|component| Some((component.name.clone(), component.ready_s?)))
        .collect();
    ready(&status.name, status.ready_s, &parts);
    Ok(Outcome::Done)
}

/// What the other process said is an error of ours already, spelled out; its words stand for themselves.
fn detached(home: &Home, error: plane::Error) -> Failure {
    let plane::Error::Detached { output } = error else { return super::trouble(home, error) };
    let (mut message, mut hint) = (Vec::new(), None);
    for line in output.lines() {
        match line.strip_prefix("hint: ") {
            Some(text) => hint = Some(text.to_owned()),
            None => message.push(line.strip_prefix("error: ").unwrap_or(line)),
        }
    }
    let already = message.iter().any(|line| line.ends_with("is already running"));
    let code = if already { Code::Failed } else { Code::NotReady };
    let text =
        if message.is_empty() { "the plane did not start in time".to_owned() } else { message.join("\n") };
    let failure = Failure::new(code, anyhow::Error::msg(text));
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn stay(
    home: &Home,
    arguments: &Up,
    mut settings: Settings,
    binaries: &Binaries,
) -> Result<Outcome, Failure> {
    // On the main thread, before there is any other.
    let interrupt = Interrupt::listen()?;
    let trouble = |error| super::trouble(home, error);
    let prepared = plane::prepare(home, &arguments.which.name).map_err(trouble)?;
    if prepared.leftovers > 0 {
        let processes = output::count(prepared.leftovers as u64, "leftover process");
        output::note(&format!("ended {processes} of a plane that was killed"));
    }
    let clock = plane_clock::create(&arguments.time, prepared.layout())?;
    // A program that has not come up yet cannot say that it is busy.
    let starting = clock.as_ref().map(Clock::guard);
    if let Some((name, page)) = clock.as_ref().and_then(Clock::env) {
        settings.env.insert(name.into(), page.display().to_string());
    }
    let mut parts = Vec::new();
    let mut told = |event| match event {
        StartEvent::Ready { component, after_s } => parts.push((component, after_s)),
        StartEvent::PortTaken { component } => {
            output::note(&format!("a port of {component} was taken meanwhile; starting again with others"));
        }
    };
    let plane = prepared.start(binaries, &settings, &interrupt, &mut told).map_err(trouble)?;
    if let Some(clock) = &clock {
        clock.set_busy_rate(arguments.time.busy_rate.num, arguments.time.busy_rate.den);
    }
    drop(starting);
    ready(&plane.state().name, plane.state().ready_s, &parts);
    output::done("Ctrl-C stops it");
    let ending = plane.watch(&interrupt);
    end(home, arguments, plane, &interrupt, clock.as_ref(), ending)
}

fn end(
    home: &Home,
    arguments: &Up,
    plane: Plane,
    interrupt: &Interrupt,
    clock: Option<&Clock>,
    ending: Ending,
) -> Result<Outcome, Failure> {
    // Components wait in virtual time while they stop, so time must not stand.
    if let Some(outside) = plane_clock::outside(plane.layout())? {
        outside.release();
    }
    if let Some(clock) = clock {
        clock.set_busy_rate(1, 1);
    }
    match ending {
        Ending::Interrupted => {
            plane
                .stop(arguments.keep_logs.as_deref(), interrupt)
                .map_err(|error| super::trouble(home, error))?;
            output::done(&format!("plane `{}` is down", arguments.which.name));
            Ok(Outcome::Done)
        }
        Ending::Died(death) => {
            plane.abandon();
            let name = &arguments.which.name;
            Err(Failure::new(Code::NotReady, anyhow::Error::msg(death.to_string()))
                .hint(format!("the logs are kept until the next start: `skctl plane logs --name {name}`")))
        }
    }
}

fn ready(name: &str, after_s: Option<f64>, parts: &[(String, f64)]) {
    let parts: Vec<String> =
        parts.iter().map(|(component, after)| format!("{component} {after:.1}")).collect();
    let after = after_s.unwrap_or_default();
    output::done(&format!("plane `{name}` is ready after {after:.1} s ({})", parts.join(", ")));
}

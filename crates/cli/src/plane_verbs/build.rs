//! `skctl plane build`: the binaries from the cache, or compiled with the clock. Every verb that needs them comes here.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use plane::Home;
use plane::build::{self, Binaries, BuildSettings, OtherProgram, OverlayInput, Progress};

use super::arguments::{Build, Source};
use crate::exit::{Code, Failure, Outcome};
use crate::output;
use crate::progress::{self, Steps};

pub(super) fn run(arguments: &Build, mode: progress::Mode) -> Result<Outcome, Failure> {
    let home = super::home()?;
    if arguments.with.is_empty() {
        let binaries = binaries(&home, &arguments.source, mode)?;
        output::data(format!("{}\n", binaries.dir().display()).as_bytes())?;
        return Ok(Outcome::Done);
    }
    let programs: Vec<OtherProgram> = arguments
        .with
        .iter()
        .map(|text| text.parse().map_err(|error: build::ParseError| Failure::new(Code::Usage, error)))
        .collect::<Result<_, _>>()?;
    let mut paths = String::new();
    for program in &programs {
        let _ = writeln!(paths, "{}", other(&home, &arguments.source, program, mode)?.display());
    }
    output::data(paths.as_bytes())?;
    Ok(Outcome::Done)
}

/// The plane's programs with the clock in them: one build serves virtual and real time.
pub(super) fn binaries(home: &Home, source: &Source, mode: progress::Mode) -> Result<Binaries, Failure> {
    let mut settings = settings(home, source);
    if let Some(binaries) = build::cached(&settings).map_err(failure)? {
        return Ok(binaries);
    }
    let mut steps = Steps::new(mode, "building the plane");
    let mut tell = |progress| steps.at(&words(progress));
    write_overlay(&mut settings, &mut tell)?;
    build::build(&settings, &mut tell).map_err(failure)
}

/// Another Go program with the same clock.
pub(super) fn other(
    home: &Home,
    source: &Source,
    program: &OtherProgram,
    mode: progress::Mode,
) -> Result<PathBuf, Failure> {
    let mut settings = settings(home, source);
    let mut steps = Steps::new(mode, &format!("building {}", program.name()));
    let mut tell = |progress| steps.at(&words(progress));
    write_overlay(&mut settings, &mut tell)?;
    build::build_other(&settings, program, &mut tell).map_err(failure)
}

/// Given binaries (`--plane-bin`) that should live in virtual time must have the clock in them: one that has not
/// would run on its own time, and nobody would notice until the results are wrong.
pub(super) fn require_clock(binaries: &Binaries) -> Result<(), Failure> {
    for (program, _) in plane::recipe::PROGRAMS.iter().filter(|(program, _)| *program != "kubectl") {
        let path = binaries.path(program);
        let bytes = std::fs::read(&path)?;
        if memchr::memmem::find(&bytes, clock::ENV.as_bytes()).is_none() {
            let message = format!("`{}` was built without the virtual clock", path.display());
            return Err(Failure::new(Code::NotReady, anyhow::Error::msg(message))
                .hint("use `--clock wall`, or the binaries of `skctl plane build`"));
        }
    }
    Ok(())
}

/// The binaries as they would be, whether they are there or not.
pub(super) fn expected(home: &Home, source: &Source) -> Binaries {
    Binaries::expected(&settings(home, source))
}

fn goarch() -> &'static str {
    if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" }
}

fn settings(home: &Home, source: &Source) -> BuildSettings {
    let key = clock::overlay::key(goarch());
    let json = overlay_dir(&home.cache, &key).join("overlay.json");
    BuildSettings {
        cache: home.cache.clone(),
        go: source.go.clone(),
        overlay: Some(OverlayInput { json, key }),
        jobs: source.jobs,
    }
}

fn overlay_dir(cache: &Path, key: &str) -> PathBuf {
    cache.join("overlay").join(key)
}

/// Needed only when something is compiled: the edited files are made from the toolchain that will read them.
fn write_overlay(settings: &mut BuildSettings, tell: &mut dyn FnMut(Progress)) -> Result<(), Failure> {
    let toolchain = build::toolchain(settings, tell).map_err(failure)?;
    let dir = overlay_dir(&settings.cache, &clock::overlay::key(goarch()));
    let overlay = clock::overlay::prepare(&toolchain.goroot, goarch(), &dir).map_err(|error| {
        Failure::new(Code::NotReady, error)
            .context("failed to prepare the virtual clock")
            .hint("use an unchanged Go installation with --go, or ready-made binaries with `--plane-bin DIR`")
    })?;
    settings.overlay = Some(OverlayInput { json: overlay.path, key: overlay.key });
    Ok(())
}

pub(super) fn failure(error: build::Error) -> Failure {
    let hint = error.hint();
    let failure = Failure::new(Code::NotReady, error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn words(progress: Progress) -> progress::Step {
    let plain = |text: String| progress::Step { text, done: None, left: None };
    match progress {
        Progress::Waiting => plain("another build is under way; waiting for it".into()),
        Progress::Corrupt { program } => plain(format!("`{program}` in the cache is damaged; building anew")),
        Progress::Toolchain { version } => plain(format!("fetching Go {version}")),
        Progress::Downloading { module } => plain(format!("downloading {module}")),
        Progress::Compiling { done, total: 0, .. } => plain(format!("compiling, {done} packages so far")),
        Progress::Compiling { done, total, left } => {
            progress::Step { text: "compiling packages".into(), done: Some((done, total)), left }
        }
        Progress::Storing => plain("storing".into()),
    }
}

//! Running Go: one environment for every call, its talk turned into progress, its failure into our errors.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::failure::{Error, classify};
use super::key::platform;

/// A Go installation and how to call it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolchain {
    /// The `go` program.
    pub go: PathBuf,
    /// Its root, whose sources an overlay replaces.
    pub goroot: PathBuf,
    /// As `1.26.8`.
    pub version: String,
}

impl Toolchain {
    /// `go` with the environment that every build of ours uses.
    pub(crate) fn command(&self, dir: &Path) -> Command {
        let mut command = go(self.go.as_os_str(), dir);
        command.env("GOROOT", &self.goroot);
        command
    }
}

/// What users set for their own projects (build flags, workspaces, cross-compilation) must not leak into ours;
/// where modules come from and are kept (GOPROXY, GOMODCACHE, GOCACHE) is theirs to say.
pub(crate) fn go(program: &OsStr, dir: &Path) -> Command {
    let (os, arch) = platform();
    let mut command = Command::new(program);
    command
        .current_dir(dir)
        .env("GOTOOLCHAIN", "local")
        .env("GO111MODULE", "on")
        .env("GOWORK", "off")
        .env("GOFLAGS", "")
        .env("GOEXPERIMENT", "")
        .env("GODEBUG", "")
        .env("CGO_ENABLED", "0")
        .env("GOOS", os)
        .env("GOARCH", arch)
        .env_remove("GOROOT")
        .stdin(Stdio::null());
    command
}

/// Runs to the end and returns stdout.
pub(crate) fn output(mut command: Command, target: &Path) -> Result<String, Error> {
    let words = describe(&command);
    let output = command.output().map_err(|source| start_error(&command, source))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let both = [output.stdout, output.stderr].concat();
    Err(classify(&words, &String::from_utf8_lossy(&both), target))
}

/// Runs to the end, handing each line of stderr to `line`; stdout goes to `stdout`.
pub(crate) fn stream(
    mut command: Command,
    stdout: impl Into<Stdio>,
    target: &Path,
    mut line: impl FnMut(&str),
) -> Result<(), Error> {
    let words = describe(&command);
    crate::prctl::die_with_parent(&mut command);
    let mut child = command
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| start_error(&command, source))?;
    let stderr = child.stderr.take().expect("stderr was piped just above");
    let mut tail = VecDeque::new();
    for text in BufReader::new(stderr).lines() {
        // Bytes that are not UTF-8 end the talk, not the build.
        let Ok(text) = text else { break };
        line(&text);
        tail.push_back(text);
        if tail.len() > 60 {
            tail.pop_front();
        }
    }
    let status = child.wait().map_err(|source| start_error(&command, source))?;
    if status.success() {
        return Ok(());
    }
    Err(classify(&words, &Vec::from(tail).join("\n"), target))
}

fn describe(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn start_error(command: &Command, source: io::Error) -> Error {
    let program = command.get_program().to_string_lossy().into_owned();
    match source.kind() {
        io::ErrorKind::NotFound => Error::NoGo { program },
        _ => Error::File { action: "run", path: program.into(), source },
    }
}

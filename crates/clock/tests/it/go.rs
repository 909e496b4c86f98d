//! Building and running the Go programs of these tests.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use simkube_clock::{Clock, GO_VERSION, overlay};

/// Compile `package`, a path from this crate, with the clock and return the program.
pub(crate) fn build(package: &str, goarch: &str) -> PathBuf {
    // One at a time: Go builds in parallel by itself.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock();
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let root = Command::new("go").args(["env", "GOROOT"]).output();
    let root = root.unwrap_or_else(|error| panic!("these tests need {GO_VERSION} in the path: {error}"));
    let root = String::from_utf8(root.stdout).unwrap();
    let overlay =
        overlay::prepare(Path::new(root.trim()), goarch, &scratch.join(format!("overlay-{goarch}")))
            .unwrap_or_else(|error| panic!("these tests need {GO_VERSION}: {error}"));
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join(package);
    let name = dir.file_name().unwrap().to_str().unwrap();
    let program = scratch.join(format!("{name}-{goarch}-{}", overlay.key));
    let built = Command::new("go")
        .current_dir(&dir)
        .envs([("CGO_ENABLED", "0"), ("GOTOOLCHAIN", "local"), ("GOOS", "linux"), ("GOARCH", goarch)])
        .args(["build", "-overlay"])
        .arg(&overlay.path)
        .arg("-o")
        .arg(&program)
        .arg(".")
        .status()
        .unwrap();
    assert!(built.success(), "go build of {package} failed");
    program
}

pub(crate) fn build_here(package: &str) -> PathBuf {
    build(package, if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" })
}

/// A running program, ended when dropped.
pub(crate) struct Program {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Program {
    /// Start `program`, on `clock` if there is one.
    pub(crate) fn start(program: &Path, args: &[String], clock: Option<&Clock>) -> Program {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.env_remove(simkube_clock::ENV).envs(clock.and_then(Clock::env));
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Program { child, lines }
    }

    pub(crate) fn read_line(&mut self) -> String {
        let mut line = String::new();
        assert_ne!(self.lines.read_line(&mut line).unwrap(), 0, "the program ended");
        line.trim_end().to_owned()
    }

    pub(crate) fn write_line(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    pub(crate) fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

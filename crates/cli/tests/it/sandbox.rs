//! A directory of its own for each test, with `skctl` on the PATH and the bundled examples in reach.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What every sandbox has of the repository.
const SHARED: [&str; 2] = ["docs", "examples"];

pub(crate) struct Sandbox {
    directory: tempfile::TempDir,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for shared in SHARED {
            std::os::unix::fs::symlink(repository().join(shared), directory.path().join(shared)).unwrap();
        }
        Self { directory }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Where planes of this sandbox live; the binaries come from the user's cache.
    pub(crate) fn state(&self) -> PathBuf {
        self.path().join("state")
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path().join(name), bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path().join(name)).unwrap()
    }

    /// Names in the directory, without what is shared.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| !SHARED.contains(&name.as_str())).collect();
        names.sort();
        names
    }

    /// A shell command, not yet run.
    pub(crate) fn command(&self, script: &str) -> Command {
        let binary = Path::new(env!("CARGO_BIN_EXE_skctl")).parent().unwrap();
        let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
        let mut command = Command::new("bash");
        command.args(["-c", script]).current_dir(self.path()).env("PATH", path).env("NO_COLOR", "1");
        command.env_remove("COLUMNS").env_remove("SIMKUBE_PLANE").env("XDG_STATE_HOME", self.state());
        command
    }

    pub(crate) fn run(&self, script: &str) -> Output {
        self.command(script).output().unwrap()
    }

    /// Exit code, stdout and stderr of a command, for a snapshot.
    pub(crate) fn shows(&self, script: &str) -> String {
        let output = self.run(script);
        let mut text = format!("$ {script}\n");
        let code = output.status.code().map_or("killed".to_owned(), |code| code.to_string());
        for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
            if !bytes.is_empty() {
                let _ = write!(text, "-- {name}\n{}", String::from_utf8_lossy(bytes));
            }
        }
        let _ = writeln!(text, "-- exit code {code}");
        text
    }

    /// Runs preparations that must succeed.
    pub(crate) fn prepare(&self, script: &str) {
        let output = self.run(script);
        assert!(output.status.success(), "{script}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Planes of a test that failed in the middle must not outlive it.
impl Drop for Sandbox {
    fn drop(&mut self) {
        let planes = std::fs::read_dir(self.state().join("simkube/planes")).into_iter().flatten().flatten();
        for entry in planes.filter(|entry| entry.path().is_dir()) {
            self.run(&format!("skctl plane down --name {}", entry.file_name().display()));
        }
    }
}

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

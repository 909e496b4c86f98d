//! A directory of ready binaries, ours or the user's.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::failure::Error;
use crate::recipe::PROGRAMS;

/// Binaries that a plane can be started from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binaries {
    dir: PathBuf,
}

impl Binaries {
    pub(super) fn built(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// The binaries that a build with these settings makes, whether they exist or not: only their paths can be used.
    pub fn expected(settings: &super::BuildSettings) -> Self {
        Self { dir: settings.directory().join("bin") }
    }

    /// Binaries that someone else made (`--plane-bin DIR`): all there and executable, otherwise taken as they are.
    /// `kubectl` may be missing; the machine's own is used then.
    pub fn given(dir: &Path) -> Result<Self, Error> {
        let dir = dir.canonicalize().map_err(Error::file("open", dir))?;
        for (program, _) in PROGRAMS.iter().filter(|(program, _)| *program != "kubectl") {
            let executable = fs::metadata(dir.join(program))
                .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0);
            if !executable {
                return Err(Error::Missing { dir, program: (*program).into() });
            }
        }
        Ok(Self { dir })
    }

    /// The directory, for `PATH`.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where `program` is.
    pub fn path(&self, program: &str) -> PathBuf {
        self.dir.join(program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_binaries_must_be_complete_and_executable() {
        let dir = tempfile::tempdir().unwrap();
        for (program, _) in PROGRAMS.iter().filter(|(program, _)| *program != "kubectl") {
            let error = Binaries::given(dir.path()).unwrap_err();
            assert!(error.to_string().ends_with(&format!("`{program}`")), "{error}");
            let path = dir.path().join(program);
            fs::write(&path, "").unwrap();
            Binaries::given(dir.path()).unwrap_err();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Binaries::given(dir.path()).unwrap();
    }
}

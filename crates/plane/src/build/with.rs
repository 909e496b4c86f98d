//! Any other Go program, built with the same Go and the same clock (`plane build --with`): a scheduler, an autoscaler.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::failure::Error;
use super::progress::{Counter, Progress};
use super::{BuildSettings, add_settings, go, lock, toolchain};
use crate::patience::Stopwatch;

/// A main package: a directory on this machine, or a package of a published module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OtherProgram {
    /// A directory with a `main` package, inside a Go module of the user's.
    Directory(PathBuf),
    /// A package and the version of its module, as `sigs.k8s.io/karpenter/kwok@v1.14.1`.
    Published {
        /// Import path of the main package.
        package: String,
        /// Version of the module that has it.
        version: String,
    },
}

/// What `--with` could not make sense of.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is neither a directory (`./cmd/it`) nor a package with a version (`example.org/it@v1.2.3`)")]
pub struct ParseError(String);

impl FromStr for OtherProgram {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let path_like = text.starts_with(['.', '/']);
        match text.rsplit_once('@') {
            _ if path_like => Ok(Self::Directory(text.into())),
            // Without a version the newest would be taken, and the same command would build another thing tomorrow.
            Some((package, version)) if !package.is_empty() && !version.is_empty() => {
                Ok(Self::Published { package: package.into(), version: version.into() })
            }
            _ if Path::new(text).is_dir() => Ok(Self::Directory(text.into())),
            _ => Err(ParseError(text.into())),
        }
    }
}

impl OtherProgram {
    /// The binary's name: Go's rule, the last word that is not a major version.
    pub fn name(&self) -> String {
        let words: Vec<String> = match self {
            Self::Directory(dir) => {
                let dir = dir.canonicalize().unwrap_or_else(|_| dir.clone());
                dir.iter().map(|word| word.to_string_lossy().into_owned()).collect()
            }
            Self::Published { package, .. } => package.split('/').map(str::to_owned).collect(),
        };
        let is_major = |word: &str| word.strip_prefix('v').is_some_and(|n| n.parse::<u32>().is_ok());
        words.iter().rev().find(|word| !is_major(word)).cloned().unwrap_or_else(|| "program".into())
    }
}

/// Builds `program` and returns its binary. Go's own cache makes a repeated build a matter of seconds, and it alone
/// knows whether the user's sources changed, so it is always asked.
pub fn build_other(
    settings: &BuildSettings,
    program: &OtherProgram,
    progress: &mut dyn FnMut(Progress),
) -> Result<PathBuf, Error> {
    let dir = settings.cache.join("with").join(directory_name(settings, program));
    fs::create_dir_all(&dir).map_err(Error::file("create", &dir))?;
    let toolchain = toolchain(settings, progress)?;
    let _lock = lock(settings, "with/lock", progress)?;
    let partial = dir.join("partial");
    toolchain::remove_tree(&partial)?;
    fs::create_dir_all(&partial).map_err(Error::file("create", &partial))?;
    let command = match program {
        OtherProgram::Directory(source) => {
            let source = source.canonicalize().map_err(Error::file("open", source))?;
            let mut command = toolchain.command(&source);
            command.args(["build", "-v", "-trimpath", "-buildvcs=false"]);
            add_settings(&mut command, settings);
            command.arg("-o").arg(partial.join(program.name())).arg(".");
            command
        }
        OtherProgram::Published { package, version } => {
            let mut command = toolchain.command(&partial);
            command.env("GOBIN", &partial).args(["install", "-v", "-trimpath"]);
            add_settings(&mut command, settings);
            command.arg(format!("{package}@{version}"));
            command
        }
    };
    let (mut counter, watch) = (Counter::new(usize::MAX), Stopwatch::start());
    go::stream(command, std::process::Stdio::null(), &partial, |line| {
        match counter.read(line, watch.elapsed()) {
            // The total is not known without another look at the module: say how many so far.
            Some(Progress::Compiling { done, .. }) => {
                progress(Progress::Compiling { done, total: 0, left: None });
            }
            Some(step) => progress(step),
            None => {}
        }
    })?;
    let binary = dir.join(program.name());
    fs::rename(partial.join(program.name()), &binary).map_err(Error::file("store", &binary))?;
    toolchain::remove_tree(&partial)?;
    Ok(binary)
}

fn directory_name(settings: &BuildSettings, program: &OtherProgram) -> String {
    let overlay = settings.overlay.as_ref().map_or("", |overlay| &overlay.key);
    let place = match program {
        OtherProgram::Directory(dir) => {
            dir.canonicalize().unwrap_or_else(|_| dir.clone()).display().to_string()
        }
        OtherProgram::Published { package, version } => format!("{package}@{version}"),
    };
    let hash = blake3::hash(format!("{place}\n{overlay}\n{}", crate::recipe::go_version()).as_bytes());
    format!("{}-{}", program.name(), &hash.to_hex()[..12])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_and_published_packages_are_told_apart() {
        let published = |package: &str, version: &str| OtherProgram::Published {
            package: package.into(),
            version: version.into(),
        };
        assert_eq!("./cmd/a".parse(), Ok(OtherProgram::Directory("./cmd/a".into())));
        assert_eq!("/b@2".parse(), Ok(OtherProgram::Directory("/b@2".into())));
        assert_eq!(
            "sigs.k8s.io/karpenter/kwok@v1.14.1".parse(),
            Ok(published("sigs.k8s.io/karpenter/kwok", "v1.14.1"))
        );
        for wrong in ["example.org/x", "example.org/x@", "@v1", ""] {
            assert!(wrong.parse::<OtherProgram>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_binary_is_named_as_go_names_it() {
        for (text, name) in [("example.org/a/b@v1.0.0", "b"), ("go.etcd.io/etcd/server/v3@v3.6.14", "server")]
        {
            assert_eq!(text.parse::<OtherProgram>().unwrap().name(), name);
        }
    }
}

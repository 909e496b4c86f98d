//! The clock for Go programs: edited copies of a few runtime files and the `-overlay` list that puts them in
//! the place of the originals. Files whose content is not exactly the known one are refused before anything
//! is built.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::edits::{Change, EDITS, Edit, GO_VERSION};

/// The file that is new in package `runtime`.
const SIMCLOCK: &str = include_str!("../../../plane/clock/simclock.go");

/// What `go build` needs to compile a program with the clock: `go build -overlay PATH`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlay {
    /// The file to name after `-overlay`.
    pub path: PathBuf,
    /// Changes whenever the compiled clock would: part of the key of a build cache.
    pub key: String,
}

/// Why there is no overlay.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The clock knows no such architecture.
    #[error("the clock is not made for GOARCH `{0}` (amd64 and arm64 are)")]
    Arch(String),
    /// Another Go than the pinned one.
    #[error("the clock is made for {GO_VERSION}, and `{goroot}` holds {found}")]
    Version {
        /// The toolchain looked at.
        goroot: PathBuf,
        /// What its VERSION file says.
        found: String,
    },
    /// A runtime file is not the released one.
    #[error(
        "`{file}` is not the file that was released with {GO_VERSION} (sha256 {found}, expected {expected})"
    )]
    Changed {
        /// The file looked at.
        file: PathBuf,
        /// The hash of the released file.
        expected: &'static str,
        /// The hash of the file looked at.
        found: String,
    },
    /// A hook has no place to go: the list of edits and the pinned hashes disagree.
    #[error("cannot place a hook in `{file}` of {GO_VERSION}: {anchor:?} occurs {count} times")]
    Anchor {
        /// The runtime file.
        file: &'static str,
        /// The text that should occur once.
        anchor: &'static str,
        /// How often it does.
        count: usize,
    },
    /// The toolchain or the output directory cannot be used.
    #[error("failed to {action} `{path}`")]
    Io {
        /// `read` or `write`.
        action: &'static str,
        /// What was read or written.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// The format of `go build -overlay`.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct List {
    replace: BTreeMap<PathBuf, PathBuf>,
}

/// Write the edited runtime files and `overlay.json` into `out_dir` for the toolchain in `goroot`.
///
/// The toolchain must be a normal installation: Go refuses to replace files in its module cache.
pub fn prepare(goroot: &Path, goarch: &str, out_dir: &Path) -> Result<Overlay, Error> {
    if !["amd64", "arm64"].contains(&goarch) {
        return Err(Error::Arch(goarch.into()));
    }
    check_version(goroot)?;
    // Go wants absolute paths: it resolves relative ones against the directory of each build.
    fs::create_dir_all(out_dir).map_err(io_error("write", out_dir))?;
    let out_dir = out_dir.canonicalize().map_err(io_error("read", out_dir))?;
    let src = goroot.canonicalize().map_err(io_error("read", goroot))?.join("src");

    let mut replace = BTreeMap::new();
    let mut add = |original: PathBuf, content: &str| {
        let name = original.file_name().expect("runtime files have names").to_owned();
        let copy = out_dir.join(name);
        write(&copy, content)?;
        replace.insert(original, copy);
        Ok::<(), Error>(())
    };
    add(src.join("runtime/simclock.go"), SIMCLOCK)?;
    for edit in EDITS.iter().filter(|edit| edit.arch.is_none_or(|arch| arch == goarch)) {
        let original = src.join(edit.file);
        let content = fs::read_to_string(&original).map_err(io_error("read", &original))?;
        add(original.clone(), &apply(edit, &original, &content)?)?;
    }

    let path = out_dir.join("overlay.json");
    let list = serde_json::to_string_pretty(&List { replace }).expect("paths of a Go toolchain are text");
    write(&path, &list)?;
    Ok(Overlay { path, key: key(goarch) })
}

/// The part of a build's cache key that stands for the clock, without touching a toolchain.
pub fn key(goarch: &str) -> String {
    let mut hash = blake3::Hasher::new();
    for part in [GO_VERSION, goarch, SIMCLOCK] {
        hash.update(part.as_bytes()).update(&[0]);
    }
    for edit in EDITS.iter().filter(|edit| edit.arch.is_none_or(|arch| arch == goarch)) {
        hash.update(edit.file.as_bytes()).update(edit.sha256.as_bytes());
        for change in edit.changes {
            let (tag, anchor, text) = match change {
                Change::After(anchor, text) => ("after", anchor, text),
                Change::Before(anchor, text) => ("before", anchor, text),
                Change::Replace(anchor, text) => ("replace", anchor, text),
            };
            for part in [tag, anchor, text] {
                hash.update(part.as_bytes()).update(&[0]);
            }
        }
    }
    hash.finalize().to_hex()[..16].to_owned()
}

fn check_version(goroot: &Path) -> Result<(), Error> {
    let path = goroot.join("VERSION");
    let text = fs::read_to_string(&path).map_err(io_error("read", &path))?;
    let found = text.lines().next().unwrap_or_default();
    if found == GO_VERSION {
        return Ok(());
    }
    Err(Error::Version { goroot: goroot.into(), found: found.into() })
}

fn apply(edit: &Edit, file: &Path, content: &str) -> Result<String, Error> {
    let found = format!("{:x}", Sha256::digest(content));
    if found != edit.sha256 {
        return Err(Error::Changed { file: file.into(), expected: edit.sha256, found });
    }
    edit.changes.iter().try_fold(content.to_owned(), |content, change| {
        let (anchor, text) = match *change {
            Change::After(anchor, text) => (anchor, format!("{anchor}{text}")),
            Change::Before(anchor, text) => (anchor, format!("{text}{anchor}")),
            Change::Replace(anchor, text) => (anchor, text.to_owned()),
        };
        match content.matches(anchor).count() {
            1 => Ok(content.replacen(anchor, &text, 1)),
            count => Err(Error::Anchor { file: edit.file, anchor, count }),
        }
    })
}

/// Whole or not at all, and untouched when it is right already: a build beside this one may be reading it.
fn write(path: &Path, content: &str) -> Result<(), Error> {
    if fs::read(path).is_ok_and(|present| present == content.as_bytes()) {
        return Ok(());
    }
    let write = || {
        let file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
        fs::write(file.path(), content)?;
        file.persist(path)?;
        Ok(())
    };
    write().map_err(io_error("write", path))
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Io { action, path: path.into(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toolchain(version: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("VERSION"), version).unwrap();
        fs::create_dir_all(dir.path().join("src/runtime")).unwrap();
        dir
    }

    #[test]
    fn another_go_release_is_refused_by_name() {
        let go = toolchain("go1.27.0\ntime 2026-08-11T00:00:00Z\n");
        let error = prepare(go.path(), "amd64", &go.path().join("out")).unwrap_err().to_string();
        assert!(error.contains("go1.26.8") && error.contains("go1.27.0"), "{error}");
    }

    #[test]
    fn a_changed_runtime_file_is_refused_by_name_and_hash() {
        let go = toolchain(GO_VERSION);
        for edit in EDITS {
            fs::write(go.path().join("src").join(edit.file), "package runtime\n").unwrap();
        }
        let error = prepare(go.path(), "amd64", &go.path().join("out")).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::Changed { .. }), "{text}");
        assert!(text.contains("time_nofake.go") && text.contains(GO_VERSION), "{text}");
    }

    #[test]
    fn an_anchor_must_occur_exactly_once() {
        let edit = Edit {
            file: "runtime/x.go",
            sha256: format!("{:x}", Sha256::digest("a a")).leak(),
            arch: None,
            changes: &[Change::After("a", "b")],
        };
        let error = apply(&edit, Path::new("x.go"), "a a").unwrap_err();
        assert!(matches!(error, Error::Anchor { count: 2, .. }), "{error}");
    }

    #[test]
    fn architectures_have_different_keys_and_unknown_ones_are_refused() {
        assert_ne!(key("amd64"), key("arm64"));
        assert!(matches!(prepare(Path::new("/"), "riscv64", Path::new("/")), Err(Error::Arch(_))));
    }
}

//! The pinned Go release: this machine's own when it is exactly that one, otherwise fetched as a Go module and copied.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::failure::Error;
use super::go::{self, Toolchain};
use super::key::platform;
use super::progress::Progress;
use crate::recipe;

/// Any Go from here on can download another one as a module.
const OLDEST_BOOTSTRAP: (u32, u32) = (1, 21);

/// Finds or fetches the pinned Go. `program` is the user's `go`; `cache` is where a fetched one is kept.
pub(crate) fn obtain(
    program: Option<&Path>,
    cache: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Toolchain, Error> {
    let wanted = recipe::go_version();
    let (os, arch) = platform();
    let copy = cache.join("toolchain").join(format!("go{wanted}.{os}-{arch}"));
    let ours = Toolchain { go: copy.join("bin/go"), goroot: copy.clone(), version: wanted.into() };
    let program = program.map_or_else(|| OsString::from("go"), |path| path.as_os_str().to_owned());

    let machine = inspect(&program);
    match machine {
        Ok(found) if found.exact(wanted) => {
            Ok(Toolchain { go: found.goroot.join("bin/go"), goroot: found.goroot, version: wanted.into() })
        }
        _ if ours.go.is_file() => Ok(ours),
        Ok(found) if !can_bootstrap(&found.version) => {
            Err(Error::OldGo { found: found.version, wanted: wanted.into() })
        }
        Ok(_) => {
            progress(Progress::Toolchain { version: wanted.into() });
            fetch(&program, &format!("v0.0.1-go{wanted}.{os}-{arch}"), &copy)?;
            Ok(ours)
        }
        Err(error) => Err(error),
    }
}

struct Found {
    version: String,
    goroot: PathBuf,
    modules: PathBuf,
}

impl Found {
    /// Go refuses to overlay files inside its module cache, so a Go that lives there will not do.
    fn exact(&self, wanted: &str) -> bool {
        self.version == wanted
            && !self.goroot.starts_with(&self.modules)
            && self.goroot.join("bin/go").is_file()
    }
}

fn inspect(program: &OsString) -> Result<Found, Error> {
    let mut command = go::go(program, Path::new("/"));
    command.args(["env", "GOVERSION", "GOROOT", "GOMODCACHE"]);
    let output = go::output(command, Path::new("/"))?;
    let mut lines = output.lines().map(str::trim);
    let mut next = || lines.next().unwrap_or_default();
    let version = next().split(' ').next().unwrap_or_default().trim_start_matches("go").to_owned();
    Ok(Found { version, goroot: next().into(), modules: next().into() })
}

fn can_bootstrap(version: &str) -> bool {
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= OLDEST_BOOTSTRAP
}

#[derive(Deserialize)]
struct Downloaded {
    #[serde(rename = "Dir")]
    dir: PathBuf,
}

fn fetch(program: &OsString, version: &str, copy: &Path) -> Result<(), Error> {
    let parent = copy.parent().expect("the copy lies inside the cache");
    fs::create_dir_all(parent).map_err(Error::file("create", parent))?;
    let mut command = go::go(program, parent);
    // The toolchain's checksum is verified by Go against the checksum database, as for any `go` line upgrade.
    command.args(["mod", "download", "-json", &format!("golang.org/toolchain@{version}")]);
    let output = go::output(command, parent)?;
    let downloaded: Downloaded = serde_json::from_str(&output).map_err(|_| Error::Go {
        command: "go mod download -json golang.org/toolchain".into(),
        output: output.clone(),
    })?;
    let partial = partial_name(copy);
    remove_tree(&partial)?;
    copy_tree(&downloaded.dir, &partial).map_err(Error::file("copy the Go toolchain to", &partial))?;
    fs::rename(&partial, copy).map_err(Error::file("rename", &partial))
}

/// Copies a GOROOT out of the module cache: there everything is read-only and nothing may be executed.
fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
            let mode = if is_program(&target) { 0o755 } else { 0o644 };
            fs::set_permissions(&target, fs::Permissions::from_mode(mode))?;
        }
    }
    Ok(())
}

/// `bin/*` and `pkg/tool/OS_ARCH/*` are the only programs of a GOROOT.
fn is_program(path: &Path) -> bool {
    let parent = path.parent().unwrap_or(path);
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    name(parent).as_deref() == Some("bin")
        || parent.parent().and_then(name).as_deref() == Some("tool")
            && parent.components().any(|c| c.as_os_str() == "pkg")
}

/// The name under which `path` is filled before it gets its own.
pub(crate) fn partial_name(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

pub(crate) fn remove_tree(path: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::file("remove", path)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_go_since_1_21_can_fetch_the_pinned_one() {
        for (version, can) in
            [("1.21.0", true), ("1.26.8", true), ("2.0", true), ("1.20.14", false), ("", false)]
        {
            assert_eq!(can_bootstrap(version), can, "{version}");
        }
    }

    #[test]
    fn a_go_inside_the_module_cache_is_not_used_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let goroot = dir.path().join("mod/golang.org/toolchain");
        fs::create_dir_all(goroot.join("bin")).unwrap();
        fs::write(goroot.join("bin/go"), "").unwrap();
        let found = |modules: &str| Found {
            version: "1.26.8".into(),
            goroot: goroot.clone(),
            modules: dir.path().join(modules),
        };
        assert!(found("elsewhere").exact("1.26.8"));
        assert!(!found("mod").exact("1.26.8"));
        assert!(!found("elsewhere").exact("1.27.0"));
    }

    #[test]
    fn a_copied_toolchain_can_be_executed_and_written() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        for (file, mode) in
            [("bin/go", 0o755), ("pkg/tool/linux_amd64/link", 0o755), ("src/runtime/proc.go", 0o644)]
        {
            let path = from.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, file).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
            copy_tree(&from, &to).unwrap();
            let found = fs::metadata(to.join(file)).unwrap().permissions().mode() & 0o777;
            assert_eq!(found, mode, "{file}");
        }
    }
}

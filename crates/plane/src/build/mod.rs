//! Obtaining the binaries: compiled once from pinned Go modules into the user's cache, found there ever after.

mod binaries;
mod failure;
mod go;
mod key;
mod progress;
mod store;
mod toolchain;
mod with;

use std::fs;
use std::path::{Path, PathBuf};

pub use binaries::Binaries;
pub use failure::Error;
pub use go::Toolchain;
pub use progress::Progress;
pub use with::{OtherProgram, ParseError, build_other};

use crate::lock::Lock;
use crate::patience::Stopwatch;
use crate::recipe;

/// What to build and where to keep it.
#[derive(Debug, Clone, Default)]
pub struct BuildSettings {
    /// [`Home::cache`](crate::home::Home).
    pub cache: PathBuf,
    /// The `go` to start from; the one in `PATH` when absent.
    pub go: Option<PathBuf>,
    /// Replaced files of the Go release: the virtual clock.
    pub overlay: Option<OverlayInput>,
    /// How many compilers at once; Go's own choice (one per core) when absent.
    pub jobs: Option<u32>,
}

/// Files of the Go release that are replaced while building (`go build -overlay`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlayInput {
    /// Go's overlay file. Read only when something has to be built.
    pub json: PathBuf,
    /// Stands for the replaced contents in the cache key: changes whenever they do.
    pub key: String,
}

impl BuildSettings {
    fn planes(&self) -> PathBuf {
        self.cache.join("plane")
    }

    /// The directory that a build with these settings has, whether it exists or not.
    pub fn directory(&self) -> PathBuf {
        let (os, arch) = key::platform();
        let inputs = key::Inputs {
            go_mod: recipe::GO_MOD,
            go_sum: recipe::GO_SUM,
            go_version: recipe::go_version(),
            flags: &recipe::build_flags(),
            overlay: self.overlay.as_ref().map(|overlay| overlay.key.as_str()),
            platform: &format!("{os}/{arch}"),
        };
        self.planes().join(inputs.key(recipe::kubernetes_version()))
    }
}

/// The binaries of these settings if they were built before and are undamaged. Needs neither Go nor network.
pub fn cached(settings: &BuildSettings) -> Result<Option<Binaries>, Error> {
    let dir = settings.directory();
    Ok((store::look(&dir)? == store::Found::Whole).then(|| Binaries::built(dir.join("bin"))))
}

/// The pinned Go release, fetched if need be: whoever makes an overlay reads its sources here.
pub fn toolchain(settings: &BuildSettings, progress: &mut dyn FnMut(Progress)) -> Result<Toolchain, Error> {
    fs::create_dir_all(&settings.cache).map_err(Error::file("create", &settings.cache))?;
    let _lock = lock(settings, "toolchain.lock", progress)?;
    toolchain::obtain(settings.go.as_deref(), &settings.cache, progress)
}

/// The plane's binaries: from the cache at once, or built now. An interrupted build goes on where Go's own cache left
/// off; of two at the same time one waits for the other.
pub fn build(settings: &BuildSettings, progress: &mut dyn FnMut(Progress)) -> Result<Binaries, Error> {
    if let Some(binaries) = cached(settings)? {
        return Ok(binaries);
    }
    let planes = settings.planes();
    fs::create_dir_all(&planes).map_err(Error::file("create", &planes))?;
    let _lock = lock(settings, "plane/lock", progress)?;
    let dir = settings.directory();
    match store::look(&dir)? {
        // Whoever held the lock before us may have built just this.
        store::Found::Whole => return Ok(Binaries::built(dir.join("bin"))),
        store::Found::Corrupt { program } => progress(Progress::Corrupt { program }),
        store::Found::Nothing => {}
    }
    toolchain::remove_tree(&dir)?;
    let go = toolchain(settings, progress)?;
    let partial = toolchain::partial_name(&dir);
    toolchain::remove_tree(&partial)?;
    compile(settings, &go, &partial, progress)?;
    progress(Progress::Storing);
    store::seal(&partial, &dir, recipe::kubernetes_version(), &go.version)?;
    // Sealing hashed what was written; one look remembers that for the starts to come.
    store::look(&dir)?;
    Ok(Binaries::built(dir.join("bin")))
}

fn compile(
    settings: &BuildSettings,
    toolchain: &Toolchain,
    partial: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), Error> {
    let (source, bin) = (partial.join("source"), partial.join("bin"));
    for dir in [&source, &bin] {
        fs::create_dir_all(dir).map_err(Error::file("create", dir))?;
    }
    for (name, text) in [("go.mod", recipe::GO_MOD), ("go.sum", recipe::GO_SUM)] {
        let path = source.join(name);
        fs::write(&path, text).map_err(Error::file("write", &path))?;
    }
    let total = count_packages(toolchain, &source, progress)?;
    let mut command = toolchain.command(&source);
    command.args(["build", "-v"]).args(recipe::build_flags());
    add_settings(&mut command, settings);
    command.arg("-o").arg(&bin).arg("tool");
    let (mut counter, watch) = (progress::Counter::new(total), Stopwatch::start());
    go::stream(command, std::process::Stdio::null(), partial, |line| {
        if let Some(step) = counter.read(line, watch.elapsed()) {
            progress(step);
        }
    })?;
    // Go names a binary after its package's last word, and etcd's package is called `server`.
    fs::rename(bin.join("server"), bin.join("etcd")).map_err(Error::file("rename", bin.join("server")))?;
    toolchain::remove_tree(&source)
}

fn count_packages(
    toolchain: &Toolchain,
    source: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<usize, Error> {
    // Modules are fetched here, and only those the build needs; `go mod download` would fetch the whole graph.
    let mut list = toolchain.command(source);
    list.args(["list", "-deps", "-tags", "selinux,notest,grpcnotrace", "-f", "{{.ImportPath}}", "tool"]);
    let mut counter = progress::Counter::new(usize::MAX);
    let packages = source.join("packages");
    let file = fs::File::create(&packages).map_err(Error::file("create", &packages))?;
    go::stream(list, file, source, |line| {
        if let Some(step @ Progress::Downloading { .. }) = counter.read(line, std::time::Duration::ZERO) {
            progress(step);
        }
    })?;
    let text = fs::read_to_string(&packages).map_err(Error::file("read", &packages))?;
    Ok(text.lines().count())
}

fn add_settings(command: &mut std::process::Command, settings: &BuildSettings) {
    if let Some(overlay) = &settings.overlay {
        command.arg("-overlay").arg(&overlay.json);
    }
    if let Some(jobs) = settings.jobs {
        command.args(["-p", &jobs.to_string()]);
    }
}

fn lock(settings: &BuildSettings, name: &str, progress: &mut dyn FnMut(Progress)) -> Result<Lock, Error> {
    let path = settings.cache.join(name);
    if let Some(lock) = Lock::try_acquire(&path).map_err(Error::file("lock", &path))? {
        return Ok(lock);
    }
    progress(Progress::Waiting);
    Lock::acquire(&path).map_err(Error::file("lock", &path))
}

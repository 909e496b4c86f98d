//! Files that the user names: opened to read, and written so that a failure leaves the old one as it was.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::exit::Failure;

/// An open input and its size, if it is a file.
pub(crate) struct Input {
    pub(crate) reader: Box<dyn Read>,
    pub(crate) size: Option<u64>,
}

/// Opens a file, or stdin for `-`.
pub(crate) fn open(path: &Path) -> Result<Input, Failure> {
    if path == Path::new("-") {
        return Ok(Input { reader: Box::new(io::stdin().lock()), size: None });
    }
    let unreadable = || format!("failed to read `{}`", path.display());
    let file = File::open(path).with_context(unreadable)?;
    let metadata = file.metadata().with_context(unreadable)?;
    if metadata.is_dir() {
        return Err(
            Failure::failed(format!("`{}` is a directory", path.display())).hint("name the trace file in it")
        );
    }
    let size = metadata.is_file().then_some(metadata.len());
    Ok(Input { reader: Box::new(file), size })
}

/// A file that comes into being only when it is complete.
///
/// Bytes go to a temporary file beside the target, readable by its owner alone, which takes the target's
/// place in one step. Dropping it without [`Output::complete`] removes it. Devices and pipes cannot be
/// replaced and are written directly.
pub(crate) struct Output {
    sink: Sink,
    /// What the user called it.
    name: String,
}

enum Sink {
    Replace { file: BufWriter<tempfile::NamedTempFile>, target: PathBuf },
    Direct(Box<dyn Write>),
}

impl Output {
    /// Prepares to write `path`; `-` means stdout. `inputs` are files that are read meanwhile.
    pub(crate) fn create(path: &Path, inputs: &[&Path]) -> Result<Self, Failure> {
        let name = path.display().to_string();
        if path == Path::new("-") {
            if io::stdout().is_terminal() {
                let refusal = Failure::usage("a trace is not for a terminal");
                return Err(refusal.hint("redirect it, or use `skctl trace cat` to read it"));
            }
            return Ok(Self { sink: Sink::Direct(Box::new(io::stdout().lock())), name });
        }
        let unwritable = || format!("failed to write `{name}`");
        // A link stays a link: the file that it points to is replaced.
        let target = fs::canonicalize(path).unwrap_or_else(|_| behind_link(path));
        let existing = fs::metadata(&target).ok();
        if existing.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Err(Failure::failed(format!("`{name}` is a directory")).hint("name a file in it"));
        }
        if inputs.iter().any(|input| is_same(input, &target)) {
            let refusal = Failure::usage(format!("output `{name}` is the input itself"));
            return Err(refusal.hint("choose another name, then move it over the old one"));
        }
        if existing.as_ref().is_some_and(|existing| !existing.is_file()) {
            let file = File::options().write(true).open(&target).with_context(unwritable)?;
            return Ok(Self { sink: Sink::Direct(Box::new(BufWriter::new(file))), name });
        }
        let directory = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        if !directory.is_dir() {
            return Err(Failure::failed(format!("failed to write `{name}`: there is no such directory")));
        }
        let file =
            tempfile::Builder::new().prefix(".skctl-").tempfile_in(directory).with_context(unwritable)?;
        if let Some(existing) = existing {
            file.as_file().set_permissions(existing.permissions()).with_context(unwritable)?;
        }
        Ok(Self { sink: Sink::Replace { file: BufWriter::with_capacity(1 << 20, file), target }, name })
    }

    /// Puts the file in its place. Before this, nothing the user can see has changed.
    pub(crate) fn complete(self) -> Result<(), Failure> {
        let unwritable = || format!("failed to write `{}`", self.name);
        match self.sink {
            Sink::Direct(mut output) => {
                output.flush().map_err(|error| named(&self.name, error)).with_context(unwritable)?;
            }
            Sink::Replace { file, target } => {
                let file =
                    file.into_inner().map_err(io::IntoInnerError::into_error).with_context(unwritable)?;
                file.as_file().sync_all().with_context(unwritable)?;
                file.persist(&target).map_err(|error| error.error).with_context(unwritable)?;
            }
        }
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::Replace { file, .. } => file.write(bytes),
            Sink::Direct(output) => output.write(bytes).map_err(|error| named(&self.name, error)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Replace { file, .. } => file.flush(),
            Sink::Direct(output) => output.flush(),
        }
    }
}

/// A reader of stdout may leave when it has seen enough. One that leaves a pipe which the user named has not got
/// what was asked for, so there it stays an error.
fn named(name: &str, error: io::Error) -> io::Error {
    if name != "-" && error.kind() == io::ErrorKind::BrokenPipe {
        return io::Error::other("nobody reads at the other end");
    }
    error
}

/// Where a link leads whose target does not exist yet.
fn behind_link(path: &Path) -> PathBuf {
    match fs::read_link(path) {
        Ok(target) => path.parent().unwrap_or(Path::new("")).join(target),
        Err(_) => path.to_owned(),
    }
}

/// Whether two names lead to one file, by whatever links.
fn is_same(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if let (Ok(a), Ok(b)) = (fs::metadata(a), fs::metadata(b)) {
            return (a.dev(), a.ino()) == (b.dev(), b.ino());
        }
    }
    matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}

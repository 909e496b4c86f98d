//! A file lock that the kernel gives back when its holder dies, however it dies.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

/// An exclusive lock, held until dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    file: Flock<File>,
}

impl Lock {
    /// The lock, or `None` while another process has it.
    pub(crate) fn try_acquire(path: &Path) -> io::Result<Option<Self>> {
        loop {
            match Flock::lock(open(path)?, FlockArg::LockExclusiveNonblock) {
                Ok(file) if current(path, &file)? => return Ok(Some(Self { path: path.into(), file })),
                Ok(_) => {}
                Err((_, Errno::EWOULDBLOCK)) => return Ok(None),
                Err((_, errno)) => return Err(errno.into()),
            }
        }
    }

    /// Waits for as long as another process has it.
    pub(crate) fn acquire(path: &Path) -> io::Result<Self> {
        loop {
            match Flock::lock(open(path)?, FlockArg::LockExclusive) {
                Ok(file) if current(path, &file)? => return Ok(Self { path: path.into(), file }),
                Ok(_) | Err((_, Errno::EINTR)) => {}
                Err((_, errno)) => return Err(errno.into()),
            }
        }
    }

    /// Gives the lock back and removes its file, while still holding it: whoever opened the old file sees in
    /// [`current`] that it is no longer the one at this path.
    pub(crate) fn remove(self) -> io::Result<()> {
        let removed = fs::remove_file(&self.path);
        drop(self.file);
        removed
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)
}

fn current(path: &Path, file: &File) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(there) => Ok(there.ino() == file.metadata()?.ino()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time_and_nothing_left_after_removal() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let first = Lock::try_acquire(&path).unwrap().expect("nobody holds it");
        assert!(Lock::try_acquire(&path).unwrap().is_none());
        first.remove().unwrap();
        assert!(!path.exists());
        let second = Lock::try_acquire(&path).unwrap().expect("given back");
        drop(second);
        Lock::acquire(&path).unwrap();
    }
}

//! The directory of one plane: what lies where.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The paths of one plane. Only paths: whether something is there is another question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    /// The plane in `root`.
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.root.join("kubeconfig")
    }

    /// The kubeconfig of one component.
    pub fn component_kubeconfig(&self, component: &str) -> PathBuf {
        self.pki(&format!("{component}.kubeconfig"))
    }

    /// A file of the certificates' directory.
    pub fn pki(&self, file: &str) -> PathBuf {
        self.root.join("pki").join(file)
    }

    /// etcd's data.
    pub fn etcd(&self) -> PathBuf {
        self.root.join("etcd")
    }

    /// KWOK's configuration: the stages.
    pub fn stages(&self) -> PathBuf {
        self.root.join("kwok.yaml")
    }

    /// The shared page of the virtual clock.
    pub fn clock(&self) -> PathBuf {
        self.root.join("clock")
    }

    /// The directory of logs.
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// The current log of one component.
    pub fn log(&self, component: &str) -> PathBuf {
        self.logs().join(format!("{component}.log"))
    }

    /// What runs here, for other processes.
    pub fn state(&self) -> PathBuf {
        self.root.join("plane.json")
    }

    /// Makes the directories, for this user alone: the keys in there are the whole protection of the plane.
    pub(crate) fn create(&self) -> io::Result<()> {
        for dir in [self.root.clone(), self.root.join("pki"), self.logs()] {
            DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        }
        Ok(())
    }
}

/// Writes a file that only this user can read.
pub(crate) fn write_private(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    let mut file = options.create(true).truncate(true).write(true).mode(0o600).open(path)?;
    io::Write::write_all(&mut file, contents)
}

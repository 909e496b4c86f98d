//! What a plane says about itself to other processes, in `plane.json`.

use std::fs;
use std::io;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::layout::{Layout, write_private};
use crate::ports::Ports;
use crate::procfs::Identity;

/// The contents of `plane.json`. A newer program reads an older file; unknown keys are left alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Version of this file.
    pub schema: u32,
    /// The plane's name.
    pub name: String,
    /// Where it is in its life.
    pub phase: Phase,
    /// The process that started the components and stops them.
    pub supervisor: Identity,
    /// The machine's boot: process ids of another one mean nothing.
    pub boot: String,
    /// When the start began, in real time.
    pub since: Timestamp,
    /// From the start's beginning until everything was ready.
    pub ready_s: Option<f64>,
    /// Where the components listen.
    pub ports: Ports,
    /// The directory of the programs.
    pub programs: PathBuf,
    /// The Kubernetes release.
    pub kubernetes: String,
    /// What was started, in that order.
    pub components: Vec<Started>,
}

/// The life of a plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Components are being started.
    Starting,
    /// All of them answered ready.
    Ready,
    /// They are being stopped.
    Stopping,
}

/// One started component.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Started {
    /// Its name.
    pub name: String,
    /// Its process, leader of a group of its own.
    pub process: Identity,
    /// From the plane's start until this one was launched.
    pub launched_s: f64,
    /// From its launch until it was ready.
    pub ready_s: Option<f64>,
}

/// The state in `layout`, or `None` when no plane is there. A file that cannot be read as one counts as none: the
/// plane's lock says whether it lives, and a later start clears the directory.
pub(crate) fn read(layout: &Layout) -> io::Result<Option<State>> {
    match fs::read(layout.state()) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Replaces the state in one step: a reader sees the old or the new one.
pub(crate) fn write(layout: &Layout, state: &State) -> io::Result<()> {
    let bytes = serde_json::to_vec_pretty(state).map_err(io::Error::other)?;
    let partial = layout.root().join("plane.json.partial");
    write_private(&partial, &bytes)?;
    fs::rename(partial, layout.state())
}

/// This boot of the machine.
pub(crate) fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

//! What a killed plane left behind: found and removed, and nothing else touched.

use std::fs;
use std::io;
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use crate::layout::Layout;
use crate::patience::{Deadline, until};
use crate::procfs::Identity;
use crate::state::{self, State};

/// Every process of a plane carries its directory in this variable, its own children too.
pub(crate) const MARK: &str = "SIMKUBE_PLANE_DIR";

/// Ends every process that still belongs to the plane in `layout` and removes its directory. Returns how many were
/// ended. The caller holds the plane's lock: its supervisor is dead.
pub(crate) fn clear(layout: &Layout) -> io::Result<usize> {
    let mut ended = 0;
    if let Some(state) = state::read(layout)? {
        ended += recorded(&state).into_iter().filter(|process| end(*process, true)).count();
    }
    ended += marked(layout).into_iter().filter(|process| end(*process, false)).count();
    match fs::remove_dir_all(layout.root()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(ended),
    }
}

/// Components that the state file names and that are still the same processes.
fn recorded(state: &State) -> Vec<Identity> {
    if state.boot != state::boot() {
        return Vec::new();
    }
    state
        .components
        .iter()
        .rev()
        .map(|component| component.process)
        .filter(|process| process.alive())
        .collect()
}

/// Processes of this user whose environment names the plane's directory: started in the instant before the supervisor
/// was killed, or by a component.
fn marked(layout: &Layout) -> Vec<Identity> {
    let mark = format!("{MARK}={}", layout.root().display());
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    })
    .filter_map(Identity::of)
    .collect()
}

/// Kills one process (with its group, if it leads one) and waits until it is gone.
fn end(process: Identity, leads_group: bool) -> bool {
    // Asked again immediately before: a number that was given to another process is not ours to kill.
    if !process.alive() {
        return false;
    }
    let pid = Pid::from_raw(process.pid);
    let _ = if leads_group { killpg(pid, Signal::SIGKILL) } else { kill(pid, Signal::SIGKILL) };
    until(Deadline::after(Duration::from_secs(5)), || (!process.alive()).then_some(())).is_some()
}

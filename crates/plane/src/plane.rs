//! A running plane, owned by this process: what runs, who died, and the end of it all.

use std::fs;
use std::path::Path;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::component::Component;
use crate::error::{Death, Error};
use crate::interrupt::Interrupt;
use crate::layout::Layout;
use crate::leftovers::MARK;
use crate::lock::Lock;
use crate::ports::Ports;
use crate::process::{GRACE, Launcher, Process, describe};
use crate::procfs::Identity;
use crate::state::{self, Phase, State};

/// A control plane that lives as long as this value: dropping it ends every process and removes every file.
#[derive(Debug)]
pub struct Plane {
    layout: Layout,
    state: State,
    processes: Vec<Process>,
    launcher: Launcher,
    // Last: everything is gone before another start may take the name.
    lock: Option<Lock>,
}

/// Why [`Plane::watch`] returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The user asked to stop.
    Interrupted,
    /// A component ended by itself.
    Died(Death),
}

impl Plane {
    pub(crate) fn new(layout: Layout, lock: Lock, launcher: Launcher, state: State) -> Self {
        Self { layout, state, processes: Vec::new(), launcher, lock: Some(lock) }
    }

    /// Where everything lies.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// What other processes can read about it.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// A component that ended by itself, if one has.
    pub fn death(&self) -> Option<Death> {
        self.processes.iter().find_map(|process| {
            let how = describe(process.exit()?);
            // The last words may still be in the pipe when the process has already ended.
            Some(Death { component: process.name.clone(), how, lines: process.final_lines() })
        })
    }

    /// Watches over the plane until the user asks to stop or a component ends.
    pub fn watch(&self, interrupt: &Interrupt) -> Ending {
        loop {
            if let Some(death) = self.death() {
                return Ending::Died(death);
            }
            if interrupt.wait(Duration::from_millis(200)) {
                return Ending::Interrupted;
            }
        }
    }

    /// Stops everything in reverse order and removes the directory. The logs are moved to `keep_logs` if given. A
    /// second interrupt stops at once.
    pub fn stop(mut self, keep_logs: Option<&Path>, interrupt: &Interrupt) -> Result<(), Error> {
        let _ = self.update(|state| state.phase = Phase::Stopping);
        let asked = interrupt.count();
        self.end_processes(|| interrupt.count() > asked.max(1));
        if let Some(to) = keep_logs {
            move_logs(&self.layout.logs(), to).map_err(Error::file("keep logs in", to))?;
        }
        self.remove()
    }

    pub(crate) fn launch(&mut self, component: &Component) -> Result<Identity, Error> {
        let mut component = component.clone();
        component.env.insert(MARK.into(), self.layout.root().to_string_lossy().into_owned());
        let log = self.layout.log(&component.name);
        let process = self.launcher.launch(&component, self.layout.root(), &log).map_err(|source| {
            Error::Launch { component: component.name.clone(), program: component.program.clone(), source }
        })?;
        let identity = process.identity;
        self.processes.push(process);
        Ok(identity)
    }

    pub(crate) fn update(&mut self, change: impl FnOnce(&mut State)) -> Result<(), Error> {
        change(&mut self.state);
        state::write(&self.layout, &self.state).map_err(Error::file("write", self.layout.state()))
    }

    pub(crate) fn note_ready(&mut self, component: &str, after_s: f64) {
        if let Some(started) = self.state.components.iter_mut().find(|started| started.name == component) {
            started.ready_s = Some(after_s);
        }
    }

    pub(crate) fn last_lines(&self, component: &str) -> Vec<String> {
        self.processes
            .iter()
            .find(|process| process.name == component)
            .map(Process::last_lines)
            .unwrap_or_default()
    }

    /// Ends what was started so far and begins anew on other ports.
    pub(crate) fn restart_with(&mut self, ports: Ports) -> Result<(), Error> {
        self.end_processes(|| true);
        let data = self.layout.etcd();
        if data.exists() {
            fs::remove_dir_all(&data).map_err(Error::file("remove", data))?;
        }
        self.update(|state| {
            state.ports = ports;
            state.components.clear();
        })
    }

    /// Ends everything at once after a failed start or the death of a component: nothing runs, nothing is left but the
    /// logs that tell why. The next start of the same name removes them.
    pub fn abandon(mut self) {
        self.end_processes(|| true);
        for entry in fs::read_dir(self.layout.root()).into_iter().flatten().flatten() {
            let path = entry.path();
            if path != self.layout.logs() {
                let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
            }
        }
        if let Some(lock) = self.lock.take() {
            let _ = lock.remove();
        }
    }

    /// Asks in reverse order of starting, waits a moment, then insists. `hurry` skips the asking.
    fn end_processes(&mut self, hurry: impl Fn() -> bool) {
        for process in self.processes.iter().rev() {
            // A component that was suspended cannot hear the request until it is continued.
            process.signal(Signal::SIGCONT);
            process.signal(Signal::SIGTERM);
            let slice = Duration::from_millis(50);
            let slices = GRACE.as_millis() / slice.as_millis();
            let gone = (0..slices).any(|_| hurry() || process.wait(slice).is_some());
            if !gone || process.exit().is_none() {
                process.signal(Signal::SIGKILL);
            }
        }
        for process in self.processes.drain(..) {
            process.wait(Duration::from_secs(10));
        }
    }

    fn remove(&mut self) -> Result<(), Error> {
        let root = self.layout.root();
        let removed = fs::remove_dir_all(root).map_err(Error::file("remove", root));
        if let Some(lock) = self.lock.take() {
            let _ = lock.remove();
        }
        removed
    }
}

impl Drop for Plane {
    fn drop(&mut self) {
        // Already stopped or abandoned when the lock is given back.
        if self.lock.is_some() {
            self.end_processes(|| true);
            let _ = self.remove();
        }
    }
}

/// Copies rather than renames: a run's directory is often on another disk.
fn move_logs(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

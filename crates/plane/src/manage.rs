//! Planes of other processes: which there are, how they are, stopping them, a command beside them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use jiff::Timestamp;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::Serialize;

use crate::error::Error;
use crate::home::Home;
use crate::layout::Layout;
use crate::leftovers;
use crate::lock::Lock;
use crate::patience::{Deadline, until, wall_clock};
use crate::ports::Ports;
use crate::prctl;
use crate::start::{check_name, layout, lock_path};
use crate::state::{self, Phase, State};

/// How long a supervisor may take to stop its plane before it is stopped itself.
const STOPPING: Duration = Duration::from_secs(20);

/// A plane as seen from outside (`plane status -o json`).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    /// Its name.
    pub name: String,
    /// Where it is in its life.
    pub phase: Phase,
    /// Whether its supervisor lives; if not, these are leftovers that the next start removes.
    pub alive: bool,
    /// The Kubernetes release.
    pub kubernetes: String,
    /// Its directory.
    pub dir: PathBuf,
    /// The administrator's kubeconfig.
    pub kubeconfig: PathBuf,
    /// The process that owns it.
    pub supervisor_pid: i32,
    /// When its start began, in real time.
    pub since: Timestamp,
    /// Now, in real time.
    pub real_time: Timestamp,
    /// Real time since then.
    pub uptime_s: f64,
    /// From the start's beginning until everything was ready.
    pub ready_s: Option<f64>,
    /// Where the components listen, on 127.0.0.1.
    pub ports: Ports,
    /// Every component.
    pub components: Vec<ComponentStatus>,
    /// Memory of all components.
    pub rss_bytes: u64,
    /// Processor time of all components.
    pub cpu_s: f64,
}

/// One component as seen from outside.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComponentStatus {
    /// Its name.
    pub name: String,
    /// Its process.
    pub pid: i32,
    /// Whether it runs.
    pub alive: bool,
    /// Resident memory.
    pub rss_bytes: u64,
    /// Processor time so far.
    pub cpu_s: f64,
    /// From the plane's start to its launch.
    pub launched_s: f64,
    /// From its launch until it was ready.
    pub ready_s: Option<f64>,
    /// Its log.
    pub log: PathBuf,
}

/// The names of all planes of this user, leftovers too.
pub fn names(home: &Home) -> Result<Vec<String>, Error> {
    let entries = match fs::read_dir(&home.planes) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::file("read", &home.planes)(error)),
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| layout(home, name).state().is_file())
        .collect();
    names.sort();
    Ok(names)
}

/// How the plane `name` is.
pub fn status(home: &Home, name: &str) -> Result<Status, Error> {
    let state = read(home, name)?;
    let layout = layout(home, name);
    let same_boot = state.boot == state::boot();
    let components: Vec<_> = state
        .components
        .iter()
        .map(|started| {
            let usage = same_boot.then(|| started.process.usage()).flatten();
            ComponentStatus {
                name: started.name.clone(),
                pid: started.process.pid,
                alive: same_boot && started.process.alive(),
                rss_bytes: usage.map_or(0, |usage| usage.rss_bytes),
                cpu_s: usage.map_or(0.0, |usage| usage.cpu_s),
                launched_s: started.launched_s,
                ready_s: started.ready_s,
                log: layout.log(&started.name),
            }
        })
        .collect();
    let now = wall_clock();
    Ok(Status {
        alive: same_boot && state.supervisor.alive(),
        rss_bytes: components.iter().map(|component| component.rss_bytes).sum(),
        cpu_s: components.iter().map(|component| component.cpu_s).sum(),
        components,
        name: state.name,
        phase: state.phase,
        kubernetes: state.kubernetes,
        dir: layout.root().into(),
        kubeconfig: layout.kubeconfig(),
        supervisor_pid: state.supervisor.pid,
        since: state.since,
        real_time: now,
        uptime_s: now.duration_since(state.since).as_secs_f64(),
        ready_s: state.ready_s,
        ports: state.ports,
    })
}

/// Where the plane `name` lies, if it runs: its supervisor lives.
pub fn running(home: &Home, name: &str) -> Result<Layout, Error> {
    let state = read(home, name)?;
    if state.boot == state::boot() && state.supervisor.alive() {
        return Ok(layout(home, name));
    }
    Err(Error::NotRunning { name: name.into() })
}

/// The logs of the plane `name`, by component. Those of a plane that failed are kept until its next start.
pub fn logs(home: &Home, name: &str) -> Result<BTreeMap<String, PathBuf>, Error> {
    check_name(name)?;
    let dir = layout(home, name).logs();
    let entries = fs::read_dir(&dir).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::NotRunning { name: name.into() },
        _ => Error::file("read", &dir)(error),
    })?;
    let component = |path: PathBuf| {
        // Turned logs end in a number; they belong to the current one.
        let is_log = path.extension().is_some_and(|end| end == "log");
        is_log.then(|| Some((path.file_stem()?.to_string_lossy().into_owned(), path.clone()))).flatten()
    };
    Ok(entries.filter_map(|entry| component(entry.ok()?.path())).collect())
}

/// Stops the plane `name`, whoever started it, and removes all of it.
pub fn down(home: &Home, name: &str) -> Result<(), Error> {
    let state = read(home, name)?;
    let path = lock_path(home, name);
    let free = || Lock::try_acquire(&path).ok().flatten();
    let supervisor = state.supervisor;
    let same_boot = state.boot == state::boot();
    let signal = |signal| {
        if same_boot && supervisor.alive() {
            let _ = kill(Pid::from_raw(supervisor.pid), signal);
        }
    };
    // The lock is free as soon as the supervisor has stopped, or was dead already.
    let lock = free().or_else(|| {
        signal(Signal::SIGTERM);
        until(Deadline::after(STOPPING), free)
    });
    let lock = lock.or_else(|| {
        signal(Signal::SIGKILL);
        until(Deadline::after(STOPPING), free)
    });
    let lock = lock.ok_or_else(|| Error::NotStopped { name: name.into(), pid: supervisor.pid })?;
    let layout = layout(home, name);
    leftovers::clear(&layout).map_err(Error::file("clear", layout.root()))?;
    // Left only by a detached start that was killed itself.
    let _ = fs::remove_file(talk_path(home, name));
    lock.remove().map_err(Error::file("remove", &path))
}

/// What a detached supervisor says until its plane has a directory of logs.
fn talk_path(home: &Home, name: &str) -> PathBuf {
    home.planes.join(format!("{name}.up"))
}

/// The environment for one command beside the plane: `KUBECONFIG`, and `PATH` with our `kubectl`.
pub fn environment(home: &Home, name: &str) -> Result<BTreeMap<String, OsString>, Error> {
    let state = read(home, name)?;
    let mut path = state.programs.into_os_string();
    if let Some(theirs) = std::env::var_os("PATH") {
        path.push(":");
        path.push(theirs);
    }
    Ok(BTreeMap::from([
        ("KUBECONFIG".to_owned(), layout(home, name).kubeconfig().into_os_string()),
        ("PATH".to_owned(), path),
        ("SIMKUBE_PLANE".to_owned(), OsString::from(name)),
    ]))
}

/// A command beside the plane, ready to run (`plane exec -- CMD`).
pub fn command(home: &Home, name: &str, program: &OsStr, args: &[OsString]) -> Result<Command, Error> {
    let environment = environment(home, name)?;
    // Rust looks the program up in our own PATH, so the plane's kubectl has to be found by hand.
    let ours = read(home, name)?.programs.join(program);
    let bare = Path::new(program).components().count() == 1;
    let mut command = if bare && ours.is_file() { Command::new(ours) } else { Command::new(program) };
    command.args(args).envs(environment);
    Ok(command)
}

/// Starts `supervisor` (a command that brings the plane `name` up and stays) in a session of its own, and returns when
/// the plane is ready.
pub fn detach(home: &Home, name: &str, mut supervisor: Command, patience: Duration) -> Result<Status, Error> {
    check_name(name)?;
    fs::create_dir_all(&home.planes).map_err(Error::file("create", &home.planes))?;
    let talk = talk_path(home, name);
    let file = fs::File::create(&talk).map_err(Error::file("create", &talk))?;
    let errors = file.try_clone().map_err(Error::file("open", &talk))?;
    supervisor.stdin(Stdio::null()).stdout(file).stderr(errors);
    prctl::own_session(&mut supervisor);
    let program = PathBuf::from(supervisor.get_program());
    let mut child = supervisor.spawn().map_err(|source| Error::Launch {
        component: "the plane's supervisor".into(),
        program,
        source,
    })?;
    let ready = until(Deadline::after(patience), || {
        if matches!(child.try_wait(), Ok(Some(_)) | Err(_)) {
            return Some(false);
        }
        let state = read(home, name).ok()?;
        let ours = u32::try_from(state.supervisor.pid) == Ok(child.id());
        (ours && state.phase == Phase::Ready).then_some(true)
    });
    let output = fs::read_to_string(&talk).unwrap_or_default();
    if ready == Some(true) {
        // What it says from now on is a log like the others, and goes with them.
        let _ = fs::rename(&talk, layout(home, name).log("supervisor"));
    } else {
        let _ = fs::remove_file(&talk);
    }
    match ready {
        Some(true) => status(home, name),
        Some(false) => Err(Error::Detached { output }),
        None => {
            let _ = down(home, name);
            let _ = child.kill();
            let _ = child.wait();
            Err(Error::Detached { output })
        }
    }
}

fn read(home: &Home, name: &str) -> Result<State, Error> {
    check_name(name)?;
    let layout = layout(home, name);
    state::read(&layout)
        .map_err(Error::file("read", layout.state()))?
        .ok_or_else(|| Error::NotRunning { name: name.into() })
}

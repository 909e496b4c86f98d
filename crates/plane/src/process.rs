//! A child process: started from a thread that outlives it, in its own group, logged, watched, stopped.

use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

use crate::component::Component;
use crate::log::{self, Tail};
use crate::patience::{Deadline, until};
use crate::prctl;
use crate::procfs::Identity;

/// How long a component may take to end by itself when asked. What it would still do is thrown away with its data.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// A started component.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) name: String,
    pub(crate) identity: Identity,
    tail: Tail,
    copier: JoinHandle<()>,
    end: Arc<End>,
}

/// How a process ended, once it has.
#[derive(Debug, Default)]
struct End {
    status: Mutex<Option<ExitStatus>>,
    ended: Condvar,
}

impl Process {
    /// How it ended, if it has.
    pub(crate) fn exit(&self) -> Option<ExitStatus> {
        *self.end.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its last words.
    pub(crate) fn last_lines(&self) -> Vec<String> {
        self.tail.lines()
    }

    /// Its very last words, once it has ended: what was still in the pipe is waited for.
    pub(crate) fn final_lines(&self) -> Vec<String> {
        until(Deadline::after(Duration::from_secs(1)), || self.copier.is_finished().then_some(()));
        self.tail.lines()
    }

    /// Sends a signal to the process and everything it started. The lock keeps the number from being given to another
    /// process between the question and the signal: only the watcher frees it, under the same lock.
    pub(crate) fn signal(&self, signal: Signal) {
        let status = self.end.status.lock().unwrap_or_else(PoisonError::into_inner);
        if status.is_none() {
            // It can only fail when the group is gone, which is what the signal is for.
            let _ = killpg(Pid::from_raw(self.identity.pid), signal);
        }
    }

    /// Waits for the end, at most `patience`.
    pub(crate) fn wait(&self, patience: Duration) -> Option<ExitStatus> {
        let status = self.end.status.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.end.ended.wait_timeout_while(status, patience, |status| status.is_none());
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn watch(&self, mut child: Child) -> io::Result<()> {
        let end = Arc::clone(&self.end);
        let pid = Pid::from_raw(self.identity.pid);
        thread::Builder::new().name("plane-watch".into()).spawn(move || {
            // Wait without reaping, so that the number stays taken until we hold the lock.
            let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
            while waitid(Id::Pid(pid), flags) == Err(Errno::EINTR) {}
            let mut status = end.status.lock().unwrap_or_else(PoisonError::into_inner);
            // What the process started must not outlive it.
            let _ = killpg(pid, Signal::SIGKILL);
            *status = Some(child.wait().unwrap_or_else(|_| ExitStatus::from_raw(0)));
            end.ended.notify_all();
        })?;
        Ok(())
    }
}

/// The thread that starts processes. The kernel kills a child when the *thread* that started it ends, so one thread
/// starts them all and lives until the launcher is dropped.
#[derive(Debug)]
pub(crate) struct Launcher {
    requests: Option<Sender<Request>>,
    thread: Option<JoinHandle<()>>,
}

/// What to start, and where to say what became of it.
type Request = (Command, Sender<io::Result<Child>>);

impl Launcher {
    pub(crate) fn new() -> io::Result<Self> {
        let (requests, received): (_, Receiver<Request>) = mpsc::channel();
        let thread = thread::Builder::new().name("plane-launcher".into()).spawn(move || {
            for (mut command, answer) in received {
                // The asker waits for the answer, so it is there.
                let _ = answer.send(command.spawn());
            }
        })?;
        Ok(Self { requests: Some(requests), thread: Some(thread) })
    }

    /// Starts a component with its log in `log`.
    pub(crate) fn launch(&self, component: &Component, dir: &Path, log: &Path) -> io::Result<Process> {
        let (reader, writer) = io::pipe()?;
        let mut command = Command::new(&component.program);
        command
            .args(&component.args)
            .envs(&component.env)
            .current_dir(dir)
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .process_group(0);
        prctl::die_with_parent(&mut command);
        let tail = Tail::default();
        let copier = log::copy(reader, log, tail.clone())?;
        let child = self.spawn(command)?;
        let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
        // A child that has already ended is a zombie until we wait for it: it has an identity all the same.
        let identity = Identity::of(pid).unwrap_or(Identity { pid, started_ticks: 0 });
        let process = Process { name: component.name.clone(), identity, tail, copier, end: Arc::default() };
        process.watch(child)?;
        Ok(process)
    }

    fn spawn(&self, command: Command) -> io::Result<Child> {
        let (answer, child) = mpsc::channel();
        let gone = || io::Error::other("the launcher thread has ended");
        let requests = self.requests.as_ref().ok_or_else(gone)?;
        requests.send((command, answer)).map_err(|_| gone())?;
        child.recv().map_err(|_| gone())?
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        drop(self.requests.take());
        if let Some(thread) = self.thread.take() {
            // It cannot panic: it only starts processes and sends answers.
            let _ = thread.join();
        }
    }
}

/// Words for how a process ended.
pub(crate) fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => match Signal::try_from(signal) {
            Ok(signal) => format!("signal {signal}"),
            Err(_) => format!("signal {signal}"),
        },
        (None, None) => "an unknown end".into(),
    }
}

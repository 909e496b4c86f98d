//! Our own process as one of those that share the clock: what of it is awake. Workers of the async runtime
//! count by its park hooks; everything else by guards and by the tokens of fired sleepers.
//!
//! The runtime takes events out of its epoll before it calls the hook. In between only the kernel knows: its
//! thread runs, or waits for a lock, and in any case is not where it sleeps without events, in `epoll_wait`.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use crate::page::{Page, Slot};

/// Slot 0 is the process that made the page.
pub(crate) const OWN_SLOT: usize = 0;

pub(crate) struct Own {
    page: Arc<Page>,
    id: u64,
    workers: Mutex<Workers>,
}

#[derive(Default)]
struct Workers {
    runtimes: Vec<Vec<File>>,
    polls: Vec<OwnedFd>,
    /// Numbers of descriptors that we hold of other processes: not ours, though they look like it.
    foreign: BTreeSet<i32>,
}

thread_local! {
    /// The clock that has this thread in its list of workers.
    static LISTED_BY: Cell<u64> = const { Cell::new(0) };
}

impl Own {
    pub(crate) fn new(page: Arc<Page>) -> Own {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        page.slot(OWN_SLOT).claim(std::process::id());
        Own { page, id: NEXT.fetch_add(1, SeqCst), workers: Mutex::default() }
    }

    pub(crate) fn slot(&self) -> Slot<'_> {
        self.page.slot(OWN_SLOT)
    }

    /// A runtime whose workers will count, and start awake.
    pub(crate) fn add_runtime(&self, workers: usize) -> usize {
        self.slot().add_awake(i64::try_from(workers).unwrap_or(i64::MAX));
        let mut list = self.workers();
        list.runtimes.push(vec![]);
        list.runtimes.len() - 1
    }

    /// Before a worker sleeps. The first time, it joins the list of those that are looked at.
    pub(crate) fn park(&self, runtime: usize) {
        if LISTED_BY.get() != self.id {
            LISTED_BY.set(self.id);
            if let Err(error) = self.list_this_thread(runtime) {
                // Without the state of this thread no jump would be safe: it stays counted as awake.
                self.slot().add_awake(1);
                debug_assert!(false, "cannot watch a worker thread: {error}");
            }
        }
        self.slot().add_awake(-1);
    }

    pub(crate) fn unpark(&self) {
        self.slot().add_awake(1);
    }

    /// Has any runtime a worker that runs, or none that waits for events? All of a runtime's workers being
    /// parked, the one that parked last has the poller.
    pub(crate) fn any_thread_running(&self) -> bool {
        let mut workers = self.workers();
        workers.runtimes.iter_mut().any(|threads| {
            let (mut running, mut polling) = (false, threads.is_empty());
            threads.retain(|thread| match doing(thread) {
                Doing::Gone => false,
                Doing::Running => {
                    running = true;
                    true
                }
                Doing::Polling => {
                    polling = true;
                    true
                }
                Doing::Sleeping => true,
            });
            running || !polling
        })
    }

    /// Call `look` with the epoll descriptors of our runtimes.
    pub(crate) fn with_polls<T>(&self, look: impl FnOnce(&[OwnedFd]) -> T) -> T {
        look(&self.workers().polls)
    }

    /// Duplicate a descriptor of another process.
    pub(crate) fn fetch(&self, process: &OwnedFd, number: i32) -> io::Result<OwnedFd> {
        let mut workers = self.workers();
        let fd = pidfd_getfd(process, number, PidfdGetfdFlags::empty())?;
        workers.foreign.insert(fd.as_raw_fd());
        Ok(fd)
    }

    /// Close what [`Own::fetch`] gave.
    pub(crate) fn close(&self, fd: OwnedFd) {
        let mut workers = self.workers();
        workers.foreign.remove(&fd.as_raw_fd());
        drop(fd);
    }

    fn list_this_thread(&self, runtime: usize) -> io::Result<()> {
        let tid = rustix::thread::gettid();
        let thread = File::open(format!("/proc/self/task/{}/syscall", tid.as_raw_nonzero()))?;
        let mut workers = self.workers();
        workers.runtimes[runtime].push(thread);
        // A worker that parks belongs to a runtime whose epoll exists by now. Our duplicates go first, or
        // they would be found again.
        workers.polls.clear();
        workers.polls = own_polls(&workers.foreign)?;
        Ok(())
    }

    fn workers(&self) -> MutexGuard<'_, Workers> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Duplicates of every epoll descriptor in this process that is not one of `foreign`.
fn own_polls(foreign: &BTreeSet<i32>) -> io::Result<Vec<OwnedFd>> {
    let me = pidfd_open(rustix::process::getpid(), PidfdFlags::empty())?;
    let is_poll =
        |path: &Path| fs::read_link(path).is_ok_and(|to| to.as_os_str() == "anon_inode:[eventpoll]");
    let entries = fs::read_dir("/proc/self/fd")?.flatten().filter(|entry| is_poll(&entry.path()));
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    // Collected before the first duplicate is made, which would be found as well.
    let numbers: Vec<i32> = numbers.filter(|number| !foreign.contains(number)).collect();
    let duplicate = |number| pidfd_getfd(&me, number, PidfdGetfdFlags::empty());
    Ok(numbers.into_iter().map(duplicate).collect::<Result<_, _>>()?)
}

enum Doing {
    Running,
    /// In `epoll_wait`.
    Polling,
    /// In another system call.
    Sleeping,
    Gone,
}

/// `running`, or the number of the system call in which a thread is blocked, and its arguments.
fn doing(thread: &File) -> Doing {
    let mut text = [0; 256];
    let length = match thread.read_at(&mut text, 0) {
        Ok(length) => length,
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {
            return Doing::Gone;
        }
        Err(_) => return Doing::Running,
    };
    let number = text[..length].split(|byte| *byte == b' ').next().unwrap_or_default();
    match std::str::from_utf8(number).ok().and_then(|number| number.parse::<i64>().ok()) {
        // "-1": blocked outside of any system call, as on a page that must be read first.
        None | Some(-1) => Doing::Running,
        Some(number) if EPOLL_WAITS.contains(&number) => Doing::Polling,
        Some(_) => Doing::Sleeping,
    }
}

/// `epoll_wait`, `epoll_pwait` and `epoll_pwait2`, where they exist.
#[cfg(target_arch = "x86_64")]
const EPOLL_WAITS: [i64; 3] = [232, 281, 441];
#[cfg(not(target_arch = "x86_64"))]
const EPOLL_WAITS: [i64; 2] = [22, 441];

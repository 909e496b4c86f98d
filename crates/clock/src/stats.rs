//! What the coordinator did and saw, in numbers: for `plane status`, for every run's manifest, and for tests.

use serde::Serialize;

/// Why a jump was not made. The number is the slot of the process concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Veto {
    Awake(usize),
    Due(usize),
    Unread(usize),
    Unwatched(usize),
    Kernel,
    OwnThread,
    Changed,
    NothingToWaitFor,
    Held,
}

/// Looks around that did not lead to a jump, by what was found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Vetoes {
    /// A process was at work.
    pub awake: u64,
    /// A process had a timer due and had not noticed yet.
    pub due: u64,
    /// A message lay in a socket and nobody had taken it.
    pub unread: u64,
    /// A packet was on its way through the kernel.
    pub kernel: u64,
    /// A thread of our own runtime ran without having said so.
    pub own_thread: u64,
    /// A process woke during the look.
    pub changed: u64,
    /// The kernel did not let us watch a process.
    pub unwatched: u64,
    /// Everybody slept and nobody had a timer.
    pub nothing_to_wait_for: u64,
    /// Time was held.
    pub held: u64,
}

/// Counters since the clock was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// How often the clock was set forward.
    pub jumps: u64,
    /// By how many nanoseconds in all.
    pub jumped_ns: i64,
    /// How often the coordinator looked around.
    pub looks: u64,
    /// Looks that found a reason not to jump.
    pub vetoes: Vetoes,
    /// Slots of ended processes that were freed.
    pub reaped: u64,
    /// How often the clock stood because the coordinator did not run (it was stopped, or starved).
    pub suspensions: u64,
}

impl Stats {
    pub(crate) fn count(&mut self, veto: Veto) {
        let vetoes = &mut self.vetoes;
        *match veto {
            Veto::Awake(_) => &mut vetoes.awake,
            Veto::Due(_) => &mut vetoes.due,
            Veto::Unread(_) => &mut vetoes.unread,
            Veto::Unwatched(_) => &mut vetoes.unwatched,
            Veto::Kernel => &mut vetoes.kernel,
            Veto::OwnThread => &mut vetoes.own_thread,
            Veto::Changed => &mut vetoes.changed,
            Veto::NothingToWaitFor => &mut vetoes.nothing_to_wait_for,
            Veto::Held => &mut vetoes.held,
        } += 1;
    }
}

/// One process that shares the clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Process {
    /// Its process id.
    pub pid: i32,
    /// The name the kernel has for it.
    pub name: String,
    /// Threads of it that may do something now.
    pub awake: i64,
    /// Those of them that are in a system call.
    pub syscalls: i64,
    /// Real nanoseconds since it was last seen asleep. A process that never sleeps keeps the clock at the
    /// speed of real time.
    pub sleepless_ns: i64,
    /// Why its descriptors cannot be watched, which also keeps the clock at the speed of real time.
    pub refused: Option<String>,
}

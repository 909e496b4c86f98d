//! The coordinator: a thread that sets the clock forward when every process sleeps. It never guesses; when in
//! doubt, time just goes on at the busy rate.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicI64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::deadlines::Deadlines;
use crate::mapping::NEVER;
use crate::own::Own;
use crate::page::{LEASE, Page};
use crate::participants::{Look, Participants};
use crate::raw;
use crate::slack::Slack;
use crate::stats::{Process, Stats, Veto};

/// Look around at least this often, in real nanoseconds: a process may die without ringing.
const WATCHDOG: i64 = 10_000_000;
/// Between two looks when what keeps us will be over in microseconds and nobody will ring.
const MOMENT: i64 = 20_000;

/// What the coordinator shares with the clock's users.
pub(crate) struct Shared {
    pub(crate) page: Arc<Page>,
    pub(crate) own: Arc<Own>,
    pub(crate) deadlines: Deadlines,
    /// A time that must not be passed; [`NEVER`] when nobody holds.
    pub(crate) hold: AtomicI64,
    /// The same, for those outside of this process.
    pub(crate) outside_hold: AtomicI64,
    pub(crate) stop: AtomicBool,
    /// The longest single jump: what a wrong decision could cost at most.
    pub(crate) quantum: i64,
    pub(crate) slack: Mutex<Slack>,
    pub(crate) stats: Mutex<Stats>,
    pub(crate) processes: Mutex<Vec<Process>>,
}

impl Shared {
    /// The limit that belongs to the time `now`.
    pub(crate) fn limit(&self, now: i64) -> i64 {
        self.held_at().min(now.saturating_add(LEASE))
    }

    /// Time must not pass `at`; it stands at once if it has. [`NEVER`] lets it go on.
    pub(crate) fn hold(&self, at: i64) {
        self.set_hold(&self.hold, at);
    }

    /// Do what somebody outside wishes.
    fn heed_outside(&self) {
        let wish = self.page.hold_wish();
        if wish != (self.outside_hold.load(SeqCst) != NEVER) {
            self.set_hold(&self.outside_hold, if wish { i64::MIN } else { NEVER });
        }
    }

    fn set_hold(&self, hold: &AtomicI64, at: i64) {
        hold.store(at, SeqCst);
        self.page.rewrite(|mapping| mapping.limit = self.limit(mapping.virt_base));
        self.page.ring();
    }

    fn held_at(&self) -> i64 {
        self.hold.load(SeqCst).min(self.outside_hold.load(SeqCst))
    }

    pub(crate) fn stats(&self) -> MutexGuard<'_, Stats> {
        self.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Run until `shared.stop`.
pub(crate) fn coordinate(shared: &Shared) {
    // A nap of 20 us is 70 with the default slack of timers. Only speed is at stake.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1000));
    let mut participants = Participants::new(shared.page.clone(), shared.own.clone());
    let mut last_report = 0;
    let mut moments = 0;
    while !shared.stop.load(SeqCst) {
        let bell = shared.page.bell();
        let pass = raw::monotonic();
        shared.heed_outside();
        renew_lease(shared);
        participants.adopt();
        let now = shared.page.now();
        slack(shared).saw(shared.own.slot().generation(), now);
        shared.deadlines.fire(now, || shared.own.slot().add_awake(1));
        participants.wake_due(now);
        if pass - last_report > WATCHDOG {
            last_report = pass;
            let reaped = participants.reap();
            shared.stats().reaped += reaped as u64;
            report(shared, &participants, pass);
        }

        let look = participants.look(now);
        shared.stats().looks += 1;
        let veto = match look {
            Look::Idle(timer) => match jump(shared, timer) {
                Ok(now) => {
                    moments = 0;
                    shared.deadlines.fire(now, || shared.own.slot().add_awake(1));
                    participants.wake_due(now);
                    continue;
                }
                Err(veto) => veto,
            },
            Look::Busy(veto) => veto,
        };
        shared.stats().count(veto);
        match veto {
            Veto::Changed => {}
            Veto::Kernel | Veto::OwnThread => {
                moments += 1;
                // Mostly a thread on its way into its sleep: give it the processor first.
                if moments % 8 == 0 { shared.page.wait(bell, MOMENT) } else { std::thread::yield_now() }
            }
            _ => shared.page.wait(bell, longest_wait(shared, &participants)),
        }
    }
}

/// Set the clock forward, or say why there is nowhere to go.
fn jump(shared: &Shared, timer: Option<i64>) -> Result<i64, Veto> {
    let own = shared.deadlines.next();
    let Some(first) = timer.into_iter().chain(own).min() else { return Err(Veto::NothingToWaitFor) };
    let slack = slack(shared).now(shared.page.now());
    let target = |now: i64| {
        // Timers of others may wait for their neighbours; our own and a hold are never passed.
        let merged = first.max(now + slack).min(now + shared.quantum);
        merged.min(own.unwrap_or(NEVER)).min(shared.held_at())
    };
    if shared.page.now() >= shared.held_at() {
        return Err(Veto::Held);
    }
    let (before, after) = shared.page.jump(target, |now| shared.limit(now));
    let mut stats = shared.stats();
    stats.jumps += 1;
    stats.jumped_ns += after - before;
    Ok(after)
}

fn renew_lease(shared: &Shared) {
    let mapping = shared.page.mapping();
    let now = shared.page.now();
    if now == mapping.limit && now < shared.held_at() {
        // This process was stopped or starved. The clock stood meanwhile, so nothing is lost.
        shared.stats().suspensions += 1;
    }
    if mapping.limit < shared.limit(now - LEASE / 2) {
        shared.page.jump(|now| now, |now| shared.limit(now));
    }
}

/// Until the next timer of anybody, if time goes on as it does.
fn longest_wait(shared: &Shared, participants: &Participants) -> i64 {
    let now = raw::monotonic();
    let mapping = shared.page.mapping();
    let next = participants
        .next_timer()
        .into_iter()
        .chain(shared.deadlines.next())
        .filter(|at| *at > mapping.at(now))
        .min();
    next.and_then(|at| mapping.real_until(now, at)).unwrap_or(WATCHDOG).clamp(1, WATCHDOG)
}

fn report(shared: &Shared, participants: &Participants, now: i64) {
    let describe = |p: &crate::participants::Participant| {
        let slot = shared.page.slot(p.slot);
        Process {
            pid: p.pid,
            name: p.name.clone(),
            awake: slot.awake(),
            syscalls: slot.syscalls(),
            sleepless_ns: if slot.awake() == 0 { 0 } else { now - p.asleep_at },
            refused: p.refused.clone(),
        }
    };
    let processes = participants.list().iter().map(describe).collect();
    *shared.processes.lock().unwrap_or_else(PoisonError::into_inner) = processes;
}

fn slack(shared: &Shared) -> MutexGuard<'_, Slack> {
    shared.slack.lock().unwrap_or_else(PoisonError::into_inner)
}

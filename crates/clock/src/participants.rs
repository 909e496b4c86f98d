//! The processes that share the clock, seen from the coordinator: who they are, whether all of them sleep, and
//! how to wake one. docs/virtual-clock.md argues why this order of questions gives the right answer.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::own::{OWN_SLOT, Own};
use crate::page::{Page, SLOT_COUNT, Slot};
use crate::raw;
use crate::stats::Veto;

/// What a look around found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// Nothing can happen before a timer is due; the next one of the other processes, if there is one.
    Idle(Option<i64>),
    Busy(Veto),
}

pub(crate) struct Participants {
    page: Arc<Page>,
    own: Arc<Own>,
    list: Vec<Participant>,
    /// Packets that the kernel has accepted and not yet delivered.
    softnet: Option<File>,
    /// Room for what that file says: a line of some 130 bytes for each processor.
    text: Box<[u8]>,
}

pub(crate) struct Participant {
    pub(crate) slot: usize,
    pub(crate) pid: i32,
    pub(crate) name: String,
    process: OwnedFd,
    /// Its epoll and the eventfd that wakes its poller, once it has them and we got them.
    fds: Option<(OwnedFd, OwnedFd)>,
    /// The kernel refused to give us the descriptors: this process can never be seen idle.
    pub(crate) refused: Option<String>,
    /// The deadline for which it was woken last.
    woken_for: i64,
    /// Raw time when it was last seen asleep.
    pub(crate) asleep_at: i64,
    generation: i64,
}

impl Participants {
    pub(crate) fn new(page: Arc<Page>, own: Arc<Own>) -> Participants {
        let softnet = File::open("/proc/net/softnet_stat").ok();
        Participants { page, own, list: vec![], softnet, text: vec![0; 1 << 17].into() }
    }

    pub(crate) fn list(&self) -> &[Participant] {
        &self.list
    }

    /// Notice processes that took a slot since the last look.
    pub(crate) fn adopt(&mut self) {
        for index in OWN_SLOT + 1..SLOT_COUNT {
            let slot = self.page.slot(index);
            let pid = slot.pid();
            if pid == 0 || self.list.iter().any(|known| known.slot == index) {
                continue;
            }
            let process = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
            let Some(process) = process else {
                // It took a slot and died before we looked.
                slot.free();
                continue;
            };
            // A process that replaced itself (execve) left its old slot behind, awake for ever.
            if let Some(old) = self.list.iter().position(|known| known.pid == pid) {
                self.forget(old);
            }
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            let name = if name.is_empty() { format!("process {pid}") } else { name.trim_end().to_owned() };
            let asleep_at = raw::monotonic();
            self.list.push(Participant {
                slot: index,
                pid,
                name,
                process,
                fds: None,
                refused: None,
                woken_for: 0,
                asleep_at,
                generation: 0,
            });
        }
    }

    /// Free the slots of processes that ended; returns how many.
    pub(crate) fn reap(&mut self) -> usize {
        let ended = ready(self.list.iter().map(|p| &p.process));
        for index in ended.iter().rev() {
            self.forget(*index);
        }
        ended.len()
    }

    fn forget(&mut self, index: usize) {
        let gone = self.list.remove(index);
        self.page.slot(gone.slot).free();
        if let Some((epoll, wake)) = gone.fds {
            self.own.close(epoll);
            self.own.close(wake);
        }
    }

    /// Is every process asleep, with nothing on its way to any of them?
    pub(crate) fn look(&mut self, now: i64) -> Look {
        // 1. Everybody says that it sleeps. Remember the generations.
        let own_generation = self.own.slot().generation();
        if self.own.slot().awake() != 0 {
            return Look::Busy(Veto::Awake(OWN_SLOT));
        }
        let mut timer: Option<i64> = None;
        let seen_at = raw::monotonic();
        let mut awake = None;
        for participant in &mut self.list {
            let slot = self.page.slot(participant.slot);
            participant.generation = slot.generation();
            if slot.awake() != 0 {
                awake.get_or_insert(Veto::Awake(participant.slot));
                continue;
            }
            participant.asleep_at = seen_at;
            match slot.timer() {
                // Its thread has yet to notice: nothing may pass it by.
                Some(at) if at <= now => {
                    awake.get_or_insert(Veto::Due(participant.slot));
                }
                Some(at) => timer = Some(timer.map_or(at, |first| first.min(at))),
                None => {}
            }
            if !participant.watch(slot, &self.own) {
                awake.get_or_insert(Veto::Unwatched(participant.slot));
            }
        }
        if let Some(veto) = awake {
            return Look::Busy(veto);
        }
        // 2. Between here and 4 nobody runs, if 4 agrees. So a message that was sent before is still on its
        // way through the kernel, or lies in a socket where nobody took it.
        if self.packets_on_their_way() {
            return Look::Busy(Veto::Kernel);
        }
        if let Some(slot) = self.unread() {
            return Look::Busy(Veto::Unread(slot));
        }
        // 3. Our own runtime takes events before it says so; a thread that does is not waiting for events.
        if self.own.any_thread_running() {
            return Look::Busy(Veto::OwnThread);
        }
        // 4. Everybody still sleeps and nobody woke meanwhile.
        let same = |slot: Slot<'_>, generation| slot.awake() == 0 && slot.generation() == generation;
        let unchanged = same(self.own.slot(), own_generation)
            && self.list.iter().all(|p| same(self.page.slot(p.slot), p.generation));
        if unchanged { Look::Idle(timer) } else { Look::Busy(Veto::Changed) }
    }

    /// Wake the pollers of all processes with a timer that is due.
    pub(crate) fn wake_due(&mut self, now: i64) {
        for participant in &mut self.list {
            let Some(at) = self.page.slot(participant.slot).timer() else { continue };
            if at > now || participant.woken_for == at {
                continue;
            }
            if let Some((_, wake)) = &participant.fds {
                // It can only fail when the process is gone, which `reap` finds.
                if rustix::io::write(wake, &1u64.to_ne_bytes()).is_ok() {
                    participant.woken_for = at;
                }
            }
        }
    }

    /// The next timer of any other process, awake or not.
    pub(crate) fn next_timer(&self) -> Option<i64> {
        self.list.iter().filter_map(|p| self.page.slot(p.slot).timer()).min()
    }

    /// A slot whose process, or our own, has an event that nobody took.
    fn unread(&self) -> Option<usize> {
        // A process in which nobody polls has nobody who waits for events.
        let polling = |p: &&Participant| self.page.slot(p.slot).deadline() != 0;
        let watched: Vec<_> = self
            .list
            .iter()
            .filter(polling)
            .filter_map(|p| p.fds.as_ref().map(|(epoll, _)| (p.slot, epoll)))
            .collect();
        self.own.with_polls(|own| {
            let found = ready(watched.iter().map(|(_, epoll)| *epoll).chain(own));
            found.first().map(|index| watched.get(*index).map_or(OWN_SLOT, |(slot, _)| *slot))
        })
    }

    /// Packets on loopback are normally delivered inside the sender's call. On a busy machine the kernel may
    /// put that off; then they are counted here, in the twelfth column of each processor's line.
    fn packets_on_their_way(&mut self) -> bool {
        let Some(softnet) = &self.softnet else { return false };
        let length = softnet.read_at(&mut self.text, 0).unwrap_or(0);
        let mut lines = self.text[..length].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let waiting = |line: &[u8]| {
            let column = line.split(|byte| *byte == b' ').nth(11);
            column.is_some_and(|count| count.iter().any(|digit| *digit != b'0'))
        };
        lines.any(waiting)
    }
}

impl Participant {
    /// Get its descriptors once it has them; false if we may not.
    fn watch(&mut self, slot: Slot<'_>, own: &Own) -> bool {
        if self.fds.is_none() && self.refused.is_none() && slot.poll_fd() != 0 {
            let fetch = |number| own.fetch(&self.process, number);
            match fetch(slot.poll_fd()).and_then(|epoll| Ok((epoll, fetch(slot.break_fd())?))) {
                Ok(fds) => self.fds = Some(fds),
                Err(error) => self.refused = Some(error.to_string()),
            }
        }
        self.refused.is_none()
    }
}

/// Which of these descriptors are readable now.
fn ready<'a>(fds: impl Iterator<Item = &'a OwnedFd>) -> Vec<usize> {
    let mut polls: Vec<PollFd<'_>> = fds.map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut polls, Some(&at_once)) {
        Ok(0) => vec![],
        Ok(_) => (0..polls.len()).filter(|i| !polls[*i].revents().is_empty()).collect(),
        // Interrupted: say that all are, and let the caller look again.
        Err(_) => (0..polls.len()).collect(),
    }
}

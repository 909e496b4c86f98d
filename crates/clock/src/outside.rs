//! The clock of a plane that another process runs: for `skctl plane status`, `hold`, `release` and `exec` in
//! another terminal. Everything goes through the page, so nothing has to listen for it.

use std::io;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use jiff::Timestamp;

use crate::own::OWN_SLOT;
use crate::page::{Page, SLOT_COUNT};
use crate::raw;

/// A clock seen from outside.
pub struct Outside {
    page: Page,
    /// Ours, once we attend. It is freed by the coordinator after this process has ended, however it ends.
    slot: OnceLock<usize>,
}

impl Outside {
    /// Look at the clock whose page is at `path`.
    pub fn open(path: &Path) -> io::Result<Outside> {
        Ok(Outside { page: Page::open(path)?, slot: OnceLock::new() })
    }

    /// The simulated date and time.
    pub fn now(&self) -> Timestamp {
        let nanos = self.page.now().saturating_add(self.page.wall_offset());
        Timestamp::from_nanosecond(nanos.into())
            .expect("64 bits of nanoseconds are within the range of dates")
    }

    /// Virtual time per real time while anything is busy, as a fraction.
    pub fn busy_rate(&self) -> (i64, i64) {
        let mapping = self.page.mapping();
        (mapping.num, mapping.den)
    }

    /// Let time stand from now on, until [`Outside::release`], also after this process has ended.
    pub fn hold(&self) {
        self.page.wish_hold(true);
    }

    /// The same, and wait until it stands, at most `patience` of real time: from then on nobody sees a later time than
    /// the one returned. `None` means that whoever runs the clock does not answer.
    pub fn hold_now(&self, patience: Duration) -> Option<Timestamp> {
        self.hold();
        let patience = i64::try_from(patience.as_nanos()).unwrap_or(i64::MAX);
        let deadline = raw::monotonic().saturating_add(patience);
        loop {
            let mapping = self.page.mapping();
            // Only a hold leaves no room at all; a lease that has run out began with some.
            if mapping.limit <= mapping.virt_base {
                return Some(self.now());
            }
            if raw::monotonic() > deadline {
                return None;
            }
            std::thread::yield_now();
        }
    }

    /// Let time go on.
    pub fn release(&self) {
        self.page.wish_hold(false);
    }

    /// Was [`Outside::hold`] asked for?
    pub fn is_held(&self) -> bool {
        self.page.hold_wish()
    }

    /// While it lives, time goes no faster than the busy rate: for a client that is not on this clock, such as
    /// kubectl, which would find that an hour has passed between two of its requests. Unlike under a hold,
    /// whatever it waits for still happens.
    pub fn attend(&self) -> io::Result<Attendance<'_>> {
        if let Some(slot) = self.slot.get() {
            self.page.slot(*slot).add_awake(1);
        } else {
            let free =
                (OWN_SLOT + 1..SLOT_COUNT).find(|index| self.page.slot(*index).claim(std::process::id()));
            let slot = free.ok_or_else(|| io::Error::other("no free slot in the clock page"))?;
            if self.slot.set(slot).is_err() {
                // Another thread was faster; both slots count until we end, and this one no longer as awake.
                self.page.slot(slot).add_awake(-1);
                return self.attend();
            }
        }
        self.page.ring();
        Ok(Attendance { outside: self })
    }
}

/// See [`Outside::attend`].
pub struct Attendance<'a> {
    outside: &'a Outside,
}

impl Drop for Attendance<'_> {
    fn drop(&mut self) {
        if let Some(slot) = self.outside.slot.get() {
            self.outside.page.slot(*slot).add_awake(-1);
        }
    }
}

//! Real time with a factor, for replays into a cluster that is not ours. Deadlines are absolute, so waiting
//! late once makes nothing after it late.
#![expect(clippy::disallowed_methods, reason = "this is one of the places where time comes from")]

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::sync::Notify;

use crate::mapping::{Mapping, NEVER};

/// Decimal places of a factor that count.
const PARTS: i64 = 1_000_000;

pub(crate) struct Wall {
    origin: Instant,
    mapping: Mutex<Mapping>,
    /// Told when the mapping changed, so that sleepers compute again.
    changed: Notify,
}

impl Wall {
    /// A clock that shows `start` now (the real date when absent) and runs `factor` times as fast as real time.
    pub(crate) fn new(start: Option<Timestamp>, factor: f64) -> Wall {
        let start = start.unwrap_or_else(Timestamp::now).as_nanosecond();
        let virt_base = i64::try_from(start).unwrap_or(if start < 0 { i64::MIN } else { i64::MAX });
        let mapping = Mapping { raw_base: 0, virt_base, num: parts(factor), den: PARTS, limit: NEVER };
        Wall { origin: Instant::now(), mapping: Mutex::new(mapping), changed: Notify::new() }
    }

    pub(crate) fn now(&self) -> i64 {
        self.mapping().at(self.raw())
    }

    pub(crate) fn factor(&self) -> f64 {
        let mapping = self.mapping();
        #[expect(clippy::cast_precision_loss, reason = "a factor has six decimal places")]
        let factor = mapping.num as f64 / mapping.den as f64;
        factor
    }

    /// Our own plan waits at `at`; the cluster's own clocks cannot be stopped.
    pub(crate) fn hold(&self, at: i64) {
        let raw = self.raw();
        let mut mapping = self.mapping();
        let next = mapping.rebased(raw);
        *mapping = Mapping { limit: at.max(next.virt_base), ..next };
        drop(mapping);
        self.changed.notify_waiters();
    }

    pub(crate) async fn sleep_until(&self, at: i64) {
        loop {
            // Asked for before the look, or a change in between would be missed.
            let changed = self.changed.notified();
            let (raw, mapping) = (self.raw(), *self.mapping());
            if mapping.at(raw) >= at {
                return;
            }
            match mapping.real_until(raw, at) {
                Some(wait) => {
                    let wait = Duration::from_nanos(u64::try_from(wait).unwrap_or(0));
                    let deadline = self.origin + Duration::from_nanos(u64::try_from(raw).unwrap_or(0)) + wait;
                    // Whichever comes first; then compute again.
                    let _ = tokio::time::timeout_at(deadline.into(), changed).await;
                }
                None => changed.await,
            }
        }
    }

    fn raw(&self) -> i64 {
        i64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(i64::MAX)
    }

    fn mapping(&self) -> MutexGuard<'_, Mapping> {
        self.mapping.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn parts(factor: f64) -> i64 {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "kept within 1e-6 to 1e6"
    )]
    let parts = (factor.clamp(1e-6, 1e6) * PARTS as f64).round() as i64;
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fractional_factor_is_not_truncated() {
        let wall = Wall::new(Some(Timestamp::UNIX_EPOCH), 2.5);
        let mapping = *wall.mapping();
        assert_eq!(mapping.at(2_000_000_000), 5_000_000_000);
        assert!((wall.factor() - 2.5).abs() < 1e-9);
    }

    #[tokio::test]
    async fn nobody_wakes_before_the_deadline_and_a_release_lets_time_go_on() {
        let wall = Wall::new(Some(Timestamp::UNIX_EPOCH), 1000.0);
        wall.sleep_until(500_000_000).await;
        assert!(wall.now() >= 500_000_000);
        let held = wall.now() + 1_000_000_000;
        wall.hold(held);
        wall.sleep_until(held).await;
        assert_eq!(wall.now(), held);
        let release = async {
            tokio::task::yield_now().await;
            assert_eq!(wall.now(), held);
            wall.hold(NEVER);
        };
        tokio::join!(wall.sleep_until(held + 1_000_000_000), release);
        assert!(wall.now() >= held + 1_000_000_000);
    }
}

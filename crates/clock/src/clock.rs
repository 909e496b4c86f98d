//! The clock of a simulation, as the rest of the product sees it: one type, two kinds.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

#[cfg(target_os = "linux")]
use crate::virtual_clock::{Sleep, Virtual};
use crate::wall::Wall;
use crate::{Merge, Process, Stats};

/// The environment variable that names the page to the Go programs of a plane.
pub const ENV: &str = "SIMKUBE_CLOCK";

/// Where simulated time comes from. Clones are the same clock.
#[derive(Clone)]
pub struct Clock(Kind);

#[derive(Clone)]
enum Kind {
    Wall(Arc<Wall>),
    #[cfg(target_os = "linux")]
    Virtual(Arc<Virtual>),
}

/// How a virtual clock behaves.
#[derive(Debug, Clone)]
pub struct Options {
    /// How late timers may fire to fire together.
    pub merge: Merge,
    /// The longest single jump.
    pub quantum: Duration,
    /// Virtual time per real time while anything is busy, as a fraction. 1/1 shows how fast this machine is;
    /// 1/8 makes it look eight times as fast.
    pub busy_rate: (u32, u32),
}

impl Default for Options {
    fn default() -> Self {
        Options { merge: Merge::default(), quantum: Duration::from_secs(60), busy_rate: (1, 1) }
    }
}

/// Why there is no clock.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The page could not be made.
    #[error("failed to make the clock page `{path}`")]
    Page {
        /// Where it should be.
        path: PathBuf,
        /// Why it is not.
        source: io::Error,
    },
    /// Not on this operating system.
    #[error("virtual time needs Linux; on this system only the wall clock works")]
    Unsupported,
}

impl Clock {
    /// Real time, `factor` times as fast, starting at `start` (the real date when absent).
    pub fn wall(start: Option<Timestamp>, factor: f64) -> Clock {
        Clock(Kind::Wall(Arc::new(Wall::new(start, factor))))
    }

    /// Virtual time that starts at `start`: a new page at `page` and a coordinator for it. Programs take part
    /// that are started with [`Clock::env`] in their environment.
    ///
    /// Hold a [`Clock::guard`] while programs start: one that has not come up yet cannot say that it is busy.
    #[cfg(target_os = "linux")]
    pub fn virtual_at(page: impl Into<PathBuf>, start: Timestamp, options: &Options) -> Result<Clock, Error> {
        let path = page.into();
        match Virtual::start(&path, start, options) {
            Ok(clock) => Ok(Clock(Kind::Virtual(Arc::new(clock)))),
            Err(source) => Err(Error::Page { path, source }),
        }
    }

    /// Virtual time needs Linux.
    #[cfg(not(target_os = "linux"))]
    pub fn virtual_at(
        _page: impl Into<PathBuf>,
        _start: Timestamp,
        _options: &Options,
    ) -> Result<Clock, Error> {
        Err(Error::Unsupported)
    }

    /// Make the workers of an async runtime count. Call it on the builder of every runtime whose tasks take
    /// part, once, before `build`; the runtime then lives as long as the clock.
    ///
    /// What the hooks cannot see needs a [`Clock::guard`]: `spawn_blocking`, the future given to `block_on`
    /// itself (spawn it instead), and waiting for anything outside the plane.
    pub fn install(&self, runtime: &mut tokio::runtime::Builder, workers: usize) {
        runtime.worker_threads(workers);
        #[cfg(target_os = "linux")]
        if let Kind::Virtual(clock) = &self.0 {
            let (parks, unparks) = (clock.shared.own.clone(), clock.shared.own.clone());
            // Workers start unparked, without a call of the hook.
            let index = parks.add_runtime(workers);
            runtime.on_thread_park(move || parks.park(index)).on_thread_unpark(move || unparks.unpark());
        }
    }

    /// The simulated date and time.
    pub fn now(&self) -> Timestamp {
        let nanos = match &self.0 {
            Kind::Wall(wall) => wall.now(),
            #[cfg(target_os = "linux")]
            Kind::Virtual(clock) => clock.shared.page.now().saturating_add(clock.shared.page.wall_offset()),
        };
        Timestamp::from_nanosecond(nanos.into())
            .expect("64 bits of nanoseconds are within the range of dates")
    }

    /// Wait until the clock shows `at`; never less. Virtual time stops there on its way, so the task sees
    /// exactly `at` plus what it takes to run it.
    pub async fn sleep_until(&self, at: Timestamp) {
        match &self.0 {
            Kind::Wall(wall) => wall.sleep_until(saturate(at)).await,
            #[cfg(target_os = "linux")]
            Kind::Virtual(clock) => {
                let at = saturate(at).saturating_sub(clock.shared.page.wall_offset());
                Sleep::new(clock.shared.clone(), at).await;
            }
        }
    }

    /// Wait for a simulated duration from now.
    pub async fn sleep(&self, duration: Duration) {
        self.sleep_until(self.now().saturating_add(duration).unwrap_or(Timestamp::MAX)).await;
    }

    /// Nobody may see a later time than `at` until [`Clock::release`]; without `at`, than now. On a wall clock
    /// this holds our own plan only.
    pub fn hold(&self, at: Option<Timestamp>) {
        match &self.0 {
            Kind::Wall(wall) => wall.hold(at.map_or(i64::MIN, saturate)),
            #[cfg(target_os = "linux")]
            Kind::Virtual(clock) => {
                let offset = clock.shared.page.wall_offset();
                clock.shared.hold(at.map_or(i64::MIN, |at| saturate(at).saturating_sub(offset)));
            }
        }
    }

    /// Let time go on after [`Clock::hold`], from where it stood.
    pub fn release(&self) {
        match &self.0 {
            Kind::Wall(wall) => wall.hold(crate::mapping::NEVER),
            #[cfg(target_os = "linux")]
            Kind::Virtual(clock) => clock.shared.hold(crate::mapping::NEVER),
        }
    }

    /// While it lives, virtual time goes no faster than the busy rate: for work that the runtime's hooks do
    /// not see, for an external client, for programs that are starting.
    #[must_use = "time jumps again as soon as the guard is dropped"]
    pub fn guard(&self) -> Guard {
        self.count(1);
        Guard { held: self.clone() }
    }

    fn count(&self, change: i64) {
        match &self.0 {
            Kind::Wall(_) => {}
            #[cfg(target_os = "linux")]
            Kind::Virtual(clock) => clock.shared.own.slot().add_awake(change),
        }
    }

    /// Simulated time per real time: the factor of a wall clock, the busy rate of a virtual one.
    pub fn speed(&self) -> f64 {
        match &self.0 {
            Kind::Wall(wall) => wall.factor(),
            #[cfg(target_os = "linux")]
            Kind::Virtual(clock) => {
                let mapping = clock.shared.page.mapping();
                #[expect(clippy::cast_precision_loss, reason = "both fit 32 bits")]
                let rate = mapping.num as f64 / mapping.den as f64;
                rate
            }
        }
    }

    /// True if this clock jumps.
    pub fn is_virtual(&self) -> bool {
        !matches!(self.0, Kind::Wall(_))
    }

    /// What a program's environment needs to take part; nothing on a wall clock.
    pub fn env(&self) -> Option<(&'static str, PathBuf)> {
        match &self.0 {
            Kind::Wall(_) => None,
            #[cfg(target_os = "linux")]
            Kind::Virtual(clock) => Some((ENV, clock.path())),
        }
    }

    /// Change how late timers may fire. No effect on a wall clock.
    pub fn set_merge(&self, merge: Merge) {
        match &self.0 {
            Kind::Wall(_) => {}
            #[cfg(target_os = "linux")]
            Kind::Virtual(clock) => clock.set_merge(merge),
        }
    }

    /// Change the busy rate to `num / den`. No effect on a wall clock.
    pub fn set_busy_rate(&self, num: u32, den: u32) {
        match &self.0 {
            Kind::Wall(_) => {}
            #[cfg(target_os = "linux")]
            Kind::Virtual(clock) => clock.set_busy_rate(num, den),
        }
    }

    /// What the coordinator did so far; zeros on a wall clock.
    pub fn stats(&self) -> Stats {
        match &self.0 {
            Kind::Wall(_) => Stats::default(),
            #[cfg(target_os = "linux")]
            Kind::Virtual(clock) => clock.stats(),
        }
    }

    /// The processes that share a virtual clock, as of a few milliseconds ago.
    pub fn processes(&self) -> Vec<Process> {
        match &self.0 {
            Kind::Wall(_) => vec![],
            #[cfg(target_os = "linux")]
            Kind::Virtual(clock) => clock.processes(),
        }
    }
}

/// See [`Clock::guard`].
pub struct Guard {
    held: Clock,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.held.count(-1);
    }
}

fn saturate(at: Timestamp) -> i64 {
    let nanos = at.as_nanosecond();
    i64::try_from(nanos).unwrap_or(if nanos < 0 { i64::MIN } else { i64::MAX })
}

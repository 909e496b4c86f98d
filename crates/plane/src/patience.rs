//! Waiting for other processes. They run in real time, so this is the one place of the crate that reads the
//! machine's clock and sleeps; everything else asks here.

use std::thread;
use std::time::{Duration, Instant};

/// A point in real time after which waiting is pointless.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    pub(crate) fn after(wait: Duration) -> Self {
        Self(now() + wait)
    }

    pub(crate) fn passed(self) -> bool {
        now() >= self.0
    }
}

/// Real time since it was started.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(now())
    }

    pub(crate) fn elapsed(self) -> Duration {
        now() - self.0
    }
}

/// Asks `answer` until it gives a value or the deadline passes. The pause between two questions is short at first
/// (most things are ready soon) and grows: every question is a TLS handshake for a component that has better things to
/// do. At 25 ms they took a third of the API server's start.
pub(crate) fn until<T>(deadline: Deadline, mut answer: impl FnMut() -> Option<T>) -> Option<T> {
    let mut pause = Duration::from_millis(5);
    loop {
        if let Some(value) = answer() {
            return Some(value);
        }
        if deadline.passed() {
            return None;
        }
        sleep(pause);
        pause = (pause * 3 / 2).min(Duration::from_millis(100));
    }
}

/// The date, for people who look at a plane's state.
#[expect(clippy::disallowed_methods, reason = "when a plane was started is a date of the real world")]
pub(crate) fn wall_clock() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

#[expect(clippy::disallowed_methods, reason = "other processes start, answer and die in real time")]
fn now() -> Instant {
    Instant::now()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the pause between two questions to a process that is starting"
)]
fn sleep(pause: Duration) {
    thread::sleep(pause);
}

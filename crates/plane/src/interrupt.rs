//! Ctrl-C and its relatives: once to stop in order, twice to stop at once.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};

/// How often the user asked to stop.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<(Mutex<u32>, Condvar)>);

impl Interrupt {
    /// Takes over SIGINT, SIGTERM and SIGHUP for this process. Call it from the main thread before any other is
    /// started: a thread that already runs would still be killed by them.
    pub fn listen() -> io::Result<Self> {
        let signals = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]);
        signals.thread_block()?;
        let interrupt = Self::default();
        let heard = interrupt.clone();
        thread::Builder::new().name("plane-interrupt".into()).spawn(move || {
            while signals.wait().is_ok() {
                heard.raise();
            }
        })?;
        Ok(interrupt)
    }

    /// Asks to stop, as a signal would.
    pub fn raise(&self) {
        let (count, changed) = &*self.0;
        *count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        changed.notify_all();
    }

    /// How often so far.
    pub fn count(&self) -> u32 {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until asked at least once, at most `patience`; says whether it was.
    pub fn wait(&self, patience: Duration) -> bool {
        let (count, changed) = &*self.0;
        let count = count.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = changed.wait_timeout_while(count, patience, |count| *count == 0);
        *waited.unwrap_or_else(PoisonError::into_inner).0 > 0
    }
}

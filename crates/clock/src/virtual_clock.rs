//! Virtual time in this process: the page, the coordinator's thread, and sleeping until a virtual time.

use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicI64};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::thread::{Builder, JoinHandle};

use jiff::Timestamp;

use crate::clock::Options;
use crate::coordinator::{Shared, coordinate};
use crate::deadlines::{Deadlines, Sleeper};
use crate::mapping::NEVER;
use crate::own::Own;
use crate::page::Page;
use crate::slack::{Merge, Slack};
use crate::stats::{Process, Stats};

pub(crate) struct Virtual {
    pub(crate) shared: Arc<Shared>,
    coordinator: Option<JoinHandle<()>>,
}

impl Virtual {
    pub(crate) fn start(page: &Path, start: Timestamp, options: &Options) -> io::Result<Virtual> {
        let page = Arc::new(Page::create(page, start)?);
        let own = Arc::new(Own::new(page.clone()));
        let shared = Arc::new(Shared {
            page,
            own,
            deadlines: Deadlines::default(),
            hold: AtomicI64::new(NEVER),
            outside_hold: AtomicI64::new(NEVER),
            stop: AtomicBool::new(false),
            quantum: i64::try_from(options.quantum.as_nanos()).unwrap_or(i64::MAX / 2),
            slack: Mutex::new(Slack::new(options.merge)),
            stats: Mutex::default(),
            processes: Mutex::default(),
        });
        let (num, den) = options.busy_rate;
        shared.page.rewrite(|mapping| (mapping.num, mapping.den) = (num.into(), den.max(1).into()));
        let for_thread = shared.clone();
        let coordinator = Builder::new().name("clock".into()).spawn(move || coordinate(&for_thread))?;
        // Started awake; from now on only what counts itself is.
        shared.own.slot().add_awake(-1);
        Ok(Virtual { shared, coordinator: Some(coordinator) })
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.shared.page.path().to_owned()
    }

    pub(crate) fn set_merge(&self, merge: Merge) {
        self.shared.slack.lock().unwrap_or_else(PoisonError::into_inner).set(merge);
    }

    pub(crate) fn set_busy_rate(&self, num: u32, den: u32) {
        self.shared.page.rewrite(|mapping| (mapping.num, mapping.den) = (num.into(), den.max(1).into()));
        self.shared.page.ring();
    }

    pub(crate) fn stats(&self) -> Stats {
        *self.shared.stats()
    }

    pub(crate) fn processes(&self) -> Vec<Process> {
        self.shared.processes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Virtual {
    fn drop(&mut self) {
        self.shared.stop.store(true, SeqCst);
        self.shared.page.ring();
        if let Some(thread) = self.coordinator.take() {
            // It has nothing to return; a panic in it was printed.
            let _ = thread.join();
        }
    }
}

/// Ready when the virtual clock shows its time.
pub(crate) struct Sleep {
    shared: Arc<Shared>,
    at: i64,
    sleeper: Option<Arc<Sleeper>>,
}

impl Sleep {
    pub(crate) fn new(shared: Arc<Shared>, at: i64) -> Sleep {
        Sleep { shared, at, sleeper: None }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Sleep { shared, at, sleeper } = &mut *self;
        if let Some(sleeper) = sleeper {
            return sleeper.poll(cx, || shared.own.slot().add_awake(-1));
        }
        if shared.page.now() >= *at {
            return Poll::Ready(());
        }
        let new = Arc::new(Sleeper::default());
        let pending = new.poll(cx, || ());
        *sleeper = Some(new.clone());
        let first = shared.deadlines.add(*at, new);
        shared.own.slot().touch();
        if first {
            // The coordinator may be asleep until a later deadline.
            shared.page.ring();
        }
        pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(sleeper) = &self.sleeper {
            sleeper.give_up(|| self.shared.own.slot().add_awake(-1));
        }
    }
}

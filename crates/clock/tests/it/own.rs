//! Our own process on the virtual clock.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use simkube_clock::{Clock, Options, Outside};
use tokio::runtime::Runtime;

const HOUR: Duration = Duration::from_secs(3600);

fn start() -> Timestamp {
    "2025-03-29T22:20:23Z".parse().unwrap()
}

fn clock_and_runtime(busy_rate: (u32, u32)) -> (tempfile::TempDir, Clock, Runtime) {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { busy_rate, ..Options::default() };
    let clock = Clock::virtual_at(dir.path().join("clock"), start(), &options).unwrap();
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    clock.install(&mut builder, 2);
    (dir, clock, builder.enable_all().build().unwrap())
}

/// The future given to `block_on` is not counted, so stories are spawned.
fn run<T: Send + 'static>(runtime: &Runtime, story: impl Future<Output = T> + Send + 'static) -> T {
    runtime.block_on(runtime.spawn(story)).unwrap()
}

/// What both kinds of clock must do. Returns the order in which the sleepers woke.
async fn story(clock: Clock, scale: Duration) -> Vec<u32> {
    let begin = clock.now();
    let woke = Arc::new(Mutex::new(vec![]));
    let sleep = |steps: u32| {
        let (clock, woke, at) = (clock.clone(), woke.clone(), begin + scale * steps);
        tokio::spawn(async move {
            clock.sleep_until(at).await;
            assert!(clock.now() >= at);
            woke.lock().unwrap().push(steps);
        })
    };
    for sleeper in [3, 1, 2].map(sleep) {
        sleeper.await.unwrap();
    }
    // The past is no reason to wait.
    clock.sleep_until(begin).await;
    std::mem::take(&mut woke.lock().unwrap())
}

#[test]
fn both_kinds_of_clock_pass_the_same_story() {
    let (_dir, clock, runtime) = clock_and_runtime((1, 1));
    assert_eq!(run(&runtime, story(clock, HOUR)), [1, 2, 3]);
    // In real time a busy machine may wake sleepers together, and in any order.
    let wall = Clock::wall(Some(start()), 1000.0);
    assert_eq!(run(&runtime, story(wall, Duration::from_secs(20))).len(), 3);
}

#[test]
fn virtual_time_stops_exactly_at_our_deadlines() {
    let (_dir, clock, runtime) = clock_and_runtime((1, 1_000_000));
    let tasks: Vec<_> = (1..=20u32)
        .map(|task| {
            let clock = clock.clone();
            runtime.spawn(async move {
                let mut latest = SignedDuration::ZERO;
                for step in 1..=50 {
                    let at = start() + Duration::from_millis(u64::from(step * 997 * task));
                    clock.sleep_until(at).await;
                    let late = clock.now().duration_since(at);
                    // The past is due at once; only what we waited for can be late.
                    latest = latest.max(if step == 1 { SignedDuration::ZERO } else { late });
                    assert!(!late.is_negative(), "early by {late:?}");
                }
                latest
            })
        })
        .collect();
    for task in tasks {
        let latest = runtime.block_on(task).unwrap();
        // A millionth of the real time that the task took to run.
        assert!(latest < SignedDuration::from_micros(100), "{latest:?}");
    }
}

#[test]
fn a_guard_keeps_time_from_jumping() {
    let (_dir, clock, runtime) = clock_and_runtime((1, 1));
    let guard = clock.guard();
    let woke = Arc::new(AtomicBool::new(false));
    let sleeper = {
        let (clock, woke) = (clock.clone(), woke.clone());
        runtime.spawn(async move {
            clock.sleep(HOUR).await;
            woke.store(true, SeqCst);
        })
    };
    let looks = clock.stats().looks;
    while clock.stats().looks < looks + 5 {
        std::thread::yield_now();
    }
    assert!(!woke.load(SeqCst) && clock.stats().jumps == 0);
    drop(guard);
    runtime.block_on(sleeper).unwrap();
    assert!(clock.now() >= start() + HOUR);
}

#[test]
fn a_sleep_that_is_given_up_leaves_nothing_awake() {
    let (_dir, clock, runtime) = clock_and_runtime((1, 1));
    let story = {
        let clock = clock.clone();
        async move {
            for _ in 0..100 {
                tokio::select! {
                    () = clock.sleep(Duration::from_secs(5)) => {}
                    () = clock.sleep(Duration::from_secs(5)) => {}
                }
            }
            clock.sleep(100 * HOUR).await;
        }
    };
    run(&runtime, story);
    assert!(clock.now() >= start() + 100 * HOUR);
}

#[test]
fn held_time_stands_still_and_goes_on_from_there() {
    let (_dir, clock, runtime) = clock_and_runtime((1, 1));
    let stop = start() + HOUR;
    clock.hold(Some(stop));
    let sleeper = {
        let clock = clock.clone();
        runtime.spawn(async move { clock.sleep_until(stop + HOUR).await })
    };
    while clock.now() < stop {
        std::thread::yield_now();
    }
    let held = clock.stats().vetoes.held;
    while clock.stats().vetoes.held < held + 3 {
        assert_eq!(clock.now(), stop);
        std::thread::yield_now();
    }
    assert!(!sleeper.is_finished());
    clock.release();
    runtime.block_on(sleeper).unwrap();
    // Held now, wherever that is.
    clock.hold(None);
    let now = clock.now();
    assert!((0..1000).all(|_| clock.now() == now));
}

#[test]
fn time_can_be_held_and_attended_from_outside() {
    let (dir, clock, runtime) = clock_and_runtime((1, 1));
    let outside = Outside::open(&dir.path().join("clock")).unwrap();
    assert_eq!(outside.busy_rate(), (1, 1));
    outside.hold();
    let held = clock.stats().vetoes.held;
    let sleeper = {
        let clock = clock.clone();
        runtime.spawn(async move { clock.sleep(HOUR).await })
    };
    while clock.stats().vetoes.held < held + 3 {
        std::thread::yield_now();
    }
    let now = outside.now();
    assert!((0..1000).all(|_| clock.now() == now && outside.is_held() && !sleeper.is_finished()));

    let attendance = outside.attend().unwrap();
    outside.release();
    while clock.now() == now {
        std::thread::yield_now();
    }
    assert_eq!(clock.stats().jumps, 0, "attended time goes on and does not jump");
    drop(attendance);
    runtime.block_on(sleeper).unwrap();
    drop(outside.attend().unwrap());
    run(&runtime, story(clock, HOUR));
}

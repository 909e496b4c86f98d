//! Who of ours sleeps until when. The coordinator fires what is due; a sleeper that was fired counts as awake
//! from that moment, before its task runs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Sleepers by deadline; equal deadlines fire in the order they were asked for.
#[derive(Default)]
pub(crate) struct Deadlines {
    heap: Mutex<Heap>,
}

#[derive(Default)]
struct Heap {
    queue: BinaryHeap<Reverse<Entry>>,
    asked: u64,
}

struct Entry {
    at: i64,
    turn: u64,
    sleeper: Arc<Sleeper>,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.turn).cmp(&(other.at, other.turn))
    }
}

/// One wait. Created by the task, fired by the coordinator.
#[derive(Default)]
pub(crate) struct Sleeper {
    state: Mutex<State>,
}

#[derive(Default)]
enum State {
    #[default]
    New,
    Waiting(Waker),
    /// Fired, and awake on behalf of a task that has not noticed yet.
    Fired,
    Over,
}

impl Sleeper {
    /// Ready once fired; `seen` is called then, so that the task takes over from the token.
    pub(crate) fn poll(&self, cx: &mut Context<'_>, seen: impl FnOnce()) -> Poll<()> {
        let mut state = self.state();
        match *state {
            State::Fired => {
                *state = State::Over;
                seen();
                Poll::Ready(())
            }
            State::Over => Poll::Ready(()),
            State::New | State::Waiting(_) => {
                *state = State::Waiting(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// The task does not wait any more. `seen` is called if it had been fired.
    pub(crate) fn give_up(&self, seen: impl FnOnce()) {
        let mut state = self.state();
        if matches!(*state, State::Fired) {
            seen();
        }
        *state = State::Over;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Deadlines {
    /// Queue a sleeper; true if it is now the first of all.
    pub(crate) fn add(&self, at: i64, sleeper: Arc<Sleeper>) -> bool {
        let mut heap = self.heap();
        heap.asked += 1;
        let turn = heap.asked;
        let first = heap.queue.peek().is_none_or(|Reverse(head)| at < head.at);
        heap.queue.push(Reverse(Entry { at, turn, sleeper }));
        first
    }

    /// Wake whoever is due at `now`, calling `count` for each before its task can run.
    pub(crate) fn fire(&self, now: i64, count: impl Fn()) {
        let mut heap = self.heap();
        while heap.queue.peek().is_some_and(|Reverse(head)| head.at <= now) {
            let Some(Reverse(entry)) = heap.queue.pop() else { return };
            let mut state = entry.sleeper.state();
            if matches!(*state, State::Over) {
                continue;
            }
            count();
            if let State::Waiting(waker) = std::mem::replace(&mut *state, State::Fired) {
                drop(state);
                waker.wake();
            }
        }
    }

    /// The next deadline that somebody still waits for.
    pub(crate) fn next(&self) -> Option<i64> {
        let mut heap = self.heap();
        while let Some(Reverse(head)) = heap.queue.peek() {
            if !matches!(*head.sleeper.state(), State::Over) {
                return Some(head.at);
            }
            heap.queue.pop();
        }
        None
    }

    fn heap(&self) -> MutexGuard<'_, Heap> {
        self.heap.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::task::Wake;

    /// Writes its number down when woken.
    struct Note(u32, Arc<Mutex<Vec<u32>>>);
    impl Wake for Note {
        fn wake(self: Arc<Self>) {
            self.1.lock().unwrap().push(self.0);
        }
    }

    fn waiting(deadlines: &Deadlines, at: i64) -> Arc<Sleeper> {
        let sleeper = Arc::new(Sleeper::default());
        assert!(sleeper.poll(&mut Context::from_waker(Waker::noop()), || unreachable!()).is_pending());
        deadlines.add(at, sleeper.clone());
        sleeper
    }

    #[test]
    fn only_the_due_are_fired_and_each_is_counted_once() {
        let deadlines = Deadlines::default();
        let (late, soon) = (waiting(&deadlines, 30), waiting(&deadlines, 10));
        let awake = Cell::new(0);
        deadlines.fire(20, || awake.set(awake.get() + 1));
        assert_eq!((awake.get(), deadlines.next()), (1, Some(30)));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(soon.poll(&mut cx, || awake.set(awake.get() - 1)).is_ready());
        assert!(soon.poll(&mut cx, || awake.set(awake.get() - 1)).is_ready());
        assert!(late.poll(&mut cx, || unreachable!()).is_pending());
        assert_eq!(awake.get(), 0);
    }

    #[test]
    fn equal_deadlines_fire_in_the_order_they_were_asked_for() {
        let deadlines = Deadlines::default();
        let woken = Arc::new(Mutex::default());
        for turn in 0..5 {
            let sleeper = waiting(&deadlines, 7);
            let waker = Waker::from(Arc::new(Note(turn, Arc::clone(&woken))));
            assert!(sleeper.poll(&mut Context::from_waker(&waker), || unreachable!()).is_pending());
        }
        deadlines.fire(7, || ());
        assert_eq!(*woken.lock().unwrap(), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_sleeper_that_gave_up_is_neither_fired_nor_waited_for() {
        let deadlines = Deadlines::default();
        waiting(&deadlines, 5).give_up(|| unreachable!());
        assert_eq!(deadlines.next(), None);
        deadlines.fire(9, || unreachable!());
        // Fired but dropped before its task ran: the token comes back.
        let sleeper = waiting(&deadlines, 5);
        let awake = Cell::new(0);
        deadlines.fire(9, || awake.set(1));
        sleeper.give_up(|| awake.set(0));
        assert_eq!(awake.get(), 0);
    }
}

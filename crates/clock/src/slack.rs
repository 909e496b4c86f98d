//! How late a timer of another process may fire so that several fire together. Merging is what makes an idle
//! plane fast; while something happens, precision matters more.

use std::time::Duration;

/// The most by which a timer may fire late, beside the time that the processes themselves take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merge {
    /// Always the same.
    Fixed(Duration),
    /// A tenth of the time since something last happened in our own process, within these bounds.
    Adaptive {
        /// While something happens.
        least: Duration,
        /// When nothing has happened for long.
        most: Duration,
    },
}

impl Default for Merge {
    /// 5 ms while something happens, 250 ms at most.
    fn default() -> Self {
        Merge::Adaptive { least: Duration::from_millis(5), most: Duration::from_millis(250) }
    }
}

/// The rule and what it needs to remember.
#[derive(Debug)]
pub(crate) struct Slack {
    rule: Merge,
    /// Virtual time when our process was last awake. It watches the objects of the plane, so a change there
    /// wakes it.
    last_event: i64,
    /// Its generation then.
    generation: i64,
}

impl Slack {
    pub(crate) fn new(rule: Merge) -> Slack {
        Slack { rule, last_event: i64::MIN / 2, generation: 0 }
    }

    pub(crate) fn set(&mut self, rule: Merge) {
        self.rule = rule;
    }

    /// Note the generation of our own slot: it changes when our process wakes or falls asleep.
    pub(crate) fn saw(&mut self, generation: i64, now: i64) {
        if generation != self.generation {
            (self.generation, self.last_event) = (generation, now);
        }
    }

    /// Nanoseconds that a timer may be late at `now`.
    pub(crate) fn now(&self, now: i64) -> i64 {
        let nanos = |duration: Duration| i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
        match self.rule {
            Merge::Fixed(slack) => nanos(slack),
            Merge::Adaptive { least, most } => {
                let calm = now.saturating_sub(self.last_event);
                (calm / 10).clamp(nanos(least), nanos(most).max(nanos(least)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn slack_grows_with_calm_and_shrinks_at_the_first_event() {
        let mut slack = Slack::new(Merge::default());
        assert_eq!(slack.now(0), 250 * MS);
        slack.saw(7, 1000 * MS);
        assert_eq!(slack.now(1000 * MS), 5 * MS);
        assert_eq!(slack.now(2000 * MS), 100 * MS);
        assert_eq!(slack.now(9000 * MS), 250 * MS);
        slack.saw(7, 9000 * MS);
        assert_eq!(slack.now(9000 * MS), 250 * MS);
    }

    #[test]
    fn fixed_slack_does_not_depend_on_what_happens() {
        let mut slack = Slack::new(Merge::Fixed(Duration::from_millis(20)));
        slack.saw(7, 5);
        assert_eq!((slack.now(5), slack.now(1 << 60)), (20 * MS, 20 * MS));
    }
}

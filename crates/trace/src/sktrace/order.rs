//! Which record may follow which. The writer and the reader hold to the same rules.

use jiff::Timestamp;

use crate::Record;

/// Remembers as much of the stream as the rules need.
#[derive(Debug)]
pub(super) struct Order {
    latest: Timestamp,
    stream_has_begun: bool,
}

impl Order {
    pub(super) fn new(window_start: Timestamp) -> Self {
        Self { latest: window_start, stream_has_begun: false }
    }

    /// Accepts the next record or says which rule it breaks.
    pub(super) fn check(&mut self, record: &Record) -> Result<(), String> {
        if matches!(record, Record::Initial { .. }) {
            if self.stream_has_begun {
                return Err("an initial object stands after the stream has begun".to_owned());
            }
            return Ok(());
        }
        self.stream_has_begun = true;
        if let Record::Gap(gap) = record
            && gap.to < gap.from
        {
            return Err(format!("a gap ends before it begins, from {} to {}", gap.from, gap.to));
        }
        if let Some(at) = record.at() {
            if at < self.latest {
                return Err(format!("time runs backwards, from {} to {at}", self.latest));
            }
            self.latest = at;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Object;

    fn second(at: i64) -> Timestamp {
        Timestamp::from_second(at).unwrap()
    }

    fn check(records: &[&str], expected_error: Option<&str>) {
        let mut order = Order::new(second(10));
        let object = || Object::parse("{}").unwrap();
        let result = records.iter().try_for_each(|text| {
            order.check(&match *text {
                "initial" => Record::Initial { object: object() },
                at => Record::Applied { at: second(at.parse().unwrap()), stamp: None, object: object() },
            })
        });
        assert_eq!(result.err().as_deref(), expected_error, "{records:?}");
    }

    #[test]
    fn initial_objects_come_first_and_time_never_runs_backwards() {
        check(&["initial", "initial", "10", "10", "12"], None);
        check(&["10", "initial"], Some("an initial object stands after the stream has begun"));
        check(&["11", "10"], Some("time runs backwards, from 1970-01-01T00:00:11Z to 1970-01-01T00:00:10Z"));
        check(&["9"], Some("time runs backwards, from 1970-01-01T00:00:10Z to 1970-01-01T00:00:09Z"));
    }
}

//! The clock of a plane, as users spell it: slack, busy rate, and what other processes can read about it.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use clock::{Clock, Merge, Options, Outside};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::arguments::{ClockKind, Time};
use crate::exit::{Code, Failure};

/// `--slack`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slack(pub(crate) Merge);

impl Default for Slack {
    /// The largest that keeps whole seconds apart also when a few timers follow each other.
    fn default() -> Self {
        Self(Merge::Fixed(Duration::from_millis(100)))
    }
}

impl FromStr for Slack {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "adaptive" {
            return Ok(Self(Merge::default()));
        }
        let wrong = |_| "expected a duration as 20ms, or adaptive".to_owned();
        let duration: SignedDuration = text.parse().map_err(|error: jiff::Error| wrong(error))?;
        let duration = Duration::try_from(duration).map_err(|error: jiff::Error| wrong(error))?;
        // Beyond this, whole seconds (all that Kubernetes records) would be wrong.
        if duration > Duration::from_secs(1) {
            Err("at most 1s".into())
        } else {
            Ok(Self(Merge::Fixed(duration)))
        }
    }
}

impl fmt::Display for Slack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Merge::Fixed(slack) => write!(f, "{}ms", slack.as_secs_f64() * 1000.0),
            Merge::Adaptive { .. } => f.write_str("adaptive"),
        }
    }
}

/// `--busy-rate`, as a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BusyRate {
    pub(crate) num: u32,
    pub(crate) den: u32,
}

impl Default for BusyRate {
    fn default() -> Self {
        Self { num: 1, den: 1 }
    }
}

impl FromStr for BusyRate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let decimal = |text: &str| {
            let (whole, part) = text.split_once('.').unwrap_or((text, ""));
            let den = 10_u32.checked_pow(u32::try_from(part.len()).ok()?)?;
            Some((format!("{whole}{part}").parse::<u32>().ok()?, den))
        };
        let fraction = match text.split_once('/') {
            Some((num, den)) => num.trim().parse().ok().zip(den.trim().parse().ok()),
            None => decimal(text),
        };
        match fraction {
            Some((num, den)) if num > 0 && den > 0 && num / den <= 1000 && den / num <= 1_000_000 => {
                Ok(Self { num, den })
            }
            _ => Err("expected a rate above 0 as 1, 1/8 or 0.125".into()),
        }
    }
}

impl fmt::Display for BusyRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.den {
            1 => write!(f, "{}", self.num),
            den => write!(f, "{}/{den}", self.num),
        }
    }
}

/// How a plane's clock was started: in its directory, for whoever asks for its status.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Description {
    pub(super) start: Timestamp,
    /// As `--slack` spells it.
    pub(super) slack: String,
    /// The most by which one timer is late.
    pub(super) slack_ms: f64,
}

const DESCRIPTION: &str = "clock.json";

/// Makes the clock that `time` asks for; none in real time. It runs at the speed of real time until the plane is ready.
pub(super) fn create(time: &Time, layout: &plane::Layout) -> Result<Option<Clock>, Failure> {
    if time.clock == ClockKind::Wall {
        return Ok(None);
    }
    let start = time.start.unwrap_or_else(|| Clock::wall(None, 1.0).now());
    let options = Options { merge: time.slack.0, ..Options::default() };
    let clock = Clock::virtual_at(layout.clock(), start, &options).map_err(|error| {
        Failure::new(Code::NotReady, error).hint("`--clock wall` does without virtual time")
    })?;
    let (Merge::Fixed(most) | Merge::Adaptive { most, .. }) = time.slack.0;
    let description =
        Description { start, slack: time.slack.to_string(), slack_ms: most.as_secs_f64() * 1000.0 };
    let text = serde_json::to_vec(&description).map_err(anyhow::Error::from)?;
    fs::write(layout.root().join(DESCRIPTION), text)?;
    Ok(Some(clock))
}

/// How the clock of the plane in `dir` was started, if it has one.
pub(super) fn description(dir: &Path) -> Option<Description> {
    serde_json::from_slice(&fs::read(dir.join(DESCRIPTION)).ok()?).ok()
}

/// The clock of a running plane, seen from here; `None` when it lives in real time.
pub(super) fn outside(layout: &plane::Layout) -> Result<Option<Outside>, Failure> {
    match Outside::open(&layout.clock()) {
        Ok(outside) => Ok(Some(outside)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let path = layout.clock();
            Err(Failure::from(error).context(format!("failed to open the clock page `{}`", path.display())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_fractions_or_decimals() {
        for (text, expected) in [
            ("1", Some((1, 1))),
            ("1/8", Some((1, 8))),
            ("0.125", Some((125, 1000))),
            ("2.5", Some((25, 10))),
            ("0", None),
            ("1/0", None),
            ("-1", None),
            ("fast", None),
            ("", None),
            ("99999", None),
        ] {
            let rate = text.parse::<BusyRate>().ok().map(|rate| (rate.num, rate.den));
            assert_eq!(rate, expected, "{text}");
        }
    }

    #[test]
    fn slack_is_a_duration_or_adaptive() {
        for (text, shown) in [
            ("20ms", Some("20ms")),
            ("0.5ms", Some("0.5ms")),
            ("adaptive", Some("adaptive")),
            ("-1ms", None),
            ("2s", None),
            ("soon", None),
        ] {
            assert_eq!(text.parse::<Slack>().ok().map(|slack| slack.to_string()).as_deref(), shown, "{text}");
        }
    }
}

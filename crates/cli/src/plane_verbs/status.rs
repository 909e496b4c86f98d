//! `skctl plane status`: what time it is in a plane, and what runs there at which cost.

use std::fmt::Write;

use jiff::Timestamp;
use plane::manage;
use serde::Serialize;

use super::arguments::Status;
use super::clock;
use crate::arguments::OutputFormat;
use crate::exit::{Failure, Outcome};
use crate::output;

/// What `-o json` prints. Scripts read these keys.
#[derive(Serialize)]
struct Answer {
    #[serde(flatten)]
    plane: manage::Status,
    /// The date and time in the plane; absent in real time.
    virtual_time: Option<Timestamp>,
    clock: ClockAnswer,
}

#[derive(Serialize)]
struct ClockAnswer {
    /// `virtual` or `wall`.
    kind: &'static str,
    /// Where virtual time began.
    start: Option<Timestamp>,
    /// Virtual time since then.
    simulated_s: Option<f64>,
    /// Virtual per real time since the plane's start.
    speed: Option<f64>,
    /// Virtual per real time while anything is busy.
    busy_rate: Option<f64>,
    /// As given: a duration or `adaptive`.
    slack: Option<String>,
    /// The most by which one timer is late.
    slack_ms: Option<f64>,
    /// Whether time stands.
    held: bool,
}

pub(super) fn run(arguments: &Status) -> Result<Outcome, Failure> {
    let home = super::home()?;
    let status = manage::status(&home, &arguments.which.name);
    let answer = answer(status.map_err(|error| super::nothing_there(&home, error))?)?;
    match arguments.output {
        OutputFormat::Json => output::json(&answer)?,
        OutputFormat::Text => output::data(text(&answer).as_bytes())?,
    }
    Ok(Outcome::Done)
}

fn answer(plane: manage::Status) -> Result<Answer, Failure> {
    let layout = plane::Layout::new(plane.dir.clone());
    let outside = if plane.alive { clock::outside(&layout)? } else { None };
    let Some(outside) = outside else {
        let clock = ClockAnswer {
            kind: "wall",
            start: None,
            simulated_s: None,
            speed: None,
            busy_rate: None,
            slack: None,
            slack_ms: None,
            held: false,
        };
        return Ok(Answer { plane, virtual_time: None, clock });
    };
    let now = outside.now();
    let description = clock::description(&plane.dir);
    let start = description.as_ref().map(|description| description.start);
    let simulated_s = start.map(|start| now.duration_since(start).as_secs_f64());
    let (num, den) = outside.busy_rate();
    #[expect(clippy::cast_precision_loss, reason = "both fit 32 bits")]
    let busy_rate = num as f64 / den as f64;
    let clock = ClockAnswer {
        kind: "virtual",
        start,
        simulated_s,
        speed: simulated_s.map(|simulated| simulated / plane.uptime_s.max(0.001)),
        busy_rate: Some(busy_rate),
        slack_ms: description.as_ref().map(|description| description.slack_ms),
        slack: description.map(|description| description.slack),
        held: outside.is_held(),
    };
    Ok(Answer { plane, virtual_time: Some(now), clock })
}

fn text(answer: &Answer) -> String {
    let Answer { plane, clock, .. } = answer;
    let mut lines: Vec<(&str, String)> = Vec::new();
    let phase = match (plane.alive, plane.phase) {
        (false, _) => "dead; the next start removes it",
        (true, plane::Phase::Starting) => "starting",
        (true, plane::Phase::Ready) => "ready",
        (true, plane::Phase::Stopping) => "stopping",
    };
    lines.push(("plane", format!("{}, {phase}, Kubernetes {}", plane.name, plane.kubernetes)));
    match answer.virtual_time {
        Some(now) => {
            let held = if clock.held { ", held" } else { "" };
            lines.push(("time", format!("{now:.3}{held}")));
            let mut kind = "virtual".to_owned();
            if let (Some(simulated), Some(speed)) = (clock.simulated_s, clock.speed) {
                let _ = write!(kind, ", {simulated:.0} s passed, {speed:.1} times real time");
            }
            let _ = write!(kind, "; busy rate {}", clock.busy_rate.unwrap_or(1.0));
            if let Some(slack) = &clock.slack {
                let _ = write!(kind, ", slack {slack}");
            }
            lines.push(("clock", kind));
        }
        None => lines.push(("clock", "real time".into())),
    }
    lines.push(("real time", format!("{:.3}, up for {:.0} s", plane.real_time, plane.uptime_s)));
    lines.push(("kubeconfig", plane.kubeconfig.display().to_string()));
    let mut text = lines.iter().fold(String::new(), |mut text, (title, value)| {
        let _ = writeln!(text, "{title:<10} {value}");
        text
    });
    let _ =
        writeln!(text, "\n{:<25} {:>8} {:>10} {:>10} {:>10}", "component", "pid", "memory", "cpu", "ready");
    for component in &plane.components {
        let pid = if component.alive { component.pid.to_string() } else { "ended".into() };
        let ready = component.ready_s.map_or("-".into(), |seconds| format!("{seconds:.2} s"));
        let _ = writeln!(
            text,
            "{:<25} {pid:>8} {:>10} {:>8.2} s {ready:>10}",
            component.name,
            output::bytes(component.rss_bytes),
            component.cpu_s,
        );
    }
    let ready = plane.ready_s.map_or("-".into(), |seconds| format!("{seconds:.2} s"));
    let memory = output::bytes(plane.rss_bytes);
    let _ = writeln!(text, "{:<25} {:>8} {memory:>10} {:>8.2} s {ready:>10}", "all", "", plane.cpu_s);
    text
}

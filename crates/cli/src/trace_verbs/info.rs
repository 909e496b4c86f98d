//! `skctl trace info`: what is in a trace.

use std::collections::BTreeMap;
use std::fmt::Write;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use trace::Summary;

use crate::arguments::{Info, OutputFormat};
use crate::exit::{Failure, Outcome};
use crate::progress::{self, Progress};
use crate::{interrupt, output};

/// What `-o json` prints. Scripts read these keys.
#[derive(Serialize)]
struct Report<'a> {
    format: &'static str,
    start: Timestamp,
    end: Timestamp,
    duration_s: f64,
    records: u64,
    initial: u64,
    applied: u64,
    deleted: u64,
    pod_lives: u64,
    failed_lives: u64,
    gaps: u64,
    gap_s: f64,
    ticks: u64,
    known: u64,
    kinds: BTreeMap<String, u64>,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<&'a str>,
    source: &'a trace::Source,
    tracked: &'a BTreeMap<trace::Gvk, trace::Tracked>,
    redacted: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    damage: Option<String>,
}

pub(super) fn run(arguments: &Info, mode: progress::Mode) -> Result<Outcome, Failure> {
    let path = &arguments.source.file;
    let reading = arguments.source.reading;
    let (mut reader, size) = super::open(path, reading)?;
    let mut progress = Progress::new(mode, "reading", size);
    let mut stopped = Ok(());
    let (summary, error) = Summary::of(&mut reader, |reader| {
        progress.at(reader.file_bytes(), reader.records());
        stopped = interrupt::check();
        stopped.is_ok()
    });
    drop(progress);
    stopped?;
    let damage = match error {
        Some(error) if reading.salvage && error.is_damage() => {
            output::warning(&format!("{error}; the counts are of what stands before it"));
            Some(error.to_string())
        }
        Some(error) => return Err(super::unreadable(path, error)),
        None => None,
    };
    let bytes = size.unwrap_or_else(|| reader.file_bytes());
    match arguments.output {
        OutputFormat::Json => output::json(&report(&summary, bytes, damage))?,
        OutputFormat::Text => output::text(&text(&summary, bytes))?,
    }
    Ok(Outcome::Done)
}

fn report(summary: &Summary, bytes: u64, damage: Option<String>) -> Report<'_> {
    let trace::Closing {
        records, initial, applied, deleted, pod_lives, gaps, ticks, known, ref hash, ..
    } = summary.closing;
    Report {
        format: summary.format,
        start: summary.start(),
        end: summary.end(),
        duration_s: summary.duration_s(),
        records,
        initial,
        applied,
        deleted,
        pod_lives,
        failed_lives: summary.failed_lives,
        gaps,
        gap_s: summary.gap_seconds,
        ticks,
        known,
        kinds: summary.kinds.iter().map(|(kind, count)| (kind.to_string(), *count)).collect(),
        bytes,
        hash: (!hash.is_empty() && damage.is_none()).then_some(hash),
        source: &summary.header.source,
        tracked: &summary.header.tracked,
        redacted: &summary.header.redacted,
        damage,
    }
}

fn text(summary: &Summary, bytes: u64) -> String {
    let mut lines: Vec<(&str, String)> = Vec::new();
    let closing = &summary.closing;
    lines.push(("format", format!("{}, {}", summary.format, output::bytes(bytes))));
    let length = SignedDuration::try_from_secs_f64(summary.duration_s()).unwrap_or_default();
    lines.push(("window", format!("{} to {} ({length:#})", summary.start(), summary.end())));
    if let Some(version) = &summary.header.source.kubernetes {
        lines.push(("cluster", format!("Kubernetes {version}")));
    }
    let mut records = output::count(closing.records, "record");
    let mut separator = ": ";
    for (count, noun) in [
        (closing.initial, "initial object"),
        (closing.applied, "applied change"),
        (closing.deleted, "deletion"),
        (closing.pod_lives, "pod life"),
        (closing.ticks, "tick"),
        (closing.known, "known object"),
    ] {
        if count > 0 {
            let _ = write!(records, "{separator}{}", output::count(count, noun));
            separator = ", ";
        }
    }
    lines.push(("records", records));
    if summary.failed_lives > 0 {
        lines.push((
            "failures",
            format!("{} ended with an error", output::count(summary.failed_lives, "pod life")),
        ));
    }
    if closing.gaps > 0 {
        lines.push((
            "gaps",
            format!("{} over {:.1} s", output::count(closing.gaps, "gap"), summary.gap_seconds),
        ));
    }
    let mut title = "objects";
    for (kind, count) in &summary.kinds {
        lines.push((title, format!("{count:>6}  {kind}")));
        title = "";
    }
    if !summary.header.redacted.is_empty() {
        lines.push(("redacted", summary.header.redacted.join(", ")));
    }
    if !closing.hash.is_empty() {
        lines.push(("hash", closing.hash.clone()));
    }
    lines.iter().fold(String::new(), |mut text, (title, value)| {
        let _ = writeln!(text, "{title:<9} {value}");
        text
    })
}

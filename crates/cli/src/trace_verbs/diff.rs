//! `skctl trace diff`: what a person wants to know about two traces. Exit codes as `diff` has them.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use trace::diff::{self, Difference, Digest, Entry, Field, Part, Side};

use crate::arguments::{Diff, OutputFormat, Reading};
use crate::exit::{Code, Failure, Outcome};
use crate::{interrupt, output};

/// What `-o json` prints.
#[derive(Serialize)]
struct Report<'a> {
    same: bool,
    differences: &'a [Difference],
}

/// Both passes read files, so salvaging and limits stay at their defaults.
const READING: Reading = Reading { salvage: false, max_size: 256, max_ratio: 4000, max_entries: 2_000_000 };

pub(super) fn run(arguments: &Diff) -> Result<Outcome, Failure> {
    for path in [&arguments.a, &arguments.b] {
        let is_pipe = std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
        if path == Path::new("-") || is_pipe {
            let refusal = Failure::usage("both traces are read twice, so a pipe will not do");
            return Err(refusal.hint("save it to a file first"));
        }
    }
    let mut differences = diff::compare(&digest(&arguments.a)?, &digest(&arguments.b)?);
    let shown = match arguments.output {
        OutputFormat::Json => differences.len(),
        OutputFormat::Text => arguments.most.min(differences.len()),
    };
    let wanted = diff::wanted(&differences[..shown]);
    let fetch = |path: &Path| {
        let (mut reader, _) = super::open(path, READING)?;
        let fetched = wanted.fetch(&mut reader, || interrupt::check().is_ok());
        interrupt::check()?;
        fetched.map_err(|error| super::unreadable(path, error))
    };
    diff::explain(&mut differences[..shown], &fetch(&arguments.a)?, &fetch(&arguments.b)?);
    match arguments.output {
        OutputFormat::Json => {
            output::json(&Report { same: differences.is_empty(), differences: &differences })?;
        }
        OutputFormat::Text => {
            let mut text: String = differences[..shown].iter().map(describe).collect();
            if shown < differences.len() {
                let _ = writeln!(text, "… and {} more (--most, or -o json)", differences.len() - shown);
            }
            output::text(&text)?;
        }
    }
    Ok(if differences.is_empty() { Outcome::Done } else { Outcome::Different })
}

/// 1 means "different" here, so trouble is 2.
pub(super) fn failure(mut failure: Failure) -> Failure {
    if failure.code != Code::Interrupted {
        failure.code = Code::Usage;
    }
    failure
}

fn digest(path: &Path) -> Result<Digest, Failure> {
    let (mut reader, _) = super::open(path, READING)?;
    let digest = Digest::of(&mut reader, || interrupt::check().is_ok());
    interrupt::check()?;
    digest.map_err(|error| super::unreadable(path, error))
}

fn describe(difference: &Difference) -> String {
    let mut text = String::new();
    let _ = match difference {
        Difference::Window { a, b } => {
            let end = |window: &trace::Window| window.end.map(|end| end.to_string()).unwrap_or_default();
            writeln!(text, "length of the window: {} to {} | {} to {}", a.start, end(a), b.start, end(b))
        }
        Difference::Tracked { kind, a, b } => {
            let how = |tracked: &Option<trace::Tracked>| match tracked {
                Some(tracked) => serde_json::to_string(tracked).unwrap_or_default(),
                None => "not tracked".to_owned(),
            };
            writeln!(text, "tracking of {kind}: {} | {}", how(a), how(b))
        }
        Difference::Missing { object, missing_in, part, count } => {
            let only = match missing_in {
                Side::A => "second",
                Side::B => "first",
            };
            writeln!(
                text,
                "{object}: only in the {only} trace ({})",
                output::count(*count as u64, noun(*part))
            )
        }
        Difference::History { object, part, count_a, count_b, position, a, b, fields } => {
            let (a_count, b_count) = (output::count(*count_a as u64, noun(*part)), *count_b);
            let counts = if count_a == count_b { String::new() } else { format!(" ({a_count} | {b_count})") };
            let entries = format!("{} | {}", entry(a.as_ref()), entry(b.as_ref()));
            let result = writeln!(text, "{object}{counts}: {} {position}: {entries}", noun(*part));
            text.extend(fields.iter().map(field));
            result
        }
        Difference::Gaps { count_a, count_b } => {
            writeln!(text, "gaps: {count_a} | {count_b}, at other times or for other reasons")
        }
    };
    text
}

fn noun(part: Part) -> &'static str {
    match part {
        Part::Changes => "change",
        Part::Lives => "pod life",
    }
}

fn entry(entry: Option<&Entry>) -> String {
    match entry {
        Some(Entry { kind, at_s: Some(at) }) => format!("{kind} at {at:+.3} s"),
        Some(Entry { kind, at_s: None }) => (*kind).to_owned(),
        None => "none".to_owned(),
    }
}

fn field(field: &Field) -> String {
    let show = |value: &Option<Value>| match value {
        Some(value) => shortened(&value.to_string()),
        None => "absent".to_owned(),
    };
    format!("    {}: {} | {}\n", field.path, show(&field.a), show(&field.b))
}

/// Whole objects would bury the line that matters.
fn shortened(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

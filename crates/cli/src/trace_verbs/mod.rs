//! `skctl trace …`: what the five verbs share is how a trace is opened and how its faults are told.

mod cat;
mod convert;
mod diff;
mod generate;
mod info;

use std::io::Read;
use std::path::Path;

use crate::arguments::{Reading, TraceVerb};
use crate::exit::{Code, Failure, Outcome};
use crate::{files, output, progress};

pub(crate) fn run(verb: TraceVerb, progress: progress::Mode) -> Result<Outcome, Failure> {
    match verb {
        TraceVerb::Info(arguments) => info::run(&arguments, progress),
        TraceVerb::Cat(arguments) => cat::run(&arguments),
        TraceVerb::Convert(arguments) => convert::run(&arguments, progress),
        TraceVerb::Diff(arguments) => diff::run(&arguments).map_err(diff::failure),
        TraceVerb::Generate(arguments) => generate::run(&arguments, progress),
    }
}

type Reader = trace::Reader<Box<dyn Read>>;

/// Opens a trace and tells what was understood differently from how it stands there.
fn open(path: &Path, reading: Reading) -> Result<(Reader, Option<u64>), Failure> {
    let input = files::open(path)?;
    let defaults = trace::Limits::default();
    let limits = trace::Limits {
        total_bytes: u64::from(reading.max_size) * 1_000_000_000,
        ratio: u64::from(reading.max_ratio).max(1),
        entries: reading.max_entries,
        ..defaults
    };
    let reader = trace::open(input.reader, limits).map_err(|error| unreadable(path, error))?;
    for note in reader.notes() {
        output::note(note);
    }
    Ok((reader, input.size))
}

/// A trace's own error, with the file's name, the right exit code and a way out.
fn unreadable(path: &Path, error: trace::Error) -> Failure {
    use trace::Error;
    let (code, hint) = match &error {
        Error::NoEvents | Error::Empty => (Code::Nothing, None),
        Error::Damaged { place: trace::Place::Record { record: 1.., .. }, .. } => {
            (Code::Failed, Some("what stands before the damage can be had with --salvage"))
        }
        Error::Limit { what, .. } if what.contains("decompressed") => {
            (Code::Failed, Some("if you trust the file, raise --max-size or --max-ratio"))
        }
        Error::Limit { what, .. } if what.contains("entries") => {
            (Code::Failed, Some("if you trust the file, raise --max-entries"))
        }
        Error::Version { .. } => {
            (Code::Failed, Some("a newer skctl, or the SimKube release that wrote it, can convert it"))
        }
        Error::NotATrace(_) => (
            Code::Failed,
            Some("skctl reads .sktrace files of its own and of SimKube, and their JSON spellings"),
        ),
        _ => (Code::Failed, None),
    };
    let failure = Failure::new(code, error).context(format!("failed to read trace `{}`", path.display()));
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// What happens at an error in the middle of a trace: when salvaging, damage is told and the trace simply ends
/// there, with a gap in place of what is lost.
struct Salvage<'a> {
    path: &'a Path,
    wanted: bool,
    latest: jiff::Timestamp,
    end: Option<jiff::Timestamp>,
}

impl<'a> Salvage<'a> {
    fn new(path: &'a Path, reading: Reading, header: &trace::Header) -> Self {
        Self { path, wanted: reading.salvage, latest: header.window.start, end: header.window.end }
    }

    fn saw(&mut self, record: &trace::Record) {
        self.latest = record.at().map_or(self.latest, |at| at.max(self.latest));
    }

    /// The gap that stands for the lost rest, or the failure if there is nothing to salvage.
    fn gap(&self, error: trace::Error, records: u64) -> Result<trace::Record, Failure> {
        if !(self.wanted && error.is_damage()) {
            return Err(unreadable(self.path, error));
        }
        let records = output::count(records, "record");
        output::warning(&format!("{error}; {records} before it were salvaged"));
        let to = self.end.map_or(self.latest, |end| end.max(self.latest));
        let why = format!("salvaged: {error}");
        Ok(trace::Record::Gap(trace::Gap { from: self.latest, to, why, kinds: Vec::new() }))
    }
}

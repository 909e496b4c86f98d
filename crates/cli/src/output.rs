//! The only place that prints: data to stdout, words to stderr.
#![expect(clippy::print_stderr, reason = "this file owns the streams")]

use std::borrow::Cow;
use std::io::{self, Write};
use std::process::ExitCode;

use serde::Serialize;

use crate::arguments::OutputFormat;
use crate::exit::{Failure, Outcome};

/// Writes data to stdout.
pub(crate) fn data(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

/// Writes words for people to stdout.
pub(crate) fn text(text: &str) -> io::Result<()> {
    data(printable(text).as_bytes())
}

/// Names in traces come from strangers, and a terminal obeys what it is sent: control characters are shown, not
/// obeyed.
fn printable(text: &str) -> Cow<'_, str> {
    let is_control = |character: char| character.is_control() && character != '\n';
    if !text.contains(is_control) {
        return text.into();
    }
    let escaped = |character: char| {
        if is_control(character) { character.escape_default().to_string() } else { character.to_string() }
    };
    text.chars().map(escaped).collect::<String>().into()
}

/// Writes a value as indented JSON to stdout.
pub(crate) fn json<T: Serialize>(value: &T) -> Result<(), Failure> {
    let mut text = serde_json::to_vec_pretty(value).map_err(anyhow::Error::from)?;
    text.push(b'\n');
    Ok(data(&text)?)
}

/// Says something that needs no action.
pub(crate) fn note(text: &str) {
    eprintln!("note: {}", printable(text));
}

/// Says something that the user should look at.
pub(crate) fn warning(text: &str) {
    eprintln!("warning: {}", printable(text));
}

/// Says how it went, as the last line of a command that wrote a file.
pub(crate) fn done(text: &str) {
    eprintln!("{}", printable(text));
}

/// Prints the version, and what it can read.
pub(crate) fn version(format: OutputFormat) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct Answer {
        version: &'static str,
        reads: [&'static str; 3],
        writes: [&'static str; 2],
    }
    let answer = Answer {
        version: env!("CARGO_PKG_VERSION"),
        reads: [trace::sktrace::FORMAT, "simkube/2", "simkube/1"],
        writes: [trace::sktrace::FORMAT, "simkube/2"],
    };
    match format {
        OutputFormat::Json => json(&answer),
        OutputFormat::Text => {
            let reads = answer.reads.join(", ");
            Ok(data(format!("skctl {}\nreads {reads}\n", answer.version).as_bytes())?)
        }
    }
}

/// Prints what went wrong, if anything, and turns it into the exit code.
pub(crate) fn conclude(outcome: Result<Outcome, Failure>) -> ExitCode {
    let failure = match outcome {
        Ok(outcome) => return ExitCode::from(outcome.code()),
        Err(failure) => failure,
    };
    // Whoever reads our output has seen enough (`| head`): not an error of ours.
    let is_broken_pipe = failure.error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    });
    if is_broken_pipe {
        return ExitCode::SUCCESS;
    }
    let causes: Vec<String> = failure.error.chain().map(ToString::to_string).collect();
    eprintln!("error: {}", printable(&causes.join(": ")));
    if let Some(hint) = &failure.hint {
        eprintln!("hint: {hint}");
    }
    ExitCode::from(failure.code as u8)
}

/// A number of bytes for people.
pub(crate) fn bytes(bytes: u64) -> String {
    let units = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} bytes");
    }
    #[expect(clippy::cast_precision_loss, reason = "one digit behind the point is shown")]
    let mut value = bytes as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", units[unit])
}

/// A number with its noun, in the plural where that is right.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let plural = match noun {
        _ if number == 1 => noun.to_owned(),
        "pod life" => "pod lives".to_owned(),
        _ => format!("{noun}s"),
    };
    let digits = number.to_string();
    let mut grouped = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{grouped} {plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_not_obeyed() {
        assert_eq!(printable("a\u{1b}[31m\u{7}\u{9b}\nb"), "a\\u{1b}[31m\\u{7}\\u{9b}\nb");
        assert_eq!(printable("plain … é\n"), "plain … é\n");
    }

    #[test]
    fn sizes_and_counts_read_well() {
        for (given, expected) in [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (999_960, "1.0 MB")] {
            assert_eq!(bytes(given), expected);
        }
        for (number, noun, expected) in [
            (1, "record", "1 record"),
            (1_234_567, "record", "1,234,567 records"),
            (2, "pod life", "2 pod lives"),
        ] {
            assert_eq!(count(number, noun), expected);
        }
    }
}

//! How far a long command has come: a bar on a terminal, a line now and then elsewhere, or JSON for programs.
#![expect(clippy::disallowed_methods, reason = "what is shown to people follows their own clock")]
#![expect(clippy::print_stderr, reason = "plain progress is talk")]

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output;

/// What to show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Mode {
    /// A bar on a terminal, plain lines elsewhere.
    #[default]
    Auto,
    /// One line every five seconds.
    Plain,
    /// One JSON object per second, on stderr.
    Json,
    /// Nothing.
    None,
}

/// Shows progress until dropped.
pub(crate) struct Progress {
    show: Show,
    what: String,
    total: Option<u64>,
    begun: Instant,
    shown: Instant,
}

enum Show {
    Bar(ProgressBar),
    Plain,
    Json,
    Nothing,
}

impl Progress {
    /// `total` is the size of what is read, if known.
    pub(crate) fn new(mode: Mode, what: &str, total: Option<u64>) -> Self {
        let is_terminal =
            std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let show = match mode {
            Mode::Auto if is_terminal => Show::Bar(bar(what, total)),
            Mode::Auto | Mode::Plain => Show::Plain,
            Mode::Json => Show::Json,
            Mode::None => Show::Nothing,
        };
        let now = Instant::now();
        Self { show, what: what.to_owned(), total, begun: now, shown: now }
    }

    /// Tells how many bytes and records are done. Cheap enough to call for every record.
    pub(crate) fn at(&mut self, bytes: u64, records: u64) {
        // Reading the clock for each of a million records would cost more than the records.
        if !records.is_multiple_of(256) {
            return;
        }
        let every = match &self.show {
            Show::Nothing => return,
            Show::Bar(_) => Duration::from_millis(100),
            Show::Json => Duration::from_secs(1),
            Show::Plain => Duration::from_secs(5),
        };
        let now = Instant::now();
        if now.duration_since(self.shown) < every {
            return;
        }
        self.shown = now;
        let seconds = now.duration_since(self.begun).as_secs_f64();
        match &self.show {
            Show::Bar(bar) => {
                bar.set_message(output::count(records, "record"));
                bar.set_position(bytes);
            }
            Show::Plain => {
                let of = self.total.map(|total| format!(" of {}", output::bytes(total))).unwrap_or_default();
                let records = output::count(records, "record");
                eprintln!("{} {}{of}, {records}, {seconds:.0} s", self.what, output::bytes(bytes));
            }
            Show::Json => {
                let line = serde_json::json!({
                    "what": self.what, "bytes": bytes, "total_bytes": self.total, "records": records,
                    "elapsed_s": seconds,
                });
                eprintln!("{line}");
            }
            Show::Nothing => {}
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Show::Bar(bar) = &self.show {
            bar.finish_and_clear();
        }
    }
}

/// One step of work whose size is not known in bytes.
pub(crate) struct Step {
    /// What is being done.
    pub(crate) text: String,
    /// How many of how many.
    pub(crate) done: Option<(usize, usize)>,
    /// How long the rest will take.
    pub(crate) left: Option<Duration>,
}

/// Shows steps until dropped.
pub(crate) struct Steps {
    show: Show,
    what: String,
    begun: Instant,
    /// When and what was shown last: a new kind of step is shown at once.
    shown: Option<(Instant, String)>,
}

impl Steps {
    pub(crate) fn new(mode: Mode, what: &str) -> Self {
        let show = match Progress::new(mode, what, None) {
            Progress { show: Show::Bar(_), .. } => Show::Bar(steps_bar(what)),
            ref progress => match &progress.show {
                Show::Json => Show::Json,
                Show::Nothing => Show::Nothing,
                _ => Show::Plain,
            },
        };
        Self { show, what: what.to_owned(), begun: Instant::now(), shown: None }
    }

    /// Tells where the work is.
    pub(crate) fn at(&mut self, step: &Step) {
        let every = match &self.show {
            Show::Nothing => return,
            Show::Bar(_) => Duration::from_millis(100),
            Show::Json => Duration::from_secs(1),
            Show::Plain => Duration::from_secs(5),
        };
        let now = Instant::now();
        // Modules differ in each line; the first word tells a new kind of step.
        let kind = step.text.split(' ').next().unwrap_or_default();
        if self.shown.as_ref().is_some_and(|(at, last)| last == kind && now.duration_since(*at) < every) {
            return;
        }
        self.shown = Some((now, kind.to_owned()));
        let elapsed = now.duration_since(self.begun).as_secs();
        let done = step.done.map(|(done, total)| format!(" {done} of {total}")).unwrap_or_default();
        let left = step.left.map(|left| format!(", at most {} s left", left.as_secs())).unwrap_or_default();
        match &self.show {
            Show::Bar(bar) => {
                if let Some((done, total)) = step.done {
                    bar.set_length(total as u64);
                    bar.set_position(done as u64);
                }
                bar.set_message(format!("{}{done}{left}", step.text));
            }
            Show::Plain => eprintln!("{}: {}{done}, {elapsed} s{left}", self.what, step.text),
            Show::Json => {
                let line = serde_json::json!({
                    "what": self.what, "step": step.text, "done": step.done.map(|(done, _)| done),
                    "total": step.done.map(|(_, total)| total), "elapsed_s": elapsed,
                    "left_s": step.left.map(|left| left.as_secs()),
                });
                eprintln!("{line}");
            }
            Show::Nothing => {}
        }
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        if let Show::Bar(bar) = &self.show {
            bar.finish_and_clear();
        }
    }
}

fn steps_bar(what: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix} {bar:20} {msg} {elapsed}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_style(style);
    bar.set_prefix(what.to_owned());
    bar
}

fn bar(what: &str, total: Option<u64>) -> ProgressBar {
    let template = match total {
        Some(_) => "{prefix} {bytes}/{total_bytes} {wide_bar} {msg} {eta}",
        None => "{prefix} {bytes} {spinner} {msg} {elapsed}",
    };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr()).with_style(style);
    bar.set_prefix(what.to_owned());
    bar
}

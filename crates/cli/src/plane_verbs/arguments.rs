//! The command line of `skctl plane`, as data.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use jiff::{SignedDuration, Timestamp};

use super::clock::{BusyRate, Slack};
use crate::arguments::OutputFormat;

#[derive(Debug, Subcommand)]
pub(crate) enum PlaneVerb {
    /// Compile the control plane into the cache, or find it there.
    #[command(after_help = "Prints the directory of the binaries; with --with the path of each program.\n\n\
        Example: skctl plane up --run \"$(skctl plane build --with ./cmd/my-scheduler) --verbose\"")]
    Build(Build),
    /// Start a control plane on this machine, in virtual time unless told otherwise.
    #[command(
        after_help = "Ctrl-C stops it in order, a second Ctrl-C at once. With --detach, use `skctl plane down`."
    )]
    Up(Up),
    /// Stop a plane, whoever started it, and remove all of it.
    Down(Which),
    /// Show the time of a plane, its components, their memory and processor time.
    Status(Status),
    /// Run one command beside a plane: KUBECONFIG is set, our kubectl is in PATH.
    #[command(
        after_help = "While the command runs, time passes no faster than in reality, so that it does not miss \
        an hour between two of its requests. A kubectl of ours shows ages by the plane's clock.\n\n\
        Example: skctl plane exec -- kubectl get pods --watch"
    )]
    Exec(Exec),
    /// Print what the components logged.
    #[command(after_help = "Example: tail -F $(skctl plane logs kube-scheduler --path)")]
    Logs(Logs),
    /// Let the time of a plane stand, exactly, until `release`.
    Hold(Which),
    /// Let time go on after `hold`.
    Release(Which),
    /// Check that virtual time works on this machine. It takes a few seconds.
    CheckClock(CheckClock),
}

/// Which plane is meant.
#[derive(Args, Clone, Debug)]
pub(crate) struct Which {
    /// Name of the plane, for when you have more than one.
    #[arg(
        long,
        value_name = "NAME",
        default_value = "default",
        env = "SIMKUBE_PLANE",
        hide_env_values = true
    )]
    pub(crate) name: String,
}

/// Where the binaries come from.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Source {
    /// The go command to start from [default: the one in PATH].
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    pub(crate) go: Option<PathBuf>,

    /// How many compilers at once [default: one per core].
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) jobs: Option<u32>,
}

#[derive(Args, Debug)]
pub(crate) struct Build {
    /// Compile another Go program with the same Go and the same clock: a directory, or PACKAGE@VERSION.
    #[arg(long, value_name = "DIR|PACKAGE@VERSION")]
    pub(crate) with: Vec<String>,

    #[command(flatten)]
    pub(crate) source: Source,
}

#[derive(Args, Debug)]
pub(crate) struct Up {
    #[command(flatten)]
    pub(crate) which: Which,

    /// Return when the plane is ready, and leave it running.
    #[arg(long, short)]
    pub(crate) detach: bool,

    /// Print the commands that would be started, and start nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) time: Time,

    /// Let nodes fail: leases, taints by condition and evictions, as in production.
    #[arg(long)]
    pub(crate) nodes_can_fail: bool,

    /// Stages for KWOK instead of ours.
    #[arg(long, value_name = "FILE")]
    pub(crate) stages: Option<PathBuf>,

    /// Run a program beside the others, with KUBECONFIG set; it ends with them. Can be repeated.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) run: Vec<String>,

    /// Another argument for a component, as kube-scheduler=--config=FILE. Can be repeated.
    #[arg(long, value_name = "COMPONENT=ARGUMENT", allow_hyphen_values = true)]
    pub(crate) arg: Vec<String>,

    /// Start these binaries instead of compiling ours.
    #[arg(long, value_name = "DIR")]
    pub(crate) plane_bin: Option<PathBuf>,

    /// Copy the logs here when the plane stops.
    #[arg(long, value_name = "DIR")]
    pub(crate) keep_logs: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) source: Source,

    #[command(flatten)]
    pub(crate) tuning: Tuning,
}

/// What the time of a plane is.
#[derive(Args, Clone, Debug)]
pub(crate) struct Time {
    /// Where time comes from.
    #[arg(long, value_enum, default_value_t, value_name = "KIND")]
    pub(crate) clock: ClockKind,

    /// The date and time at which virtual time begins, as 2025-03-29T22:20:23Z [default: now].
    #[arg(long, value_name = "TIME")]
    pub(crate) start: Option<Timestamp>,

    /// How late timers may fire so that several fire together: 20ms, or adaptive (5 to 250 ms).
    #[arg(long, value_name = "DURATION", default_value_t)]
    pub(crate) slack: Slack,

    /// Virtual seconds per real second while something is busy, as 1, 1/8 or 0.125.
    #[arg(long, value_name = "RATE", default_value_t)]
    pub(crate) busy_rate: BusyRate,
}

/// Settings of the Go programs.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Tuning {
    /// GOGC of every component; 0 leaves Go's own choice.
    #[arg(long, value_name = "PERCENT", default_value_t = super::up::GOGC, hide_short_help = true)]
    pub(crate) gogc: u32,

    /// GOMAXPROCS of every component [default: 1 in virtual time, else Go's own choice].
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) gomaxprocs: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClockKind {
    /// Real time while something is busy, jumps to the next timer when everything sleeps.
    #[default]
    Virtual,
    /// Real time.
    Wall,
}

#[derive(Args, Debug)]
pub(crate) struct Status {
    #[command(flatten)]
    pub(crate) which: Which,

    /// How to print it.
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: OutputFormat,
}

#[derive(Args, Debug)]
pub(crate) struct Exec {
    #[command(flatten)]
    pub(crate) which: Which,

    /// Let virtual time run while the command does.
    #[arg(long)]
    pub(crate) let_time_run: bool,

    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Args, Debug)]
pub(crate) struct Logs {
    #[command(flatten)]
    pub(crate) which: Which,

    /// Only of this component.
    pub(crate) component: Option<String>,

    /// Print the last N lines of each [default: all of one component, 10 lines of each otherwise].
    #[arg(long, value_name = "N")]
    pub(crate) tail: Option<usize>,

    /// Print where the logs are instead.
    #[arg(long)]
    pub(crate) path: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CheckClock {
    /// How late timers may fire in the check.
    #[arg(long, value_name = "DURATION", default_value = "20ms")]
    pub(crate) slack: SignedDuration,

    /// How to print it.
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: OutputFormat,

    #[command(flatten)]
    pub(crate) source: Source,
}

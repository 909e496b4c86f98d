//! The command line, as data. Verbs and keys here are a contract with scripts: add freely, never rename.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use jiff::{SignedDuration, Timestamp};

use crate::plane_verbs::arguments::PlaneVerb;
use crate::progress;

/// Record what happened in a Kubernetes cluster, replay it, and get the answer.
#[derive(Debug, Parser)]
#[command(name = "skctl", version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Arguments {
    /// How to show progress of long work, on stderr.
    #[arg(long, value_enum, default_value_t, global = true, value_name = "MODE")]
    pub(crate) progress: progress::Mode,

    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Look into traces, convert, compare and make them.
    #[command(subcommand)]
    Trace(TraceVerb),

    /// Run a real control plane on this machine, on a clock that jumps when nothing happens.
    #[command(subcommand)]
    Plane(PlaneVerb),

    /// Print a completion script for your shell.
    #[command(
        after_help = "Example: skctl completions bash > ~/.local/share/bash-completion/completions/skctl"
    )]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },

    /// Print the version, and the trace formats that it reads.
    Version {
        /// How to print it.
        #[arg(short, long, value_enum, default_value_t)]
        output: OutputFormat,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum TraceVerb {
    /// Print what is in a trace: its window, counts, kinds.
    Info(Info),
    /// Print a trace as one JSON record per line, whatever the file's format.
    #[command(after_help = "Example: skctl trace cat web.sktrace | jq -c 'select(.type == \"deleted\")'")]
    Cat(Cat),
    /// Rewrite a trace in another format.
    Convert(Convert),
    /// Compare the objects and times of two traces. Exits with 0 if they are the same, 1 if not.
    Diff(Diff),
    /// Make a synthetic trace. The same options give the same bytes.
    Generate(Generate),
}

/// A trace to read, and how far to trust it.
#[derive(Args, Debug)]
pub(crate) struct Source {
    /// Trace file in any format, or - for stdin.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// Take what can be read before the damage, instead of failing.
    #[arg(long)]
    pub(crate) salvage: bool,

    /// Refuse a trace that is larger than this many GB when decompressed.
    #[arg(long, value_name = "GB", default_value_t = 256, hide_short_help = true)]
    pub(crate) max_size: u32,

    /// Refuse a trace that grows more than this many times when decompressed.
    #[arg(long, value_name = "TIMES", default_value_t = 4000, hide_short_help = true)]
    pub(crate) max_ratio: u32,

    /// Refuse a SimKube trace with more events, lives or indexed objects than this.
    #[arg(long, value_name = "N", default_value_t = 2_000_000, hide_short_help = true)]
    pub(crate) max_entries: usize,
}

#[derive(Args, Debug)]
pub(crate) struct Info {
    #[command(flatten)]
    pub(crate) source: Source,

    /// How to print it.
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: OutputFormat,
}

#[derive(Args, Debug)]
pub(crate) struct Cat {
    #[command(flatten)]
    pub(crate) source: Source,
}

#[derive(Args, Debug)]
pub(crate) struct Convert {
    #[command(flatten)]
    pub(crate) source: Source,

    /// File to write, or - for stdout. An existing one is replaced once the new one is complete.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// Format to write.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) to: TargetFormat,
}

#[derive(Args, Debug)]
pub(crate) struct Diff {
    /// First trace.
    pub(crate) a: PathBuf,

    /// Second trace.
    pub(crate) b: PathBuf,

    /// How to print it.
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: OutputFormat,

    /// Print this many differences; the rest are counted.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) most: usize,
}

#[derive(Args, Debug)]
pub(crate) struct Generate {
    /// File to write, or - for stdout.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// Format to write.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) to: TargetFormat,

    /// Seed of everything random.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Start of the window.
    #[arg(long, value_name = "TIME", default_value = "2025-03-10T09:00:00Z")]
    pub(crate) start: Timestamp,

    /// Length of the window, as 90s, 1h30m or PT2H.
    #[arg(long, value_name = "DURATION", default_value = "1h")]
    pub(crate) duration: SignedDuration,

    /// Deployments that follow a daily curve; a quarter of them roll out a new version.
    #[arg(long, value_name = "N", default_value_t = 24)]
    pub(crate) services: u32,

    /// Containers in each pod of a service.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) containers: u32,

    /// Environment entries in each container of a service.
    #[arg(long, value_name = "N", default_value_t = 6)]
    pub(crate) env: u32,

    /// Objects of kind `CronJob`, firing every few minutes.
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) cronjobs: u32,

    /// How often a burst of Jobs is submitted.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) job_bursts: u32,

    /// Jobs in each burst; one in ten fails at first.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) burst_jobs: u32,

    /// Pods without an owner.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) bare_pods: u32,

    /// Nodes; one of twelve is lost and replaced.
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub(crate) nodes: u32,

    /// Leave out the pod lives.
    #[arg(long)]
    pub(crate) no_lives: bool,
}

/// How a summary or a table is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// The formats that can be written to a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TargetFormat {
    /// Ours: JSON lines in zstd frames.
    #[default]
    Sktrace,
    /// SimKube 2.6 and newer: MessagePack, version 2.
    Simkube,
}

impl From<TargetFormat> for trace::Format {
    fn from(format: TargetFormat) -> Self {
        match format {
            TargetFormat::Sktrace => Self::Sktrace,
            TargetFormat::Simkube => Self::Simkube,
        }
    }
}

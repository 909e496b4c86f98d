//! What traces cost, each row beside a floor in the same run: a plain decode of the same bytes into generic
//! values, which does strictly less (it names nothing, orders nothing, checks nothing).
//!
//! `make bench` runs it; docs/benchmarks.md holds the figures. Arguments of its own (`measure`, `floor`) are how
//! it starts itself as a child, so that time and memory are those of one process.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark measures and prints")]
#![expect(clippy::cast_precision_loss, reason = "ratios are shown with one digit")]

use std::fs;
use std::io::BufRead;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use serde_json::Value;

const SKCTL: &str = env!("CARGO_BIN_EXE_skctl");
/// Runs of each command; the fastest counts, because noise only ever adds.
const RUNS: usize = 5;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["measure", command, ref rest @ ..] => measure_child(command, rest),
        ["floor", kind, file] => println!("{}", floor(kind, Path::new(file))),
        _ => report(),
    }
}

/// Runs one command and prints its wall time in seconds and its peak memory in kB.
fn measure_child(command: &str, arguments: &[&str]) {
    let begin = Instant::now();
    let status = Command::new(command).args(arguments).stdout(std::process::Stdio::null()).status();
    let seconds = begin.elapsed().as_secs_f64();
    assert!(status.expect("the command starts").success(), "{command} {arguments:?} failed");
    let peak = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the kernel counts").max_rss();
    println!("{seconds} {peak}");
}

/// Decodes a file into generic values and returns how many there were.
fn floor(kind: &str, file: &Path) -> usize {
    match kind {
        "msgpack" => {
            let bytes = fs::read(file).expect("the file is there");
            let value: Value = rmp_serde::from_slice(&bytes).expect("it is MessagePack");
            value["events"].as_array().map_or(0, |events| {
                events.iter().map(|event| event["applied_objs"].as_array().map_or(0, Vec::len)).sum()
            })
        }
        "lines" => {
            let file = fs::File::open(file).expect("the file is there");
            let lines = std::io::BufReader::new(zstd::Decoder::new(file).expect("it is zstd")).lines();
            lines.fold(0, |count, line| {
                let value: Value = serde_json::from_str(&line.expect("it reads")).expect("it is JSON");
                count + usize::from(value.is_object())
            })
        }
        other => panic!("no floor called {other}"),
    }
}

#[derive(Clone, Copy)]
struct Cost {
    seconds: f64,
    megabytes: f64,
}

/// The fastest of several runs, and the largest memory among them.
fn cost(runs: usize, command: &str, arguments: &[&str]) -> Cost {
    let myself = std::env::current_exe().expect("we were started from a file");
    let mut best = Cost { seconds: f64::INFINITY, megabytes: 0.0 };
    for _ in 0..runs {
        let output = Command::new(&myself).arg("measure").arg(command).args(arguments).output();
        let output = output.expect("we start again");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("we print numbers");
        let numbers: Vec<f64> = text.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        best.seconds = best.seconds.min(numbers[0]);
        best.megabytes = best.megabytes.max(numbers[1] / 1000.0);
    }
    best
}

fn row(what: &str, cost: Cost, floor: Option<Cost>, target: &str) {
    let beside = floor.map_or("-".to_owned(), |floor| {
        format!("{:.2} s, {:.0} MB ({:.2}x)", floor.seconds, floor.megabytes, cost.seconds / floor.seconds)
    });
    println!("| {what} | {:.2} s | {:.0} MB | {beside} | {target} |", cost.seconds, cost.megabytes);
}

fn report() {
    let directory = tempfile::tempdir().expect("a place for files");
    let file = |name: &str| directory.path().join(name).to_string_lossy().into_owned();
    let (simkube, ours, large) = (file("big.simkube"), file("big.sktrace"), file("gigabyte.sktrace"));
    let only_services =
        ["--cronjobs=0", "--job-bursts=0", "--bare-pods=0", "--nodes=0", "--no-lives", "--duration=1m"];
    let services = |count: &str, to: &str, output: &str| {
        let mut arguments = vec!["trace", "generate", "--containers=3", "--env=20", "--services", count];
        arguments.extend(only_services);
        arguments.extend(["--to", to, "--output", output]);
        cost(1, SKCTL, &arguments)
    };
    println!("20,000 Deployments, 3 containers, 60 environment entries each; fastest of {RUNS} runs\n");
    println!("| what | time | peak memory | floor: plain decode into values | target |");
    println!("| --- | --- | --- | --- | --- |");
    services("20000", "simkube", &simkube);
    let convert = cost(RUNS, SKCTL, &["trace", "convert", &simkube, "-o", &ours]);
    let myself = std::env::current_exe().expect("we were started from a file").to_string_lossy().into_owned();
    let msgpack = cost(RUNS, &myself, &["floor", "msgpack", &simkube]);
    let lines = cost(RUNS, &myself, &["floor", "lines", &ours]);
    let read_simkube = cost(RUNS, SKCTL, &["trace", "info", &simkube]);
    let read_ours = cost(RUNS, SKCTL, &["trace", "info", &ours]);
    row("count records, SimKube's format", read_simkube, Some(msgpack), "0.6 s, 150 MB");
    row("count records, ours", read_ours, Some(lines), "1.0 s, 100 MB");
    row("convert SimKube's to ours", convert, Some(msgpack), "3 s");
    let piped = format!("'{SKCTL}' trace cat '{ours}' | jq -c . > /dev/null");
    let jq = format!("zstdcat '{ours}' | jq -c . > /dev/null");
    let cat = cost(RUNS, SKCTL, &["trace", "cat", &ours]);
    row("cat, ours", cat, Some(lines), "streams");
    row(
        "cat, ours, into jq -c",
        cost(1, "bash", &["-c", &piped]),
        Some(cost(1, "bash", &["-c", &jq])),
        "streams",
    );
    services("380000", "sktrace", &large);
    let read_large = cost(1, SKCTL, &["trace", "info", &large]);
    let plain = cost(1, &myself, &["floor", "lines", &large]);
    row("info, a gigabyte of records", read_large, Some(plain), "150 MB");

    let size = |path: &str| fs::metadata(path).map_or(0, |metadata| metadata.len());
    let (before, after) = (size(&simkube), size(&ours));
    println!(
        "\nsize: {before} bytes in SimKube's format, {after} in ours: 1/{:.1} (target 1/10)",
        before as f64 / after as f64
    );
    println!(
        "the cat | jq row has `zstdcat | jq` beside it; the large trace is {} bytes packed",
        size(&large)
    );
}

//! What a plane costs and how fast its time passes: start, memory, idle speed with 20 nodes, an hour and more of a
//! CronJob, each beside the real time it took; and the same CronJob in real time.
//!
//! `make bench` runs it; docs/plane.md holds the figures. The first run builds the plane.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark measures and prints")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::Value;

const NAME: &str = "benchmark";
/// Real time for each measure of speed.
const WINDOW: Duration = Duration::from_secs(15);
/// In seconds.
const HOUR: f64 = 3600.0;
/// What a start leaves to do is not idleness.
const SETTLE: f64 = 120.0;

fn main() {
    println!(
        "## Start and memory, 20 nodes\n\n| GOGC | ready s | components, s each | MB | speed, slack 100 ms |"
    );
    println!("| --- | --- | --- | --- | --- |");
    for gogc in ["100", "200", "400"] {
        let plane = Up::start(&["--gogc", gogc, "--slack", "100ms"]);
        plane.apply(&nodes(20));
        let idle = plane.speed();
        let status = plane.status();
        let parts: Vec<String> = list(&status["components"])
            .iter()
            .map(|part| format!("{} {:.1}", text(&part["name"]), number(&part["ready_s"])))
            .collect();
        let megabytes = number(&status["rss_bytes"]) / 1e6;
        println!(
            "| {gogc} | {:.1} | {} | {megabytes:.0} | {idle:.0} |",
            number(&status["ready_s"]),
            parts.join(", ")
        );
    }
    println!("\n## Idle, 20 nodes: virtual seconds per real second\n\n| slack | speed |\n| --- | --- |");
    for slack in ["20ms", "100ms", "adaptive"] {
        let plane = Up::start(&["--slack", slack]);
        plane.apply(&nodes(20));
        println!("| {slack} | {:.0} |", plane.speed());
    }
    cronjob();
}

/// One CronJob a minute with pods of 30 s, for three hours of virtual time.
fn cronjob() {
    let plane = Up::start(&["--start", "2025-03-29T22:20:23Z"]);
    plane.apply(&example());
    let (from, begin) = (plane.simulated(), Instant::now());
    plane.wait_until(from + 3.0 * HOUR);
    let (simulated, real) = (plane.simulated() - from, begin.elapsed().as_secs_f64());
    let jobs: Value = serde_json::from_str(&plane.kubectl(&["get", "jobs", "-o", "json"])).expect("JSON");
    let late = list(&jobs["items"])
        .iter()
        .filter(|job| !text(&job["metadata"]["creationTimestamp"]).ends_with(":00Z"))
        .count();
    let count = list(&jobs["items"]).len();
    println!("\n## A CronJob a minute for three hours\n");
    println!(
        "{count} Jobs, {late} of them not in their second; {simulated:.0} s in {real:.1} s: {:.0} times real time",
        simulated / real
    );
    let lives = plane.lives();
    drop(plane);

    let wall = Up::start(&["--clock", "wall"]);
    wall.apply(&example());
    let begin = Instant::now();
    while wall.lives().len() < 3 {
        assert!(begin.elapsed().as_secs() < 600, "three Jobs take less than five minutes");
        std::thread::sleep(Duration::from_secs(1));
    }
    println!(
        "\nSeconds from a Job's minute to its creation, its pod's start, run, end, and its completion:\n"
    );
    println!("* in virtual time, how often: {:?}", counted(&lives));
    println!("* in real time, how often: {:?}", counted(&wall.lives()));
}

/// Each life and how often it occurs.
fn counted(lives: &[Vec<i64>]) -> BTreeMap<&Vec<i64>, usize> {
    lives.iter().fold(BTreeMap::new(), |mut counts, life| {
        *counts.entry(life).or_default() += 1;
        counts
    })
}

/// The documented example, which keeps more Jobs.
fn example() -> String {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/cronjob.yaml");
    let example = std::fs::read_to_string(example).expect("the example is there");
    example.replace("HistoryLimit: 100", "HistoryLimit: 1000")
}

fn nodes(count: usize) -> String {
    (1..=count).fold(String::new(), |mut yaml, index| {
        let _ = writeln!(
            yaml,
            "---\napiVersion: v1\nkind: Node\nmetadata:\n  name: node-{index}\n  annotations: {{kwok.x-k8s.io/node: fake}}"
        );
        yaml
    })
}

/// A running plane, stopped when dropped.
struct Up {
    name: &'static str,
}

impl Up {
    fn start(arguments: &[&str]) -> Self {
        skctl(&[&["up", "--detach", "--name", NAME], arguments].concat());
        Self { name: NAME }
    }

    fn status(&self) -> Value {
        serde_json::from_str(&skctl(&["status", "--name", self.name, "-o", "json"])).expect("JSON")
    }

    fn simulated(&self) -> f64 {
        number(&self.status()["clock"]["simulated_s"])
    }

    fn kubectl(&self, arguments: &[&str]) -> String {
        skctl(&[&["exec", "--name", self.name, "--", "kubectl"], arguments].concat())
    }

    fn apply(&self, yaml: &str) {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), yaml).expect("it is written");
        self.kubectl(&["apply", "-f", file.path().to_str().expect("a plain path")]);
    }

    /// What became of each completed Job, in seconds after its minute.
    fn lives(&self) -> Vec<Vec<i64>> {
        let list_of = |kind| -> Value {
            serde_json::from_str(&self.kubectl(&["get", kind, "-o", "json"])).expect("JSON")
        };
        let (jobs, pods) = (list_of("jobs"), list_of("pods"));
        let life = |job: &Value| {
            let name = text(&job["metadata"]["name"]);
            let minute: i64 = name.rsplit_once('-')?.1.parse().ok()?;
            let of_job = |pod: &&Value| text(&pod["metadata"]["labels"]["job-name"]) == name;
            let pod = list(&pods["items"]).iter().find(of_job)?;
            let ended = &pod["status"]["containerStatuses"][0]["state"]["terminated"];
            let times = [
                &job["metadata"]["creationTimestamp"],
                &pod["status"]["startTime"],
                &ended["startedAt"],
                &ended["finishedAt"],
                &job["status"]["completionTime"],
            ];
            let second =
                |value: &Value| Some(text(value).parse::<Timestamp>().ok()?.as_second() - minute * 60);
            times.into_iter().map(second).collect::<Option<Vec<i64>>>()
        };
        list(&jobs["items"]).iter().filter_map(life).collect()
    }

    fn wait_until(&self, simulated: f64) {
        while self.simulated() < simulated {
            std::thread::sleep(Duration::from_millis(500));
        }
    }

    /// Virtual per real time over the window, after things have settled.
    fn speed(&self) -> f64 {
        self.wait_until(self.simulated() + SETTLE);
        let (from, begin) = (self.simulated(), Instant::now());
        std::thread::sleep(WINDOW);
        (self.simulated() - from) / begin.elapsed().as_secs_f64()
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        skctl(&["down", "--name", self.name]);
    }
}

fn skctl(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_skctl"))
        .arg("plane")
        .args(arguments)
        .output()
        .expect("skctl starts");
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}\n{talk}");
    String::from_utf8(output.stdout).expect("text")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

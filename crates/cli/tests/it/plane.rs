//! A real control plane in virtual time, as users drive it. Nothing here depends on how fast the machine is: conditions
//! are awaited with generous deadlines, and the busy rate keeps slow work from showing in the plane's own times.

use std::process::Output;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::sandbox::Sandbox;

/// A plane of its own in a sandbox. One at a time: each wants a processor or two.
struct Story {
    sandbox: Sandbox,
    _turn: MutexGuard<'static, ()>,
}

impl Story {
    fn begin(up: &str) -> Self {
        let story = Self::turn();
        story.ok(&format!("skctl plane up --detach {up}"));
        story
    }

    fn turn() -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        Self { sandbox: Sandbox::new(), _turn: turn }
    }

    /// What a command prints, which must succeed.
    fn ok(&self, script: &str) -> String {
        let output = self.sandbox.run(script);
        let talk = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script}\n{}{talk}", String::from_utf8_lossy(&output.stdout));
        String::from_utf8(output.stdout).unwrap()
    }

    fn run(&self, script: &str) -> Output {
        self.sandbox.run(script)
    }

    fn status(&self) -> Value {
        serde_json::from_str(&self.ok("skctl plane status -o json")).unwrap()
    }

    fn virtual_time(&self) -> Timestamp {
        time(&self.status()["virtual_time"])
    }

    /// The items of a list, as kubectl prints them.
    fn list(&self, kind: &str) -> Vec<Value> {
        let text = self.ok(&format!("skctl plane exec -- kubectl get {kind} -o json"));
        let list: Value = serde_json::from_str(&text).unwrap();
        list["items"].as_array().unwrap().clone()
    }

    /// Stops it and looks whether anything is left.
    fn end(self) {
        self.ok("skctl plane down");
        self.nothing_is_left();
    }

    fn nothing_is_left(&self) {
        let planes = self.sandbox.state().join("simkube/planes");
        let files: Vec<_> = std::fs::read_dir(&planes).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(files.is_empty(), "files are left: {files:?}");
        assert_eq!(self.processes(), Vec::<String>::new(), "processes are left");
    }

    /// Everything that runs for a plane of this sandbox.
    fn processes(&self) -> Vec<String> {
        let mark = format!("SIMKUBE_PLANE_DIR={}", self.sandbox.state().display());
        let of_plane = |pid: &str| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
            let marked = environment.split(|byte| *byte == 0).any(|word| word.starts_with(mark.as_bytes()));
            let words = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            marked.then(|| String::from_utf8_lossy(&words).replace('\0', " "))
        };
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        entries.filter_map(|entry| of_plane(&entry.file_name().to_string_lossy())).collect()
    }
}

/// Waits for a condition, never for a time. Asking takes processor time from the plane, so pauses between.
#[expect(clippy::disallowed_methods, reason = "a deadline for processes in real time")]
fn eventually<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(begun.elapsed() < Duration::from_secs(600), "{what}: not within ten minutes");
        std::thread::sleep(Duration::from_millis(250));
    }
}

fn time(value: &Value) -> Timestamp {
    value.as_str().unwrap_or_else(|| panic!("no time: {value}")).parse().unwrap()
}

fn seconds(number: i64) -> SignedDuration {
    SignedDuration::from_secs(number)
}

#[test]
fn an_hour_of_a_cronjob_passes_as_it_should() {
    let story = Story::begin("--start 2025-03-29T22:20:23Z --busy-rate 1/1000");
    let status = story.status();
    assert_eq!(
        (&status["clock"]["kind"], &status["clock"]["start"]),
        (&"virtual".into(), &"2025-03-29T22:20:23Z".into())
    );
    assert_eq!(status["clock"]["busy_rate"], 0.001);
    assert_eq!(status["components"].as_array().unwrap().len(), 5);
    // The plane's own first object says when it believes to have started.
    let created =
        story.ok("skctl plane exec -- kubectl get ns default -o jsonpath={.metadata.creationTimestamp}");
    let start: Timestamp = "2025-03-29T22:20:23Z".parse().unwrap();
    let created: Timestamp = created.parse().unwrap();
    assert!(created >= start && created < start + seconds(600), "{created}");

    // A hold is exact, for status as for the API server, and objects can be made meanwhile.
    story.ok("skctl plane hold");
    let held = story.virtual_time();
    story.ok("skctl plane exec -- kubectl apply -f docs/examples/cronjob.yaml");
    assert_eq!(story.virtual_time(), held);
    assert_eq!(story.status()["clock"]["held"], true);
    let cronjobs = story.list("cronjobs");
    let whole =
        held.round(jiff::TimestampRound::new().smallest(jiff::Unit::Second).mode(jiff::RoundMode::Trunc));
    assert_eq!(time(&cronjobs[0]["metadata"]["creationTimestamp"]), whole.unwrap());
    story.ok("skctl plane release");

    eventually("an hour of virtual time", || (story.virtual_time() > held + seconds(3660)).then_some(()));
    let jobs = story.list("jobs");
    let mut minutes = Vec::new();
    for job in &jobs {
        let name = job["metadata"]["name"].as_str().unwrap();
        // The controller names a Job after the minute for which it is.
        let minute: i64 = name.rsplit_once('-').unwrap().1.parse().unwrap();
        let due = Timestamp::from_second(minute * 60).unwrap();
        assert_eq!(time(&job["metadata"]["creationTimestamp"]), due, "{name} was not made in its second");
        minutes.push(due);
    }
    minutes.sort();
    assert!(minutes.windows(2).all(|pair| pair[1] == pair[0] + seconds(60)), "{minutes:?}");
    let within = minutes.iter().filter(|due| **due <= held + seconds(3600)).count();
    assert_eq!(within, 60, "Jobs in the hour after {held}");

    let mut ended = 0;
    for pod in story.list("pods") {
        let state = &pod["status"]["containerStatuses"][0]["state"]["terminated"];
        if state.is_null() {
            continue;
        }
        ended += 1;
        let (from, to) = (time(&state["startedAt"]), time(&state["finishedAt"]));
        let waited = from.duration_since(time(&pod["status"]["startTime"]));
        assert_eq!(
            (waited.as_secs(), to.duration_since(from).as_secs()),
            (2, 30),
            "{}",
            pod["metadata"]["name"]
        );
    }
    assert!(ended >= 59, "only {ended} pods have ended");
    story.end();
}

#[test]
fn time_does_not_jump_beside_a_command_unless_it_may() {
    let story = Story::begin("");
    let look = "skctl plane status -o json | jq -c '[.virtual_time, .real_time]'";
    let both = |exec: &str, script: &str| {
        let text =
            story.ok(&format!("skctl plane exec {exec} -- bash -c '{}'", script.replace('\'', "'\\''")));
        let times: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let passed =
            |index: usize| time(&times[1][index]).duration_since(time(&times[0][index])).as_secs_f64();
        (passed(0), passed(1))
    };
    let (simulated, real) = both("", &format!("{look}; kubectl get pods -A >&2; {look}"));
    assert!(simulated <= real + 0.5, "{simulated} s passed in {real} s beside a command");
    // kubectl is on the plane's clock, so it can wait for an hour of it.
    let wait = "kubectl wait --for=delete --timeout=1h namespace/default >&2";
    let (simulated, _) = both("--let-time-run", &format!("{look}; {wait}; {look}"));
    assert!(simulated >= 3600.0, "only {simulated} s passed");
    assert_eq!(story.run("skctl plane exec -- bash -c 'exit 7'").status.code(), Some(7));
    assert_eq!(story.run("skctl plane exec -- no-such-command").status.code(), Some(1));
    let talk = story.run("skctl plane up --detach");
    assert_eq!(talk.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&talk.stderr).contains("already running"));
    story.end();
}

#[test]
fn a_component_that_dies_ends_the_plane_and_is_named() {
    let story = Story::begin("--name fragile");
    let status = |key: &str| story.ok(&format!("skctl plane status --name fragile -o json | jq -r '{key}'"));
    let pid: i32 =
        status(".components[] | select(.name == \"kube-scheduler\") | .pid").trim().parse().unwrap();
    // Also when time stands: nothing may wait for it.
    story.ok("skctl plane hold --name fragile");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL).unwrap();
    eventually("the end of the plane", || story.processes().is_empty().then_some(()));
    let gone = || story.run("skctl plane status --name fragile").status.code() == Some(3);
    eventually("no plane", || gone().then_some(()));
    let logs = story.ok("skctl plane logs --name fragile supervisor");
    assert!(logs.contains("error: kube-scheduler ended with"), "{logs}");
    // The same name can be used again at once, and a killed supervisor takes everything along.
    story.ok("skctl plane up --detach --name fragile");
    let supervisor: i32 = status(".supervisor_pid").trim().parse().unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(supervisor), nix::sys::signal::Signal::SIGKILL)
        .unwrap();
    eventually("the end of the components", || story.processes().is_empty().then_some(()));
    story.ok("skctl plane down --name fragile");
    story.nothing_is_left();
}

#[test]
fn ctrl_c_stops_a_plane_in_the_foreground_and_twice_at_once() {
    let story = Story::turn();
    for signals in [1, 2] {
        let mut child = story.sandbox.command("exec skctl plane up --keep-logs kept").spawn().unwrap();
        let ready =
            || story.run("skctl plane status | head -n 1").stdout.starts_with(b"plane      default, ready");
        eventually("ready", || ready().then_some(()));
        let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
        for _ in 0..signals {
            nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
        }
        assert_eq!(child.wait().unwrap().code(), Some(0));
        story.nothing_is_left();
    }
    assert!(story.sandbox.path().join("kept/kube-apiserver.log").is_file());
}

#[test]
fn a_program_of_the_users_lives_on_the_same_clock() {
    let program = r#"package main

import (
	"fmt"
	"time"
)

func main() {
	begin := time.Now()
	time.Sleep(20 * time.Minute)
	fmt.Println(time.Since(begin).Seconds(), begin.Year())
	time.Sleep(1 << 62)
}
"#;
    let source = Sandbox::new();
    source.prepare("mkdir mine");
    source.write("mine/go.mod", "module example.org/mine\n\ngo 1.21\n");
    source.write("mine/main.go", program);
    let built = source.run("skctl plane build --with mine");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let binary = String::from_utf8(built.stdout).unwrap().trim().to_owned();
    let run = format!("--run '{binary} --loud'");
    let story = Story::begin(&format!("--start 2031-01-01T00:00:00Z --busy-rate 1/1000 {run}"));
    let said = eventually("twenty minutes", || {
        let text = story.ok("skctl plane logs run-1-mine");
        text.ends_with('\n').then_some(text)
    });
    let (slept, year) = said.trim().split_once(' ').unwrap();
    let slept: f64 = slept.parse().unwrap();
    assert!((1200.0..1200.2).contains(&slept), "{slept} s");
    assert_eq!(year, "2031");
    story.end();
    // It lies in the user's cache, under the name of a directory that nobody will build again.
    std::fs::remove_dir_all(std::path::Path::new(&binary).parent().unwrap()).unwrap();
}

#[test]
fn virtual_time_works_on_this_machine() {
    let sandbox = Sandbox::new();
    let output = sandbox.run("skctl plane check-clock -o json");
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{talk}"));
    assert_eq!(
        (&answer["passed"], output.status.code()),
        (&Value::Bool(true), Some(0)),
        "{answer:#}\n{talk}"
    );
}

//! What a plane does when things go wrong, and that nothing is left behind. Each test has planes of its own.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid};
use simkube_plane::{Ending, Error, Interrupt, NodeLifecycle, Phase, Settings, StartEvent, manage, prepare};
use support::{Api, Place, eventually};

const SOON: Duration = Duration::from_secs(30);

#[test]
fn start_and_stop_leave_no_process_no_file_and_no_port() {
    let here = Place::new();
    let cycles = std::env::var("SIMKUBE_CYCLES").ok().and_then(|count| count.parse().ok()).unwrap_or(3);
    let open_files = || fs::read_dir("/proc/self/fd").unwrap().count();
    let mut after_first = None;
    for cycle in 0..cycles {
        let plane = here.start("cycle", &Settings::default()).unwrap();
        assert_eq!(here.processes().len(), 5);
        let ports = plane.state().ports;
        plane.stop(None, &Interrupt::default()).unwrap();
        here.assert_empty();
        for port in [
            ports.etcd,
            ports.etcd_peer,
            ports.apiserver,
            ports.controller_manager,
            ports.scheduler,
            ports.kwok,
        ] {
            TcpListener::bind((Ipv4Addr::LOCALHOST, port))
                .unwrap_or_else(|error| panic!("port {port}: {error}"));
        }
        // Other tests of this process open files too: allow for them, but not for one per cycle.
        let first = *after_first.get_or_insert_with(open_files);
        assert!(
            open_files() < first + 40,
            "cycle {cycle}: {} files are open, {first} after the first",
            open_files()
        );
    }
}

#[test]
fn a_dropped_plane_is_gone() {
    let here = Place::new();
    drop(here.start("dropped", &Settings::default()).unwrap());
    here.assert_empty();
}

#[test]
fn two_planes_live_side_by_side_and_a_name_is_taken_once() {
    let here = Place::new();
    let one = here.start("one", &Settings::default()).unwrap();
    let two = here.start("two", &Settings::default()).unwrap();
    assert!(matches!(prepare(&here.home, "one"), Err(Error::AlreadyRunning { .. })));
    assert_eq!(manage::names(&here.home).unwrap(), ["one", "two"]);
    let namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: only-here}}";
    Api::of(&one).create("/api/v1/namespaces", namespace);
    assert!(Api::of(&two).get("/api/v1/namespaces/only-here").is_none());
    drop((one, two));
    here.assert_empty();
}

#[test]
fn a_killed_component_is_reported_with_its_last_lines() {
    let here = Place::new();
    for victim in ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"] {
        let plane = here.start("killed", &Settings::default()).unwrap();
        kill(pid_of(&here, "killed", victim), Signal::SIGKILL).unwrap();
        let Ending::Died(death) = plane.watch(&Interrupt::default()) else { panic!("not noticed") };
        // Without etcd the API server gives up as well; whoever is seen first, the plane says so.
        assert!(death.component == victim || victim == "etcd", "{death}");
        assert!(death.how.contains("SIGKILL") || victim == "etcd", "{death}");
        assert!(!death.lines.is_empty(), "{death}");
        plane.stop(None, &Interrupt::default()).unwrap();
        here.assert_empty();
    }
}

#[test]
fn a_component_suspended_for_five_seconds_goes_on() {
    let here = Place::new();
    let plane = here.start("suspended", &Settings::default()).unwrap();
    let api = Api::of(&plane);
    for victim in ["kube-apiserver", "etcd"] {
        let pid = pid_of(&here, "suspended", victim);
        kill(pid, Signal::SIGSTOP).unwrap();
        // Five seconds in which nothing dies.
        assert!(!Interrupt::default().wait(Duration::from_secs(5)));
        assert_eq!(plane.death(), None);
        kill(pid, Signal::SIGCONT).unwrap();
        let name = format!("after-{victim}");
        let namespace = format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}");
        api.create("/api/v1/namespaces", &namespace);
        // The controllers work too: they give every namespace its default account.
        let account = format!("/api/v1/namespaces/{name}/serviceaccounts/default");
        eventually("the controllers work", SOON, || api.get(&account));
    }
    plane.stop(None, &Interrupt::default()).unwrap();
    here.assert_empty();
}

#[test]
fn a_suspended_component_does_not_keep_a_plane_from_stopping() {
    let here = Place::new();
    let plane = here.start("stuck", &Settings::default()).unwrap();
    kill(pid_of(&here, "stuck", "kube-apiserver"), Signal::SIGSTOP).unwrap();
    plane.stop(None, &Interrupt::default()).unwrap();
    here.assert_empty();
}

#[test]
fn a_second_interrupt_stops_at_once() {
    let here = Place::new();
    let plane = here.start("hurry", &Settings::default()).unwrap();
    let interrupt = Interrupt::default();
    interrupt.raise();
    assert_eq!(plane.watch(&interrupt), Ending::Interrupted);
    interrupt.raise();
    plane.stop(None, &interrupt).unwrap();
    here.assert_empty();
}

#[test]
fn an_interrupt_while_starting_undoes_the_start() {
    let here = Place::new();
    let interrupt = Interrupt::default();
    let prepared = prepare(&here.home, "early").unwrap();
    let at_etcd = |event| {
        if matches!(event, StartEvent::Ready { .. }) {
            interrupt.raise();
        }
    };
    let error =
        prepared.start(&here.binaries(), &Settings::default(), &interrupt, &mut { at_etcd }).unwrap_err();
    assert!(matches!(error, Error::Interrupted), "{error}");
    assert_eq!(here.processes(), Vec::<String>::new());
}

#[test]
fn a_port_taken_between_choosing_and_binding_is_replaced() {
    let here = Place::new();
    let layout = simkube_plane::Layout::new(here.home.planes.join("ports"));
    let (mut thief, mut retries) = (None, 0);
    let plane = here.start_telling("ports", &Settings::default(), &mut |event| match event {
        StartEvent::Ready { component, .. } if component == "kube-apiserver" && thief.is_none() => {
            let state = fs::read_to_string(layout.state()).unwrap();
            let state: simkube_plane::State = serde_json::from_str(&state).unwrap();
            thief = Some(TcpListener::bind((Ipv4Addr::LOCALHOST, state.ports.scheduler)).unwrap());
        }
        StartEvent::PortTaken { component } => {
            assert_eq!(component, "kube-scheduler");
            retries += 1;
        }
        StartEvent::Ready { .. } => {}
    });
    let plane = plane.unwrap();
    assert_eq!(retries, 1);
    assert!(Api::of(&plane).get("/api/v1/namespaces/default").is_some());
    drop(plane);
    here.assert_empty();
}

#[test]
fn a_component_that_cannot_start_is_reported_and_only_logs_are_left() {
    let here = Place::new();
    let mut settings = Settings::default();
    settings.extra_args.insert("kube-scheduler".into(), vec!["--no-such-flag".into()]);
    let error = here.start("wrong", &settings).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("kube-scheduler ended with exit code 1"), "{text}");
    assert!(text.contains("no-such-flag"), "{text}");
    assert_eq!(here.processes(), Vec::<String>::new());
    let left: Vec<_> = fs::read_dir(here.home.planes.join("wrong")).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    let logs = manage::logs(&here.home, "wrong").unwrap();
    let lines = simkube_plane::log::last_lines(&logs["kube-scheduler"], 50).unwrap();
    assert!(lines.iter().any(|line| line.contains("no-such-flag")), "{lines:?}");
    // The next start clears them.
    drop(here.start("wrong", &Settings::default()).unwrap());
    here.assert_empty();
}

#[test]
fn a_missing_program_is_an_error_that_names_it() {
    let here = Place::new();
    let settings = Settings { run: vec![vec!["/no/such/autoscaler".into()]], ..Settings::default() };
    let error = here.start("missing", &settings).unwrap_err();
    assert!(matches!(&error, Error::Launch { component, .. } if component == "run-1-autoscaler"), "{error}");
    assert_eq!(here.processes(), Vec::<String>::new());
}

#[test]
fn a_program_of_the_users_runs_beside_and_goes_with_everything_it_started() {
    let here = Place::new();
    let words = ["sh", "-c", "echo $KUBECONFIG; sleep 1000 & sleep 1000"].map(String::from).to_vec();
    let plane = here.start("beside", &Settings { run: vec![words], ..Settings::default() }).unwrap();
    let kubeconfig = plane.layout().kubeconfig().display().to_string();
    let log = plane.layout().log("run-1-sh");
    eventually("its log", SOON, || fs::read_to_string(&log).ok().filter(|text| text.trim() == kubeconfig));
    plane.stop(None, &Interrupt::default()).unwrap();
    here.assert_empty();
}

#[test]
fn logs_can_be_kept_after_the_end() {
    let here = Place::new();
    let kept = here.dir.path().join("kept");
    let plane = here.start("logs", &Settings::default()).unwrap();
    plane.stop(Some(&kept), &Interrupt::default()).unwrap();
    assert!(fs::metadata(kept.join("kube-apiserver.log")).unwrap().len() > 0);
    here.assert_empty();
}

#[test]
fn a_full_disk_stops_the_start_with_a_message() {
    if !Uid::effective().is_root() {
        return skip("only root can make a small disk");
    }
    for size in ["64k", "6m"] {
        let here = Place::new();
        let disk = Disk::mount(&here.home.planes, &format!("size={size}"));
        let error = here.start("full", &Settings::default()).unwrap_err();
        let hint = error.hint();
        assert_eq!(here.processes(), Vec::<String>::new(), "{size}");
        match size {
            "64k" => {
                assert!(matches!(error, Error::Certificates(_) | Error::File { .. }), "{error:?} {hint:?}");
            }
            _ => assert!(
                matches!(error, Error::Died(_) | Error::NotReady { .. } | Error::File { .. }),
                "{error:?}"
            ),
        }
        drop(disk);
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_an_error_with_a_hint() {
    let here = Place::new();
    fs::create_dir_all(&here.home.planes).unwrap();
    let _disk = if Uid::effective().is_root() {
        Some(Disk::mount(&here.home.planes, "ro"))
    } else {
        let mut permissions = fs::metadata(&here.home.planes).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&here.home.planes, permissions).unwrap();
        None
    };
    let error = prepare(&here.home, "denied").unwrap_err();
    assert!(error.hint().is_some_and(|hint| hint.contains("XDG_STATE_HOME")), "{error:?}");
}

#[test]
fn nodes_fail_for_the_controllers_when_leases_are_on() {
    let here = Place::new();
    let settings = Settings { nodes: NodeLifecycle::Leases { seconds: 40 }, ..Settings::default() };
    let plane = here.start("leases", &settings).unwrap();
    let api = Api::of(&plane);
    let node =
        "{apiVersion: v1, kind: Node, metadata: {name: node-1, annotations: {kwok.x-k8s.io/node: fake}}}";
    api.create("/api/v1/nodes", node);
    let taints = || Some(api.get("/api/v1/nodes/node-1")?["spec"]["taints"].to_string());
    eventually("a ready node has no taint", SOON, || taints().filter(|taints| taints == "null"));
    eventually("a lease", SOON, || {
        api.get("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-1")
    });
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, image: a}], tolerations: \
               [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 1}]}}";
    api.create("/api/v1/namespaces/default/pods", pod);
    let pod = "/api/v1/namespaces/default/pods/p";
    eventually("the pod runs", SOON, || api.get(pod).filter(|pod| pod["status"]["phase"] == "Running"));
    // Kubernetes evicts nothing while all nodes fail: another one has to be well.
    api.create("/api/v1/nodes", &node.replace("node-1", "node-2"));
    eventually("another node", SOON, || {
        api.get("/api/v1/nodes/node-2").filter(|node| node["status"].to_string().contains("KubeletReady"))
    });
    api.merge("/api/v1/nodes/node-1", r#"{"metadata":{"annotations":{"simkube.io/not-ready":"PowerCut"}}}"#);
    eventually("the taint", SOON, || {
        taints().filter(|taints| taints.contains("node.kubernetes.io/not-ready"))
    });
    eventually("the pod is evicted", SOON, || api.get(pod).is_none().then_some(()));
    drop(plane);
    here.assert_empty();
}

/// Not a test: the process that the tests below detach and kill. It is this test binary, started again.
#[test]
fn supervisor() {
    let Ok(planes) = std::env::var("SIMKUBE_TEST_PLANES") else { return };
    let mut here = Place::new();
    here.home.planes = planes.into();
    // Before any thread is started, as in a program's main.
    let interrupt = Interrupt::listen().unwrap();
    let plane = here.start("detached", &Settings::default()).unwrap();
    plane.watch(&interrupt);
    plane.stop(None, &interrupt).unwrap();
}

fn supervisor_command(here: &Place) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "supervisor", "--test-threads=1"]).env("SIMKUBE_TEST_PLANES", &here.home.planes);
    command
}

#[test]
fn a_detached_plane_is_seen_used_and_stopped_by_other_processes() {
    let here = Place::new();
    let status = manage::detach(&here.home, "detached", supervisor_command(&here), SOON * 3).unwrap();
    assert!(status.alive && status.phase == Phase::Ready);
    assert_eq!(status.components.len(), 5);
    assert!(
        status.components.iter().all(|c| c.alive && c.rss_bytes > 0 && c.ready_s.is_some()),
        "{status:?}"
    );
    let args = ["get", "namespaces", "-o", "name"].map(Into::into);
    let output =
        manage::command(&here.home, "detached", "kubectl".as_ref(), &args).unwrap().output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("namespace/default"), "{output:?}");
    let logs = manage::logs(&here.home, "detached").unwrap();
    assert_eq!(logs.len(), 6, "five components and their supervisor: {logs:?}");
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/cronjob.yaml");
    let args = ["apply", "-f", example].map(Into::into);
    let output =
        manage::command(&here.home, "detached", "kubectl".as_ref(), &args).unwrap().output().unwrap();
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("cronjob.batch/every-minute created"),
        "{output:?}"
    );
    manage::down(&here.home, "detached").unwrap();
    here.assert_empty();
    assert!(matches!(manage::status(&here.home, "detached"), Err(Error::NotRunning { .. })));
}

#[test]
fn a_failed_detached_start_tells_why() {
    let here = Place::new();
    let mut supervisor = Command::new("sh");
    supervisor.args(["-c", "echo it has no legs >&2; exit 3"]);
    let error = manage::detach(&here.home, "detached", supervisor, SOON).unwrap_err();
    assert!(error.to_string().contains("it has no legs"), "{error}");
    here.assert_empty();
}

#[test]
fn what_a_killed_supervisor_leaves_is_removed_by_the_next_start() {
    let here = Place::new();
    let mut supervisor = Guard(supervisor_command(&here).stdout(Stdio::null()).spawn().unwrap());
    let ready = || manage::status(&here.home, "detached").ok().filter(|status| status.phase == Phase::Ready);
    let status = eventually("the plane is ready", SOON * 3, ready);
    supervisor.0.kill().unwrap();
    supervisor.0.wait().unwrap();
    // The kernel ends the components; only files are left.
    eventually("the components die with it", SOON, || here.processes().is_empty().then_some(()));
    assert!(!here.status("detached").alive);
    assert!(status.dir.join("etcd").is_dir());
    let prepared = prepare(&here.home, "detached").unwrap();
    assert!(!status.dir.join("etcd").exists());
    drop(prepared.start(&here.binaries(), &Settings::default(), &Interrupt::default(), &mut |_| {}).unwrap());
    here.assert_empty();
}

#[test]
fn leftover_processes_are_ended_and_a_recycled_number_is_not_ours() {
    let here = Place::new();
    let plane = here.start("left", &Settings::default()).unwrap();
    let mut state = serde_json::to_value(plane.state()).unwrap();
    drop(plane);
    let sleep = || Guard(Command::new("sleep").arg("1000").process_group(0).spawn().unwrap());
    let (mut ours, mut stranger) = (sleep(), sleep());
    let marked =
        Command::new("sleep").arg("1000").env("SIMKUBE_PLANE_DIR", here.home.planes.join("left")).spawn();
    let mut marked = Guard(marked.unwrap());
    let identity = |child: &Guard| {
        let identity = simkube_plane::Identity::of(i32::try_from(child.0.id()).unwrap()).unwrap();
        serde_json::to_value(identity).unwrap()
    };
    let mut recycled = identity(&stranger);
    recycled["started_ticks"] = (recycled["started_ticks"].as_u64().unwrap() - 1).into();
    state["components"][0]["process"] = identity(&ours);
    state["components"][1]["process"] = recycled;
    fs::create_dir_all(here.home.planes.join("left")).unwrap();
    fs::write(here.home.planes.join("left/plane.json"), state.to_string()).unwrap();
    let reaper = std::thread::spawn(move || (ours.0.wait().unwrap(), marked.0.wait().unwrap()));
    manage::down(&here.home, "left").unwrap();
    reaper.join().unwrap();
    assert!(stranger.0.try_wait().unwrap().is_none(), "a stranger was killed");
    here.assert_empty();
}

fn pid_of(here: &Place, plane: &str, component: &str) -> Pid {
    let status = here.status(plane);
    Pid::from_raw(status.components.iter().find(|found| found.name == component).unwrap().pid)
}

#[expect(clippy::print_stderr, reason = "a test that proves nothing must say so")]
fn skip(why: &str) {
    eprintln!("skipped: {why}");
}

/// A child that does not outlive its test.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A small file system in memory, gone with its value.
struct Disk(std::path::PathBuf);

impl Disk {
    fn mount(at: &std::path::Path, options: &str) -> Self {
        fs::create_dir_all(at).unwrap();
        let mut command = Command::new("mount");
        let status = command.args(["-t", "tmpfs", "-o", options, "simkube-test"]).arg(at).status().unwrap();
        assert!(status.success());
        Self(at.into())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

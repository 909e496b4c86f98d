//! Every stage through the real KWOK: an object goes in (`stages/CASE.yaml`), and comes out as recorded
//! (`golden/CASE.json`). One plane for all cases, which run beside each other because most of them wait.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use simkube_plane::{Interrupt, Settings};
use support::{Api, Place, assert_golden, eventually};

const PODS: &str = "/api/v1/namespaces/default/pods";
const NODES: &str = "/api/v1/nodes";
const PATIENCE: Duration = Duration::from_secs(40);

#[test]
fn every_stage_makes_the_recorded_object() {
    let here = Place::new();
    let plane = here.start("stages", &Settings::default()).unwrap();
    let api = Api::of(&plane);
    // The scheduler puts every pod here: the only node that exists while they are scheduled.
    check_node(&api, "node-initialize-bare", "Ready", "True");
    let cases: &[fn(&Api)] = &[
        starts_at_once_without_annotations,
        waits_in_creation_with_its_first_init_container_running,
        starts_after_its_delay_with_init_containers_done_and_sidecars_running,
        becomes_ready_after_its_delay,
        ends_at_an_absolute_time_although_it_changed,
        fails_with_exit_code_and_reason,
        ends_before_a_readiness_that_is_due_later,
        crashes_restarts_at_once_and_backs_off_the_second_time,
        ends_after_its_restarts,
        ignores_words_where_numbers_should_be,
        is_deleted_after_the_time_it_takes_to_stop,
        is_reported_failed_before_a_finalizer_lets_it_go,
        a_job_replaces_a_deleted_pod,
    ];
    thread::scope(|scope| {
        for case in cases {
            scope.spawn(|| case(&api));
        }
    });
    check_node(&api, "node-initialize-sized", "Ready", "True");
    a_node_fails_and_recovers(&api);
    plane.stop(None, &Interrupt::default()).unwrap();
    here.assert_empty();
}

fn starts_at_once_without_annotations(api: &Api) {
    check_pod(api, "pod-start", "/status/phase", "Running");
}

fn waits_in_creation_with_its_first_init_container_running(api: &Api) {
    check_pod(api, "pod-create", "/status/containerStatuses/0/state/waiting/reason", "PodInitializing");
}

fn starts_after_its_delay_with_init_containers_done_and_sidecars_running(api: &Api) {
    let pod = check_pod(api, "pod-start-delayed", "/status/phase", "Running");
    let started = seconds(&pod, "/status/containerStatuses/0/state/running/startedAt");
    assert_about(started - seconds(&pod, "/status/startTime"), 2);
}

fn becomes_ready_after_its_delay(api: &Api) {
    let pod = check_pod(api, "pod-ready", "/status/containerStatuses/0/ready", "true");
    let conditions = pod.pointer("/status/conditions").unwrap().as_array().unwrap();
    let ready = conditions.iter().find(|condition| condition["type"] == "Ready").unwrap();
    let since = seconds(ready, "/lastTransitionTime");
    assert_about(since - seconds(&pod, "/status/containerStatuses/0/state/running/startedAt"), 2);
}

fn ends_at_an_absolute_time_although_it_changed(api: &Api) {
    create_pod(api, "pod-end");
    let path = format!("{PODS}/pod-end");
    wait(api, &path, "/status/phase", "Running");
    api.merge(&path, r#"{"metadata":{"labels":{"changed":"yes"}}}"#);
    let pod = golden_pod(api, "pod-end", "/status/phase", "Succeeded");
    let end = seconds(&pod, "/status/containerStatuses/0/state/terminated/finishedAt");
    assert_about(end - seconds(&pod, "/status/startTime"), 4);
}

fn fails_with_exit_code_and_reason(api: &Api) {
    check_pod(api, "pod-end-failed", "/status/phase", "Failed");
}

fn ends_before_a_readiness_that_is_due_later(api: &Api) {
    check_pod(api, "pod-end-unready", "/status/phase", "Succeeded");
}

fn crashes_restarts_at_once_and_backs_off_the_second_time(api: &Api) {
    // The first restart comes at once, and is the one recorded.
    check_pod(api, "pod-crash", "/status/containerStatuses/0/restartCount", "1");
    golden_pod(
        api,
        "pod-crash-again",
        "/status/containerStatuses/0/state/waiting/reason",
        "CrashLoopBackOff",
    );
    let path = format!("{PODS}/pod-crash");
    let pod = wait(api, &path, "/status/containerStatuses/0/restartCount", "2");
    let crashed = seconds(&pod, "/status/containerStatuses/0/lastState/terminated/finishedAt");
    assert_about(seconds(&pod, "/status/containerStatuses/0/state/running/startedAt") - crashed, 10);
}

fn ends_after_its_restarts(api: &Api) {
    check_pod(api, "pod-restart", "/status/phase", "Succeeded");
}

fn ignores_words_where_numbers_should_be(api: &Api) {
    check_pod(api, "pod-words", "/status/phase", "Running");
}

fn is_deleted_after_the_time_it_takes_to_stop(api: &Api) {
    create_pod(api, "pod-delete");
    let path = format!("{PODS}/pod-delete");
    wait(api, &path, "/status/phase", "Running");
    api.send("DELETE", &path, "", "");
    let pod = wait(api, &path, "/metadata/deletionGracePeriodSeconds", "30");
    assert_eq!(pod.pointer("/status/phase"), Some(&json!("Running")), "still stopping");
    eventually("pod-delete is gone", PATIENCE, || api.get(&path).is_none().then_some(()));
}

fn is_reported_failed_before_a_finalizer_lets_it_go(api: &Api) {
    create_pod(api, "pod-stop");
    let path = format!("{PODS}/pod-stop");
    wait(api, &path, "/status/phase", "Running");
    api.send("DELETE", &path, "", "");
    golden_pod(api, "pod-stop", "/metadata/deletionGracePeriodSeconds", "0");
    api.merge(&path, r#"{"metadata":{"finalizers":null}}"#);
    eventually("pod-stop is gone", PATIENCE, || api.get(&path).is_none().then_some(()));
}

fn a_job_replaces_a_deleted_pod(api: &Api) {
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    api.create(jobs, &read("job"));
    let list = format!("{PODS}?labelSelector=job-name%3Djob");
    let pods = |phase: &str| {
        let pods = api.get(&list)?["items"].as_array()?.clone();
        let name = |pod: &Value| pod["metadata"]["name"].as_str().unwrap().to_owned();
        Some(pods.iter().filter(|pod| pod["status"]["phase"] == phase).map(name).collect::<Vec<_>>())
    };
    let running = || pods("Running").filter(|names| !names.is_empty()).map(|names| names[0].clone());
    let first = eventually("the job's pod runs", PATIENCE, running);
    api.send("DELETE", &format!("{PODS}/{first}"), "", "");
    let second = eventually("another pod runs", PATIENCE, || running().filter(|name| *name != first));
    eventually("the first is gone", PATIENCE, || api.get(&format!("{PODS}/{first}")).is_none().then_some(()));
    assert_ne!(first, second);
}

fn a_node_fails_and_recovers(api: &Api) {
    let path = format!("{NODES}/node-initialize-sized");
    api.merge(&path, r#"{"metadata":{"annotations":{"simkube.io/not-ready":"PowerCut"}}}"#);
    let node = wait_node(api, &path, "Ready", "False");
    assert!(node.to_string().contains("PowerCut"));
    api.merge(&path, r#"{"metadata":{"annotations":{"simkube.io/not-ready":null}}}"#);
    wait_node(api, &path, "Ready", "True");
}

fn check_pod(api: &Api, case: &str, pointer: &str, value: &str) -> Value {
    create_pod(api, case);
    golden_pod(api, case, pointer, value)
}

fn create_pod(api: &Api, case: &str) {
    api.create(PODS, &read(case));
}

fn golden_pod(api: &Api, case: &str, pointer: &str, value: &str) -> Value {
    let name = case.trim_end_matches("-again");
    let pod = wait(api, &format!("{PODS}/{name}"), pointer, value);
    compare(case, &pod);
    pod
}

fn check_node(api: &Api, case: &str, condition: &str, status: &str) {
    api.create(NODES, &read(case));
    compare(case, &wait_node(api, &format!("{NODES}/{case}"), condition, status));
}

fn wait(api: &Api, path: &str, pointer: &str, value: &str) -> Value {
    let reached = |object: &Value| {
        let text = match object.pointer(pointer) {
            Some(Value::String(found)) => found.clone(),
            Some(found) => found.to_string(),
            None => return false,
        };
        text == value
    };
    eventually(&format!("{path} {pointer} = {value}"), PATIENCE, || api.get(path).filter(reached))
}

fn wait_node(api: &Api, path: &str, kind: &str, status: &str) -> Value {
    eventually(&format!("{path} {kind} = {status}"), PATIENCE, || {
        let node = api.get(path)?;
        let conditions = node["status"]["conditions"].as_array()?;
        conditions.iter().any(|c| c["type"] == kind && c["status"] == status).then_some(node)
    })
}

/// The status is what a stage makes; times and addresses are checked elsewhere or not at all.
fn compare(case: &str, object: &Value) {
    let status = mask(&object["status"]);
    let text = serde_json::to_string_pretty(&status).unwrap() + "\n";
    assert_golden(&directory("golden").join(format!("{case}.json")), &text);
}

fn mask(value: &Value) -> Value {
    match value {
        Value::String(text) if text.parse::<Timestamp>().is_ok() => json!("<time>"),
        Value::Array(items) => items.iter().map(mask).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| match name.as_str() {
                "podIP" | "ip" | "Port" => (name.clone(), json!("<some>")),
                _ => (name.clone(), mask(value)),
            })
            .collect(),
        other => other.clone(),
    }
}

fn seconds(object: &Value, pointer: &str) -> i64 {
    let text =
        object.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("{pointer} in {object}"));
    text.parse::<Timestamp>().unwrap().as_second()
}

/// The API's times have whole seconds, and a loaded machine may be late; it must never be early.
fn assert_about(found: i64, wanted: i64) {
    assert!((wanted..=wanted + 2).contains(&found), "{found} s instead of {wanted} s");
}

fn read(case: &str) -> String {
    std::fs::read_to_string(directory("stages").join(format!("{case}.yaml"))).unwrap()
}

fn directory(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

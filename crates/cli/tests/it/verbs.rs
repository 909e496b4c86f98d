//! What each verb prints, and its exit code. Accept changes with `make generate`, after looking at them.

use super::sandbox::Sandbox;

/// Runs each command in one sandbox and compares all of it with the snapshot of that name.
fn check(name: &str, sandbox: &Sandbox, scripts: &[&str]) {
    let shown: Vec<String> = scripts.iter().map(|script| sandbox.shows(script)).collect();
    insta::assert_snapshot!(name, shown.join("\n"));
}

/// Two small traces that differ in a replica count, a time and an object.
fn two_traces() -> Sandbox {
    let sandbox = Sandbox::new();
    let header = r#"{"type":"header","format":"sktrace/1","window":{"start":"2025-03-10T09:00:00Z","end":"2025-03-10T09:10:00Z"},"source":{"kubernetes":"v1.35.2"},"tracked":{"apps/v1.Deployment":{"pod_lives":true}},"redacted":["env-values"]}"#;
    let web = |at: &str, replicas: u32| {
        format!(
            r#"{{"type":"applied","at":"2025-03-10T09:{at}Z","object":{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"web","namespace":"shop"}},"spec":{{"replicas":{replicas}}}}}}}"#
        )
    };
    let config = |kind: &str, at: &str| {
        format!(
            r#"{{"type":"{kind}","at":"2025-03-10T09:{at}Z","object":{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"flags","namespace":"shop"}}}}}}"#
        )
    };
    let life = |finished: &str, code: i32| {
        format!(
            r#"{{"type":"life","owner":{{"apiVersion":"apps/v1","kind":"Deployment","namespace":"shop","name":"web"}},"template":"simkube:7","created":"2025-03-10T09:00:01.25Z","started":"2025-03-10T09:00:03Z","finished":"2025-03-10T09:{finished}Z","node":"node-1","exit_code":{code}}}"#
        )
    };
    let gap =
        r#"{"type":"gap","from":"2025-03-10T09:04:00Z","to":"2025-03-10T09:04:30Z","why":"the watch broke"}"#;
    let file = |lines: &[&str]| format!("{header}\n{}\n", lines.join("\n"));
    sandbox.write(
        "a.jsonl",
        file(&[&web("00:01", 2), &life("05:00", 0), &config("applied", "01:00"), &web("02:00.5", 3)]),
    );
    sandbox.write(
        "b.jsonl",
        file(&[
            &web("00:01", 2),
            &life("06:30", 137),
            gap,
            &config("applied", "01:07"),
            &web("02:00.5", 5),
            &config("deleted", "03:00"),
        ]),
    );
    sandbox.prepare("skctl trace convert a.jsonl -o a.sktrace && skctl trace convert b.jsonl -o b.sktrace");
    sandbox
}

#[test]
fn info() {
    let sandbox = two_traces();
    check(
        "info",
        &sandbox,
        &[
            "skctl trace info b.sktrace",
            "skctl trace info b.sktrace -o json",
            "skctl trace info examples/web-hour.sktrace",
            "skctl trace info - < a.jsonl",
        ],
    );
}

#[test]
fn cat() {
    check("cat", &two_traces(), &["skctl trace cat a.sktrace"]);
}

#[test]
fn convert() {
    let sandbox = two_traces();
    check(
        "convert",
        &sandbox,
        &[
            "skctl trace convert b.sktrace -o b.simkube --to simkube",
            "skctl trace info b.simkube",
            "skctl trace convert b.simkube -o b.back",
            "skctl trace cat b.back",
            "skctl trace convert b.back -o - --to simkube | cmp - b.simkube",
        ],
    );
}

#[test]
fn diff() {
    check(
        "diff",
        &two_traces(),
        &[
            "skctl trace diff a.sktrace a.jsonl",
            "skctl trace diff a.sktrace b.sktrace",
            "skctl trace diff a.sktrace b.sktrace --most 1",
            "skctl trace diff a.sktrace b.sktrace -o json",
            "skctl trace diff a.sktrace missing.sktrace",
            "skctl trace diff - b.sktrace",
        ],
    );
}

#[test]
fn generate() {
    check(
        "generate",
        &Sandbox::new(),
        &[
            "skctl trace generate --services 2 --cronjobs 1 --job-bursts 0 --nodes 0 --bare-pods 1 --duration 10m -o small.sktrace",
            "skctl trace info small.sktrace",
            "skctl trace generate --services 2 --seed 7 --to simkube -o small.simkube",
            "skctl trace generate --nodes 99999999 -o no.sktrace",
            "skctl trace generate --duration=-1h -o no.sktrace",
            "skctl trace generate --duration soon -o no.sktrace",
        ],
    );
}

#[test]
fn version_and_usage() {
    check(
        "version_and_usage",
        &Sandbox::new(),
        &[
            "skctl version",
            "skctl version -o json",
            "skctl",
            "skctl trace",
            "skctl trace inof x",
            "skctl trace convert x",
        ],
    );
}

#[test]
fn completions_are_scripts_that_their_shell_accepts() {
    let sandbox = Sandbox::new();
    sandbox.prepare("skctl completions bash > skctl.bash && bash -n skctl.bash");
    let script = String::from_utf8(sandbox.read("skctl.bash")).unwrap();
    assert!(script.contains("generate") && script.contains("--salvage"));
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        assert!(!sandbox.run(&format!("skctl completions {shell}")).stdout.is_empty(), "{shell}");
    }
}

#[test]
fn cat_streams_into_jq_and_ends_quietly_with_its_reader() {
    let sandbox = Sandbox::new();
    let output = sandbox.run(
        "set -o pipefail; skctl trace cat examples/web-hour.sktrace | jq -c 'select(.type == \"deleted\") | .object.kind' | sort | uniq -c",
    );
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"Job\""));
    sandbox.prepare("skctl trace generate --services 2000 -o large.sktrace");
    let output =
        sandbox.run("skctl trace cat large.sktrace | head -n 1 | jq -r .format; echo ${PIPESTATUS[0]}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "sktrace/1\n0\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    sandbox.prepare("zstdcat large.sktrace | cmp - <(skctl trace cat large.sktrace)");
}

#[test]
fn progress_is_told_in_the_way_asked_for() {
    let sandbox = Sandbox::new();
    let talk = |script: &str| String::from_utf8(sandbox.run(script).stderr).unwrap();
    // Short work says nothing but its result, in every mode that is not a terminal's.
    for mode in ["auto", "plain", "json", "none"] {
        let talk = talk(&format!("skctl --progress {mode} trace generate --services 2 -o a.sktrace"));
        assert!(talk.starts_with("wrote ") && talk.lines().count() == 1, "{mode}: {talk}");
    }
    assert!(
        talk("skctl --progress loud trace info a.sktrace")
            .contains("[possible values: auto, plain, json, none]")
    );
}

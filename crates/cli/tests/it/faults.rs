//! What goes wrong with files: a clear error, the right exit code, and the old output untouched.

use std::io::Write;
use std::process::Stdio;

use super::sandbox::Sandbox;

/// A sandbox with a good trace and a damaged copy, and an old output that must survive.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.prepare("skctl trace generate --services 350 --env 500 --no-lives -o good.sktrace");
    let mut damaged = sandbox.read("good.sktrace");
    let late = damaged.len() * 9 / 10;
    damaged[late] ^= 0x10;
    sandbox.write("flipped.sktrace", &damaged);
    sandbox.write("cut.sktrace", &damaged[..damaged.len() / 2]);
    sandbox.write("old.sktrace", "precious");
    sandbox
}

fn check(name: &str, sandbox: &Sandbox, scripts: &[&str]) {
    let shown: Vec<String> = scripts.iter().map(|script| sandbox.shows(script)).collect();
    // Offsets and counts of compressed bytes move with every change of the generator; exit codes do not.
    let lines = shown.iter().flat_map(|text| text.lines());
    let filtered: Vec<String> = lines
        .map(|line| if line.starts_with("-- exit code") { line.to_owned() } else { without_numbers(line) })
        .collect();
    insta::assert_snapshot!(name, filtered.join("\n"));
}

fn without_numbers(line: &str) -> String {
    let mut filtered = String::new();
    let mut in_number = false;
    for character in line.chars() {
        if character.is_ascii_digit() || (in_number && character == ',') {
            in_number = true;
            continue;
        }
        if std::mem::take(&mut in_number) {
            filtered.push('#');
        }
        filtered.push(character);
    }
    if in_number {
        filtered.push('#');
    }
    filtered
}

#[test]
fn unreadable_input() {
    let sandbox = sandbox();
    sandbox.write("empty", "");
    sandbox.write("text", "hello");
    sandbox.write("newer.jsonl", "{\"type\":\"header\",\"format\":\"sktrace/9\"}\n");
    sandbox.write(
        "no-events.json",
        r#"{"version":2,"config":{"trackedObjects":{}},"events":[],"index":{},"pod_lifecycles":{}}"#,
    );
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    sandbox.write("deep.json", deep);
    sandbox.write("deep.msgpack", vec![0x91; 100_000]);
    sandbox.prepare("mkdir folder");
    check(
        "unreadable_input",
        &sandbox,
        &[
            "skctl trace info missing.sktrace",
            "skctl trace info folder",
            "skctl trace info empty",
            "skctl trace info text",
            "skctl trace info newer.jsonl",
            "skctl trace info no-events.json",
            "skctl trace info deep.json",
            "skctl trace info deep.msgpack",
            "skctl trace info flipped.sktrace",
            "skctl trace info cut.sktrace",
        ],
    );
}

#[test]
fn damaged_input_can_be_salvaged() {
    let sandbox = sandbox();
    check(
        "salvage",
        &sandbox,
        &[
            "skctl trace info flipped.sktrace --salvage | head -n 3",
            "skctl trace convert flipped.sktrace -o old.sktrace; cat old.sktrace",
            "skctl trace convert flipped.sktrace -o salvaged.sktrace --salvage",
            "skctl trace cat salvaged.sktrace | jq -r 'select(.type == \"gap\") | .why'",
            "skctl trace cat cut.sktrace --salvage | tail -n 1 | jq -r .gaps",
            "skctl trace cat cut.sktrace | jq -c .type | sort | uniq -c | wc -l",
        ],
    );
}

#[test]
fn output_that_cannot_be_written() {
    let sandbox = sandbox();
    sandbox.prepare("mkdir folder && ln -s good.sktrace link && ln good.sktrace hard");
    check(
        "unwritable_output",
        &sandbox,
        &[
            "skctl trace convert good.sktrace -o good.sktrace",
            "skctl trace convert good.sktrace -o ./folder/../good.sktrace",
            "skctl trace convert link -o good.sktrace",
            "skctl trace convert hard -o good.sktrace",
            "skctl trace convert good.sktrace -o folder",
            "skctl trace convert good.sktrace -o nowhere/x.sktrace",
            "skctl trace convert good.sktrace -o /dev/full",
            "skctl trace cat good.sktrace > /dev/full",
        ],
    );
    sandbox.prepare("cmp link hard && skctl trace info good.sktrace");
}

#[test]
fn a_full_disk_leaves_the_old_file_and_no_other() {
    let sandbox = sandbox();
    let before = sandbox.names();
    // A limit on file size fails writes in the middle, as a full disk does; the signal for it is ignored.
    let output = sandbox.run("trap '' XFSZ; ulimit -f 8; skctl trace convert good.sktrace -o old.sktrace");
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{talk}");
    assert!(
        talk.starts_with("error: failed to write `old.sktrace`: failed to write the trace: File too large"),
        "{talk}"
    );
    assert_eq!(sandbox.read("old.sktrace"), b"precious");
    assert_eq!(sandbox.names(), before);
}

#[test]
fn outputs_are_private_links_stay_links_and_modes_are_kept() {
    let sandbox = sandbox();
    sandbox.prepare("skctl trace convert good.sktrace -o new.sktrace");
    sandbox.prepare(
        "chmod 0644 old.sktrace && ln -s old.sktrace link && skctl trace convert good.sktrace -o link",
    );
    let modes = sandbox.run("stat -c '%a %F' new.sktrace old.sktrace link");
    assert_eq!(
        String::from_utf8_lossy(&modes.stdout),
        "600 regular file\n644 regular file\n777 symbolic link\n"
    );
    sandbox.prepare("skctl trace diff old.sktrace good.sktrace");
}

#[test]
fn a_link_to_a_file_that_is_not_there_yet_stays_a_link() {
    let sandbox = sandbox();
    sandbox.prepare("ln -s later.sktrace link && skctl trace convert good.sktrace -o link && test -L link");
    sandbox.prepare("cmp later.sktrace <(skctl trace convert good.sktrace -o -)");
}

#[test]
fn names_from_a_trace_do_not_reach_the_terminal_as_commands() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "odd.jsonl",
        concat!(
            r#"{"type":"header","format":"sktrace/1","window":{"start":"2025-01-01T00:00:00Z","end":null}}"#,
            "\n",
            r#"{"type":"initial","object":{"apiVersion":"v1","kind":"\u001b[31mPod","metadata":{"name":"a\u0007"}}}"#,
            "\n"
        ),
    );
    let shown = sandbox
        .run("skctl trace info odd.jsonl; skctl trace diff odd.jsonl examples/web-hour.sktrace")
        .stdout;
    assert!(!shown.contains(&0x1b) && !shown.contains(&7), "{}", String::from_utf8_lossy(&shown));
}

#[test]
fn a_pipe_that_was_named_and_left_is_an_error_and_stdout_is_not() {
    let sandbox = sandbox();
    let output =
        sandbox.run("mkfifo pipe; head -c 1 pipe > /dev/null & skctl trace convert good.sktrace -o pipe");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stderr).contains("nobody reads at the other end"));
}

#[test]
fn a_trace_from_a_pipe_is_counted_in_bytes_too() {
    let sandbox = Sandbox::new();
    let mut child = sandbox
        .command("exec skctl trace info - -o json")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let file =
        sandbox.run("skctl trace convert examples/web-hour.sktrace --to simkube -o - 2>/dev/null").stdout;
    child.stdin.take().unwrap().write_all(&file).unwrap();
    let output = child.wait_with_output().unwrap();
    let info: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(info["bytes"], file.len());
}

#[test]
fn an_interrupted_conversion_leaves_nothing_behind_and_exits_130() {
    let sandbox = sandbox();
    let before = sandbox.names();
    // Reading from a pipe that stays open holds the command where we want it.
    let mut child = sandbox
        .command("exec skctl trace convert - -o old.sktrace")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let lines = sandbox.run("skctl trace cat good.sktrace").stdout;
    let (first, rest) = lines.split_at(lines.len() / 2);
    pipe.write_all(first).unwrap();
    // The pipe holds 64 KiB: so much was taken that the output was begun, and the handler is installed.
    let id = nix::unistd::Pid::from_raw(child.id().cast_signed());
    nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGINT).unwrap();
    // A write may fail once the command is gone; either way it ends.
    let _ = pipe.write_all(rest);
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(sandbox.read("old.sktrace"), b"precious");
    assert_eq!(sandbox.names(), before);
}

//! What goes wrong with planes before anything is started: the words, the way out, the exit code.

use super::sandbox::Sandbox;

#[test]
fn verbs_without_a_plane() {
    let sandbox = Sandbox::new();
    let scripts = [
        "skctl plane status",
        "skctl plane down",
        "skctl plane exec -- kubectl get nodes",
        "skctl plane hold --name other",
        "skctl plane logs",
        "skctl plane down --name ../x",
    ];
    let shown: Vec<String> = scripts.iter().map(|script| sandbox.shows(script)).collect();
    insta::assert_snapshot!("plane_missing", shown.join("\n"));
}

#[test]
fn settings_that_make_no_sense() {
    let sandbox = Sandbox::new();
    sandbox.prepare("mkdir empty");
    let scripts = [
        "skctl plane up --clock wall --start 2025-03-29T22:20:23Z",
        "skctl plane up --busy-rate 0",
        "skctl plane up --slack 2s",
        "skctl plane up --start yesterday",
        "skctl plane up --run \"it's\" --dry-run",
        "skctl plane up --arg scheduler=--v=4 --dry-run",
        "skctl plane up --plane-bin empty 2>&1 | sed \"s#$PWD#DIR#\"",
        "skctl plane up --plane-bin nowhere",
        "skctl plane exec",
        "skctl plane build --with example.org/it",
        "PATH=${PATH%%:*} skctl plane build --with ./empty --go nowhere/go",
    ];
    let shown: Vec<String> = scripts.iter().map(|script| sandbox.shows(script)).collect();
    insta::assert_snapshot!("plane_settings", shown.join("\n"));
    assert!(!sandbox.state().join("simkube/planes/default").exists(), "something was started");
}

#[test]
fn binaries_without_the_clock_are_refused_in_virtual_time() {
    let sandbox = Sandbox::new();
    sandbox.prepare("mkdir bin && for program in etcd kube-apiserver kube-controller-manager kube-scheduler kwok; do cp /bin/true bin/$program; done");
    let output = sandbox.run("skctl plane up --plane-bin bin");
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(12), "{talk}");
    assert!(
        talk.contains("was built without the virtual clock") && talk.contains("hint: use `--clock wall`"),
        "{talk}"
    );
}

#[test]
fn a_dry_run_prints_what_would_be_started_and_starts_nothing() {
    let sandbox = Sandbox::new();
    let print = |more: &str| {
        let output = sandbox.run(&format!("skctl plane up --dry-run {more}"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let plain = print("");
    for part in ["# etcd\n", "# kwok\n", "SIMKUBE_CLOCK=", "GOMAXPROCS=1", "--unsafe-no-fsync=true"] {
        assert!(plain.contains(part), "{part}\n{plain}");
    }
    let wall = print("--clock wall --nodes-can-fail --run 'my controller --loud' --arg kube-scheduler=--v=4");
    assert!(!wall.contains("SIMKUBE_CLOCK") && !wall.contains("GOMAXPROCS"), "{wall}");
    for part in ["--node-monitor-grace-period=", "# run-1-my\n", "  --v=4"] {
        assert!(wall.contains(part), "{part}\n{wall}");
    }
    assert_eq!(sandbox.names(), Vec::<String>::new());
}

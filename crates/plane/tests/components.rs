//! The arguments of every component, as `plane up --dry-run` prints them, against recorded ones.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::path::PathBuf;

use simkube_plane::build::Binaries;
use simkube_plane::component::{dry_run, waves};
use simkube_plane::{Layout, NodeLifecycle, Ports, Settings};
use support::assert_golden;

fn printed(settings: &Settings) -> String {
    let dir = tempfile::tempdir().unwrap();
    for program in ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"] {
        let path = dir.path().join(program);
        std::fs::write(&path, "").unwrap();
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let binaries = Binaries::given(dir.path()).unwrap();
    let ports = Ports { etcd: 1, etcd_peer: 2, apiserver: 3, controller_manager: 4, scheduler: 5, kwok: 6 };
    let waves = waves(&Layout::new("/plane".into()), ports, &binaries, settings);
    dry_run(&waves).replace(&binaries.dir().display().to_string(), "/bin")
}

#[test]
fn the_default_plane_is_started_with_the_recorded_arguments() {
    let golden = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/dry-run.txt");
    assert_golden(&golden, &printed(&Settings::default()));
}

#[test]
fn each_setting_changes_what_it_says_and_nothing_else() {
    let lines = |settings: &Settings| printed(settings).lines().map(str::to_owned).collect::<Vec<_>>();
    let usual = lines(&Settings::default());
    let check = |change: fn(&mut Settings), expected: &[&str]| {
        let mut settings = Settings::default();
        change(&mut settings);
        let new: Vec<_> = lines(&settings).into_iter().filter(|line| !usual.contains(line)).collect();
        assert_eq!(new, expected);
    };
    check(|_| {}, &[]);
    check(
        |settings| settings.nodes = NodeLifecycle::Leases { seconds: 80 },
        &[
            "  --disable-admission-plugins=ServiceAccount \\",
            "  '--controllers=*,-node-ipam-controller' \\",
            "  --node-monitor-grace-period=100s",
            "  --node-lease-duration-seconds=80",
        ],
    );
    check(
        |settings| {
            settings.extra_args.insert("kube-scheduler".into(), vec!["--config=/x y".into()]);
        },
        &["  '--config=/x y'"],
    );
    check(
        |settings| settings.run = vec![["/a/karpenter", "--port", "8"].map(String::from).to_vec()],
        &["# run-1-karpenter", "KUBECONFIG=/plane/kubeconfig /a/karpenter \\", "  --port \\", "  8"],
    );
}

#[test]
fn the_clock_reaches_every_component() {
    let mut settings = Settings { gogc: Some(400), gomaxprocs: Some(1), ..Settings::default() };
    settings.env.insert("SIMKUBE_CLOCK".into(), "/plane/clock".into());
    let text = printed(&settings);
    assert_eq!(text.matches("\nGOGC=400 GOMAXPROCS=1 SIMKUBE_CLOCK=/plane/clock /bin/").count(), 5, "{text}");
}

//! Building with a Go that only pretends: every path of the cache without compiling anything.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use simkube_plane::build::{self, BuildSettings, Error, OverlayInput, Progress};
use simkube_plane::recipe;

/// A cache and a pretended Go in a directory of their own.
struct Workshop {
    dir: tempfile::TempDir,
}

impl Workshop {
    /// `build` is the shell text that runs for `go build`; `$out` is where binaries go.
    fn new(version: &str, build: &str) -> Self {
        let workshop = Self { dir: tempfile::tempdir().unwrap() };
        workshop.write_go(version, build);
        workshop
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write_go(&self, version: &str, build: &str) {
        let root = self.path("goroot");
        let text = format!(
            "#!/bin/sh
echo \"$@\" >> {calls}
case $1 in
env) printf 'go{version}\\n{root}\\n{modules}\\n' ;;
list) echo a; echo b; echo c/d; echo 'go: downloading example.org/m v1.0.0' >&2 ;;
mod) echo '{{\"Dir\": \"{modules}/toolchain\"}}' ;;
build|install)
  while [ $# -gt 1 ]; do [ \"$1\" = -o ] && out=$2; shift; done
  {build} ;;
esac
",
            calls = self.path("calls").display(),
            root = root.display(),
            modules = self.path("modules").display(),
        );
        write_program(&root.join("bin/go"), &text);
        // The toolchain that `go mod download` would fetch: the same pretended Go, not executable, as Go delivers it.
        let fetched = self.path("modules/toolchain/bin/go");
        write_program(&fetched, &text);
        fs::set_permissions(&fetched, fs::Permissions::from_mode(0o444)).unwrap();
    }

    fn settings(&self) -> BuildSettings {
        let go = Some(self.path("goroot/bin/go"));
        BuildSettings { cache: self.path("cache"), go, ..BuildSettings::default() }
    }

    fn calls(&self, verb: &str) -> usize {
        let text = fs::read_to_string(self.path("calls")).unwrap_or_default();
        text.lines().filter(|line| line.starts_with(verb)).count()
    }

    fn build(&self) -> Result<(PathBuf, Vec<Progress>), Error> {
        let mut told = Vec::new();
        let binaries = build::build(&self.settings(), &mut |progress| told.push(progress))?;
        Ok((binaries.dir().into(), told))
    }
}

fn write_program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = fs::remove_file(path);
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

const GOOD: &str = "echo a >&2; echo c/d >&2; for p in server kube-apiserver kube-controller-manager kube-scheduler \
                    kubectl kwok; do echo $p > $out/$p; done";

fn pinned() -> &'static str {
    recipe::go_version()
}

#[test]
fn a_second_build_returns_at_once_without_go() {
    let workshop = Workshop::new(pinned(), GOOD);
    let (dir, told) = workshop.build().unwrap();
    assert!(dir.join("etcd").is_file(), "the package `server` becomes etcd");
    assert!(told.contains(&Progress::Downloading { module: "example.org/m v1.0.0".into() }), "{told:?}");
    assert!(told.contains(&Progress::Compiling { done: 2, total: 3, left: None }), "{told:?}");
    assert_eq!(workshop.calls("build"), 1);
    fs::remove_dir_all(workshop.path("goroot")).unwrap();
    let (again, told) = workshop.build().unwrap();
    assert_eq!((again, told), (dir, Vec::new()));
}

#[test]
fn another_clock_is_another_build() {
    let workshop = Workshop::new(pinned(), GOOD);
    let overlay = |key: &str| Some(OverlayInput { json: "overlay.json".into(), key: key.into() });
    let settings = |key| BuildSettings { overlay: overlay(key), ..workshop.settings() };
    let one = build::build(&settings("one"), &mut |_| {}).unwrap();
    let two = build::build(&settings("two"), &mut |_| {}).unwrap();
    assert_ne!(one.dir(), two.dir());
    let calls = fs::read_to_string(workshop.path("calls")).unwrap();
    assert!(calls.contains("-overlay overlay.json"), "{calls}");
}

#[test]
fn a_damaged_binary_is_noticed_and_built_again() {
    let workshop = Workshop::new(pinned(), GOOD);
    let (dir, _) = workshop.build().unwrap();
    fs::write(dir.join("kwok"), "kwoK\n").unwrap();
    assert_eq!(build::cached(&workshop.settings()).unwrap(), None);
    let (_, told) = workshop.build().unwrap();
    assert!(told.contains(&Progress::Corrupt { program: "kwok".into() }), "{told:?}");
    assert_eq!(fs::read_to_string(dir.join("kwok")).unwrap(), "kwok\n");
}

#[test]
fn an_interrupted_build_leaves_nothing_that_counts() {
    let workshop = Workshop::new(pinned(), "echo half > $out/server; kill -9 $$");
    workshop.build().unwrap_err();
    assert_eq!(build::cached(&workshop.settings()).unwrap(), None);
    workshop.write_go(pinned(), GOOD);
    let (dir, _) = workshop.build().unwrap();
    assert_eq!(fs::read_to_string(dir.join("etcd")).unwrap(), "server\n");
    let left: Vec<_> = fs::read_dir(workshop.path("cache/plane")).unwrap().flatten().collect();
    assert!(!left.iter().any(|entry| entry.file_name().to_string_lossy().ends_with("partial")), "{left:?}");
}

#[test]
fn of_two_builds_at_once_one_waits_and_finds_the_others_work() {
    let gate = "while [ ! -e $out/../../../../open ]; do sleep 0.05; done; ";
    let workshop = Workshop::new(pinned(), &format!("{gate}{GOOD}"));
    let told = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let run = || {
            let settings = workshop.settings();
            let mut tell = |progress| {
                if progress == Progress::Waiting {
                    // The second one waits: now the first may finish.
                    fs::write(workshop.path("open"), "").unwrap();
                }
                told.lock().unwrap().push(progress);
            };
            build::build(&settings, &mut tell).unwrap().dir().to_owned()
        };
        let (one, two) = (scope.spawn(run), scope.spawn(run));
        assert_eq!(one.join().unwrap(), two.join().unwrap());
    });
    assert_eq!(workshop.calls("build"), 1);
}

#[test]
fn another_go_fetches_the_pinned_one_and_copies_it_with_its_execute_bits() {
    let workshop = Workshop::new("1.21.3", GOOD);
    let (_, told) = workshop.build().unwrap();
    assert_eq!(told[0], Progress::Toolchain { version: pinned().into() });
    assert_eq!(workshop.calls("mod download -json golang.org/toolchain@v0.0.1-go"), 1);
    let toolchain = build::toolchain(&workshop.settings(), &mut |_| {}).unwrap();
    assert!(toolchain.goroot.starts_with(workshop.path("cache/toolchain")));
    assert_eq!(fs::metadata(&toolchain.go).unwrap().permissions().mode() & 0o777, 0o755);
}

#[test]
fn no_go_old_go_no_network_and_no_disk_each_have_a_way_out() {
    let check = |version: &str, build: &str, kind: &str, hint: &str| {
        let workshop = Workshop::new(version, build);
        let error = workshop.build().unwrap_err();
        assert!(format!("{error:?}").starts_with(kind), "{error:?}");
        assert!(error.hint().unwrap().contains(hint), "{:?}", error.hint());
    };
    let fail = |text: &str| format!("echo '{text}' >&2; exit 1");
    check("1.20.1", GOOD, "OldGo", "Go 1.21");
    check(pinned(), &fail("go: x: dial tcp: lookup proxy: no such host"), "Network", "GOPROXY");
    check(pinned(), &fail("link: no space left on device"), "NoSpace", "GOCACHE");
    let workshop = Workshop::new(pinned(), GOOD);
    fs::remove_dir_all(workshop.path("goroot")).unwrap();
    let error = workshop.build().unwrap_err();
    assert!(matches!(error, Error::NoGo { .. }), "{error:?}");
    assert!(error.hint().unwrap().contains("--plane-bin"));
}

#[test]
fn another_program_is_built_with_the_same_settings() {
    let workshop = Workshop::new(pinned(), "echo it > $out");
    let source = workshop.path("my-scheduler");
    fs::create_dir_all(&source).unwrap();
    let program = source.display().to_string().parse().unwrap();
    let overlay = Some(OverlayInput { json: "overlay.json".into(), key: "k".into() });
    let settings = BuildSettings { overlay, ..workshop.settings() };
    let binary = build::build_other(&settings, &program, &mut |_| {}).unwrap();
    assert_eq!(binary.file_name().unwrap(), "my-scheduler");
    assert_eq!(fs::read_to_string(binary).unwrap(), "it\n");
    let calls = fs::read_to_string(workshop.path("calls")).unwrap();
    assert!(calls.contains("-overlay overlay.json"), "{calls}");
}

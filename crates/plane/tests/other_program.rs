//! A Go program of the user's, built with the plane's Go and run beside the plane.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::fs;
use std::time::Duration;

use simkube_plane::build::{self, BuildSettings, OtherProgram};
use simkube_plane::{Interrupt, Settings};
use support::{Place, eventually};

const MAIN: &str = r#"package main

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

func main() {
	fmt.Println(runtime.Version(), os.Getenv("KUBECONFIG"))
	time.Sleep(time.Hour)
}
"#;

#[test]
fn a_directory_is_built_and_runs_beside_the_others() {
    let here = Place::new();
    let source = here.dir.path().join("my-controller");
    fs::create_dir_all(&source).unwrap();
    fs::write(source.join("go.mod"), "module example.org/my-controller\n\ngo 1.21\n").unwrap();
    fs::write(source.join("main.go"), MAIN).unwrap();
    let settings = BuildSettings { cache: here.dir.path().join("cache"), ..BuildSettings::default() };
    let binary = build::build_other(&settings, &OtherProgram::Directory(source), &mut |_| {}).unwrap();

    let run = vec![vec![binary.display().to_string()]];
    let plane = here.start("other", &Settings { run, ..Settings::default() }).unwrap();
    let log = plane.layout().log("run-1-my-controller");
    let expected =
        format!("go{} {}", simkube_plane::recipe::go_version(), plane.layout().kubeconfig().display());
    let said = || fs::read_to_string(&log).ok().filter(|text| text.trim() == expected);
    eventually("it runs", Duration::from_secs(30), said);
    assert_eq!(here.status("other").components.len(), 6);
    plane.stop(None, &Interrupt::default()).unwrap();
    here.assert_empty();
}

//! A plane in a directory of its own, and questions to its API server.
#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(clippy::allow_attributes, reason = "expect would fail in the binary that uses everything")]

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use simkube_plane::build::{self, Binaries, BuildSettings, OverlayInput};
use simkube_plane::https::{Answer, Client};
use simkube_plane::{Error, Home, Interrupt, Layout, Plane, Settings, StartEvent, manage, prepare};

/// Planes in a temporary directory, binaries from the user's cache.
pub(crate) struct Place {
    pub(crate) home: Home,
    pub(crate) dir: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = Home { cache: Home::from_env().unwrap().cache, planes: dir.path().join("planes") };
        Self { home, dir }
    }

    /// The user's binaries, built on the first use on this machine. With the clock in them, as skctl has them: one
    /// build serves everything, and without its variable in the environment they live in real time.
    pub(crate) fn binaries(&self) -> Binaries {
        let goarch = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
        let key = clock::overlay::key(goarch);
        let dir = self.home.cache.join("overlay").join(&key);
        let overlay = Some(OverlayInput { json: dir.join("overlay.json"), key });
        let settings = BuildSettings { cache: self.home.cache.clone(), overlay, ..BuildSettings::default() };
        if let Some(binaries) = build::cached(&settings).unwrap() {
            return binaries;
        }
        let toolchain = build::toolchain(&settings, &mut |_| {}).unwrap();
        clock::overlay::prepare(&toolchain.goroot, goarch, &dir).unwrap();
        build::build(&settings, &mut |_| {}).unwrap()
    }

    pub(crate) fn start(&self, name: &str, settings: &Settings) -> Result<Plane, Error> {
        self.start_telling(name, settings, &mut |_| {})
    }

    pub(crate) fn start_telling(
        &self,
        name: &str,
        settings: &Settings,
        event: &mut dyn FnMut(StartEvent),
    ) -> Result<Plane, Error> {
        prepare(&self.home, name)?.start(&self.binaries(), settings, &Interrupt::default(), event)
    }

    /// Nothing of any plane here is left: no file, no process.
    pub(crate) fn assert_empty(&self) {
        let left: Vec<_> = std::fs::read_dir(&self.home.planes).into_iter().flatten().flatten().collect();
        assert!(left.is_empty(), "files are left: {left:?}");
        assert_eq!(self.processes(), Vec::<String>::new(), "processes are left");
    }

    /// Command lines of everything that runs for a plane of this place.
    pub(crate) fn processes(&self) -> Vec<String> {
        let planes = self.home.planes.to_string_lossy().into_owned();
        let of_plane = |pid: &str| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
            let marked = environment.split(|byte| *byte == 0).any(|variable| {
                String::from_utf8_lossy(variable).starts_with(&format!("SIMKUBE_PLANE_DIR={planes}"))
            });
            let words = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            marked.then(|| String::from_utf8_lossy(&words).replace('\0', " "))
        };
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        entries.filter_map(|entry| of_plane(&entry.file_name().to_string_lossy())).collect()
    }

    pub(crate) fn status(&self, name: &str) -> manage::Status {
        manage::status(&self.home, name).unwrap()
    }
}

/// The API server of a plane, asked as its administrator.
pub(crate) struct Api {
    client: Client,
    port: u16,
}

impl Api {
    pub(crate) fn of(plane: &Plane) -> Self {
        Self::at(plane.layout(), plane.state().ports.apiserver)
    }

    pub(crate) fn at(layout: &Layout, port: u16) -> Self {
        let pem = |file: &str| layout.pki(file);
        Self { client: Client::new(&pem("ca.crt"), &pem("admin.crt"), &pem("admin.key")).unwrap(), port }
    }

    pub(crate) fn get(&self, path: &str) -> Option<Value> {
        let answer = self.client.get(self.port, path).ok()?;
        (answer.status == 200).then(|| serde_json::from_slice(&answer.body).unwrap())
    }

    pub(crate) fn send(&self, method: &str, path: &str, content: &str, body: &str) -> Answer {
        let answer = self.client.request(self.port, method, path, content, body.as_bytes()).unwrap();
        let text = String::from_utf8_lossy(&answer.body);
        assert!((200..300).contains(&answer.status), "{method} {path}: {} {text}", answer.status);
        answer
    }

    pub(crate) fn create(&self, path: &str, yaml: &str) {
        self.send("POST", path, "application/yaml", yaml);
    }

    pub(crate) fn merge(&self, path: &str, json: &str) {
        self.send("PATCH", path, "application/merge-patch+json", json);
    }
}

/// Waits for a condition, never for a time.
#[expect(clippy::disallowed_methods, reason = "the condition is about processes in real time")]
pub(crate) fn eventually<T>(what: &str, within: Duration, mut condition: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(begun.elapsed() < within, "{what}: not within {within:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Compares with a recorded file; `UPDATE_GOLDEN=1` records it anew.
pub(crate) fn assert_golden(path: &Path, found: &str) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, found).unwrap();
    }
    let recorded = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(found, recorded, "{} differs; record it anew with UPDATE_GOLDEN=1", path.display());
}

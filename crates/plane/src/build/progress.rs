//! How far a build is, from the lines that Go prints.

use std::time::Duration;

/// One thing worth telling the person who waits for a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// Another process builds into the same cache; we wait for it.
    Waiting,
    /// A cached binary is not what was built; everything is built again.
    Corrupt {
        /// The binary that failed its checksum.
        program: String,
    },
    /// The pinned Go release is being fetched.
    Toolchain {
        /// Its version.
        version: String,
    },
    /// A Go module is being downloaded.
    Downloading {
        /// Its path and version.
        module: String,
    },
    /// Packages are being compiled.
    Compiling {
        /// Packages compiled so far.
        done: usize,
        /// Packages in the build; some may already be in Go's cache and are then never compiled.
        total: usize,
        /// The rest at the pace so far: an upper bound, for the same reason.
        left: Option<Duration>,
    },
    /// Binaries are being checked and put in place.
    Storing,
}

/// Counts the lines of `go build -v`.
#[derive(Debug)]
pub(crate) struct Counter {
    done: usize,
    total: usize,
}

impl Counter {
    pub(crate) fn new(total: usize) -> Self {
        Self { done: 0, total }
    }

    /// What `line` tells, if anything. Everything else (warnings, errors) is kept by the caller.
    pub(crate) fn read(&mut self, line: &str, elapsed: Duration) -> Option<Progress> {
        if let Some(module) = line.strip_prefix("go: downloading ") {
            return Some(Progress::Downloading { module: module.trim().into() });
        }
        if !is_package(line) {
            return None;
        }
        // Go may name a package twice (as a tool and as a dependency); never say more than all.
        self.done = (self.done + 1).min(self.total);
        let left = (self.done >= 20).then(|| left(elapsed, self.done, self.total));
        Some(Progress::Compiling { done: self.done, total: self.total, left })
    }
}

fn left(elapsed: Duration, done: usize, total: usize) -> Duration {
    let (done, rest) = (u32::try_from(done).unwrap_or(u32::MAX), total.saturating_sub(done));
    Duration::from_secs((elapsed / done.max(1) * u32::try_from(rest).unwrap_or(u32::MAX)).as_secs())
}

/// `go build -v` prints a bare import path per compiled package.
fn is_package(line: &str) -> bool {
    !line.is_empty()
        && !line.starts_with('#')
        && line.chars().all(|c| c.is_ascii_alphanumeric() || "/.-_~+".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_and_downloads_are_told_apart_from_talk() {
        let mut counter = Counter::new(40);
        let mut read = |line: &str| counter.read(line, Duration::from_secs(10));
        assert_eq!(
            read("go: downloading k8s.io/api v0.36.4"),
            Some(Progress::Downloading { module: "k8s.io/api v0.36.4".into() })
        );
        assert_eq!(read("internal/goarch"), Some(Progress::Compiling { done: 1, total: 40, left: None }));
        assert_eq!(read("# k8s.io/api"), None);
        assert_eq!(read("x.go:3:1: undefined: y"), None);
        for _ in 0..18 {
            read("k8s.io/api/core/v1");
        }
        let left = Some(Duration::from_secs(10));
        assert_eq!(read("a/b"), Some(Progress::Compiling { done: 20, total: 40, left }));
    }

    #[test]
    fn more_lines_than_packages_never_exceed_the_total() {
        let mut counter = Counter::new(1);
        counter.read("a", Duration::ZERO);
        let last = counter.read("b", Duration::ZERO);
        assert_eq!(last, Some(Progress::Compiling { done: 1, total: 1, left: None }));
    }
}

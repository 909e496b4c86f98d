//! Why binaries could not be obtained, and the way out of each.

use std::io;
use std::path::PathBuf;

/// Why the plane's binaries are not there.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no Go to build with.
    #[error("found no Go to build the plane with (looked for `{program}`)")]
    NoGo {
        /// What was looked for.
        program: String,
    },
    /// The Go that was found cannot fetch another one.
    #[error("Go {found} is too old to fetch Go {wanted}")]
    OldGo {
        /// Version found on this machine.
        found: String,
        /// Version the recipe pins.
        wanted: String,
    },
    /// A module could not be downloaded.
    #[error("failed to download Go modules\n{output}")]
    Network {
        /// Go's last words.
        output: String,
    },
    /// A downloaded module is not what go.sum says.
    #[error("a downloaded Go module does not have the recorded checksum\n{output}")]
    Checksum {
        /// Go's last words.
        output: String,
    },
    /// The disk is full.
    #[error("no space left while building into `{path}`")]
    NoSpace {
        /// The directory that was written to.
        path: PathBuf,
    },
    /// Go failed for another reason.
    #[error("`{command}` failed\n{output}")]
    Go {
        /// The command that failed.
        command: String,
        /// Go's last words.
        output: String,
    },
    /// A file of the cache could not be read or written.
    #[error("failed to {action} `{path}`")]
    File {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A directory of given binaries lacks one.
    #[error("`{dir}` has no executable `{program}`")]
    Missing {
        /// The directory given.
        dir: PathBuf,
        /// The program that is not in it.
        program: String,
    },
}

impl Error {
    /// What the reader can do about it.
    pub fn hint(&self) -> Option<String> {
        let bin = "or give ready-made binaries with `--plane-bin DIR`";
        Some(match self {
            Self::NoGo { .. } => format!("install Go 1.21 or newer (https://go.dev/dl), {bin}"),
            Self::OldGo { .. } => format!("install Go 1.21 or newer, {bin}"),
            Self::Network { .. } => {
                format!("check the network and GOPROXY; downloads resume where they stopped; {bin}")
            }
            Self::Checksum { .. } => {
                "clear it with `go clean -modcache` and try again; if it stays, the module \
                 proxy serves other code than we recorded"
                    .into()
            }
            Self::NoSpace { .. } => {
                "a build needs about 3 GB in Go's cache (`go env GOCACHE`), 2 GB for modules and \
                 0.4 GB in XDG_CACHE_HOME; free some, or point those elsewhere"
                    .into()
            }
            Self::File { source, .. } if is_denied(source) => {
                "the cache directory must be writable: set XDG_CACHE_HOME to one that is".into()
            }
            Self::Missing { .. } => {
                "the directory needs etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok"
                    .into()
            }
            Self::Go { .. } | Self::File { .. } => return None,
        })
    }

    pub(crate) fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoSpace { path },
            _ => Self::File { action, path, source },
        }
    }
}

/// Sorts what Go printed into the errors whose way out differs.
pub(crate) fn classify(command: &str, output: &str, target: &std::path::Path) -> Error {
    const NETWORK: [&str; 8] = [
        "dial tcp",
        "no such host",
        "connection refused",
        "i/o timeout",
        "TLS handshake timeout",
        "proxyconnect",
        "disabled by GOPROXY=off",
        "unexpected EOF",
    ];
    let output = last_lines(output, 12);
    if output.contains("no space left on device") || output.contains("disk quota exceeded") {
        Error::NoSpace { path: target.into() }
    } else if output.contains("SECURITY ERROR") || output.contains("checksum mismatch") {
        Error::Checksum { output }
    } else if NETWORK.iter().any(|sign| output.contains(sign)) {
        Error::Network { output }
    } else {
        Error::Go { command: command.into(), output }
    }
}

/// Not ours to write, or nobody's.
fn is_denied(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn check(output: &str, begins: &str) {
        let error = classify("go build", output, Path::new("/cache"));
        assert!(format!("{error:?}").starts_with(begins), "{output}: {error:?}");
    }

    #[test]
    fn what_go_prints_is_sorted_by_its_way_out() {
        check("link: write /x: no space left on device", "NoSpace");
        check("verifying k8s.io/api: checksum mismatch\nSECURITY ERROR", "Checksum");
        check("go: a@v1: Get \"https://p\": dial tcp: lookup p: no such host", "Network");
        check("go: a@v1: module lookup disabled by GOPROXY=off", "Network");
        check("x.go:1:1: syntax error", "Go {");
    }

    #[test]
    fn everything_a_user_can_mend_has_a_hint() {
        let full = Error::file("write", "/c")(io::Error::from(io::ErrorKind::StorageFull));
        assert!(full.hint().is_some_and(|hint| hint.contains("GOCACHE")));
        let denied = Error::file("write", "/c")(io::Error::from(io::ErrorKind::PermissionDenied));
        assert!(denied.hint().is_some_and(|hint| hint.contains("XDG_CACHE_HOME")));
        assert!(Error::NoGo { program: "go".into() }.hint().is_some_and(|hint| hint.contains("--plane-bin")));
    }
}

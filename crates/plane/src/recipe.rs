//! What the plane is made of: the Go module that pins every version, carried inside this program so that it works
//! outside a clone.

/// `plane/core/go.mod`.
pub const GO_MOD: &str = include_str!("../../../plane/core/go.mod");
/// `plane/core/go.sum`.
pub const GO_SUM: &str = include_str!("../../../plane/core/go.sum");

/// The programs of a plane and the Go packages they are built from.
pub const PROGRAMS: [(&str, &str); 6] = [
    ("etcd", "go.etcd.io/etcd/server/v3"),
    ("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
    ("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"),
    ("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),
    ("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
    ("kwok", "sigs.k8s.io/kwok/cmd/kwok"),
];

/// The exact Go release everything is built with, as `1.26.8`. The clock replaces files of this release.
pub fn go_version() -> &'static str {
    directive(GO_MOD, "go").expect("plane/core/go.mod has a go line")
}

/// The Kubernetes release, as `v1.36.4`.
pub fn kubernetes_version() -> &'static str {
    required(GO_MOD, "k8s.io/kubernetes").expect("plane/core/go.mod requires k8s.io/kubernetes")
}

/// The version that the recipe requires of `module`.
pub fn module_version(module: &str) -> Option<&'static str> {
    required(GO_MOD, module)
}

/// Flags of `go build` that decide what the binaries are. Part of the cache key.
pub(crate) fn build_flags() -> Vec<String> {
    let version = kubernetes_version();
    let mut parts = version.trim_start_matches('v').split('.');
    let (major, minor) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let (base, client) = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version");
    // Without these `/version` answers with a placeholder that strict clients cannot parse.
    let stamps = format!(
        "-s -w -X {base}.gitVersion={version} -X {base}.gitMajor={major} -X {base}.gitMinor={minor} \
         -X {base}.gitTreeState=clean -X {client}.gitVersion={version}"
    );
    let tags = "selinux,notest,grpcnotrace";
    vec!["-trimpath".into(), "-tags".into(), tags.into(), "-ldflags".into(), stamps]
}

fn directive<'a>(go_mod: &'a str, name: &str) -> Option<&'a str> {
    go_mod.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).map(str::trim)
}

fn required<'a>(go_mod: &'a str, module: &str) -> Option<&'a str> {
    go_mod.lines().filter(|line| !line.contains("=>")).find_map(|line| {
        let mut words = line.trim().trim_start_matches("require ").split_whitespace();
        (words.next() == Some(module)).then(|| words.next()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_the_go_module() {
        assert_eq!(kubernetes_version(), "v1.36.4");
        assert_eq!(go_version(), "1.26.8");
        assert_eq!(module_version("sigs.k8s.io/kwok"), Some("v0.8.0"));
        assert_eq!(module_version("go.etcd.io/etcd/server/v3"), Some("v3.6.14"));
        assert_eq!(module_version("example.org/none"), None);
    }

    #[test]
    fn every_program_is_a_tool_of_the_go_module() {
        for (_, package) in PROGRAMS {
            assert!(GO_MOD.lines().any(|line| line.trim() == package), "{package} is no tool line");
        }
    }

    #[test]
    fn staging_modules_follow_the_kubernetes_version() {
        let staging = kubernetes_version().replacen("v1", "v0", 1);
        let replaced: Vec<_> = GO_MOD.lines().filter(|line| line.contains("=>")).collect();
        assert!(replaced.len() > 25);
        for line in replaced {
            assert!(line.ends_with(&staging), "{line}");
        }
    }
}

//! KWOK's configuration: our stages, carried inside this program.

/// Each stage file of `plane/stages/`, in the order of a pod's life.
const FILES: [&str; 9] = [
    include_str!("../../../plane/stages/kwok.yaml"),
    include_str!("../../../plane/stages/node-initialize.yaml"),
    include_str!("../../../plane/stages/node-fail.yaml"),
    include_str!("../../../plane/stages/pod-create.yaml"),
    include_str!("../../../plane/stages/pod-start.yaml"),
    include_str!("../../../plane/stages/pod-ready.yaml"),
    include_str!("../../../plane/stages/pod-crash.yaml"),
    include_str!("../../../plane/stages/pod-end.yaml"),
    include_str!("../../../plane/stages/pod-delete.yaml"),
];

/// One YAML stream for `kwok --config`.
pub fn configuration() -> String {
    // Nodes that name no kubelet have the plane's release.
    FILES.join("---\n").replace("@KUBERNETES@", crate::recipe::kubernetes_version())
}

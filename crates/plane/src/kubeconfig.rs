//! Kubeconfigs: one for the user, one per component that talks to the API server.

use std::path::Path;

use crate::layout::Layout;

/// The kubeconfig with which `client` (a certificate of [`pki`](crate::pki)) reaches the API server.
pub(crate) fn render(layout: &Layout, plane: &str, client: &str, port: u16) -> String {
    let quoted = |path: &Path| serde_json::to_string(&path.to_string_lossy()).expect("strings are JSON");
    let (ca, certificate, key) =
        (layout.pki("ca.crt"), layout.pki(&format!("{client}.crt")), layout.pki(&format!("{client}.key")));
    format!(
        "apiVersion: v1
kind: Config
current-context: simkube-{plane}
contexts:
- name: simkube-{plane}
  context: {{cluster: simkube-{plane}, user: {client}}}
clusters:
- name: simkube-{plane}
  cluster:
    server: https://127.0.0.1:{port}
    certificate-authority: {}
users:
- name: {client}
  user:
    client-certificate: {}
    client-key: {}
",
        quoted(&ca),
        quoted(&certificate),
        quoted(&key),
    )
}

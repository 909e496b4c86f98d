//! What each component is started with: settings in, arguments out. Nothing here runs anything; `plane up --dry-run`
//! prints it. docs/plane.md says why each choice was made.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::build::Binaries;
use crate::layout::Layout;
use crate::pki::SERVICE_IP;
use crate::ports::Ports;
use crate::settings::{NodeLifecycle, Settings};

/// One process of a plane, before it is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    /// Its name in status, logs and messages.
    pub name: String,
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment on top of ours.
    pub env: BTreeMap<String, String>,
    /// Launched only when this port of an earlier component of the same wave accepts connections.
    pub after: Option<u16>,
    /// How to know that it does its work.
    pub ready: Ready,
}

/// How to know that a component is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ready {
    /// All these paths answer 200 over mutual TLS, asked with the named client certificate.
    Answers {
        /// Port on 127.0.0.1.
        port: u16,
        /// Asked in order.
        paths: &'static [&'static str],
        /// Authority of the server's certificate (a name in `pki/`).
        authority: &'static str,
        /// Client certificate to show (a name in `pki/`).
        client: &'static str,
    },
    /// Nothing to ask: it runs.
    Runs,
}

/// The components that are started together; a wave begins when the one before it is ready.
pub type Wave = Vec<Component>;

/// Everything of a plane, in the order of starting.
pub fn waves(layout: &Layout, ports: Ports, binaries: &Binaries, settings: &Settings) -> Vec<Wave> {
    let context = Context { layout, ports, binaries, settings };
    let mut waves = vec![
        // The API server takes half a second before it asks etcd anything, and etcd as long until it is ready: let them
        // overlap. Not sooner: a connection that is refused is tried again only after a full second.
        vec![context.etcd(), context.apiserver()],
        vec![context.controller_manager(), context.scheduler(), context.kwok()],
    ];
    if !settings.run.is_empty() {
        waves.push(
            settings.run.iter().enumerate().map(|(index, words)| context.other(index, words)).collect(),
        );
    }
    waves
}

struct Context<'a> {
    layout: &'a Layout,
    ports: Ports,
    binaries: &'a Binaries,
    settings: &'a Settings,
}

impl Context<'_> {
    fn etcd(&self) -> Component {
        let (client, peer) = (url(self.ports.etcd), url(self.ports.etcd_peer));
        let args = flags(&[
            ("name", "simkube"),
            ("data-dir", &text(&self.layout.etcd())),
            // The data lives as long as the plane; nobody needs it after a power cut.
            ("unsafe-no-fsync", "true"),
            ("listen-client-urls", &client),
            ("advertise-client-urls", &client),
            ("listen-peer-urls", &peer),
            ("initial-advertise-peer-urls", &peer),
            ("initial-cluster", &format!("simkube={peer}")),
            ("cert-file", &self.pki("etcd-serving.crt")),
            ("key-file", &self.pki("etcd-serving.key")),
            ("trusted-ca-file", &self.pki("etcd-ca.crt")),
            ("client-cert-auth", "true"),
            ("peer-cert-file", &self.pki("etcd-peer.crt")),
            ("peer-key-file", &self.pki("etcd-peer.key")),
            ("peer-trusted-ca-file", &self.pki("etcd-ca.crt")),
            ("peer-client-cert-auth", "true"),
            ("quota-backend-bytes", "8589934592"),
            ("log-level", "warn"),
        ]);
        let ready = Ready::Answers {
            port: self.ports.etcd,
            paths: &["/readyz"],
            authority: "etcd-ca",
            client: "etcd-client",
        };
        self.component("etcd", args, ready)
    }

    fn apiserver(&self) -> Component {
        let disabled = match self.settings.nodes {
            NodeLifecycle::AlwaysHealthy => "TaintNodesByCondition,ServiceAccount",
            NodeLifecycle::Leases { .. } => "ServiceAccount",
        };
        let args = flags(&[
            ("bind-address", "127.0.0.1"),
            ("secure-port", &self.ports.apiserver.to_string()),
            ("advertise-address", &SERVICE_IP.to_string()),
            ("endpoint-reconciler-type", "none"),
            ("etcd-servers", &url(self.ports.etcd)),
            ("etcd-cafile", &self.pki("etcd-ca.crt")),
            ("etcd-certfile", &self.pki("etcd-client.crt")),
            ("etcd-keyfile", &self.pki("etcd-client.key")),
            ("etcd-count-metric-poll-period", "0"),
            ("etcd-db-metric-poll-interval", "0"),
            ("tls-cert-file", &self.pki("kube-apiserver-serving.crt")),
            ("tls-private-key-file", &self.pki("kube-apiserver-serving.key")),
            ("client-ca-file", &self.pki("ca.crt")),
            ("anonymous-auth", "false"),
            ("authorization-mode", "RBAC"),
            ("service-account-issuer", "https://kubernetes.default.svc"),
            ("service-account-key-file", &self.pki("service-accounts.pub")),
            ("service-account-signing-key-file", &self.pki("service-accounts.key")),
            ("service-cluster-ip-range", "10.0.0.0/16"),
            ("allow-privileged", "true"),
            ("requestheader-client-ca-file", &self.pki("front-proxy-ca.crt")),
            ("requestheader-allowed-names", "front-proxy"),
            ("requestheader-username-headers", "X-Remote-User"),
            ("requestheader-group-headers", "X-Remote-Group"),
            ("requestheader-extra-headers-prefix", "X-Remote-Extra-"),
            ("proxy-client-cert-file", &self.pki("front-proxy.crt")),
            ("proxy-client-key-file", &self.pki("front-proxy.key")),
            ("disable-admission-plugins", disabled),
            ("enable-priority-and-fairness", "false"),
            ("max-requests-inflight", "0"),
            ("max-mutating-requests-inflight", "0"),
            ("profiling", "false"),
        ]);
        let ready = Ready::Answers {
            port: self.ports.apiserver,
            // `/readyz` comes before the `default` namespace: without it the user's first `kubectl create` would fail.
            paths: &["/readyz", "/api/v1/namespaces/default"],
            authority: "ca",
            client: "admin",
        };
        Component { after: Some(self.ports.etcd), ..self.component("kube-apiserver", args, ready) }
    }

    fn controller_manager(&self) -> Component {
        let name = "kube-controller-manager";
        let mut args = self.client_of_the_apiserver(name, self.ports.controller_manager);
        args.extend(flags(&[
            ("root-ca-file", &self.pki("ca.crt")),
            ("service-account-private-key-file", &self.pki("service-accounts.key")),
            ("controllers", self.controllers()),
        ]));
        if let NodeLifecycle::Leases { seconds } = self.settings.nodes {
            // A node is lost when its lease was not renewed for this long; Kubernetes' own ratio is 50 s to 40 s.
            let grace = format!("{}s", u64::from(seconds) * 5 / 4);
            args.extend(flags(&[("node-monitor-grace-period", &grace)]));
        }
        self.component(name, args, answers(self.ports.controller_manager, &["/healthz"]))
    }

    fn controllers(&self) -> &'static str {
        match self.settings.nodes {
            NodeLifecycle::AlwaysHealthy => {
                "*,-node-lifecycle-controller,-taint-eviction-controller,-node-ipam-controller"
            }
            NodeLifecycle::Leases { .. } => "*,-node-ipam-controller",
        }
    }

    fn scheduler(&self) -> Component {
        let name = "kube-scheduler";
        let args = self.client_of_the_apiserver(name, self.ports.scheduler);
        self.component(name, args, answers(self.ports.scheduler, &["/readyz"]))
    }

    fn kwok(&self) -> Component {
        let lease = match self.settings.nodes {
            NodeLifecycle::AlwaysHealthy => 0,
            NodeLifecycle::Leases { seconds } => seconds,
        };
        let port = self.ports.kwok;
        let args = flags(&[
            ("kubeconfig", &text(&self.layout.component_kubeconfig("kwok"))),
            ("config", &text(&self.layout.stages())),
            ("manage-all-nodes", "false"),
            ("manage-nodes-with-annotation-selector", "kwok.x-k8s.io/node=fake"),
            ("node-ip", "127.0.0.1"),
            ("node-port", &port.to_string()),
            ("server-address", &format!("127.0.0.1:{port}")),
            ("tls-cert-file", &self.pki("kwok-serving.crt")),
            ("tls-private-key-file", &self.pki("kwok-serving.key")),
            ("cidr", "10.128.0.0/9"),
            ("node-lease-duration-seconds", &lease.to_string()),
        ]);
        self.component("kwok", args, answers(port, &["/healthz"]))
    }

    /// A program of the user's, beside the others (`--run`).
    fn other(&self, index: usize, words: &[String]) -> Component {
        let program = PathBuf::from(words.first().map_or("", String::as_str));
        let base =
            program.file_name().map_or_else(|| "run".into(), |name| name.to_string_lossy().into_owned());
        let mut component =
            self.component(&format!("run-{}-{base}", index + 1), words[1..].to_vec(), Ready::Runs);
        component.program = program;
        component.env.insert("KUBECONFIG".into(), text(&self.layout.kubeconfig()));
        component
    }

    /// What the controller manager and the scheduler share. Their own pages need a client certificate too; only the
    /// health pages are open to everyone on this machine.
    fn client_of_the_apiserver(&self, name: &str, port: u16) -> Vec<String> {
        let kubeconfig = text(&self.layout.component_kubeconfig(name));
        flags(&[
            ("kubeconfig", &kubeconfig),
            ("authentication-kubeconfig", &kubeconfig),
            ("authorization-kubeconfig", &kubeconfig),
            ("authentication-skip-lookup", "true"),
            ("client-ca-file", &self.pki("ca.crt")),
            ("authorization-always-allow-paths", "/healthz,/livez,/readyz"),
            ("bind-address", "127.0.0.1"),
            ("secure-port", &port.to_string()),
            ("tls-cert-file", &self.pki(&format!("{name}-serving.crt"))),
            ("tls-private-key-file", &self.pki(&format!("{name}-serving.key"))),
            ("leader-elect", "false"),
            ("kube-api-qps", "5000"),
            ("kube-api-burst", "10000"),
            ("profiling", "false"),
        ])
    }

    fn component(&self, name: &str, mut args: Vec<String>, ready: Ready) -> Component {
        args.extend(self.settings.extra_args.get(name).into_iter().flatten().cloned());
        let mut env = self.settings.env.clone();
        let tuning = [("GOGC", self.settings.gogc), ("GOMAXPROCS", self.settings.gomaxprocs)];
        env.extend(tuning.into_iter().filter_map(|(name, value)| Some((name.into(), value?.to_string()))));
        Component { name: name.into(), program: self.binaries.path(name), args, env, after: None, ready }
    }

    fn pki(&self, file: &str) -> String {
        text(&self.layout.pki(file))
    }
}

fn answers(port: u16, paths: &'static [&'static str]) -> Ready {
    Ready::Answers { port, paths, authority: "ca", client: "admin" }
}

/// The commands as a shell would take them, one component per paragraph.
pub fn dry_run(waves: &[Wave]) -> String {
    let mut out = String::new();
    for component in waves.iter().flatten() {
        let _ = writeln!(out, "# {}", component.name);
        for (name, value) in &component.env {
            let _ = write!(out, "{name}={} ", shell(value));
        }
        let _ = write!(out, "{}", shell(&text(&component.program)));
        for arg in &component.args {
            let _ = write!(out, " \\\n  {}", shell(arg));
        }
        out.push_str("\n\n");
    }
    out
}

fn shell(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn flags(pairs: &[(&str, &str)]) -> Vec<String> {
    pairs.iter().map(|(name, value)| format!("--{name}={value}")).collect()
}

fn url(port: u16) -> String {
    format!("https://127.0.0.1:{port}")
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

//! What a user may say about a plane.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Settings of one plane. The default is a plane for experiments: nodes never fail, no limits, upstream's defaults else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Whether nodes can fail.
    pub nodes: NodeLifecycle,
    /// Environment for every component: the clock's page, for example.
    pub env: BTreeMap<String, String>,
    /// Go's garbage collector of every component (`GOGC`). 400 trades memory for a quarter less processor time.
    pub gogc: Option<u32>,
    /// Processors that each component may use at once (`GOMAXPROCS`). 1 in virtual time: fewer threads to fall idle.
    pub gomaxprocs: Option<u32>,
    /// More arguments per component, after ours: a scheduler configuration, a feature gate.
    pub extra_args: BTreeMap<String, Vec<String>>,
    /// Programs to run beside the others, each as words (`--run`), with `KUBECONFIG` set.
    pub run: Vec<Vec<String>>,
    /// Another KWOK configuration than ours.
    pub stages: Option<PathBuf>,
    /// How long a component may take until it is ready.
    pub patience: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            nodes: NodeLifecycle::AlwaysHealthy,
            env: BTreeMap::new(),
            gogc: None,
            gomaxprocs: None,
            extra_args: BTreeMap::new(),
            run: Vec::new(),
            stages: None,
            // A loaded CI machine with one core takes twenty seconds; a hanging component must still be reported.
            patience: Duration::from_secs(60),
        }
    }
}

/// Whether the node controllers watch over nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeLifecycle {
    /// Nodes are what their objects say. No leases, no taints by condition, no evictions: nothing to do when idle.
    AlwaysHealthy,
    /// KWOK renews a lease per node, and the node-lifecycle and taint-eviction controllers act on it: a node that turns
    /// `NotReady` is tainted and its pods are evicted.
    Leases {
        /// How long a lease is valid; renewed four times as often.
        seconds: u32,
    },
}

//! Namespaces and nodes: what is there before any workload.

use serde_json::{Value, json};

use super::chance::{Chance, Family};
use super::{Millis, Planned, Settings, What, vocabulary};
use crate::Key;

#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    Lost { node: u32 },
    Joined { node: u32 },
}

/// Node types: name, CPU, memory. The shapes are ordinary; the names are ours.
const TYPES: [(&str, &str, &str); 3] =
    [("std-8", "8", "32Gi"), ("std-16", "16", "64Gi"), ("std-32", "32", "128Gi")];

/// How many namespaces there are.
pub(super) const NAMESPACES: u32 = 6;

const ZONES: [&str; 3] = ["zone-a", "zone-b", "zone-c"];

pub(super) fn plan(settings: &Settings, plan: &mut Vec<Planned>) {
    let window = settings.window_millis();
    for number in 0..settings.nodes / 12 {
        let mut chance = Chance::new(settings.seed, Family::Node, number);
        let node = number * 12 + chance.below(12);
        let lost = chance.between(window / 2, window * 3 / 4);
        // A group of machines replaces a lost one within a few minutes, under a new name.
        let joined = lost + chance.between(90_000, 240_000);
        plan.push(Planned { at: lost, what: What::Node(Event::Lost { node }) });
        if joined < window {
            plan.push(Planned {
                at: joined,
                what: What::Node(Event::Joined { node: settings.nodes + number }),
            });
        }
    }
}

pub(super) fn namespace(number: u32) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": vocabulary::NAMESPACES[number as usize]},
    })
}

pub(super) fn node_name(number: u32) -> String {
    format!("node-{number:04}")
}

pub(super) fn node_key(number: u32) -> Key {
    Key::new("v1", "Node", "", &node_name(number))
}

pub(super) fn node(number: u32) -> Value {
    let (name, cpu, memory) = TYPES[number as usize / ZONES.len() % TYPES.len()];
    let resources = json!({"cpu": cpu, "memory": memory, "pods": "110"});
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": node_name(number),
            "labels": {
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": node_name(number),
                "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": name,
                "topology.kubernetes.io/zone": ZONES[number as usize % ZONES.len()],
            },
        },
        "status": {"allocatable": resources, "capacity": resources},
    })
}

/// The node that a pod of this number runs on.
pub(super) fn node_of(settings: &Settings, pod: u64, at: Millis) -> Option<String> {
    // Spread without a scheduler: only the shape of the data matters here, not the placement.
    let spread = pod.wrapping_mul(0x9e37_79b9).wrapping_add(at.unsigned_abs() / 1000);
    let number = spread.checked_rem(settings.nodes.into())?;
    u32::try_from(number).ok().map(node_name)
}

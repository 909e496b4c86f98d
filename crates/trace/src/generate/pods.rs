//! Pods without an owner: somebody's one-off tasks.

use serde_json::{Value, json};

use super::chance::{Chance, Family};
use super::{Planned, Settings, What, vocabulary};
use crate::Key;

#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    Created { pod: u32 },
    Lived { pod: u32, run: i64, code: i32, restarts: u32 },
    Deleted { pod: u32 },
}

pub(super) fn plan(settings: &Settings, plan: &mut Vec<Planned>) {
    let window = settings.window_millis();
    for pod in 0..settings.bare_pods {
        let mut chance = Chance::new(settings.seed, Family::Pod, pod);
        let at = chance.between(0, window);
        let run = chance.between(15_000, 600_000);
        let (code, restarts) = match chance.below(12) {
            0 => (1, 0),
            1 => (0, 1 + chance.below(3)),
            _ => (0, 0),
        };
        plan.push(Planned { at, what: What::Pod(Event::Created { pod }) });
        if settings.lives {
            plan.push(Planned { at, what: What::Pod(Event::Lived { pod, run, code, restarts }) });
        }
        let deleted = at + run + chance.between(30_000, 120_000);
        if deleted < window {
            plan.push(Planned { at: deleted, what: What::Pod(Event::Deleted { pod }) });
        }
    }
}

pub(super) fn key(pod: u32) -> Key {
    Key::new("v1", "Pod", vocabulary::namespace(pod), &format!("task-{pod:03}"))
}

pub(super) fn pod(pod: u32) -> Value {
    let Key { namespace, name, .. } = key(pod);
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"labels": {"app": "task"}, "name": name, "namespace": namespace},
        "spec": {
            "containers": [{
                "image": "images.example/tools/task:0.9.4",
                "name": "task",
                "resources": {"requests": {"cpu": "500m", "memory": "512Mi"}},
            }],
            "restartPolicy": "OnFailure",
        },
    })
}

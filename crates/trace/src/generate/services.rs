//! Deployments that breathe with the day and roll out new versions.

use serde_json::{Value, json};

use super::chance::{Chance, Family};
use super::{Millis, Planned, Settings, What, vocabulary};
use crate::Key;

#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// The Deployment gets this size and version.
    Changed { service: u32, replicas: u32, version: u32 },
    /// A pod's life, from its creation on.
    Lived { service: u32, version: u32, number: u32, end: Option<Millis> },
}

/// Load in percent of the peak for each hour of the day: quiet nights, a rise until noon, a peak at eight in
/// the evening.
const DAY: [u32; 25] =
    [35, 28, 24, 22, 22, 25, 33, 45, 58, 66, 71, 75, 78, 76, 73, 71, 72, 77, 86, 95, 100, 90, 70, 50, 35];

const MINUTE: Millis = 60_000;
/// An autoscaler looks this often.
const LOOK: Millis = 5 * MINUTE;
/// A rollout replaces one pod after another at this pace.
const ROLLOUT_STEP: Millis = 8_000;

/// Load differs from the curve by up to this percentage.
const NOISE: u32 = 12;

/// Size and version of a service from an instant on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    at: Millis,
    replicas: u32,
    version: u32,
}

pub(super) fn plan(settings: &Settings, plan: &mut Vec<Planned>) {
    for service in 0..settings.services {
        let steps = steps(settings, service);
        for step in &steps[1..] {
            let event = Event::Changed { service, replicas: step.replicas, version: step.version };
            plan.push(Planned { at: step.at, what: What::Service(event) });
        }
        if settings.lives {
            lives(settings, service, &steps, plan);
        }
    }
}

/// The history of one service; the first step is its state at the start.
fn steps(settings: &Settings, service: u32) -> Vec<Step> {
    let mut chance = Chance::new(settings.seed, Family::Service, service);
    let window = settings.window_millis();
    let peak = 2 + chance.below(10);
    let minutes_into_day = settings.start.as_second().rem_euclid(86_400) / 60;
    let first_look = chance.between(MINUTE, LOOK);
    let rollout = chance.percent(25).then(|| chance.between(window / 10, window.max(1)));
    // `noise` is a percentage, raised by its largest amount to stay positive.
    let load = |at: Millis, noise: u32| {
        let minute = (minutes_into_day + at / MINUTE).rem_euclid(24 * 60);
        let minute = u32::try_from(minute).expect("a day has 1,440 minutes");
        let (hour, rest) = ((minute / 60) as usize, minute % 60);
        let percent = (DAY[hour] * (60 - rest) + DAY[hour + 1] * rest) / 60 + noise;
        1 + peak * percent.saturating_sub(NOISE).max(5) / 100
    };
    let mut steps = vec![Step { at: 0, replicas: load(0, NOISE), version: 1 }];
    let mut at = first_look;
    let mut rollout = rollout;
    while at < window {
        let latest = steps[steps.len() - 1];
        if let Some(when) = rollout.filter(|when| *when <= at) {
            steps.push(Step { at: when, version: 2, ..latest });
            rollout = None;
        }
        let latest = steps[steps.len() - 1];
        let replicas = load(at, chance.below(2 * NOISE + 1));
        if replicas != latest.replicas {
            steps.push(Step { at, replicas, ..latest });
        }
        at += LOOK;
    }
    steps
}

/// Which pods live how long, if a Deployment goes through these steps: a smaller size ends the youngest, a new
/// version replaces all.
fn lives(settings: &Settings, service: u32, steps: &[Step], plan: &mut Vec<Planned>) {
    let mut chance = Chance::new(settings.seed ^ 0xa11e, Family::Service, service);
    let mut number = 0;
    let mut running: Vec<(Millis, u32, u32)> = Vec::new();
    let mut ended: Vec<(Millis, u32, u32, Option<Millis>)> = Vec::new();
    let mut version = steps[0].version;
    for step in steps {
        if step.version != version {
            for ((begin, number, version), position) in running.drain(..).zip(1..) {
                let end = step.at + ROLLOUT_STEP * position;
                ended.push((begin, number, version, Some(end)));
            }
            version = step.version;
        }
        while running.len() > step.replicas as usize {
            if let Some((begin, number, version)) = running.pop() {
                ended.push((begin, number, version, Some(step.at + chance.between(200, 2_000))));
            }
        }
        let missing = step.replicas as usize - running.len();
        for (position, _) in (0..).zip(0..missing) {
            // Before the window, pods began at some time in the last day; in a rollout, one after another.
            let begin = match (step.at, step.version) {
                (0, _) => -chance.between(MINUTE, 24 * 60 * MINUTE),
                (at, 1) => at + chance.between(20, 400),
                (at, _) => at + ROLLOUT_STEP * position + chance.between(20, 400),
            };
            running.push((begin, number, version));
            number += 1;
        }
    }
    ended.extend(running.into_iter().map(|(begin, number, version)| (begin, number, version, None)));
    let window = settings.window_millis();
    ended.sort_by_key(|(begin, number, ..)| (*begin, *number));
    plan.extend(ended.into_iter().filter(|(begin, ..)| *begin < window).map(
        |(begin, number, version, end)| Planned {
            at: begin,
            what: What::Service(Event::Lived {
                service,
                version,
                number,
                end: end.filter(|end| *end < window),
            }),
        },
    ));
}

pub(super) fn key(service: u32) -> Key {
    Key::new("apps/v1", "Deployment", vocabulary::namespace(service), &vocabulary::service(service))
}

/// The Deployment at the start of the window.
pub(super) fn initial(settings: &Settings, service: u32) -> Value {
    let first = steps(settings, service)[0];
    deployment(settings, service, first.replicas, first.version)
}

pub(super) fn deployment(settings: &Settings, service: u32, replicas: u32, version: u32) -> Value {
    let Key { namespace, name, .. } = key(service);
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"labels": {"app": name}, "name": name, "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}, "type": "RollingUpdate"},
            "template": template(settings, service, version),
        },
    })
}

pub(super) fn template(settings: &Settings, service: u32, version: u32) -> Value {
    let Key { namespace, name, .. } = key(service);
    let mut chance = Chance::new(settings.seed, Family::Env, service);
    let containers: Vec<Value> = (0..settings.containers)
        .map(|number| {
            let cpu = 100 * (1 + chance.below(8));
            let memory = 128 * (1 + chance.below(12));
            let env: Vec<Value> = (0..settings.env)
                .map(|entry| {
                    let name = vocabulary::ENV_NAMES[entry as usize % vocabulary::ENV_NAMES.len()];
                    json!({"name": format!("{name}_{entry:02}"), "value": chance.pick(&vocabulary::ENV_VALUES)})
                })
                .collect();
            let container = if number == 0 { name.clone() } else { format!("side-{number}") };
            json!({
                "env": env,
                "image": format!("images.example/{namespace}/{container}:1.{version}.0"),
                "name": container,
                "ports": [{"containerPort": 8080 + number, "protocol": "TCP"}],
                "resources": {"requests": {"cpu": format!("{cpu}m"), "memory": format!("{memory}Mi")}},
            })
        })
        .collect();
    json!({
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": containers, "restartPolicy": "Always", "terminationGracePeriodSeconds": 30},
    })
}

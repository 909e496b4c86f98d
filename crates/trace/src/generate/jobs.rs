//! `CronJob`s that fire on the minute, and bursts of Jobs of which some fail and are tried again.

use serde_json::{Value, json};

use super::chance::{Chance, Family};
use super::{Millis, Planned, Settings, What, vocabulary};
use crate::Key;

#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    Submitted { burst: u32, job: u32 },
    Removed { burst: u32, job: u32 },
    Lived { owner: Owner, run: Millis, code: i32 },
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Owner {
    CronJob(u32),
    Job { burst: u32, job: u32 },
}

const MINUTE: Millis = 60_000;
/// Minutes between two firings of a `CronJob`.
const EVERY: [i64; 4] = [1, 2, 5, 10];
/// The Job controller waits ten seconds before the first retry and twice as long before each further one.
const FIRST_BACKOFF: Millis = 10_000;
/// Finished Jobs are removed after this time.
const KEEP: Millis = 3 * MINUTE;

pub(super) fn plan(settings: &Settings, plan: &mut Vec<Planned>) {
    (0..settings.cronjobs).for_each(|number| plan_cronjob(settings, number, plan));
    (0..settings.job_bursts).for_each(|burst| plan_burst(settings, burst, plan));
}

fn plan_cronjob(settings: &Settings, number: u32, plan: &mut Vec<Planned>) {
    if !settings.lives {
        return;
    }
    let mut chance = Chance::new(settings.seed, Family::CronJob, number);
    let window = settings.window_millis();
    let period = every(number) * MINUTE;
    let into_period = (settings.start.as_millisecond()).rem_euclid(period);
    let mut at = (period - into_period) % period;
    while at < window {
        attempts(&mut chance, Owner::CronJob(number), at, 8, plan, window);
        at += period;
    }
}

fn plan_burst(settings: &Settings, burst: u32, plan: &mut Vec<Planned>) {
    let mut chance = Chance::new(settings.seed, Family::Burst, burst);
    let window = settings.window_millis();
    let mut at = chance.between(window / 8, (window * 7 / 8).max(1));
    for job in 0..settings.burst_jobs {
        at += chance.between(20, 300);
        if at >= window {
            break;
        }
        plan.push(Planned { at, what: What::Job(Event::Submitted { burst, job }) });
        let owner = Owner::Job { burst, job };
        // Run times are drawn whether or not they are recorded: the objects must not depend on that.
        let mut lives = Vec::new();
        let end = attempts(&mut chance, owner, at, 10, &mut lives, window);
        if settings.lives {
            plan.append(&mut lives);
        }
        if end + KEEP < window {
            plan.push(Planned { at: end + KEEP, what: What::Job(Event::Removed { burst, job }) });
        }
    }
}

/// The pods of one Job until one of them succeeds; returns when that is.
fn attempts(
    chance: &mut Chance,
    owner: Owner,
    at: Millis,
    fail_percent: u32,
    plan: &mut Vec<Planned>,
    window: Millis,
) -> Millis {
    let mut created = at + chance.between(5, 60);
    let mut backoff = FIRST_BACKOFF;
    loop {
        let code = if !chance.percent(fail_percent) || backoff > 4 * FIRST_BACKOFF {
            0
        } else {
            *chance.pick(&[1, 1, 2, 137])
        };
        let run = chance.between(12_000, 95_000);
        if created < window {
            plan.push(Planned { at: created, what: What::Job(Event::Lived { owner, run, code }) });
        }
        let end = created + run;
        if code == 0 {
            return end;
        }
        created = end + backoff;
        backoff *= 2;
    }
}

fn every(cronjob: u32) -> i64 {
    EVERY[cronjob as usize % EVERY.len()]
}

pub(super) fn key(owner: Owner) -> Key {
    match owner {
        Owner::CronJob(number) => {
            Key::new("batch/v1", "CronJob", vocabulary::namespace(number), &format!("report-{number}"))
        }
        Owner::Job { burst, job } => {
            Key::new("batch/v1", "Job", vocabulary::namespace(burst), &format!("import-{burst}-{job:03}"))
        }
    }
}

pub(super) fn template(owner: Owner) -> Value {
    let (image, cpu, memory) = match owner {
        Owner::CronJob(_) => ("report", "250m", "256Mi"),
        Owner::Job { .. } => ("import", "1", "2Gi"),
    };
    json!({
        "metadata": {"labels": {"app": image}},
        "spec": {
            "containers": [{
                "image": format!("images.example/batch/{image}:2.0.1"),
                "name": image,
                "resources": {"requests": {"cpu": cpu, "memory": memory}},
            }],
            "restartPolicy": "Never",
        },
    })
}

pub(super) fn cronjob(number: u32) -> Value {
    let owner = Owner::CronJob(number);
    let Key { namespace, name, .. } = key(owner);
    json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "concurrencyPolicy": "Allow",
            "jobTemplate": {"spec": {"backoffLimit": 6, "template": template(owner)}},
            "schedule": format!("*/{} * * * *", every(number)),
        },
    })
}

pub(super) fn job(burst: u32, job: u32) -> Value {
    let owner = Owner::Job { burst, job };
    let Key { namespace, name, .. } = key(owner);
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"labels": {"burst": burst.to_string()}, "name": name, "namespace": namespace},
        "spec": {"backoffLimit": 6, "completions": 1, "parallelism": 1, "template": template(owner)},
    })
}

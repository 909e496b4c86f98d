//! Invents traces: the same settings give the same bytes, on any machine and in any year.
//!
//! First everything that will happen is planned as a list of small `Planned` entries, sorted by time; the
//! objects themselves are made while iterating, so a large trace costs little memory. Randomness comes from a
//! named generator, and all arithmetic is on integers: no platform rounds them differently.

mod chance;
mod cluster;
mod jobs;
mod pods;
mod services;
mod vocabulary;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::{Gvk, Header, Key, Object, PodLife, Record, TemplateHash, Tracked};

/// What kind of cluster to invent. The default is a small shop, busy for an hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Same seed, same trace.
    pub seed: u64,
    /// Start of the window.
    pub start: Timestamp,
    /// Length of the window.
    pub duration: SignedDuration,
    /// Deployments that follow a daily curve; one in four rolls out a new version within the hour.
    pub services: u32,
    /// Containers in each pod of a service.
    pub containers: u32,
    /// Environment entries in each container of a service.
    pub env: u32,
    /// `CronJob`s, firing every few minutes.
    pub cronjobs: u32,
    /// How often a burst of Jobs is submitted.
    pub job_bursts: u32,
    /// Jobs in each burst; one in ten fails at first.
    pub burst_jobs: u32,
    /// Pods without an owner, spread over the window.
    pub bare_pods: u32,
    /// Nodes; one of twelve is lost and replaced.
    pub nodes: u32,
    /// Whether pod lives are recorded.
    pub lives: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            seed: 1,
            // A Monday morning.
            start: Timestamp::UNIX_EPOCH + SignedDuration::from_secs(1_741_597_200),
            duration: SignedDuration::from_hours(1),
            services: 24,
            containers: 1,
            env: 6,
            cronjobs: 2,
            job_bursts: 1,
            burst_jobs: 20,
            bare_pods: 10,
            nodes: 12,
            lives: true,
        }
    }
}

/// Settings from which no trace can be made.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// A count that would fill any disk.
    #[error("{what} may be {most} at most, not {given}")]
    TooMany {
        /// Which setting.
        what: &'static str,
        /// The most it may be.
        most: u32,
        /// What was given.
        given: u32,
    },
    /// A window that is negative, over a year long, or outside the calendar.
    #[error("the window must be between zero and 366 days long and within the years 1970 to 9998")]
    Window,
}

/// One thing that will happen, and when.
#[derive(Clone, Copy, Debug)]
struct Planned {
    /// Since the start of the window.
    at: Millis,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Service(services::Event),
    Job(jobs::Event),
    Pod(pods::Event),
    Node(cluster::Event),
}

/// Milliseconds since the start of the window; negative for what began before it.
type Millis = i64;

/// A trace in the making: iterate it to get the records that follow its [header](Generator::header).
#[derive(Debug)]
pub struct Generator {
    settings: Settings,
    header: Header,
    /// Initial objects handed out so far.
    initial: u32,
    stream: std::vec::IntoIter<Planned>,
}

impl Generator {
    /// Plans a trace.
    pub fn new(settings: &Settings) -> Result<Self, SettingsError> {
        check(settings)?;
        let mut plan = Vec::new();
        cluster::plan(settings, &mut plan);
        services::plan(settings, &mut plan);
        jobs::plan(settings, &mut plan);
        pods::plan(settings, &mut plan);
        // What began before the window stands at its start. Stable: what happens in one instant stays in the
        // order above.
        plan.sort_by_key(|planned| planned.at.max(0));
        Ok(Self {
            settings: settings.clone(),
            header: header(settings),
            initial: 0,
            stream: plan.into_iter(),
        })
    }

    /// The header of the trace.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The object of this number among those alive at the start: namespaces, nodes, services, `CronJob`s.
    fn initial(&self, mut number: u32) -> Option<Value> {
        let Settings { services, cronjobs, nodes, .. } = self.settings;
        let parts: [(u32, &dyn Fn(u32) -> Value); 4] = [
            (cluster::NAMESPACES, &cluster::namespace),
            (nodes, &cluster::node),
            (services, &|service| services::initial(&self.settings, service)),
            (cronjobs, &jobs::cronjob),
        ];
        for (count, make) in parts {
            if number < count {
                return Some(make(number));
            }
            number -= count;
        }
        None
    }

    fn record(&self, Planned { at, what }: Planned) -> Record {
        let settings = &self.settings;
        let applied =
            |value: &Value| Record::Applied { at: self.instant(at), stamp: None, object: object(value) };
        let deleted =
            |key: &Key| Record::Deleted { at: self.instant(at), stamp: None, object: object(&names(key)) };
        match what {
            What::Node(cluster::Event::Lost { node }) => deleted(&cluster::node_key(node)),
            What::Node(cluster::Event::Joined { node }) => applied(&cluster::node(node)),
            What::Service(services::Event::Changed { service, replicas, version }) => {
                applied(&services::deployment(settings, service, replicas, version))
            }
            What::Service(services::Event::Lived { service, version, number, end }) => {
                let template = services::template(settings, service, version);
                let run = end.map(|end| (end - at, 0));
                self.life(services::key(service), &template, at, run, u64::from(number) + u64::from(service))
            }
            What::Job(jobs::Event::Submitted { burst, job }) => applied(&jobs::job(burst, job)),
            What::Job(jobs::Event::Removed { burst, job }) => {
                deleted(&jobs::key(jobs::Owner::Job { burst, job }))
            }
            What::Job(jobs::Event::Lived { owner, run, code }) => {
                let template = jobs::template(owner);
                self.life(jobs::key(owner), &template, at, Some((run, code)), at.unsigned_abs())
            }
            What::Pod(pods::Event::Created { pod }) => applied(&pods::pod(pod)),
            What::Pod(pods::Event::Deleted { pod }) => deleted(&pods::key(pod)),
            What::Pod(pods::Event::Lived { pod, run, code, restarts }) => {
                let key = pods::key(pod);
                let name = key.name.clone();
                let mut record = self.life(key, &pods::pod(pod)["spec"], at, Some((run, code)), pod.into());
                if let Record::Life(life) = &mut record {
                    life.pod = Some(name);
                    life.restarts = restarts;
                }
                record
            }
        }
    }

    /// A life created at `at`; `run` says how long it is until it ends and with which exit code.
    fn life(&self, owner: Key, template: &Value, at: Millis, run: Option<(Millis, i32)>, pod: u64) -> Record {
        let mut life = PodLife::new(owner, TemplateHash::of(template));
        let window = self.settings.window_millis();
        let known = |at: Millis| (at < window).then(|| self.instant(at));
        // Scheduling takes milliseconds, pulling and starting a second or two; the same for the same pod.
        let scheduled = at + 15 + (pod % 37).cast_signed();
        let started = scheduled + 900 + (pod * 131 % 1_500).cast_signed();
        life.created = known(at);
        life.scheduled = known(scheduled);
        life.started = known(started);
        life.node = cluster::node_of(&self.settings, pod, at);
        if let Some((run, code)) = run {
            life.finished = known((at + run).max(started));
            if life.finished.is_some() {
                life.exit_code = Some(code);
                let reason = match code {
                    0 => "Completed",
                    137 => "OOMKilled",
                    _ => "Error",
                };
                life.reason = Some(reason.to_owned());
            }
        }
        Record::Life(Box::new(life))
    }

    fn instant(&self, at: Millis) -> Timestamp {
        self.settings.start + SignedDuration::from_millis(at)
    }
}

impl Iterator for Generator {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        if let Some(value) = self.initial(self.initial) {
            self.initial += 1;
            return Some(Record::Initial { object: object(&value) });
        }
        let planned = self.stream.next()?;
        Some(self.record(planned))
    }
}

impl Settings {
    fn window_millis(&self) -> Millis {
        Millis::try_from(self.duration.as_millis()).unwrap_or(Millis::MAX)
    }
}

fn check(settings: &Settings) -> Result<(), SettingsError> {
    let Settings { services, containers, env, cronjobs, job_bursts, burst_jobs, bare_pods, nodes, .. } =
        *settings;
    for (what, most, given) in [
        ("services", 10_000_000, services),
        ("containers", 100, containers),
        ("env", 1_000, env),
        ("cronjobs", 100_000, cronjobs),
        ("job-bursts", 100_000, job_bursts),
        ("burst-jobs", 100_000, burst_jobs),
        ("bare-pods", 10_000_000, bare_pods),
        ("nodes", 1_000_000, nodes),
    ] {
        if given > most {
            return Err(SettingsError::TooMany { what, most, given });
        }
    }
    let jobs = u64::from(job_bursts) * u64::from(burst_jobs);
    if jobs > 10_000_000 {
        let given = u32::try_from(jobs).unwrap_or(u32::MAX);
        return Err(SettingsError::TooMany { what: "Jobs in all bursts", most: 10_000_000, given });
    }
    let year = SignedDuration::from_hours(366 * 24);
    let is_long = settings.duration.is_negative() || settings.duration > year;
    // Lives begin up to a day before the window.
    let years = 0..=253_370_764_800_i64;
    if is_long || !years.contains(&settings.start.as_second()) {
        return Err(SettingsError::Window);
    }
    Ok(())
}

fn header(settings: &Settings) -> Header {
    let mut header = Header::new(settings.start, Some(settings.start + settings.duration));
    let lives = settings.lives;
    for (api_version, kind, makes_pods) in [
        ("v1", "Namespace", false),
        ("v1", "Node", false),
        ("apps/v1", "Deployment", true),
        ("batch/v1", "CronJob", true),
        ("batch/v1", "Job", true),
        ("v1", "Pod", true),
    ] {
        let skip_owned = matches!(kind, "Pod" | "Job");
        let tracked = Tracked { pod_templates: None, pod_lives: lives && makes_pods, skip_owned };
        header.tracked.insert(Gvk::new(api_version, kind), tracked);
    }
    header
}

fn object(value: &Value) -> Object {
    Object::from_value(value).expect("the generator makes maps")
}

/// As much of an object as a deletion needs.
fn names(key: &Key) -> Value {
    let mut metadata = serde_json::json!({"name": key.name});
    if !key.namespace.is_empty() {
        metadata["namespace"] = key.namespace.clone().into();
    }
    serde_json::json!({"apiVersion": key.gvk.api_version, "kind": key.gvk.kind, "metadata": metadata})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, create};

    fn bytes(settings: &Settings) -> Vec<u8> {
        let generator = Generator::new(settings).unwrap();
        let mut file = Vec::new();
        let mut writer = create(&mut file, Format::Lines, generator.header()).unwrap();
        generator.for_each(|record| writer.write(&record).unwrap());
        writer.finish().unwrap();
        file
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
        let settings = Settings::default();
        assert_eq!(bytes(&settings), bytes(&settings));
        assert_ne!(bytes(&settings), bytes(&Settings { seed: 2, ..settings }));
    }

    #[test]
    fn objects_do_not_depend_on_whether_lives_are_recorded() {
        let settings = Settings { job_bursts: 3, ..Settings::default() };
        let without = Settings { lives: false, ..settings.clone() };
        let changes = |settings: &Settings| -> Vec<Record> {
            let records = Generator::new(settings).unwrap();
            records.filter(|record| !matches!(record, Record::Life(_))).collect()
        };
        assert_eq!(changes(&settings), changes(&without));
    }

    #[test]
    fn adding_a_service_leaves_the_others_as_they_are() {
        let of_first = |services: u32| -> Vec<String> {
            let records = Generator::new(&Settings { services, ..Settings::default() }).unwrap();
            records
                .filter_map(|record| match record {
                    Record::Initial { object } | Record::Applied { object, .. } => Some(object),
                    _ => None,
                })
                .filter(|object| *object.key() == services::key(0))
                .map(|object| object.json().to_owned())
                .collect()
        };
        assert_eq!(of_first(1), of_first(40));
    }

    #[test]
    fn a_life_never_ends_before_it_starts() {
        let settings = Settings { services: 60, bare_pods: 100, job_bursts: 4, ..Settings::default() };
        for record in Generator::new(&settings).unwrap() {
            let Record::Life(life) = record else { continue };
            let times = [life.created, life.scheduled, life.started, life.finished];
            let known: Vec<_> = times.into_iter().flatten().collect();
            assert!(known.is_sorted(), "{life:?}");
        }
    }

    #[test]
    fn settings_without_bounds_are_refused() {
        let with = |change: fn(&mut Settings)| {
            let mut settings = Settings::default();
            change(&mut settings);
            Generator::new(&settings).map(drop)
        };
        assert!(matches!(with(|s| s.nodes = u32::MAX), Err(SettingsError::TooMany { what: "nodes", .. })));
        let jobs = with(|s| (s.job_bursts, s.burst_jobs) = (100_000, 100_000));
        assert!(matches!(jobs, Err(SettingsError::TooMany { .. })));
        assert_eq!(with(|s| s.duration = SignedDuration::from_secs(-1)), Err(SettingsError::Window));
        assert_eq!(with(|s| s.duration = SignedDuration::MAX), Err(SettingsError::Window));
        assert_eq!(with(|s| s.start = Timestamp::MAX), Err(SettingsError::Window));
        assert_eq!(with(|s| s.duration = SignedDuration::ZERO), Ok(()));
    }
}

//! Starting: in order, ready when each component says so, undone when one does not.

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::DirBuilderExt as _;
use std::time::Duration;

use crate::build::Binaries;
use crate::component::{Component, Ready, Wave, waves};
use crate::error::Error;
use crate::home::Home;
use crate::https::Client;
use crate::interrupt::Interrupt;
use crate::kubeconfig;
use crate::layout::{Layout, write_private};
use crate::leftovers;
use crate::lock::Lock;
use crate::patience::{Deadline, Stopwatch, until, wall_clock};
use crate::pki;
use crate::plane::Plane;
use crate::ports::Ports;
use crate::process::Launcher;
use crate::procfs::Identity;
use crate::recipe;
use crate::settings::Settings;
use crate::stages;
use crate::state::{self, Phase, Started, State};

/// Starts with other ports after one was taken in between; thrice in a row means something else is wrong.
const ATTEMPTS: u32 = 3;

/// A plane's directory, ours alone and empty, before anything runs in it. The clock's page goes here.
#[derive(Debug)]
pub struct Prepared {
    name: String,
    layout: Layout,
    lock: Lock,
    /// Processes of a killed plane of the same name that were ended.
    pub leftovers: usize,
}

/// Something worth telling while a plane starts.
#[derive(Debug, Clone, PartialEq)]
pub enum StartEvent {
    /// A component answers ready.
    Ready {
        /// Which one.
        component: String,
        /// Seconds since it was launched.
        after_s: f64,
    },
    /// A port was taken between choosing and binding; everything is started again with others.
    PortTaken {
        /// Who found it taken.
        component: String,
    },
}

/// Takes the plane `name` for this process and clears what a killed one left there.
pub fn prepare(home: &Home, name: &str) -> Result<Prepared, Error> {
    check_name(name)?;
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(&home.planes).map_err(Error::file("create", &home.planes))?;
    let lock = lock_path(home, name);
    let lock = Lock::try_acquire(&lock)
        .map_err(Error::file("lock", &lock))?
        .ok_or_else(|| Error::AlreadyRunning { name: name.into() })?;
    let layout = layout(home, name);
    let leftovers = leftovers::clear(&layout).map_err(Error::file("clear", layout.root()))?;
    layout.create().map_err(Error::file("create", layout.root()))?;
    Ok(Prepared { name: name.into(), layout, lock, leftovers })
}

pub(crate) fn layout(home: &Home, name: &str) -> Layout {
    Layout::new(home.planes.join(name))
}

pub(crate) fn lock_path(home: &Home, name: &str) -> std::path::PathBuf {
    home.planes.join(format!("{name}.lock"))
}

pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let good =
        name.len() <= 40 && name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(plain);
    if good { Ok(()) } else { Err(Error::Name { name: name.into() }) }
}

impl Prepared {
    /// Where everything will lie.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Starts everything and returns when all of it is ready. On failure nothing runs and only the logs are left.
    pub fn start(
        self,
        binaries: &Binaries,
        settings: &Settings,
        interrupt: &Interrupt,
        event: &mut dyn FnMut(StartEvent),
    ) -> Result<Plane, Error> {
        let watch = Stopwatch::start();
        let (layout, name) = (self.layout.clone(), self.name.clone());
        let launcher = Launcher::new().map_err(Error::file("start a thread for", layout.root()))?;
        let ports = choose_ports(&layout, 0)?;
        let state = State {
            schema: 1,
            name: name.clone(),
            phase: Phase::Starting,
            supervisor: Identity::of(pid()).unwrap_or(Identity { pid: pid(), started_ticks: 0 }),
            boot: state::boot(),
            since: wall_clock(),
            ready_s: None,
            ports,
            programs: binaries.dir().into(),
            kubernetes: recipe::kubernetes_version().into(),
            components: Vec::new(),
        };
        // From here on dropping the plane undoes everything.
        let mut plane = Plane::new(layout, self.lock, launcher, state);
        match start(&mut plane, binaries, settings, interrupt, watch, event) {
            Ok(()) => Ok(plane),
            Err(error) => {
                plane.abandon();
                Err(error)
            }
        }
    }
}

fn start(
    plane: &mut Plane,
    binaries: &Binaries,
    settings: &Settings,
    interrupt: &Interrupt,
    watch: Stopwatch,
    event: &mut dyn FnMut(StartEvent),
) -> Result<(), Error> {
    pki::create(plane.layout())?;
    for attempt in 1..=ATTEMPTS {
        write_configuration(plane, settings)?;
        let waves = waves(plane.layout(), plane.state().ports, binaries, settings);
        let mut clients = Clients::default();
        let started = waves
            .iter()
            .try_for_each(|wave| start_wave(plane, wave, &mut clients, settings, interrupt, watch, event));
        match started {
            Ok(()) => break,
            Err(Error::Died(death)) if attempt < ATTEMPTS && port_taken(&death.lines) => {
                event(StartEvent::PortTaken { component: death.component });
                plane.restart_with(choose_ports(plane.layout(), attempt)?)?;
            }
            Err(error) => return Err(error),
        }
    }
    let kubernetes = server_version(plane);
    plane.update(|state| {
        state.kubernetes = kubernetes.unwrap_or_else(|| state.kubernetes.clone());
        state.phase = Phase::Ready;
        state.ready_s = Some(watch.elapsed().as_secs_f64());
    })
}

fn start_wave(
    plane: &mut Plane,
    wave: &Wave,
    clients: &mut Clients,
    settings: &Settings,
    interrupt: &Interrupt,
    watch: Stopwatch,
    event: &mut dyn FnMut(StartEvent),
) -> Result<(), Error> {
    let deadline = Deadline::after(settings.patience);
    let begun = Stopwatch::start();
    let trouble = |plane: &Plane| {
        let death = plane.death().map(Error::Died);
        death.or_else(|| (interrupt.count() > 0).then_some(Error::Interrupted)).map(Err)
    };
    let mut launched = BTreeMap::new();
    for component in wave {
        if let Some(port) = component.after {
            // Whether it comes in time or not is told by the readiness of whoever has the port.
            until(deadline, || trouble(plane).or_else(|| listens(port).then_some(Ok(())))).transpose()?;
        }
        launched.insert(&component.name, Stopwatch::start());
        let launched_s = watch.elapsed().as_secs_f64();
        let process = plane.launch(component)?;
        let started = Started { name: component.name.clone(), process, launched_s, ready_s: None };
        plane.update(|state| state.components.push(started))?;
    }
    let mut waiting: Vec<&Component> = wave.iter().collect();
    let mut last = String::from("no answer");
    let all_ready = until(deadline, || {
        if let Some(trouble) = trouble(plane) {
            return Some(trouble);
        }
        waiting.retain(|component| match clients.ask(plane.layout(), &component.ready) {
            Ok(()) => {
                let after_s = launched[&component.name].elapsed().as_secs_f64();
                plane.note_ready(&component.name, after_s);
                event(StartEvent::Ready { component: component.name.clone(), after_s });
                false
            }
            Err(answer) => {
                last = answer;
                true
            }
        });
        waiting.is_empty().then_some(Ok(()))
    });
    match (all_ready, waiting.first()) {
        (Some(result), _) => result,
        (None, Some(late)) => Err(Error::NotReady {
            component: late.name.clone(),
            after_s: begun.elapsed().as_secs_f64(),
            answer: last,
            lines: plane.last_lines(&late.name),
        }),
        (None, None) => Ok(()),
    }
}

/// One TLS client per authority and certificate: reading the files takes longer than asking.
#[derive(Default)]
struct Clients(BTreeMap<(&'static str, &'static str), Client>);

impl Clients {
    fn ask(&mut self, layout: &Layout, ready: &Ready) -> Result<(), String> {
        let Ready::Answers { port, paths, authority, client } = ready else { return Ok(()) };
        if !self.0.contains_key(&(*authority, *client)) {
            let pem = |name: &str, end: &str| layout.pki(&format!("{name}.{end}"));
            let made = Client::new(&pem(authority, "crt"), &pem(client, "crt"), &pem(client, "key"));
            self.0.insert((authority, client), made.map_err(|error| error.to_string())?);
        }
        let asker = &self.0[&(*authority, *client)];
        for path in *paths {
            match asker.get(*port, path) {
                Ok(answer) if answer.status == 200 => {}
                Ok(answer) => return Err(format!("{path} answered {}", answer.status)),
                Err(error) => return Err(format!("{path}: {error}")),
            }
        }
        Ok(())
    }
}

/// What the API server says it is: given binaries (`--plane-bin`) may be another release than ours.
fn server_version(plane: &Plane) -> Option<String> {
    let layout = plane.layout();
    let client =
        Client::new(&layout.pki("ca.crt"), &layout.pki("admin.crt"), &layout.pki("admin.key")).ok()?;
    let answer = client.get(plane.state().ports.apiserver, "/version").ok()?;
    let version: serde_json::Value = serde_json::from_slice(&answer.body).ok()?;
    Some(version.get("gitVersion")?.as_str()?.to_owned())
}

fn write_configuration(plane: &Plane, settings: &Settings) -> Result<(), Error> {
    let (layout, port) = (plane.layout(), plane.state().ports.apiserver);
    let write = |path: std::path::PathBuf, text: &str| {
        write_private(&path, text.as_bytes()).map_err(Error::file("write", path))
    };
    let render = |client| kubeconfig::render(layout, &plane.state().name, client, port);
    write(layout.kubeconfig(), &render("admin"))?;
    for component in ["kube-controller-manager", "kube-scheduler", "kwok"] {
        write(layout.component_kubeconfig(component), &render(component))?;
    }
    let own =
        settings.stages.as_ref().map(|path| fs::read_to_string(path).map_err(Error::file("read", path)));
    write(layout.stages(), &own.transpose()?.unwrap_or_else(stages::configuration))
}

/// Planes that start at the same time must not choose the same ports: each looks in another place first.
fn choose_ports(layout: &Layout, attempt: u32) -> Result<Ports, Error> {
    let place = format!("{} {} {attempt}", layout.root().display(), pid());
    let hash = blake3::hash(place.as_bytes());
    let seed = hash.as_bytes().first_chunk().map_or(0, |four| u32::from_le_bytes(*four));
    Ports::choose(seed).map_err(Error::Ports)
}

fn listens(port: u16) -> bool {
    TcpStream::connect_timeout(&(Ipv4Addr::LOCALHOST, port).into(), Duration::from_millis(200)).is_ok()
}

fn port_taken(lines: &[String]) -> bool {
    lines.iter().any(|line| line.contains("address already in use"))
}

fn pid() -> i32 {
    i32::try_from(std::process::id()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_directories_and_contexts() {
        for (name, good) in [
            ("default", true),
            ("a-1", true),
            ("", false),
            ("-a", false),
            ("../x", false),
            ("A", false),
            ("1a", false),
        ] {
            assert_eq!(check_name(name).is_ok(), good, "{name}");
        }
        assert!(check_name(&"a".repeat(41)).is_err());
    }
}

//! A real control plane on this machine: etcd, kube-apiserver, kube-controller-manager, kube-scheduler and KWOK as plain
//! processes, without containers.
//!
//! [`build`] obtains the binaries. [`prepare`] takes a name and a directory, [`Prepared::start`] starts everything and
//! returns a [`Plane`] when each component answers ready; dropping it leaves nothing behind. [`manage`] looks at planes
//! of other processes and stops them. What each component is started with is a pure function in [`component`].
//!
//! ```no_run
//! use simkube_plane::{Home, Interrupt, Settings, build, prepare};
//!
//! let home = Home::from_env()?;
//! let settings = build::BuildSettings { cache: home.cache.clone(), ..Default::default() };
//! let binaries = build::build(&settings, &mut |_progress| {})?;
//! let interrupt = Interrupt::default();
//! let plane = prepare(&home, "default")?.start(&binaries, &Settings::default(), &interrupt, &mut |_event| {})?;
//! // Use plane.layout().kubeconfig(), then:
//! plane.stop(None, &interrupt)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Waiting for processes happens in real time, also when the plane itself lives in virtual time.

pub mod build;
pub mod component;
mod error;
pub mod home;
pub mod https;
mod interrupt;
mod kubeconfig;
mod layout;
mod leftovers;
mod lock;
pub mod log;
pub mod manage;
mod patience;
pub mod pki;
mod plane;
mod ports;
mod prctl;
mod process;
mod procfs;
pub mod recipe;
mod settings;
pub mod stages;
mod start;
mod state;

pub use error::{Death, Error};
pub use home::Home;
pub use interrupt::Interrupt;
pub use layout::Layout;
pub use plane::{Ending, Plane};
pub use ports::Ports;
pub use procfs::{Identity, Usage};
pub use settings::{NodeLifecycle, Settings};
pub use start::{Prepared, StartEvent, prepare};
pub use state::{Phase, Started, State};

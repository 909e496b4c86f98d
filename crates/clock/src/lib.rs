//! The clock of a simulation.
//!
//! [`Clock`] is what the product uses: now, sleep until, hold. A wall clock is real time with a factor. A
//! virtual clock is shared by every process of a plane through a page of memory: it runs with real time while
//! anybody is busy and jumps to the next timer when everybody sleeps. Go programs take part unmodified when
//! they are compiled with the [`overlay`]. docs/virtual-clock.md explains how and why it is right.
//!
//! Module map: `mapping` is the arithmetic; `page` and `memory` the shared memory; `deadlines` and
//! `virtual_clock` our own sleepers; `own` our own threads; `participants` the look around; `coordinator` the
//! thread that jumps; `outside` the clock of a plane that another process runs; `slack` how far timers are merged; `edits` and `overlay` the Go side.

mod clock;
#[cfg(target_os = "linux")]
mod coordinator;
#[cfg(target_os = "linux")]
mod deadlines;
mod edits;
mod mapping;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod outside;
pub mod overlay;
#[cfg(target_os = "linux")]
mod own;
#[cfg(target_os = "linux")]
mod page;
#[cfg(target_os = "linux")]
mod participants;
#[cfg(target_os = "linux")]
mod raw;
pub mod selftest;
mod slack;
mod stats;
#[cfg(target_os = "linux")]
mod virtual_clock;
mod wall;

pub use clock::{Clock, ENV, Error, Guard, Options};
pub use edits::GO_VERSION;
#[cfg(target_os = "linux")]
pub use outside::{Attendance, Outside};
pub use slack::Merge;
pub use stats::{Process, Stats, Vetoes};

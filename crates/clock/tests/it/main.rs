//! The virtual clock with real processes: Go programs that are compiled with the overlay, and this one.
//! Needs the pinned Go toolchain, and says so when it is missing.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    reason = "the helpers of a test fail it by panicking, as the test itself does"
)]

mod faults;
mod go;
mod overlay;
mod own;
mod selftest;
mod stress;
mod suspended;

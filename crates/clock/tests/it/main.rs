//! The virtual clock with real processes: Go programs that are compiled with the overlay, and this one.
//! Needs the pinned Go toolchain, and says so when it is missing.
#![cfg(target_os = "linux")]

mod faults;
mod go;
mod overlay;
mod own;
mod selftest;
mod stress;

//! `skctl` as people and scripts meet it: every verb, every exit code, every command in the documentation.
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod documentation;
mod faults;
mod generated;
mod plane;
mod plane_trouble;
mod reference;
mod sandbox;
mod tidy;
mod verbs;

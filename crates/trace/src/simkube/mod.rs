//! SimKube's own trace files: read in every spelling seen so far, written as version 2.
//!
//! The file is one MessagePack value. `msgpack` walks its bytes, `transcode` turns objects into JSON text and
//! back, `hash` is SimKube's hash, `outline` finds the parts of a file and checks its shape once, `config`,
//! `index` and `lives` understand three of those parts, `owners` completes names that lack a kind, `read` and
//! `write` turn events into records and back, `losses` says what did not fit, `notes` what was understood differently.

mod config;
mod hash;
mod index;
mod lives;
mod losses;
mod msgpack;
mod notes;
mod outline;
mod owners;
mod read;
mod transcode;
mod write;

pub use hash::{spec_hash, stable_pod_hash};
pub use losses::Losses;
pub(crate) use outline::PARTS;
pub use read::Reader;
pub use write::Writer;

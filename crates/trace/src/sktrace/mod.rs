//! Our own file format, version 1: JSON lines in zstd frames (specified in docs/trace-format.md).
//!
//! `line` knows how a record is spelled, `order` which record may follow which, `frames` how bytes are
//! packed, `read` and `write` put them together.

mod frames;
mod line;
mod order;
mod read;
mod write;

pub use read::Reader;
pub use write::{Packing, Writer};

/// What the header calls this format.
pub const FORMAT: &str = "sktrace/1";

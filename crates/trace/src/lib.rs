//! The recorded past of a cluster, as data.
//!
//! A *trace* is a [`Header`], the objects alive when the window opened, and then an ordered stream of
//! [`Record`]s: changes of objects, pod lives, gaps. This crate holds that model, reads and writes it
//! ([`open`], [`create`]), sums it up ([`Summary`]), compares two of them ([`diff`]) and invents new ones
//! ([`generate`]).
//!
//! Everything here is pure: bytes come in through `Read`, go out through `Write`, and time and chance are
//! parameters. Traces are hostile input, so every decoder works within [`Limits`] and answers with an
//! [`Error`] that names the place; none of them panics.
//!
//! ```
//! # use simkube_trace as trace;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut file = Vec::new();
//! let settings = trace::generate::Settings { services: 3, ..Default::default() };
//! let generator = trace::generate::Generator::new(&settings)?;
//! let mut writer = trace::create(&mut file, trace::Format::Sktrace, generator.header())?;
//! for record in generator {
//!     writer.write(&record)?;
//! }
//! writer.finish()?;
//!
//! let reader = trace::open(&file[..], trace::Limits::default())?;
//! let applied = reader.filter(|record| matches!(record, Ok(trace::Record::Applied { .. }))).count();
//! assert!(applied > 0);
//! # Ok(())
//! # }
//! ```

pub mod diff;
mod error;
pub mod generate;
mod gvk;
mod json;
mod life;
mod limits;
mod object;
mod open;
mod record;
pub mod simkube;
pub mod sktrace;
mod summary;

pub use error::{Error, Place};
pub use gvk::{Gvk, GvkError};
pub use life::{PodLife, TemplateHash};
pub use limits::Limits;
pub use object::{Key, Object, ObjectError};
pub use open::{Format, Reader, Writer, Written, create, open};
pub use record::{Closing, Gap, Header, Record, Source, Tracked, Window};
pub use summary::Summary;

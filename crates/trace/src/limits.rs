//! What a decoder accepts before it refuses: traces come from strangers.

use crate::Error;

/// Bounds for reading one trace. The defaults are far above anything a cluster produces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Nesting of arrays and maps inside one record or object.
    pub depth: usize,
    /// Bytes of one record as JSON. The API server refuses objects over 1.5 MiB, so 16 MiB is generous.
    pub record_bytes: usize,
    /// Bytes of a whole trace once decompressed. Reading streams, so this bounds time, not memory.
    pub total_bytes: u64,
    /// How many times larger than its file a trace may become, looked at beyond the first 64 MiB.
    /// Similar objects compress about a hundredfold; only a bomb reaches thousands.
    pub ratio: u64,
    /// Entries of one list in a file of SimKube's format: events, lives, indexed objects. One event for every
    /// second of three weeks.
    pub entries: usize,
    /// Bytes of a file in SimKube's own format. Its structure forces us to hold it in memory.
    pub simkube_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: 100,
            record_bytes: 16 << 20,
            total_bytes: 256 << 30,
            ratio: 4000,
            entries: 2_000_000,
            simkube_bytes: 4 << 30,
        }
    }
}

impl Limits {
    /// Refuses a list in a file of SimKube's format that is too long.
    pub(crate) fn check_entries(&self, list: &str, count: usize) -> Result<(), Error> {
        if count > self.entries {
            return Err(Error::limit(list, format!("it has more than {} entries", self.entries)));
        }
        Ok(())
    }
}

/// Below this size an expansion ratio says nothing: a few repeated records compress extremely well.
pub(crate) const RATIO_FREE_BYTES: u64 = 64 << 20;

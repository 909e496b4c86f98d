//! The clock below all clocks: the kernel's monotonic one, in nanoseconds. Go's runtime reads the same.

use rustix::time::{ClockId, clock_gettime};

pub(crate) fn monotonic() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

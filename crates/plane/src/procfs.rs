//! What the kernel says about a process: its identity, memory and processor time.

use std::fs;

use nix::unistd::{SysconfVar, sysconf};
use serde::{Deserialize, Serialize};

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Process id.
    pub pid: i32,
    /// Clock ticks between the machine's boot and the process's start.
    pub started_ticks: u64,
}

/// What a process uses now.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Usage {
    /// Resident memory.
    pub rss_bytes: u64,
    /// Processor time since its start, user and system.
    pub cpu_s: f64,
}

impl Identity {
    /// The process that has this number now.
    pub fn of(pid: i32) -> Option<Self> {
        let stat = Stat::read(pid)?;
        // A zombie holds nothing but its number: for us it is gone.
        (!stat.zombie).then_some(Self { pid, started_ticks: stat.started_ticks })
    }

    /// Whether that very process still runs.
    pub fn alive(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    /// What it uses, while it runs.
    pub fn usage(self) -> Option<Usage> {
        let stat = Stat::read(self.pid)?;
        (stat.started_ticks == self.started_ticks).then(|| Usage {
            rss_bytes: stat.rss_pages * page_size(),
            #[expect(clippy::cast_precision_loss, reason = "2^53 ticks are three million years")]
            cpu_s: stat.cpu_ticks as f64 / ticks_per_second(),
        })
    }
}

struct Stat {
    zombie: bool,
    cpu_ticks: u64,
    started_ticks: u64,
    rss_pages: u64,
}

impl Stat {
    fn read(pid: i32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        // The name stands in brackets and may itself contain brackets and blanks: count from the last one.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        Some(Self {
            zombie: matches!(*fields.first()?, "Z" | "X"),
            cpu_ticks: number(11)? + number(12)?,
            started_ticks: number(19)?,
            rss_pages: number(21)?,
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "a hundred or a thousand ticks per second")]
fn ticks_per_second() -> f64 {
    system_value(SysconfVar::CLK_TCK, 100) as f64
}

fn page_size() -> u64 {
    system_value(SysconfVar::PAGE_SIZE, 4096)
}

fn system_value(which: SysconfVar, usual: u64) -> u64 {
    sysconf(which).ok().flatten().and_then(|value| u64::try_from(value).ok()).unwrap_or(usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let text = "7 (a) b) S 1 7 7 0 -1 4194560 1 0 0 0 30 12 0 0 20 0 9 0 4242 1000 77 0";
        let stat = Stat::parse(text).unwrap();
        assert_eq!((stat.cpu_ticks, stat.started_ticks, stat.rss_pages), (42, 4242, 77));
    }

    #[test]
    fn a_recycled_number_is_another_process() {
        let me = Identity::of(i32::try_from(std::process::id()).unwrap()).unwrap();
        assert!(me.alive());
        assert!(me.usage().unwrap().rss_bytes > 0);
        assert!(!Identity { started_ticks: me.started_ticks + 1, ..me }.alive());
    }
}

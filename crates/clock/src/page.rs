//! The clock page: shared memory from which every process of a plane reads the time and in which each tells
//! whether it is awake. `plane/clock/simclock.go` is the other side; docs/virtual-clock.md has the table.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use rustix::thread::futex;

use crate::mapping::{Mapping, NEVER};
use crate::memory::Memory;
use crate::raw;

pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"SSKclock");
/// Changes with the layout: a program built with another one refuses to start.
pub(crate) const VERSION: u64 = 1;
pub(crate) const BYTES: usize = 8192;
pub(crate) const SLOT_COUNT: usize = 120;

/// Words of the header. What is read often and what is written often lie on different cache lines.
pub(crate) mod word {
    pub(crate) const MAGIC: usize = 0;
    pub(crate) const VERSION: usize = 1;
    pub(crate) const WALL_OFFSET: usize = 2;
    pub(crate) const HOLD_WISH: usize = 3;
    pub(crate) const SEQ: usize = 8;
    pub(crate) const MAPPINGS: usize = 16;
    pub(crate) const AWAKE: usize = 32;
    pub(crate) const BELL: usize = 40;
    pub(crate) const WAITING: usize = 41;
    pub(crate) const SLOTS: usize = 64;
}

/// Words of a slot.
pub(crate) mod slot {
    pub(crate) const PID: usize = 0;
    pub(crate) const AWAKE: usize = 1;
    pub(crate) const GEN: usize = 2;
    pub(crate) const DEADLINE: usize = 3;
    pub(crate) const POLL_FD: usize = 4;
    pub(crate) const BREAK_FD: usize = 5;
    pub(crate) const SYSCALLS: usize = 6;
    pub(crate) const WORDS: usize = 8;
}

/// Without a sign of life from the coordinator the clock stands after this long, in simulated nanoseconds:
/// a coordinator that is stopped (SIGSTOP, Ctrl-Z) takes the whole plane with it, whenever that happens.
pub(crate) const LEASE: i64 = 1_000_000_000;

/// The page, mapped. One process creates it and is its only writer; see [`Page::jump`] and [`Page::rewrite`].
pub(crate) struct Page {
    memory: Memory,
    path: PathBuf,
    /// The mapping in force. Its lock makes the threads of this process one writer.
    current: Mutex<Mapping>,
}

impl Page {
    /// A new page at `path` whose clock shows `start` now and runs with real time.
    pub(crate) fn create(path: &Path, start: Timestamp) -> io::Result<Page> {
        // A new file, never the old one again: processes that a killed plane left behind may still have that
        // one mapped, and a file that shrinks under a mapping is a SIGBUS.
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
        file.set_len(BYTES as u64)?;
        let memory = Memory::map(&file, BYTES / 8)?;
        let now = raw::monotonic();
        let start = i64::try_from(start.as_nanosecond())
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "the clock can show 1678 to 2262"))?;
        let mapping = Mapping { raw_base: now, virt_base: now, num: 1, den: 1, limit: now + LEASE };
        let page = Page { memory, path: path.to_owned(), current: Mutex::new(mapping) };
        page.store(word::WALL_OFFSET, start - now);
        page.write_mapping(0, mapping);
        page.word(word::VERSION).store(VERSION, SeqCst);
        page.word(word::MAGIC).store(MAGIC, SeqCst);
        Ok(page)
    }

    /// The page of another process's clock. Only [`Page::create`] makes a writer of mappings.
    pub(crate) fn open(path: &Path) -> io::Result<Page> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let memory = Memory::map(&file, BYTES / 8)?;
        let nothing = Mapping { raw_base: 0, virt_base: 0, num: 0, den: 1, limit: 0 };
        let page = Page { memory, path: path.to_owned(), current: Mutex::new(nothing) };
        if page.word(word::MAGIC).load(SeqCst) == MAGIC && page.word(word::VERSION).load(SeqCst) == VERSION {
            return Ok(page);
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, "not a clock page of this version"))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Monotonic virtual time in nanoseconds, the same number that every process of the plane sees.
    pub(crate) fn now(&self) -> i64 {
        let (mapping, raw) = self.read();
        mapping.at(raw)
    }

    /// The mapping in force.
    pub(crate) fn mapping(&self) -> Mapping {
        self.read().0
    }

    /// The mapping and a raw time at which it was in force.
    fn read(&self) -> (Mapping, i64) {
        loop {
            let seq = self.word(word::SEQ).load(SeqCst);
            if seq & 1 == 1 {
                std::hint::spin_loop();
                continue;
            }
            let mapping = self.read_mapping(seq);
            let raw = raw::monotonic();
            if self.word(word::SEQ).load(SeqCst) == seq {
                return (mapping, raw);
            }
        }
    }

    /// Nanoseconds since 1970 that belong to the monotonic time `now`.
    pub(crate) fn wall_offset(&self) -> i64 {
        self.load(word::WALL_OFFSET)
    }

    /// Set the clock forward to `target(now)` and its limit to `limit(new now)`; returns (before, after).
    ///
    /// The rate must stay and the limit may only rise. Then readers need not wait while it happens: the new
    /// mapping is prepared beside the old one and put in force by a single store, and whoever still used the
    /// old one saw nothing that the new one has not reached.
    pub(crate) fn jump(&self, target: impl FnOnce(i64) -> i64, limit: impl FnOnce(i64) -> i64) -> (i64, i64) {
        let mut current = self.writer();
        let mut next = current.rebased(raw::monotonic());
        let before = next.virt_base;
        next.virt_base = target(before).max(before);
        next.limit = limit(next.virt_base).max(current.limit);
        let seq = self.word(word::SEQ).load(SeqCst);
        self.write_mapping(seq + 2, next);
        self.word(word::SEQ).store(seq + 2, SeqCst);
        *current = next;
        (before, next.virt_base)
    }

    /// Change rate or limit at this moment. Readers wait meanwhile, or one of them could see a time that the
    /// slower clock takes back.
    pub(crate) fn rewrite(&self, change: impl FnOnce(&mut Mapping)) {
        let mut current = self.writer();
        let seq = self.word(word::SEQ).load(SeqCst);
        self.word(word::SEQ).store(seq + 1, SeqCst);
        let mut next = current.rebased(raw::monotonic());
        change(&mut next);
        next.limit = next.limit.max(next.virt_base);
        self.write_mapping(seq + 2, next);
        self.word(word::SEQ).store(seq + 2, SeqCst);
        *current = next;
    }

    /// Does somebody outside wish that time stands?
    pub(crate) fn hold_wish(&self) -> bool {
        self.load(word::HOLD_WISH) != 0
    }

    pub(crate) fn wish_hold(&self, wish: bool) {
        self.store(word::HOLD_WISH, wish.into());
        self.ring();
    }

    /// The bell as it is before a look around; give it to [`Page::wait`] after one in vain.
    pub(crate) fn bell(&self) -> u32 {
        self.bell_word().load(SeqCst)
    }

    /// Sleep until somebody rings, unless that happened since `bell` was read.
    pub(crate) fn wait(&self, bell: u32, longest: i64) {
        self.word(word::WAITING).store(1, SeqCst);
        let limit = futex::Timespec { tv_sec: longest / 1_000_000_000, tv_nsec: longest % 1_000_000_000 };
        // Every outcome means the same: look again.
        let _ = futex::wait(self.bell_word(), futex::Flags::empty(), bell, Some(&limit));
        self.word(word::WAITING).store(0, SeqCst);
    }

    /// Make the coordinator look again.
    pub(crate) fn ring(&self) {
        self.bell_word().fetch_add(1, SeqCst);
        if self.load(word::WAITING) != 0 {
            let _ = futex::wake(self.bell_word(), futex::Flags::empty(), 1);
        }
    }

    pub(crate) fn slot(&self, index: usize) -> Slot<'_> {
        let start = word::SLOTS + index * slot::WORDS;
        Slot { page: self, words: &self.memory.words()[start..start + slot::WORDS] }
    }

    fn writer(&self) -> MutexGuard<'_, Mapping> {
        // A mapping is whole before and after every statement that could panic.
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_mapping(&self, seq: u64) -> Mapping {
        let at = mapping_word(seq);
        Mapping {
            raw_base: self.load(at),
            virt_base: self.load(at + 1),
            num: self.load(at + 2),
            den: self.load(at + 3),
            limit: self.load(at + 4),
        }
    }

    fn write_mapping(&self, seq: u64, mapping: Mapping) {
        let at = mapping_word(seq);
        let Mapping { raw_base, virt_base, num, den, limit } = mapping;
        for (i, value) in [raw_base, virt_base, num, den, limit].into_iter().enumerate() {
            self.store(at + i, value);
        }
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        &self.memory.words()[index]
    }

    fn bell_word(&self) -> &AtomicU32 {
        self.memory.half(word::BELL)
    }

    fn load(&self, index: usize) -> i64 {
        self.word(index).load(SeqCst).cast_signed()
    }

    fn store(&self, index: usize, value: i64) {
        self.word(index).store(value.cast_unsigned(), SeqCst);
    }
}

/// Bit 1 of the sequence selects one of two places.
fn mapping_word(seq: u64) -> usize {
    if seq & 2 == 0 { word::MAPPINGS } else { word::MAPPINGS + 8 }
}

/// What one process says about itself.
#[derive(Clone, Copy)]
pub(crate) struct Slot<'a> {
    page: &'a Page,
    words: &'a [AtomicU64],
}

impl Slot<'_> {
    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.load(slot::PID)).unwrap_or(0)
    }

    pub(crate) fn awake(&self) -> i64 {
        self.load(slot::AWAKE)
    }

    pub(crate) fn generation(&self) -> i64 {
        self.load(slot::GEN)
    }

    /// 0: nobody polls; [`NEVER`]: polls without a timer.
    pub(crate) fn deadline(&self) -> i64 {
        self.load(slot::DEADLINE)
    }

    pub(crate) fn poll_fd(&self) -> i32 {
        i32::try_from(self.load(slot::POLL_FD)).unwrap_or(0)
    }

    pub(crate) fn break_fd(&self) -> i32 {
        i32::try_from(self.load(slot::BREAK_FD)).unwrap_or(0)
    }

    pub(crate) fn syscalls(&self) -> i64 {
        self.load(slot::SYSCALLS)
    }

    /// Take a free slot for a process that starts awake.
    pub(crate) fn claim(&self, pid: u32) -> bool {
        let free = self.words[slot::PID].compare_exchange(0, u64::from(pid), SeqCst, SeqCst).is_ok();
        if free {
            self.add_awake(1);
        }
        free
    }

    /// The same as `simAwake` on the Go side.
    pub(crate) fn add_awake(&self, change: i64) {
        self.touch();
        let before = self.words[slot::AWAKE].fetch_add(change.cast_unsigned(), SeqCst).cast_signed();
        if before + change == 0 {
            if self.page.word(word::AWAKE).fetch_sub(1, SeqCst) == 1 {
                self.page.ring();
            }
        } else if before == 0 {
            self.page.word(word::AWAKE).fetch_add(1, SeqCst);
        }
    }

    /// Something changed that a look around must not miss.
    pub(crate) fn touch(&self) {
        self.words[slot::GEN].fetch_add(1, SeqCst);
    }

    /// Give back the slot of a process that is gone.
    pub(crate) fn free(&self) {
        if self.awake() > 0 {
            self.page.word(word::AWAKE).fetch_sub(1, SeqCst);
        }
        for word in self.words[1..].iter().chain(&self.words[..1]) {
            word.store(0, SeqCst);
        }
    }

    /// When this process wants to be woken, if it said so.
    pub(crate) fn timer(&self) -> Option<i64> {
        Some(self.deadline()).filter(|at| *at != 0 && *at != NEVER)
    }

    fn load(&self, index: usize) -> i64 {
        self.words[index].load(SeqCst).cast_signed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicI64};
    use std::thread;

    fn page() -> (tempfile::TempDir, Page) {
        let dir = tempfile::tempdir().unwrap();
        let page = Page::create(&dir.path().join("clock"), Timestamp::UNIX_EPOCH).unwrap();
        (dir, page)
    }

    /// `simWordSeq = 8` in the Go file must be `word::SEQ = 8` here, and so on.
    #[test]
    fn both_sides_agree_on_the_layout() {
        let go = include_str!("../../../plane/clock/simclock.go");
        let value = |name: &str| -> u64 {
            let line = go.lines().find(|line| line.split_whitespace().next() == Some(name)).expect(name);
            let text = line.split('=').nth(1).expect(name).split("//").next().expect(name).trim();
            let hex = text.strip_prefix("0x").map(|hex| u64::from_str_radix(hex, 16));
            hex.unwrap_or_else(|| text.parse()).expect(name)
        };
        let ours: &[(&str, u64)] = &[
            ("simMagic", MAGIC),
            ("simVersion", VERSION),
            ("simBytes", BYTES as u64),
            ("simWordMagic", word::MAGIC as u64),
            ("simWordVersion", word::VERSION as u64),
            ("simWordWallOffset", word::WALL_OFFSET as u64),
            ("simWordHoldWish", word::HOLD_WISH as u64),
            ("simWordSeq", word::SEQ as u64),
            ("simWordMappings", word::MAPPINGS as u64),
            ("simWordAwake", word::AWAKE as u64),
            ("simWordBell", word::BELL as u64),
            ("simWordWaiting", word::WAITING as u64),
            ("simWordSlots", word::SLOTS as u64),
            ("simSlotWords", slot::WORDS as u64),
            ("simSlotCount", SLOT_COUNT as u64),
            ("simMapRawBase", 0),
            ("simMapVirtBase", 1),
            ("simMapNum", 2),
            ("simMapDen", 3),
            ("simMapLimit", 4),
            ("simSlotPid", slot::PID as u64),
            ("simSlotAwake", slot::AWAKE as u64),
            ("simSlotGen", slot::GEN as u64),
            ("simSlotDeadline", slot::DEADLINE as u64),
            ("simSlotPollFd", slot::POLL_FD as u64),
            ("simSlotBreakFd", slot::BREAK_FD as u64),
            ("simSlotSyscalls", slot::SYSCALLS as u64),
        ];
        for (name, ours) in ours {
            assert_eq!(value(name), *ours, "{name}");
        }
        assert_eq!(word::SLOTS + SLOT_COUNT * slot::WORDS, BYTES / 8);
    }

    /// Threads share what they have seen: nobody may read less than anybody read before.
    #[test]
    fn no_reader_sees_time_run_backwards_while_it_jumps_slows_and_stops() {
        let (_dir, page) = page();
        let (seen, done, reads) = (AtomicI64::new(0), AtomicBool::new(false), AtomicI64::new(0));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !done.load(SeqCst) {
                        let before = seen.load(SeqCst);
                        let now = page.now();
                        assert!(now >= before, "{now} after {before}");
                        seen.fetch_max(now, SeqCst);
                        reads.fetch_add(1, SeqCst);
                    }
                });
            }
            for round in 0..200_000i64 {
                match round % 8 {
                    0 => page.rewrite(|m| (m.num, m.den) = (1, 1 + round % 97)),
                    1 => page.rewrite(|m| m.limit = m.virt_base),
                    2 => page.rewrite(|m| m.limit = NEVER),
                    _ => drop(page.jump(|now| now + round % 3, |now| now + LEASE)),
                }
            }
            done.store(true, SeqCst);
        });
        assert!(reads.load(SeqCst) > 0);
    }

    #[test]
    fn a_limit_is_strict_and_time_goes_on_from_it() {
        let (_dir, page) = page();
        let stop = page.now() + 50_000;
        page.rewrite(|m| m.limit = stop);
        while page.now() < stop {}
        assert_eq!(page.now(), stop);
        page.rewrite(|m| m.limit = NEVER);
        let resumed = page.now();
        assert!(resumed >= stop);
        let (before, after) = page.jump(|now| now + 5, |now| now);
        assert!(before >= resumed && after == before + 5);
    }

    #[test]
    fn without_a_coordinator_the_clock_stands_when_the_lease_is_over() {
        let (_dir, page) = page();
        let end = page.mapping().limit;
        page.rewrite(|m| (m.num, m.limit) = (1_000_000, end));
        while page.now() < end {}
        assert!((0..1000).all(|_| page.now() == end));
    }

    #[test]
    fn the_last_process_to_fall_asleep_rings() {
        let (_dir, page) = page();
        assert!(page.slot(0).claim(1) && page.slot(1).claim(2) && !page.slot(1).claim(3));
        let bell = page.bell();
        page.slot(0).add_awake(-1);
        assert_eq!(page.bell(), bell);
        page.slot(1).add_awake(-1);
        assert_eq!(page.bell(), bell + 1);
        page.slot(0).add_awake(1);
        page.slot(0).free();
        page.slot(1).add_awake(1);
        page.slot(1).add_awake(-1);
        assert_eq!(page.bell(), bell + 2, "a dead process does not keep the bell from ringing");
    }
}

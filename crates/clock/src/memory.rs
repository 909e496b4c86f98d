//! Shared memory as atomic words: the one place of this crate that needs `unsafe`.
#![expect(unsafe_code, reason = "a file mapped by several processes has no safe type in Rust")]

use std::fs::File;
use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// A file mapped for reading and writing, seen as words of eight bytes.
pub(crate) struct Memory {
    start: NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: every access goes through atomics, and the mapping lives as long as the value.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Map the first `words` words of `file`, which must be at least that long.
    pub(crate) fn map(file: &File, words: usize) -> io::Result<Memory> {
        let bytes = words * size_of::<AtomicU64>();
        if file.metadata()?.len() < bytes as u64 {
            // Touching a page behind the end of its file is a SIGBUS, not an error.
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file is too short"));
        }
        let flags = MapFlags::SHARED;
        // SAFETY: the kernel chooses the address, so no existing memory is replaced.
        let start =
            unsafe { mmap(ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, flags, file, 0) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Memory { start, words })
    }

    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: mapped for `words` words and aligned to a page; other processes use atomics too.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }

    /// The first half of a word in memory order, for futexes, which are four bytes wide.
    pub(crate) fn half(&self, word: usize) -> &AtomicU32 {
        let word = &self.words()[word];
        // SAFETY: inside the word, aligned, and nobody uses the word as a whole.
        unsafe { &*ptr::from_ref(word).cast() }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: mapped by `map` with this length; no reference outlives `self`. A failure leaves memory
        // mapped, which harms nobody.
        unsafe {
            let _ = munmap(self.start.as_ptr().cast(), self.words * size_of::<AtomicU64>());
        }
    }
}

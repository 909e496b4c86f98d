//! Children that do not outlive us. What runs between fork and exec cannot be checked by the compiler, so it is kept
//! here, alone: two system calls, no allocation, no lock.
#![expect(
    unsafe_code,
    reason = "`pre_exec` runs in the forked child, where only async-signal-safe calls are allowed"
)]

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::sys::signal::SigSet;
use nix::unistd::{Pid, getpid, getppid};

/// Has the kernel kill the child when the **thread** that starts it ends: start children from a thread that lives as
/// long as they shall. Also gives the child an empty signal mask; it would inherit the one of that thread.
pub(crate) fn die_with_parent(command: &mut Command) {
    let parent = getpid();
    // SAFETY: the closure allocates nothing and calls only prctl(2), getppid(2) and sigprocmask(2).
    unsafe {
        command.pre_exec(move || in_child(parent));
    }
}

fn in_child(parent: Pid) -> io::Result<()> {
    SigSet::empty().thread_set_mask()?;
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
    // If the parent died before the line above, nobody will ever send that signal.
    if getppid() == parent { Ok(()) } else { Err(io::Error::from_raw_os_error(nix::libc::ESRCH)) }
}

/// Puts the child into a session of its own, so that closing the terminal does not reach it.
pub(crate) fn own_session(command: &mut Command) {
    // SAFETY: the closure allocates nothing and calls only setsid(2) and sigprocmask(2).
    unsafe {
        command.pre_exec(|| {
            SigSet::empty().thread_set_mask()?;
            nix::unistd::setsid()?;
            Ok(())
        });
    }
}

//! Ctrl-C: the first one asks the running verb to stop and clean up, the second one ends the process.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};

use crate::exit::{Code, Failure};

static ASKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Starts listening for the signals that ask us to stop.
pub(crate) fn install() -> Result<(), Failure> {
    let asked = ASKED.get_or_init(Arc::default);
    for signal in [SIGINT, SIGTERM] {
        // The order matters: on the second signal the flag is already set and the process ends.
        signal_hook::flag::register_conditional_shutdown(
            signal,
            Code::Interrupted as i32,
            Arc::clone(asked),
        )?;
        signal_hook::flag::register(signal, Arc::clone(asked))?;
    }
    Ok(())
}

/// Fails once the user asked us to stop. Loops call it, so that what they hold is dropped in order.
pub(crate) fn check() -> Result<(), Failure> {
    if ASKED.get().is_some_and(|asked| asked.load(Ordering::Relaxed)) {
        return Err(Failure::new(Code::Interrupted, anyhow::anyhow!("interrupted")));
    }
    Ok(())
}

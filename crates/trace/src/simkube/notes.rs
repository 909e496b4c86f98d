//! What was understood differently from how it stands in a file. A hostile file could fill a terminal with it, so
//! only the first few are kept and the rest are counted.

use std::collections::BTreeSet;

/// Remarks for people, each only once.
#[derive(Default)]
pub(super) struct Notes {
    kept: Vec<String>,
    seen: BTreeSet<String>,
    more: u64,
}

const MOST: usize = 10;

impl Notes {
    pub(super) fn add(&mut self, note: String) {
        if self.kept.len() >= MOST {
            // Repetitions are told apart only among those kept; beyond them the number is enough.
            self.more += u64::from(!self.seen.contains(&note));
        } else if self.seen.insert(note.clone()) {
            self.kept.push(note);
        }
    }

    pub(super) fn into_lines(mut self) -> Vec<String> {
        if self.more > 0 {
            self.kept.push(format!("{} more of the kind", self.more));
        }
        self.kept
    }
}

//! What a trace loses when it is written in SimKube's format. Nothing is dropped without being said.

use std::collections::BTreeSet;
use std::fmt;

use crate::{Gvk, Header, PodLife};

/// Counts of what did not fit. Prints as one line per loss, and as nothing when there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Times that had a fraction of a second.
    pub fractions: u64,
    /// Gaps in the recording.
    pub gaps: u64,
    /// Lives of which more was known than start and end.
    pub lives: u64,
    /// Objects with integers beyond 64 bits, which become floating-point numbers.
    pub wide_numbers: u64,
    /// Built-in kinds whose own template paths SimKube would refuse.
    pub paths: Vec<Gvk>,
    /// Objects, index entries and lives without a proper kind: SimKube refuses a file that indexes them.
    pub nameless: u64,
    /// Kinds that SimKube will not accept as tracked.
    pub untracked: Vec<Gvk>,
    /// Cluster-scoped objects: they are written, but SimKube's driver stops at them.
    pub cluster_scoped: BTreeSet<Gvk>,
    /// Parts of the header without a counterpart.
    pub header: Vec<&'static str>,
}

impl Losses {
    pub(super) fn of_header(header: &Header) -> Self {
        let source = &header.source;
        let parts = [
            (source.kubernetes.is_some() || source.cluster.is_some(), "where it was recorded"),
            (!header.redacted.is_empty(), "what was redacted"),
            (!header.annotations.is_empty(), "its annotations"),
        ];
        let header = parts.into_iter().filter_map(|(has, part)| has.then_some(part)).collect();
        Self { header, ..Self::default() }
    }

    pub(super) fn count_life(&mut self, life: &PodLife) {
        let PodLife { pod, created, scheduled, deleted, node, exit_code, reason, restarts, .. } = life;
        let times = [created, scheduled, deleted].into_iter().any(Option::is_some);
        let texts = [pod, node, reason].into_iter().any(Option::is_some);
        let ends_without_start = life.started.is_none() && life.finished.is_some();
        if times || texts || exit_code.is_some() || *restarts > 0 || ends_without_start {
            self.lives += 1;
        }
    }
}

impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list =
            |kinds: &mut dyn Iterator<Item = &Gvk>| kinds.map(Gvk::to_string).collect::<Vec<_>>().join(", ");
        if self.fractions > 0 {
            writeln!(f, "times cut to whole seconds: {}", self.fractions)?;
        }
        if self.lives > 0 {
            writeln!(f, "pod lives reduced to their start and end: {}", self.lives)?;
        }
        if self.gaps > 0 {
            writeln!(f, "gaps not written: {}", self.gaps)?;
        }
        if self.wide_numbers > 0 {
            writeln!(f, "objects with integers beyond 64 bits, now rounded: {}", self.wide_numbers)?;
        }
        if !self.paths.is_empty() {
            writeln!(f, "SimKube knows other template paths for: {}", list(&mut self.paths.iter()))?;
        }
        if self.nameless > 0 {
            writeln!(f, "entries without a proper kind, left out of index and lives: {}", self.nameless)?;
        }
        if !self.untracked.is_empty() {
            let kinds = list(&mut self.untracked.iter());
            writeln!(f, "SimKube tracks no kinds without pod templates: {kinds}")?;
        }
        if !self.cluster_scoped.is_empty() {
            let kinds = list(&mut self.cluster_scoped.iter());
            writeln!(f, "SimKube's driver stops at cluster-scoped objects: {kinds}")?;
        }
        if !self.header.is_empty() {
            writeln!(f, "the header loses {}", self.header.join(" and "))?;
        }
        Ok(())
    }
}

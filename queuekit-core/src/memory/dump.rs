//! A dump of everything stored, for tests that prove that nothing changed.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use super::MemoryStore;
use super::tables::Tables;

impl MemoryStore {
    /// For tests of stores only: everything that is stored, nonces included, a line per record.
    #[doc(hidden)]
    pub fn raw_dump(&self) -> Vec<String> {
        self.shared.tables.lock().unwrap_or_else(PoisonError::into_inner).raw_dump()
    }
}

impl Tables {
    fn raw_dump(&self) -> Vec<String> {
        // The instant of the current step, and the queues that gained work in it, are not stored.
        let Self {
            now: _,
            stirred: _,
            cancel_requested: _,
            jobs,
            queues,
            keys,
            workers,
            schedules,
            events,
            acts,
            closed,
            seq,
        } = self;
        let jobs: BTreeMap<_, _> = jobs.iter().collect();
        // Debug leaves the nonce out, so that no log can settle a job.
        let jobs = jobs.values().map(|job| format!("{job:?} {:02x?}", job.nonce.as_bytes()));
        let others = [
            format!("{keys:?}"),
            format!("{workers:?}"),
            format!("{schedules:?}"),
            format!("{events:?}"),
            format!("{acts:?}"),
            format!("closed: {closed}, seq: {seq}"),
        ];
        let queues = queues.iter().map(|queue| format!("{queue:?}"));
        jobs.chain(queues).chain(others).collect()
    }
}

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
        // Neither the current step nor a limit is stored.
        let Self {
            now: _,
            stirred: _,
            cancel_requested: _,
            most_error_groups: _,
            jobs,
            queues,
            keys,
            workers,
            schedules,
            events,
            acts,
            error_groups,
            history,
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
            format!("{error_groups:?}"),
            format!("{history:?}"),
            format!("closed: {closed}, seq: {seq}"),
        ];
        let queues = queues.iter().map(|queue| format!("{queue:?}"));
        jobs.chain(queues).chain(others).collect()
    }
}

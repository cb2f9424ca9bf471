//! Which job holds which idempotency key (contract R2.5).

use queuekit_core::lifecycle::Transition;
use queuekit_core::{JobId, Result, State};
use rusqlite::params;

use super::Step;
use crate::row::{Record, millis};
use crate::statements::{KEY_FREE, KEY_FREE_AT, KEY_HOLDER, KEY_TAKE};

impl Step<'_> {
    /// The job that holds the key now.
    pub(super) fn key_holder(&self, queue: usize, key: &str) -> Result<Option<JobId>> {
        let scoped = params![self.queues[queue].name.as_str(), key, self.now.as_millis()];
        Ok(self.value(KEY_HOLDER, scoped)?.map(JobId::from_bytes))
    }

    /// Lets a job hold its key, without an end.
    pub(super) fn take_key(&self, queue: usize, key: &str, id: JobId) -> Result<()> {
        let hold = params![self.queues[queue].name.as_str(), key, id.as_bytes()];
        self.execute(KEY_TAKE, hold).map(drop)
    }

    /// Frees or takes the job's key, as its transition requires.
    pub(super) fn settle_key(
        &self,
        queue: usize,
        record: &Record,
        was: State,
        transition: Transition,
    ) -> Result<()> {
        let Some(key) = &record.idempotency_key else {
            return Ok(());
        };
        let name = self.queues[queue].name.as_str();
        let hold = params![name, key, record.id.as_bytes()];
        match (transition, transition.to()) {
            (Transition::Retry, _) => self.take_key(queue, key, record.id),
            (Transition::Delete | Transition::DeleteForced, _) => {
                self.execute(KEY_FREE, hold).map(drop)
            }
            (_, Some(state)) if state.is_terminal() && !was.is_terminal() => {
                if record.unique_until_done {
                    return self.execute(KEY_FREE, hold).map(drop);
                }
                let window = millis(self.queues[queue].settings.dedup_window);
                let free_at = self.now.as_millis().saturating_add(window);
                let hold = params![name, key, record.id.as_bytes(), free_at];
                self.execute(KEY_FREE_AT, hold).map(drop)
            }
            _ => Ok(()),
        }
    }
}

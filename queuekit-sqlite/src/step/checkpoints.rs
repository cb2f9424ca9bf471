//! Results of steps of jobs (contract R13.10).

use queuekit_core::capability::{CheckpointOutcome, NewCheckpoint};
use queuekit_core::lifecycle::{Held, checkpoint};
use queuekit_core::{
    Bytes, Checkpoint, CheckpointInfo, CheckpointName, Checkpoints, JobId, LeaseToken, Result,
    State, Timestamp,
};
use rusqlite::{Row, params};

use super::Step;
use crate::column_names::columns;
use crate::statements::{
    CHECKPOINT_PUT, CHECKPOINTS, CHECKPOINTS_DELETE, CHECKPOINTS_HELD, CHECKPOINTS_LIST,
};

columns! {
    struct HeldColumns { count, bytes, same }
    struct CheckpointColumns { name, at, result }
    struct InfoColumns { name, at, bytes }
}

impl Step<'_> {
    /// A repeated call is answered as the first.
    pub(crate) fn put_checkpoint(&mut self, new: &NewCheckpoint) -> Result<CheckpointOutcome> {
        self.store_checkpoint(new, |same| same)
    }

    /// What is stored under the name is a conflict, whatever it is.
    pub(crate) fn put_new_checkpoint(&mut self, new: &NewCheckpoint) -> Result<CheckpointOutcome> {
        self.store_checkpoint(new, |_| false)
    }

    /// `None` if the lease does not hold.
    pub(crate) fn checkpoints(&mut self, lease: &LeaseToken) -> Result<Option<Checkpoints>> {
        let held = self.job_of_lease(lease)?;
        let Some((record, true)) = held.filter(|(record, _)| record.is_held_by(lease)) else {
            return Ok(None);
        };
        let stored = self.rows(CHECKPOINTS, [record.key], read)?;
        Ok(Some(Checkpoints { now: self.now, stored: stored.into_iter().flatten().collect() }))
    }

    pub(crate) fn list_checkpoints(&mut self, id: JobId) -> Result<Vec<CheckpointInfo>> {
        let Some(record) = self.job(id)? else { return Ok(Vec::new()) };
        Ok(self.rows(CHECKPOINTS_LIST, [record.key], info)?.into_iter().flatten().collect())
    }

    /// Whether each job had any, and does not run.
    pub(crate) fn forget_checkpoints(&mut self, ids: &[JobId]) -> Result<Vec<bool>> {
        let forget = |id: &JobId| match self.job(*id)? {
            Some(record) if record.state != State::Running => {
                Ok(self.execute(CHECKPOINTS_DELETE, [record.key])? > 0)
            }
            _ => Ok(false),
        };
        ids.iter().map(forget).collect()
    }

    fn store_checkpoint(
        &mut self,
        new: &NewCheckpoint,
        is_repeat: impl Fn(bool) -> bool,
    ) -> Result<CheckpointOutcome> {
        let Some((record, of_queue)) = self.job_of_lease(new.lease())? else {
            return Ok(CheckpointOutcome::NotFound);
        };
        if !of_queue || !record.is_held_by(new.lease()) {
            return Ok(CheckpointOutcome::LeaseLost);
        }
        let (name, result) = (new.name().as_str(), new.result());
        let held = self.row(CHECKPOINTS_HELD, params![record.key, name, result.as_ref()], held)?;
        let held = held.unwrap_or_default();
        let same = held.same.map(is_repeat);
        let outcome = checkpoint(Held { same, ..held }, result.len());
        if outcome == CheckpointOutcome::Stored && same.is_none() {
            let at = self.now.as_millis();
            self.execute(CHECKPOINT_PUT, params![record.key, name, at, result.as_ref()])?;
        }
        Ok(outcome)
    }
}

fn held(row: &Row<'_>, at: &HeldColumns) -> rusqlite::Result<Held> {
    let number = |at: usize| row.get::<_, i64>(at).map(|n| n.cast_unsigned() as usize);
    Ok(Held { count: number(at.count)?, bytes: number(at.bytes)?, same: row.get(at.same)? })
}

/// None if it cannot be read.
fn read(row: &Row<'_>, at: &CheckpointColumns) -> rusqlite::Result<Option<Checkpoint>> {
    let name = CheckpointName::new(row.get_ref(at.name)?.as_str()?).ok();
    let time = Timestamp::from_millis(row.get(at.at)?);
    let result = Bytes::copy_from_slice(row.get_ref(at.result)?.as_blob()?);
    Ok(name.map(|name| Checkpoint { name, at: time, result }))
}

/// None if it cannot be read.
fn info(row: &Row<'_>, at: &InfoColumns) -> rusqlite::Result<Option<CheckpointInfo>> {
    let name = CheckpointName::new(row.get_ref(at.name)?.as_str()?).ok();
    let time = Timestamp::from_millis(row.get(at.at)?);
    let bytes = row.get::<_, i64>(at.bytes)?.cast_unsigned() as usize;
    Ok(name.map(|name| CheckpointInfo { name, at: time, bytes }))
}

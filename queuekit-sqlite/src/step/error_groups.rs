//! Rows of error groups (contract R8.4).

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use queuekit_core::lifecycle::Transition;
use queuekit_core::{
    ErrorGroup, GroupDelta, GroupKey, JobId, Kind, QueueName, RecentErrors, Result, Signature,
    Timestamp,
};
use rusqlite::{Row, params};

use super::Step;
use crate::column_names::columns;
use crate::row::{Record, unsigned};
use crate::statements::{
    ERROR_GROUP_ADD, ERROR_GROUP_INSERT, ERROR_GROUP_RECENT, ERROR_GROUPS, ERROR_GROUPS_TRIM,
};

/// What a step adds to groups, by the index of the queue: written once for each group.
pub(super) type Counted = BTreeMap<(usize, GroupKey), ErrorGroup>;

impl Step<'_> {
    /// Counts what a transition of a job adds to the group of this error.
    pub(super) fn count_error(
        &mut self,
        record: &Record,
        transition: Transition,
        failed: bool,
        error: &str,
    ) -> Result<()> {
        if failed {
            let queue = self.queue_of(record)?;
            self.queues[queue].total_failed += 1;
        }
        // The kind of an unreadable job may be unreadable too.
        let (Some(delta), Ok(kind)) =
            (GroupDelta::of(transition, failed, record.id), Kind::new(&record.kind))
        else {
            return Ok(());
        };
        let queue = self.queue_of(record)?;
        let key = GroupKey::of(kind, error);
        match self.errors.entry((queue, key.clone())) {
            Entry::Occupied(mut group) => group.get_mut().add(delta, self.now),
            Entry::Vacant(group) => {
                let name = self.queues[queue].name.clone();
                group.insert(ErrorGroup::begun(name, key, delta, self.now));
            }
        }
        Ok(())
    }

    /// Writes what the step has counted.
    pub(super) fn write_errors(&self) -> Result<()> {
        let mut grown = BTreeSet::new();
        for ((queue, key), group) in &self.errors {
            let queue = self.queues[*queue].id;
            if queue < 0 {
                continue; // It was removed after that.
            }
            let (kind, signature) = (key.kind.as_str(), key.signature.to_stored());
            let (failures, deaths) = (group.failures as i64, group.deaths as i64);
            let (first, last) = (group.first.as_millis(), group.last.as_millis());
            let sample = group.sample.as_bytes();
            let read = |row: &Row<'_>, at: &RecentColumns| recent(row, at);
            let before = self.rows(ERROR_GROUP_RECENT, params![queue, kind, signature], read)?;
            if let Some(mut recent) = before.into_iter().next() {
                recent.merge(group.recent);
                let recent = recent.to_stored();
                let add = params![queue, kind, signature, failures, deaths, last, sample, recent];
                self.execute(ERROR_GROUP_ADD, add)?;
            } else {
                let recent = group.recent.to_stored();
                let begin =
                    params![queue, kind, signature, failures, deaths, first, last, sample, recent];
                self.execute(ERROR_GROUP_INSERT, begin)?;
                grown.insert(queue);
            }
        }
        // Guard: only the most recent groups are kept.
        let most = self.limits.error_groups();
        let trim = |queue| self.execute(ERROR_GROUPS_TRIM, params![queue, most]).map(drop);
        grown.into_iter().try_for_each(trim)
    }

    pub(crate) fn list_error_groups(
        &self,
        queues: &[QueueName],
        limit: usize,
    ) -> Result<Vec<ErrorGroup>> {
        let mut groups = Vec::new();
        for name in queues.iter().collect::<BTreeSet<_>>() {
            let Some(queue) = self.queue_row(name)? else { continue };
            let read = |row: &Row<'_>, at: &GroupColumns| group(row, at, name);
            let rows = self.rows(ERROR_GROUPS, [queue.id], read)?;
            groups.extend(rows.into_iter().flatten());
            ErrorGroup::keep_latest(&mut groups, limit);
        }
        groups.iter_mut().for_each(|group| group.recent.roll(self.now));
        Ok(groups)
    }
}

columns! {
    struct GroupColumns { kind, signature, failures, deaths, first, last, sample, recent }
}

columns! {
    struct RecentColumns { recent, last }
}

fn recent(row: &Row<'_>, at: &RecentColumns) -> rusqlite::Result<RecentErrors> {
    let last = Timestamp::from_millis(row.get(at.last)?);
    Ok(RecentErrors::from_stored(row.get_ref(at.recent)?.as_str()?, last))
}

/// Reads a row; none if it cannot be read as a group.
fn group(
    row: &Row<'_>,
    at: &GroupColumns,
    queue: &QueueName,
) -> rusqlite::Result<Option<ErrorGroup>> {
    let kind = Kind::new(row.get_ref(at.kind)?.as_str()?).ok();
    let signature = Signature::from_stored(row.get_ref(at.signature)?.as_str()?);
    let (Some(kind), Some(signature)) = (kind, signature) else {
        return Ok(None);
    };
    let time = |at| row.get(at).map(Timestamp::from_millis);
    let delta = GroupDelta {
        failures: unsigned(row.get(at.failures)?),
        deaths: unsigned(row.get(at.deaths)?),
        errors: 0,
        sample: JobId::from_bytes(row.get(at.sample)?),
    };
    let key = GroupKey { kind, signature };
    let mut group = ErrorGroup::begun(queue.clone(), key, delta, time(at.first)?);
    group.last = time(at.last)?;
    group.recent = RecentErrors::from_stored(row.get_ref(at.recent)?.as_str()?, group.last);
    Ok(Some(group))
}

//! Error groups (contract R8.4): calls append deltas, and folding adds them up.

use std::collections::btree_map::{BTreeMap, Entry};
use std::collections::{BTreeSet, HashMap};

use queuekit_core::lifecycle::Transition;
use queuekit_core::{
    ErrorGroup, GroupDelta, GroupKey, JobId, Kind, QueueName, RecentErrors, Signature, Timestamp,
};
use tokio_postgres::Row;
use uuid::Uuid;

use super::Change;
use crate::error::Outcome;
use crate::params::params;
use crate::queues;
use crate::row::{job_id, job_uuid, unsigned};
use crate::session::Session;
use crate::statements::Sql;

impl Change<'_> {
    /// Counts what a transition of a job adds to the group of this error.
    pub(super) fn count_error(
        &mut self,
        id: JobId,
        transition: Transition,
        failed: bool,
        error: &str,
    ) {
        let (Some(record), Some(delta)) =
            (self.records.get(&id), GroupDelta::of(transition, failed, id))
        else {
            return;
        };
        // The kind of an unreadable job may be unreadable too.
        let Ok(kind) = Kind::new(&record.kind) else { return };
        let group = (record.queue, GroupKey::of(kind, error));
        self.errors.entry(group).and_modify(|counted| counted.add(delta)).or_insert(delta);
    }

    /// Writes what the call has counted.
    pub(super) async fn write_errors(&mut self) -> Outcome<()> {
        let errors = std::mem::take(&mut self.errors);
        if errors.is_empty() {
            return Ok(());
        }
        let queues: Vec<i32> = errors.keys().map(|(queue, _)| *queue).collect();
        let kinds: Vec<&str> = errors.keys().map(|(_, key)| key.kind.as_str()).collect();
        let signatures: Vec<String> =
            errors.keys().map(|(_, key)| key.signature.to_stored()).collect();
        let failures: Vec<i32> = errors.values().map(|delta| counted(delta.failures)).collect();
        let deaths: Vec<i32> = errors.values().map(|delta| counted(delta.deaths)).collect();
        let all: Vec<i32> = errors.values().map(|delta| counted(delta.errors)).collect();
        let samples: Vec<Uuid> = errors.values().map(|delta| job_uuid(delta.sample)).collect();
        let now = self.now.as_millis();
        let params = params![queues, kinds, signatures, failures, deaths, all, samples, now];
        self.session.query(Sql::ErrorDeltasAdd, params).await.map(drop)
    }
}

/// One call counts no more than its jobs.
fn counted(number: u64) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// Adds up to this many deltas up, under the lock of folding, and keeps the most recent groups of
/// each queue. Returns whether there may be more.
pub(super) async fn fold(session: &Session<'_>, most: i32, kept: i64) -> Outcome<bool> {
    let rows = session.query(Sql::ErrorDeltasFold, params![most]).await?;
    let (mut groups, mut deltas) = (BTreeMap::new(), 0);
    for row in &rows {
        let (kind, signature) = (row.try_get("kind")?, row.try_get("signature")?);
        let recent = match groups.entry((row.try_get("queue")?, kind, signature)) {
            Entry::Occupied(recent) => recent.into_mut(),
            Entry::Vacant(new) => new.insert(stored_recent(row, "last")?),
        };
        let at = Timestamp::from_millis(row.try_get("at")?);
        recent.add(unsigned(row.try_get("errors")?), at);
        deltas += row.try_get::<_, i64>("deltas")?;
    }
    if !groups.is_empty() {
        put_recent(session, &groups).await?;
        let queues: BTreeSet<i32> = groups.keys().map(|(queue, ..)| *queue).collect();
        let queues: Vec<i32> = queues.into_iter().collect();
        session.query(Sql::ErrorGroupsTrim, params![queues, kept]).await?;
    }
    Ok(deltas >= i64::from(most))
}

/// What is recent by queue, kind and signature.
type Recent<'r> = BTreeMap<(i32, &'r str, &'r str), RecentErrors>;

async fn put_recent(session: &Session<'_>, groups: &Recent<'_>) -> Outcome<()> {
    let queues: Vec<i32> = groups.keys().map(|(queue, ..)| *queue).collect();
    let kinds: Vec<&str> = groups.keys().map(|(_, kind, _)| *kind).collect();
    let signatures: Vec<&str> = groups.keys().map(|(.., signature)| *signature).collect();
    let recent: Vec<String> = groups.values().map(RecentErrors::to_stored).collect();
    let params = params![queues, kinds, signatures, recent];
    session.query(Sql::ErrorRecentPut, params).await.map(drop)
}

/// What was recent when the group had this last time.
fn stored_recent(row: &Row, last: &str) -> Result<RecentErrors, tokio_postgres::Error> {
    let last = Timestamp::from_millis(row.try_get(last)?);
    Ok(RecentErrors::from_stored(row.try_get("recent")?, last))
}

pub(crate) async fn list_error_groups(
    session: &Session<'_>,
    names: &[QueueName],
    kept: usize,
    limit: usize,
) -> Outcome<Vec<ErrorGroup>> {
    let rows = queues::named(session, names).await?;
    let names: HashMap<i32, QueueName> =
        rows.into_iter().filter(|row| !row.removed).map(|row| (row.id, row.name)).collect();
    let queues: Vec<i32> = names.keys().copied().collect();
    let [kept, most] = [kept, limit].map(|count| i64::try_from(count).unwrap_or(i64::MAX));
    let rows = session.query(Sql::ErrorGroups, params![queues, kept, most]).await?;
    let mut groups = Vec::with_capacity(rows.len());
    for row in &rows {
        if let Some(queue) = names.get(&row.try_get("queue")?) {
            groups.extend(group(row, queue)?);
        }
    }
    ErrorGroup::keep_latest(&mut groups, limit);
    Ok(groups)
}

/// None if it cannot be read as a group.
fn group(row: &Row, queue: &QueueName) -> Result<Option<ErrorGroup>, tokio_postgres::Error> {
    let kind = Kind::new(row.try_get::<_, &str>("kind")?).ok();
    let signature = Signature::from_stored(row.try_get("signature")?);
    let (Some(kind), Some(signature)) = (kind, signature) else {
        return Ok(None);
    };
    let time = |column| row.try_get(column).map(Timestamp::from_millis);
    let delta = GroupDelta {
        failures: unsigned(row.try_get("failures")?),
        deaths: unsigned(row.try_get("deaths")?),
        errors: 0,
        sample: job_id(row.try_get("sample")?),
    };
    let mut recent = stored_recent(row, "added_up")?;
    let (errors, times): (Vec<i64>, Vec<i64>) = (row.try_get("errors")?, row.try_get("times")?);
    for (errors, at) in errors.into_iter().zip(times) {
        recent.add(unsigned(errors), Timestamp::from_millis(at));
    }
    recent.roll(time("now")?);
    let key = GroupKey { kind, signature };
    let mut group = ErrorGroup::begun(queue.clone(), key, delta, time("first")?);
    (group.last, group.recent) = (time("last")?, recent);
    Ok(Some(group))
}

//! Queues by name: their numbers and settings.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use queuekit_core::queue::{KeyOnDead, KeyOnWait, Order, QueueSettings};
use queuekit_core::{Error, QueueName, Timestamp};
use tokio_postgres::Row;

use crate::error::{Failure, Outcome};
use crate::params::params;
use crate::session::Session;
use crate::statements::Sql;

#[derive(Clone, Debug)]
pub(crate) struct QueueRow {
    pub(crate) id: i32,
    pub(crate) name: QueueName,
    /// It may hold jobs with partition keys, or is fair.
    pub(crate) keyed: bool,
    /// Without a pause that had ended when the row was read.
    pub(crate) settings: QueueSettings,
    pub(crate) removed: bool,
}

/// The rows of queues as last read. They save a query, and are never trusted: each statement that
/// acts on them checks the stored row again.
#[derive(Debug, Default)]
pub(crate) struct Known(Mutex<HashMap<QueueName, QueueRow>>);

impl Known {
    pub(crate) fn get(&self, name: &QueueName) -> Option<QueueRow> {
        self.rows().get(name).cloned()
    }

    pub(crate) fn learn(&self, rows: &[QueueRow]) {
        let mut known = self.rows();
        for row in rows.iter().filter(|row| !row.removed) {
            known.insert(row.name.clone(), row.clone());
        }
    }

    pub(crate) fn forget(&self, names: impl IntoIterator<Item = QueueName>) {
        let mut known = self.rows();
        for name in names {
            known.remove(&name);
        }
    }

    fn rows(&self) -> MutexGuard<'_, HashMap<QueueName, QueueRow>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All queues.
pub(crate) async fn all(session: &Session<'_>) -> Outcome<Vec<QueueRow>> {
    rows(session.query(Sql::Queues, params![]).await?)
}

/// At most `most` queues by name, from this one on.
pub(crate) async fn after(
    session: &Session<'_>,
    name: &str,
    is_among: bool,
    most: usize,
) -> Outcome<Vec<QueueRow>> {
    rows(session.query(Sql::QueuesAfter, params![name, is_among, most as i32]).await?)
}

/// At most `most` queues by number, beyond this one.
pub(crate) async fn beyond(
    session: &Session<'_>,
    number: i32,
    most: usize,
) -> Outcome<Vec<QueueRow>> {
    rows(session.query(Sql::QueuesBeyond, params![number, most as i32]).await?)
}

/// The queues of these names that exist.
pub(crate) async fn named(session: &Session<'_>, names: &[QueueName]) -> Outcome<Vec<QueueRow>> {
    let names: Vec<&str> = names.iter().map(QueueName::as_str).collect();
    rows(session.query(Sql::QueuesNamed, params![names]).await?)
}

/// The queues of these numbers that exist.
pub(crate) async fn numbered(session: &Session<'_>, ids: Vec<i32>) -> Outcome<Vec<QueueRow>> {
    rows(session.query(Sql::QueuesNumbered, params![ids]).await?)
}

fn rows(rows: Vec<Row>) -> Outcome<Vec<QueueRow>> {
    let mut queues = Vec::with_capacity(rows.len());
    for row in &rows {
        // An invalid name belongs to no job.
        queues.extend(QueueRow::read(row)?);
    }
    Ok(queues)
}

/// The queues of these names; creates those that do not exist. It commits at once, so that no
/// producer's transaction holds up others that use the same new queue.
pub(crate) async fn open(
    session: &Session<'_>,
    names: &[QueueName],
    most: usize,
) -> Outcome<Vec<QueueRow>> {
    let rows = named(session, names).await?;
    if rows.iter().filter(|row| !row.removed).count() == names.len() {
        return Ok(rows);
    }
    let mut wanted: Vec<&str> = names.iter().map(QueueName::as_str).collect();
    wanted.sort_unstable();
    let most_rows = i32::try_from(most).unwrap_or(i32::MAX);
    session.write(Sql::QueueOpen, params![wanted, most_rows]).await?;
    let rows = named(session, names).await?;
    let there = |name: &&QueueName| rows.iter().any(|row| row.name == **name && !row.removed);
    match names.iter().find(|name| !there(name)) {
        None => Ok(rows),
        Some(name) => {
            let stored = all(session).await?.iter().filter(|row| !row.removed).count();
            if stored + names.len() <= most {
                // There was room, so another process has removed the queue since.
                return Err(Failure::transient("others keep removing a queue of the call"));
            }
            Err(Error::too_many("queues", most, "remove unused ones").on(name).into())
        }
    }
}

impl QueueRow {
    fn read(row: &Row) -> Outcome<Option<Self>> {
        let Ok(name) = QueueName::new(row.try_get::<_, &str>("name")?) else {
            return Ok(None);
        };
        let settings = QueueSettings::from_json(row.try_get::<_, &str>("settings")?.as_bytes());
        let now = Timestamp::from_millis(row.try_get("now")?);
        Ok(Some(Self {
            id: row.try_get("id")?,
            name,
            keyed: row.try_get("keyed")?,
            settings: settings.at(now),
            removed: row.try_get("removed")?,
        }))
    }

    pub(crate) fn is_fair(&self) -> bool {
        self.settings.order == Order::Fair
    }

    pub(crate) fn holds_dead(&self) -> bool {
        self.settings.key_on_dead == KeyOnDead::Hold
    }

    pub(crate) fn skips_waiting(&self) -> bool {
        self.settings.key_on_wait == KeyOnWait::Skip
    }
}

//! One step: the work of a transaction, in terms of the contract.
//!
//! The store's writer runs many steps in one transaction (group commit), and an application runs
//! one inside its own. A step holds the file's write lock, so that the data it has read stays the
//! same until it writes.

mod admin;
mod apply;
mod audit;
mod checkpoints;
mod claims;
mod completions;
mod due;
mod enqueue;
mod error_groups;
mod fair;
mod history;
mod idempotency;
mod leases;
mod moving;
mod outbox;
mod partition_key;
mod place;
pub(crate) mod presence;
mod queue;
mod reserve;
mod schedules;
mod settle;
mod strays;
mod upkeep;

use std::collections::{BTreeSet, HashMap};
use std::sync::Weak;

use queuekit_core::capability::WakeupHub;
use queuekit_core::queue::{Ends, QueueSettings};
use queuekit_core::{JobId, Limits, QueueName, Result, Timestamp};
use rusqlite::types::FromSql;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Params, Row, params};

pub(crate) use queue::QueueRow;

use crate::column_names::{Columns, only};
use crate::error::{abandoned, failed};
use crate::row::Record;
use crate::statements::{JOB, NUMBER, QUEUE, QUEUE_COUNT, QUEUE_COUNT_UP, QUEUE_INSERT, QUEUES};

#[derive(Debug)]
pub(crate) struct Step<'c> {
    pub(crate) conn: &'c Connection,
    pub(crate) limits: &'c Limits,
    /// The time of the present call.
    pub(crate) now: Timestamp,
    /// Set for a step that reads: dead once the caller has stopped waiting for the answer.
    pub(crate) caller: Option<Weak<()>>,
    /// The queues touched so far; their counters are written at the end.
    queues: Vec<QueueRow>,
    by_name: HashMap<QueueName, usize>,
    /// Whether a job of a key became ready since this was last reset.
    opened: bool,
    /// How many keys and jobs whose time has come the present call may still look at.
    looks: usize,
    /// Whether a reserve has placed a slice of a queue anew.
    has_moved: bool,
    /// Claims that jobs have left.
    left: BTreeSet<i64>,
    /// Failures and deaths, by group; they are written at the end.
    errors: error_groups::Counted,
    /// Queues that gained work.
    pub(crate) stirred: BTreeSet<QueueName>,
    /// Queues of running jobs that were asked to stop.
    pub(crate) cancel_requested: BTreeSet<QueueName>,
}

/// For which queues to ring once the step is committed.
pub(crate) struct Rings {
    work: BTreeSet<QueueName>,
    cancels: BTreeSet<QueueName>,
}

impl Rings {
    pub(crate) fn ring(&self, wakeups: &WakeupHub) {
        self.work.iter().for_each(|queue| wakeups.ring(queue));
        self.cancels.iter().for_each(|queue| wakeups.ring_cancel(queue));
    }
}

impl<'c> Step<'c> {
    pub(crate) fn new(conn: &'c Connection, limits: &'c Limits, now: Timestamp) -> Self {
        Self {
            conn,
            limits,
            now,
            caller: None,
            queues: Vec::new(),
            by_name: HashMap::new(),
            opened: false,
            looks: due::LOOKS,
            has_moved: false,
            left: BTreeSet::new(),
            errors: error_groups::Counted::new(),
            stirred: BTreeSet::new(),
            cancel_requested: BTreeSet::new(),
        }
    }

    /// Writes the counters of the queues whose jobs changed, and of the errors that were met, and
    /// forgets claims that ended.
    pub(crate) fn finish(self) -> Result<Rings> {
        for queue in self.queues.iter().filter(|queue| queue.changed) {
            let ends = queue.ends_changed.then(|| queue.ends.to_bytes());
            let [pending, running, completed, dead, cancelled] = queue.counts;
            let [_, _, completed_size, dead_size, cancelled_size] = queue.sizes;
            let counters = params![
                queue.id,
                pending,
                running,
                completed,
                dead,
                cancelled,
                completed_size,
                dead_size,
                cancelled_size,
                queue.last_seq,
                queue.last_end_seq,
                queue.last_turn,
                queue.corrupt,
                ends,
                queue.total_completed,
                queue.total_dead,
                queue.total_cancelled,
                queue.total_failed,
                queue.total_removed,
            ];
            self.execute(QUEUE_COUNT_UP, counters)?;
        }
        self.forget_claims()?;
        self.write_errors()?;
        Ok(Rings { work: self.stirred, cancels: self.cancel_requested })
    }

    /// The queue of this name, if it exists: its index among those of this step.
    pub(crate) fn queue(&mut self, name: &QueueName) -> Result<Option<usize>> {
        if let Some(at) = self.by_name.get(name) {
            return Ok(Some(*at));
        }
        Ok(self.queue_row(name)?.map(|queue| self.keep(queue)))
    }

    /// The same as it is stored.
    pub(crate) fn queue_row(&self, name: &QueueName) -> Result<Option<QueueRow>> {
        let row = self.row(QUEUE, params![None::<i64>, name.as_str()], QueueRow::read)?;
        Ok(row.flatten())
    }

    /// The queue of a job's row.
    pub(crate) fn queue_of(&mut self, record: &Record) -> Result<usize> {
        if let Some(at) = self.queues.iter().position(|queue| queue.id == record.queue) {
            return Ok(at);
        }
        let row = self.row(QUEUE, params![record.queue, None::<&str>], QueueRow::read)?;
        match row.flatten() {
            Some(queue) => Ok(self.keep(queue)),
            None => Err(orphan(record)),
        }
    }

    /// The queue of this name; creates it if it does not exist.
    pub(crate) fn open_queue(&mut self, name: &QueueName) -> Result<usize> {
        if let Some(at) = self.queue(name)? {
            return Ok(at);
        }
        let existing = self.value(QUEUE_COUNT, [])?;
        self.limits.admit_queue(existing.unwrap_or(0)).map_err(|error| error.on(name))?;
        let ends = Ends::NONE;
        let id = self.value(QUEUE_INSERT, params![name.as_str(), ends.to_bytes()])?;
        Ok(self.keep(QueueRow {
            id: id.unwrap_or_default(),
            name: name.clone(),
            settings: QueueSettings::default(),
            moving: None,
            counts: [0; 5],
            sizes: [0; 5],
            last_seq: 0,
            last_end_seq: 0,
            last_turn: 0,
            corrupt: 0,
            total_completed: 0,
            total_dead: 0,
            total_cancelled: 0,
            total_failed: 0,
            total_removed: 0,
            ends,
            ends_changed: false,
            changed: false,
        }))
    }

    /// A number that was never used before.
    fn number(&self) -> Result<i64> {
        Ok(self.value(NUMBER, [])?.unwrap_or_default())
    }

    /// Reads queues into this step, or finds them there. Returns their indexes.
    fn touch(&mut self, queues: Vec<QueueRow>) -> Vec<usize> {
        let touch = |queue: QueueRow| match self.by_name.get(&queue.name) {
            Some(at) => *at,
            None => self.keep(queue),
        };
        queues.into_iter().map(touch).collect()
    }

    pub(crate) fn queue_at(&self, at: usize) -> &QueueRow {
        &self.queues[at]
    }

    /// At most `most` queues by name, from this one on.
    pub(crate) fn queues_from(
        &self,
        name: &str,
        is_among: bool,
        most: usize,
    ) -> Result<Vec<QueueRow>> {
        let queues = self.rows(QUEUES, params![name, is_among, most], QueueRow::read)?;
        Ok(queues.into_iter().flatten().collect())
    }

    pub(crate) fn job(&self, id: JobId) -> Result<Option<Record>> {
        self.row(JOB, params![None::<i64>, id.as_bytes()], Record::read)
    }

    pub(crate) fn job_of_key(&self, key: i64) -> Result<Option<Record>> {
        self.row(JOB, params![key, None::<&[u8]>], Record::read)
    }

    /// Runs a statement that answers at most one row, and reads it by the names of its columns.
    pub(crate) fn row<C: Columns, T>(
        &self,
        sql: &'static str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>, &C) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        let mut statement = self.prepare(sql)?;
        let at = C::of(sql, &statement).map_err(failed)?;
        statement.query_row(params, |row| read(row, &at)).optional().map_err(failed)
    }

    /// Runs a statement that answers at most one row, of one column.
    pub(crate) fn value<T: FromSql>(&self, sql: &str, params: impl Params) -> Result<Option<T>> {
        self.prepare(sql)?.query_row(params, only).optional().map_err(failed)
    }

    /// Whether a statement answers a row.
    pub(crate) fn is_there(&self, sql: &str, params: impl Params) -> Result<bool> {
        self.prepare(sql)?.exists(params).map_err(failed)
    }

    /// Runs a statement that answers keys of jobs.
    pub(crate) fn keys(&self, sql: &str, params: impl Params) -> Result<Vec<i64>> {
        self.column(sql, params)
    }

    /// Runs a statement that answers rows of one column.
    pub(crate) fn column<T: FromSql>(&self, sql: &str, params: impl Params) -> Result<Vec<T>> {
        let mut statement = self.prepare(sql)?;
        let rows = statement.query_map(params, only).map_err(failed)?;
        rows.collect::<rusqlite::Result<_>>().map_err(failed)
    }

    /// Runs a statement that answers rows, and reads each by the names of its columns.
    pub(crate) fn rows<C: Columns, T>(
        &self,
        sql: &'static str,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>, &C) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let mut statement = self.prepare(sql)?;
        let at = C::of(sql, &statement).map_err(failed)?;
        let rows = statement.query_map(params, |row| read(row, &at)).map_err(failed)?;
        rows.collect::<rusqlite::Result<_>>().map_err(failed)
    }

    /// Runs a statement that answers rows, and reads them as long as `take` wants more.
    pub(crate) fn rows_while<C: Columns>(
        &self,
        sql: &'static str,
        params: impl Params,
        mut take: impl FnMut(&Row<'_>, &C) -> rusqlite::Result<bool>,
    ) -> Result<()> {
        let mut statement = self.prepare(sql)?;
        let at = C::of(sql, &statement).map_err(failed)?;
        let mut rows = statement.query(params).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            if !take(row, &at).map_err(failed)? {
                break;
            }
        }
        Ok(())
    }

    /// Runs a statement that answers nothing. Returns how many rows it changed.
    pub(crate) fn execute(&self, sql: &str, params: impl Params) -> Result<usize> {
        self.prepare(sql)?.execute(params).map_err(failed)
    }

    fn prepare(&self, sql: &str) -> Result<CachedStatement<'c>> {
        // Guard: two reads of many queues that nobody waited for kept out all others for a minute.
        if self.caller.as_ref().is_some_and(|caller| caller.strong_count() == 0) {
            return Err(abandoned());
        }
        self.conn.prepare_cached(sql).map_err(failed)
    }

    /// Forgets a queue that was removed.
    fn forget(&mut self, at: usize) {
        self.by_name.remove(&self.queues[at].name);
        self.queues[at].changed = false;
        self.queues[at].id = -1;
    }

    fn keep(&mut self, queue: QueueRow) -> usize {
        let at = self.queues.len();
        self.by_name.insert(queue.name.clone(), at);
        self.queues.push(queue);
        at
    }
}

fn orphan(record: &Record) -> queuekit_core::Error {
    let message = "its queue is not stored: the database was changed by hand";
    queuekit_core::Error::new(queuekit_core::ErrorKind::Corrupt, message).on(record.id)
}

//! Changes that core decides. One transaction reads and locks jobs, asks core what becomes of each,
//! and writes that.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use queuekit_core::lifecycle::{self, Transition};
use queuekit_core::{ErrorText, GroupDelta, GroupKey, JobId, LeaseToken, Nack, State, Timestamp};
use uuid::Uuid;

use crate::error::{Failure, Outcome, together, unreadable};
use crate::params::params;
use crate::queues::{self, QueueRow};
use crate::row::{Record, job_id, job_uuid, millis};
use crate::session::Session;
use crate::statements::Sql;

/// Jobs under change, and the writes that were decided.
pub(crate) struct Change<'s> {
    pub(super) session: &'s Session<'s>,
    pub(crate) now: Timestamp,
    queues: HashMap<i32, QueueRow>,
    pub(super) records: HashMap<JobId, Record>,
    pub(super) writes: Vec<(JobId, Write)>,
    pub(super) keys: Vec<KeyWrite>,
    /// Failures and deaths, by group.
    pub(super) errors: BTreeMap<(i32, GroupKey), GroupDelta>,
    /// Queues that gained work.
    stirred: BTreeSet<i32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Write {
    /// It ran and waits again.
    Pending,
    /// It waited and ended.
    EndWaiting {
        corrupt: bool,
    },
    /// It ran and ended.
    EndRunning {
        corrupt: bool,
    },
    Remove,
    /// It comes back, at its old place or not.
    Return {
        keeps_place: bool,
    },
    RequestCancel,
}

/// What becomes of an idempotency key.
pub(super) struct KeyWrite {
    pub(super) queue: String,
    pub(super) key: String,
    pub(super) job: JobId,
    /// How long it is still held; none if it is free at once.
    pub(super) window_ms: Option<i64>,
}

impl<'s> Change<'s> {
    /// Reads the jobs of these leases, and locks the leases.
    pub(crate) async fn of_leases(
        session: &'s Session<'s>,
        ids: impl Iterator<Item = JobId>,
    ) -> Outcome<Self> {
        let ids = sorted(ids);
        session.query(Sql::LockLeases, params![ids]).await?;
        Self::read(session, ids).await
    }

    /// Reads the jobs with these ids, in any state. No other call can lease or settle them until
    /// the transaction ends. With `taken`, waiting jobs are taken out of reserve's reach, for a
    /// caller that changes every one of them.
    pub(crate) async fn of_jobs(
        session: &'s Session<'s>,
        ids: impl Iterator<Item = JobId>,
        taken: bool,
    ) -> Outcome<Self> {
        let ids = sorted(ids);
        // Read without locks first, to learn which queues have to be locked.
        let found = Self::read(session, ids.clone()).await?;
        let keyed = found.queues.values().filter(|queue| queue.keyed).map(|queue| queue.id);
        // In the order of their numbers, as every call takes these locks.
        for queue in keyed.collect::<BTreeSet<_>>() {
            session.lock_queue(queue).await?;
        }
        session.query(Sql::LockLeases, params![ids]).await?;
        session.query(Sql::LockEnded, params![ids]).await?;
        // Read again under the locks, because the jobs may have changed in between.
        let change = Self::read(session, ids).await?;
        if taken {
            change.take_waiting().await?;
        }
        Ok(change)
    }

    /// Reads jobs whose leases the caller has locked.
    pub(crate) async fn read(session: &'s Session<'s>, ids: Vec<Uuid>) -> Outcome<Self> {
        let (now, rows) =
            together(session.now(), session.query(Sql::Records, params![ids])).await?;
        let mut records = HashMap::new();
        for record in Record::read_all(&rows)? {
            // A job that waits or runs takes precedence over an ended one with the same id.
            records.entry(record.id).or_insert(record);
        }
        let ids: BTreeSet<i32> = records.values().map(|record| record.queue).collect();
        let queues = queues::numbered(session, ids.into_iter().collect()).await?;
        Ok(Self {
            session,
            now,
            queues: queues.into_iter().map(|queue| (queue.id, queue)).collect(),
            records,
            writes: Vec::new(),
            keys: Vec::new(),
            errors: BTreeMap::new(),
            stirred: BTreeSet::new(),
        })
    }

    pub(crate) fn record(&self, id: JobId) -> Option<&Record> {
        self.records.get(&id)
    }

    pub(crate) fn queue_of(&self, record: &Record) -> Outcome<&QueueRow> {
        let queue = self.queues.get(&record.queue);
        queue.ok_or_else(|| unreadable("the queue of a job").on(record.id).into())
    }

    /// The job of a lease, and whether it is in the lease's queue.
    pub(crate) fn job_of_lease(&self, lease: &LeaseToken) -> Outcome<Option<(&Record, bool)>> {
        let Some(record) = self.records.get(&lease.id) else {
            return Ok(None);
        };
        Ok(Some((record, self.queue_of(record)?.name == lease.queue)))
    }

    /// Takes a job through a transition; `change` sets the fields of the record that go with it.
    pub(crate) async fn apply(
        &mut self,
        id: JobId,
        transition: Transition,
        change: impl FnOnce(&mut Record),
    ) -> Outcome<()> {
        let holds = transition.to() == Some(State::Dead) && self.holds_its_key(id).await?;
        let now = self.now;
        let Some(record) = self.records.get_mut(&id) else {
            return Ok(());
        };
        let (was, kept_key) = (record.state, record.holds);
        change(record);
        let corrupt = transition == Transition::Quarantine;
        let write = match (was, transition.to()) {
            (State::Pending, Some(State::Dead | State::Cancelled)) => {
                Some(Write::EndWaiting { corrupt })
            }
            (State::Running, Some(State::Dead | State::Cancelled)) => {
                Some(Write::EndRunning { corrupt })
            }
            (State::Running, Some(State::Pending)) => Some(Write::Pending),
            (State::Running, Some(State::Running)) => Some(Write::RequestCancel),
            (_, Some(State::Pending)) if transition == Transition::Retry => {
                Some(Write::Return { keeps_place: kept_key })
            }
            (_, None) => Some(Write::Remove),
            _ => None,
        };
        if let Some(state) = transition.to() {
            record.state = state;
            record.finished_at = state.is_terminal().then_some(now);
            record.holds = holds;
        }
        let keyed = record.partition_key().is_some();
        if transition.to() == Some(State::Pending) || (keyed && transition.to() != Some(was)) {
            self.stirred.insert(record.queue);
        }
        self.settle_key(id, was, transition)?;
        self.writes.extend(write.map(|write| (id, write)));
        if transition.to().is_none() {
            self.flush().await?;
            self.records.remove(&id);
        }
        Ok(())
    }

    /// Removes a job that does not run, like a delete on request. It is written with the other
    /// changes.
    pub(crate) fn remove(&mut self, id: JobId) -> Outcome<()> {
        if let Some(state) = self.records.get(&id).map(|record| record.state) {
            self.settle_key(id, state, Transition::Delete)?;
            self.writes.push((id, Write::Remove));
        }
        Ok(())
    }

    /// Expires a lease: the clock ended it, not its holder.
    pub(crate) async fn expire(&mut self, id: JobId) -> Outcome<()> {
        let Some(record) = self.records.get(&id) else {
            return Ok(());
        };
        let transition =
            lifecycle::expired(record.attempts, record.max_attempts, record.cancel_requested);
        let text = ErrorText::from(lifecycle::LEASE_EXPIRED);
        self.add_failure(id, &text);
        self.count_error(id, transition, true, text.as_str());
        self.apply(id, transition, |record| {
            record.reason =
                (transition == Transition::ExpireDead).then(|| text.as_str().to_owned());
            // The nonce goes too, so that nothing can match the old lease.
            record.nonce = None;
        })
        .await
    }

    /// Moves a job to the dead-letter queue.
    pub(crate) async fn dead_letter(
        &mut self,
        id: JobId,
        transition: Transition,
        reason: &ErrorText,
    ) -> Outcome<()> {
        self.count_error(id, transition, false, reason.as_str());
        self.apply(id, transition, |record| {
            record.reason = Some(reason.as_str().to_owned());
            if transition != Transition::DeadLetterLease {
                // The nonce goes too: the lease was broken without its holder.
                record.nonce = None;
            }
        })
        .await
    }

    /// Undoes the count of a lease that was granted but not returned to anybody.
    pub(crate) fn take_back(&mut self, id: JobId) {
        if let Some(record) = self.records.get_mut(&id)
            && record.state == State::Running
        {
            record.attempts = record.attempts.saturating_sub(1);
            record.lease_seq -= 1;
        }
    }

    /// Lets a job wait again as before, if it was leased but the lease was not returned to anybody.
    pub(crate) fn give_back(&mut self, id: JobId) {
        if let Some(record) = self.records.get_mut(&id) {
            record.attempts = record.attempts.saturating_sub(1);
            record.state = State::Pending;
            self.writes.push((id, Write::Pending));
        }
    }

    pub(crate) fn add_failure(&mut self, id: JobId, error: &ErrorText) {
        if let Some(record) = self.records.get_mut(&id) {
            record.add_failure(self.now, error);
        }
    }

    pub(crate) fn add_release(&mut self, id: JobId, nack: &Nack) {
        if let Some(record) = self.records.get_mut(&id) {
            record.add_release(self.now, nack);
        }
    }

    /// Writes all changes. Returns the queues that gained work.
    pub(crate) async fn finish(mut self) -> Outcome<Vec<QueueRow>> {
        self.flush().await?;
        self.write_errors().await?;
        let stirred = std::mem::take(&mut self.stirred);
        Ok(stirred.iter().filter_map(|queue| self.queues.remove(queue)).collect())
    }

    /// Takes the waiting jobs out of reserve's reach. If a reserve was quicker, the whole call
    /// begins anew, and finds the job running.
    async fn take_waiting(&self) -> Outcome<()> {
        let mut waiting: Vec<&Record> =
            self.records.values().filter(|record| record.state == State::Pending).collect();
        waiting.sort_unstable_by_key(|record| record.id);
        let (keyed, plain): (Vec<&Record>, Vec<&Record>) =
            waiting.into_iter().partition(|record| record.partition_key().is_some());
        if !keyed.is_empty() {
            let ids: Vec<Uuid> = keyed.iter().map(|record| job_uuid(record.id)).collect();
            let queues: Vec<i32> = keyed.iter().map(|record| record.queue).collect();
            let keys: Vec<Option<&str>> =
                keyed.iter().map(|record| record.partition_key()).collect();
            self.session.query(Sql::Unplace, params![ids, queues, keys]).await?;
        }
        if plain.is_empty() {
            return Ok(());
        }
        let ids: Vec<Uuid> = plain.iter().map(|record| job_uuid(record.id)).collect();
        let queues: Vec<i32> = plain.iter().map(|record| record.queue).collect();
        let ranks: Vec<i16> = plain.iter().map(|record| record.rank).collect();
        let ats: Vec<i64> = plain.iter().map(|record| record.scheduled_at.as_millis()).collect();
        let seqs: Vec<i64> = plain.iter().map(|record| record.seq).collect();
        let taken =
            self.session.query(Sql::TakeReady, params![ids, queues, ranks, ats, seqs]).await?;
        if taken.len() < plain.len() {
            return Err(Failure::transient("workers keep leasing the jobs of the call"));
        }
        Ok(())
    }

    /// Whether a job that dies now is the head of its key, in a queue where it then holds it.
    async fn holds_its_key(&mut self, id: JobId) -> Outcome<bool> {
        let Some(record) = self.records.get(&id) else {
            return Ok(false);
        };
        let Some(key) = record.partition_key().map(str::to_owned) else {
            return Ok(false);
        };
        if !self.queue_of(record)?.holds_dead() {
            return Ok(false);
        }
        let (queue, seq) = (record.queue, record.seq);
        // Writes the ends of earlier jobs of the same call, which no longer come before this one.
        self.flush().await?;
        let rows = self.session.query(Sql::IsHead, params![queue, key, seq]).await?;
        Ok(rows.first().map_or(Ok(false), |row| row.try_get("is_head"))?)
    }

    /// Notes what becomes of the job's idempotency key in a transition (contract R2.5).
    fn settle_key(&mut self, id: JobId, was: State, transition: Transition) -> Outcome<()> {
        let Some(record) = self.records.get(&id) else {
            return Ok(());
        };
        let Some(key) = record.idempotency_key.clone() else {
            return Ok(());
        };
        let queue = self.queue_of(record)?;
        let window_ms = match (transition, transition.to()) {
            (Transition::Delete | Transition::DeleteForced, _) => None,
            (_, Some(state)) if state.is_terminal() && !was.is_terminal() => {
                let window = queue.settings.dedup_window;
                (!record.unique_until_done).then(|| millis(window))
            }
            _ => return Ok(()),
        };
        let queue = queue.name.as_str().to_owned();
        self.keys.push(KeyWrite { queue, key, job: id, window_ms });
        Ok(())
    }

    /// Lets a job hold its idempotency key again; false if another does.
    pub(crate) async fn take_key(&self, id: JobId) -> Outcome<bool> {
        let Some(record) = self.records.get(&id) else {
            return Ok(false);
        };
        let Some(key) = record.idempotency_key.as_deref() else {
            return Ok(true);
        };
        let queue = self.queue_of(record)?.name.as_str();
        let (queues, keys, jobs) = (vec![queue], vec![key], vec![job_uuid(id)]);
        let taken = self.session.query(Sql::KeysTake, params![queues, keys, jobs]).await?;
        Ok(!taken.is_empty())
    }

    /// Reads and locks leases that ran out, earliest first, up to a number per queue. None if there
    /// are none.
    pub(crate) async fn overdue(
        session: &'s Session<'s>,
        queues: Vec<&str>,
        most: i32,
        after_ms: Vec<i64>,
    ) -> Outcome<Overdue<'s>> {
        let rows = session.query(Sql::Expired, params![queues, most, after_ms]).await?;
        let first = rows.first().ok_or_else(|| unreadable("the answer of a look at leases"))?;
        let now = Timestamp::from_millis(first.try_get("now")?);
        let mut ids = Vec::new();
        for row in &rows {
            ids.extend(row.try_get::<_, Option<Uuid>>("id")?.map(job_id));
        }
        if ids.is_empty() {
            return Ok(Overdue::None { as_of: now });
        }
        let change = Self::read(session, sorted(ids.iter().copied())).await?;
        Ok(Overdue::Some(ids, Box::new(change)))
    }
}

/// The result of a look for leases that ran out.
pub(crate) enum Overdue<'s> {
    None { as_of: Timestamp },
    Some(Vec<JobId>, Box<Change<'s>>),
}

fn sorted(ids: impl Iterator<Item = JobId>) -> Vec<Uuid> {
    // Calls lock rows in the order of ids, so that two calls for the same jobs do not deadlock.
    let ids: BTreeSet<JobId> = ids.collect();
    ids.into_iter().map(job_uuid).collect()
}

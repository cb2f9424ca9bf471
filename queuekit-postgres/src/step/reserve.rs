//! Leasing jobs (contract R5).

use std::time::Duration;

use bytes::Bytes;
use queuekit_core::capability::{Exchanged, Settlement};
use queuekit_core::{
    JobId, Kind, Lease, LeaseToken, Metadata, PartitionKey, Priority, QueueName, Queues, Reserve,
    Reserved, Result, Timestamp,
};
use tokio_postgres::Row;

use super::reclaim::{Budget, Doom, reclaim, refuse};
use super::{Change, ack, nack};
use crate::PostgresStore;
use crate::call::Call;
use crate::error::{Outcome, unreadable};
use crate::params::params;
use crate::queues::{self, QueueRow};
use crate::row::{PLAIN, job_id, millis, nonce_uuid, small, unsigned};
use crate::session::Session;
use crate::statements::Sql;

/// Entries of the agenda that one statement looks at.
const ENTRIES: i32 = 1000;
/// Entries that one call looks at before it takes what it has found.
const ENTRIES_PER_CALL: i64 = 20_000;

/// One call: what it settles first, and what it asks for.
pub(crate) struct Round<'a> {
    store: &'a PostgresStore,
    settlement: Option<&'a Settlement>,
    request: &'a Reserve,
    /// Most jobs of each queue, in the order in which they are served.
    quotas: Vec<(QueueName, usize)>,
}

/// What a round came to.
struct Done {
    settled: Option<(Vec<queuekit_core::AckOutcome>, Vec<queuekit_core::NackOutcome>)>,
    stirred: Vec<QueueRow>,
    leases: Vec<Lease>,
    budget: Budget,
    /// It has to be made again the long way.
    unfinished: bool,
}

impl PostgresStore {
    pub(crate) async fn reserve_jobs(&self, request: &Reserve) -> Result<Reserved> {
        Ok(self.round("reserve", None, request).await?.reserved)
    }

    pub(crate) async fn round(
        &self,
        operation: &'static str,
        settlement: Option<&Settlement>,
        request: &Reserve,
    ) -> Result<Exchanged> {
        self.shared.limits.admit_reserve(request.limit)?;
        let quotas = self.quotas(request).await?;
        let mut round = Round { store: self, settlement, request, quotas };
        let mut done = None;
        if round.may_be_quick() {
            let quick = self.call(operation, Call::Once, &round, |round, session| {
                Box::pin(round.quickly(session))
            });
            let quick = quick.await?;
            if !quick.unfinished {
                return round.answer(quick).await;
            }
            // What was settled is settled: the rest is a call of its own.
            round.settlement = None;
            done = Some(quick);
        }
        let got = done.as_ref().map_or(0, |done| done.leases.len());
        let budget = done.as_ref().map_or(Budget::new(request.limit), |done| done.budget);
        let input = (&round, got, budget);
        let long = self.call(operation, Call::Once, input, |(round, got, budget), session| {
            Box::pin(round.carefully(session, *got, *budget))
        });
        let mut long = long.await?;
        if let Some(quick) = done {
            long.settled = quick.settled;
            long.stirred.extend(quick.stirred);
            let got = std::mem::replace(&mut long.leases, quick.leases);
            long.leases.extend(got);
        }
        round.answer(long).await
    }

    /// How many jobs of each queue are wanted: as many as there may be in the order listed, or
    /// shares by weight of what each can give.
    async fn quotas(&self, request: &Reserve) -> Result<Vec<(QueueName, usize)>> {
        let names = request.queues.names();
        let Queues::Weighted(_) = &request.queues else {
            return Ok(names.iter().map(|name| (name.clone(), request.limit)).collect());
        };
        let input = (self, names, request.limit);
        let available = self.call("reserve", Call::Repeatable, input, |input, session| {
            let (store, names, limit) = *input;
            Box::pin(store.available(session, names, limit))
        });
        let mut available = available.await?;
        let mut quotas: Vec<(QueueName, usize)> =
            names.iter().map(|name| (name.clone(), 0)).collect();
        request.queues.divide(request.limit, |name, share| {
            let left = available.entry(name.clone()).or_default();
            let got = share.min(*left);
            *left -= got;
            if let Some((_, quota)) = quotas.iter_mut().find(|(queue, _)| queue == name) {
                *quota += got;
            }
            Ok(got)
        })?;
        Ok(quotas)
    }

    async fn available(
        &self,
        session: &Session<'_>,
        names: &[QueueName],
        limit: usize,
    ) -> Outcome<std::collections::HashMap<QueueName, usize>> {
        let texts: Vec<&str> = names.iter().map(QueueName::as_str).collect();
        let most = i32::try_from(limit).unwrap_or(i32::MAX);
        for queue in queues::named(session, names).await?.iter().filter(|queue| queue.keyed) {
            session.begin().await?;
            lock(self, session, queue).await?;
            place(session, queue).await?;
            session.commit().await?;
        }
        let mut available = std::collections::HashMap::new();
        for row in session.query(Sql::Available, params![texts, most]).await? {
            if let Ok(name) = QueueName::new(row.try_get::<_, &str>(0)?) {
                let jobs: i64 = row.try_get(1)?;
                available.insert(name, usize::try_from(jobs).unwrap_or(0));
            }
        }
        Ok(available)
    }
}

impl Round<'_> {
    /// Whether one statement will do, as far as is known: it finds out itself if not.
    fn may_be_quick(&self) -> bool {
        let known = |name: &QueueName| self.store.shared.known.get(name);
        let settles_simply = self.settlement.is_none_or(|settlement| settlement.nacks.is_empty());
        settles_simply
            && !self.quotas.iter().any(|(name, _)| known(name).is_some_and(|row| row.keyed))
    }

    async fn quickly(&self, session: &Session<'_>) -> Outcome<Done> {
        let mut done = Done::new(self.request.limit);
        let answer = match self.settlement.filter(|settlement| !settlement.is_empty()) {
            None => {
                if self.request.limit == 0 {
                    return Ok(done);
                }
                self.lease(session, &self.quotas, self.request.limit, Way::Alone).await?
            }
            Some(settlement) => {
                session.begin_settling().await?;
                let acked = ack(&self.store.shared, session, &settlement.acks, false).await?;
                done.settled = Some((acked, Vec::new()));
                let answer =
                    self.lease(session, &self.quotas, self.request.limit, Way::Quick).await?;
                session.commit().await?;
                answer
            }
        };
        done.unfinished = answer.unfinished;
        let doomed = answer.doomed();
        done.leases = answer.into_leases(self.request);
        if !doomed.is_empty() {
            session.begin().await?;
            let ids = doomed.iter().map(|(id, _)| *id);
            refuse(Change::of_leases(session, ids).await?, &doomed, &mut done.budget).await?;
            session.commit().await?;
            done.unfinished = done.budget.burials() > 0;
        }
        Ok(done)
    }

    /// Everything in one transaction, under the locks of the queues with partition keys.
    async fn carefully(&self, session: &Session<'_>, got: usize, budget: Budget) -> Outcome<Done> {
        let mut done = Done { budget, ..Done::new(self.request.limit) };
        let names: Vec<QueueName> = self.quotas.iter().map(|(name, _)| name.clone()).collect();
        session.begin_settling().await?;
        let mut rows = queues::named(session, &names).await?;
        rows.sort_unstable_by_key(|row| row.id);
        for row in rows.iter().filter(|row| row.keyed) {
            lock(self.store, session, row).await?;
        }
        if rows.iter().any(|row| row.keyed) {
            // Settings may have changed while it waited.
            rows = queues::named(session, &names).await?;
        }
        self.store.shared.known.learn(&rows);
        if let Some(settlement) = self.settlement {
            let acked = match settlement.acks.is_empty() {
                true => Vec::new(),
                false => ack(&self.store.shared, session, &settlement.acks, false).await?,
            };
            let (nacked, stirred) = match settlement.nacks.is_empty() {
                true => Default::default(),
                false => nack(session, &settlement.nacks).await?,
            };
            done.settled = Some((acked, nacked));
            done.stirred = stirred;
        }
        if self.request.limit > got {
            self.store.shared.hints.forget();
            reclaim(session, &names, &mut done.budget).await?;
            let mut left = self.request.limit - got;
            for (name, most) in &self.quotas {
                let Some(row) = rows.iter().find(|row| row.name == *name) else {
                    continue;
                };
                if !row.settings.paused {
                    let leases = self.lease_from(session, row, left.min(*most), &mut done).await?;
                    left -= leases;
                }
            }
        }
        session.commit().await?;
        Ok(done)
    }

    /// Leases from one queue whose lock is held, if it has one.
    async fn lease_from(
        &self,
        session: &Session<'_>,
        row: &QueueRow,
        most: usize,
        done: &mut Done,
    ) -> Outcome<usize> {
        let mut got = 0;
        while got < most {
            if row.keyed {
                place(session, row).await?;
            }
            session.execute("SAVEPOINT queuekit_lease").await?;
            let answer = self.lease_next(session, row, most - got).await?;
            if let Some(before) = answer.rows.iter().position(|row| row.doom.is_some()) {
                // It dies when its turn comes: the next of its key may go before others.
                let doomed = answer.doomed_run(before, done.budget.burials());
                session.execute("ROLLBACK TO SAVEPOINT queuekit_lease").await?;
                if before > 0 {
                    let answer = self.lease_next(session, row, before).await?;
                    got += answer.rows.len();
                    done.leases.extend(answer.into_leases(self.request));
                }
                if doomed.is_empty() {
                    break;
                }
                let ids = doomed.iter().map(|(id, _)| *id);
                let lock_class = self.store.shared.lock_class;
                let change = Change::of_jobs(session, lock_class, ids, true).await?;
                refuse(change, &doomed, &mut done.budget).await?;
                continue;
            }
            let leased = answer.rows.len();
            done.leases.extend(answer.into_leases(self.request));
            got += leased;
            if leased == 0 || row.settings.per_key == 1 {
                break;
            }
        }
        Ok(got)
    }

    async fn lease(
        &self,
        session: &Session<'_>,
        quotas: &[(QueueName, usize)],
        limit: usize,
        way: Way,
    ) -> Outcome<Answer> {
        let request = self.request;
        let names: Vec<&str> = quotas.iter().map(|(name, _)| name.as_str()).collect();
        let most: Vec<i32> = quotas.iter().map(|(_, most)| *most as i32).collect();
        let (limit, nonce) = (limit as i32, nonce_uuid(request.nonce));
        let (ttl, worker) = (millis(request.ttl.get()), request.worker.as_str());
        let locked = way == Way::Locked;
        let hints = self.store.shared.hints.places();
        let params = params![
            names,
            most,
            limit,
            nonce,
            ttl,
            worker,
            locked,
            locked,
            hints.queues,
            hints.ranks,
            hints.ats,
            hints.seqs,
            hints.expired,
        ];
        let rows = match way {
            Way::Alone => session.settle(Sql::Reserve, params).await?,
            Way::Quick | Way::Locked => session.query(Sql::Reserve, params).await?,
        };
        let names: Vec<QueueName> = quotas.iter().map(|(name, _)| name.clone()).collect();
        let answer = Answer::read(&rows, &names)?;
        let places = answer.rows.iter().map(|row| row.place);
        self.store.shared.hints.took(answer.dead_rows, answer.now, places);
        Ok(answer)
    }

    async fn lease_next(
        &self,
        session: &Session<'_>,
        row: &QueueRow,
        most: usize,
    ) -> Outcome<Answer> {
        if row.is_fair() {
            return self.lease_fairly(session, row, most).await;
        }
        self.lease(session, &[(row.name.clone(), most)], most, Way::Locked).await
    }

    async fn lease_fairly(
        &self,
        session: &Session<'_>,
        row: &QueueRow,
        limit: usize,
    ) -> Outcome<Answer> {
        let request = self.request;
        let (limit, nonce) = (limit as i32, nonce_uuid(request.nonce));
        let (ttl, worker) = (millis(request.ttl.get()), request.worker.as_str());
        let params = params![row.id, limit, nonce, ttl, worker];
        let rows = session.query(Sql::ReserveFair, params).await?;
        Answer::read(&rows, std::slice::from_ref(&row.name))
    }

    async fn answer(&self, done: Done) -> Result<Exchanged> {
        let limit = self.request.limit;
        let full = done.leases.len() == limit && limit > 0;
        let buried = done.budget.has_buried();
        let more = full || done.budget.burials() == 0 || (buried && done.leases.is_empty());
        let next_due_in = match full || limit == 0 {
            true => None,
            false => self.next_due_in().await?,
        };
        self.store.stir(done.stirred.iter().map(|row| &row.name));
        let (acks, nacks) = done.settled.unwrap_or_default();
        let reserved = Reserved { leases: done.leases, next_due_in, more };
        Ok(Exchanged { acks, nacks, reserved })
    }

    async fn next_due_in(&self) -> Result<Option<Duration>> {
        let names: Vec<&str> = self.quotas.iter().map(|(name, _)| name.as_str()).collect();
        let next = self.store.call("reserve", Call::Repeatable, names, |names, session| {
            Box::pin(async move {
                let rows = session.query(Sql::NextDue, params![*names]).await?;
                let in_ms = rows.first().map(|row| row.try_get::<_, Option<i64>>(0)).transpose()?;
                Ok(in_ms.flatten().map(|ms| Duration::from_millis(unsigned(ms))))
            })
        });
        next.await
    }
}

/// In which transaction a lease statement runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// One of its own.
    Alone,
    /// One that was begun, without locks of queues.
    Quick,
    /// One that holds the queues' locks, and has looked after leases that ran out.
    Locked,
}

async fn lock(store: &PostgresStore, session: &Session<'_>, row: &QueueRow) -> Outcome<()> {
    session.query(Sql::LockQueue, params![row.id, store.shared.lock_class]).await.map(drop)
}

/// Looks at the keys that are on the queue's agenda.
async fn place(session: &Session<'_>, row: &QueueRow) -> Outcome<()> {
    let mut seen = 0;
    while seen < ENTRIES_PER_CALL {
        if row.skips_waiting() {
            session.query(Sql::PlaceDue, params![row.id, ENTRIES]).await?;
        }
        let rows = session.query(Sql::Place, params![row.id, ENTRIES]).await?;
        let entries: i64 = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
        seen += entries;
        if entries < i64::from(ENTRIES) {
            break;
        }
    }
    Ok(())
}

impl Done {
    fn new(limit: usize) -> Self {
        Self {
            settled: None,
            stirred: Vec::new(),
            leases: Vec::new(),
            budget: Budget::new(limit),
            unfinished: false,
        }
    }
}

/// What a lease statement answered.
struct Answer {
    now: Timestamp,
    /// It leased nothing, because something is to be done before.
    unfinished: bool,
    dead_rows: i64,
    rows: Vec<Leased>,
}

struct Leased {
    id: JobId,
    keyed: bool,
    doom: Option<Doom>,
    /// Where it stood: queue, rank, time, sequence.
    place: (i32, i16, i64, i64),
    lease: Option<Lease>,
    lease_seq: u64,
}

impl Answer {
    fn read(rows: &[Row], names: &[QueueName]) -> Outcome<Self> {
        let first = rows.first().ok_or_else(|| unreadable("the answer to a reserve"))?;
        let now = Timestamp::from_millis(first.try_get(0)?);
        let (overdue, keyed): (bool, bool) = (first.try_get(1)?, first.try_get(2)?);
        let mut leased = Vec::with_capacity(rows.len());
        for row in rows {
            if row.try_get::<_, Option<uuid::Uuid>>(4)?.is_some() {
                leased.push(Leased::read(row, names, now)?);
            }
        }
        Ok(Self { now, unfinished: overdue || keyed, dead_rows: first.try_get(3)?, rows: leased })
    }

    fn doomed(&self) -> Vec<(JobId, Doom)> {
        self.rows.iter().filter_map(|row| Some((row.id, row.doom?))).collect()
    }

    /// The doomed jobs that come one after the other from a place on, up to the first with a
    /// partition key, so many at most.
    fn doomed_run(&self, from: usize, most: usize) -> Vec<(JobId, Doom)> {
        let mut doomed = Vec::new();
        for row in &self.rows[from..] {
            let Some(doom) = row.doom.filter(|_| doomed.len() < most) else {
                break;
            };
            doomed.push((row.id, doom));
            if row.keyed {
                break;
            }
        }
        doomed
    }

    fn into_leases(self, request: &Reserve) -> Vec<Lease> {
        let granted = self.rows.into_iter().filter(|row| row.doom.is_none());
        granted
            .filter_map(|row| {
                let mut lease = row.lease?;
                lease.token.nonce = request.nonce;
                lease.token.lease_seq = row.lease_seq;
                Some(lease)
            })
            .collect()
    }
}

impl Leased {
    fn read(row: &Row, names: &[QueueName], now: Timestamp) -> Outcome<Self> {
        let id = job_id(row.try_get(4)?);
        let place = (row.try_get(5)?, row.try_get(6)?, row.try_get(7)?, row.try_get(8)?);
        let lease_seq = unsigned(row.try_get(13)?) + 1;
        let deadline_at = row.try_get::<_, Option<i64>>(17)?.map(Timestamp::from_millis);
        let lane: Option<&str> = row.try_get(19)?;
        let lane = lane.filter(|lane| *lane != PLAIN);
        let at: i64 = row.try_get(22)?;
        let name = usize::try_from(at - 1).ok().and_then(|at| names.get(at)).or(names.first());
        let name = name.ok_or_else(|| unreadable("the queue of a lease"))?;
        let kind = Kind::new(row.try_get::<_, &str>(18)?);
        let metadata: Option<&str> = row.try_get(20)?;
        let metadata = metadata.map(serde_json::from_str::<Metadata>).transpose();
        let partition_key = lane.map(PartitionKey::new).transpose();
        let rank: i16 = row.try_get(9)?;
        let priority = u8::try_from(31 - rank).ok().map(Priority::new);
        let late = deadline_at.is_some_and(|deadline| deadline <= now);
        let timeout_ms = u64::try_from(row.try_get::<_, i64>(16)?);
        let (Ok(kind), Ok(metadata), Ok(partition_key), Some(Ok(priority)), Ok(timeout_ms)) =
            (kind, metadata, partition_key, priority, timeout_ms)
        else {
            let doom = Some(Doom::Corrupt);
            return Ok(Self { id, keyed: lane.is_some(), doom, place, lease: None, lease_seq });
        };
        // The fence is filled in by whoever knows the call.
        let nonce = queuekit_core::Nonce::from_bytes([0; 16]);
        let token = LeaseToken { queue: name.clone(), id, lease_seq, nonce };
        let payload = Bytes::copy_from_slice(row.try_get(21)?);
        let mut lease = Lease::new(token, kind, payload);
        lease.attempt = small(row.try_get(10)?) + 1;
        lease.max_attempts = small(row.try_get(11)?);
        lease.releases = u32::try_from(row.try_get::<_, i32>(12)?).unwrap_or(0);
        lease.priority = priority;
        lease.timeout = Duration::from_millis(timeout_ms);
        lease.deadline_in = deadline_at.map(|deadline| deadline.since(now));
        lease.created_at = Timestamp::from_millis(row.try_get(15)?);
        lease.scheduled_at = Timestamp::from_millis(row.try_get(14)?);
        lease.partition_key = partition_key;
        lease.metadata = metadata.unwrap_or_default();
        let doom = late.then_some(Doom::Deadline);
        Ok(Self { id, keyed: lane.is_some(), doom, place, lease: Some(lease), lease_seq })
    }
}

//! The figures of queues (contract R8.3), without a scan of finished jobs.

use futures_util::future::try_join_all;
use queuekit_core::limits::{EXACT_COUNT, HEALTH_WINDOW};
use queuekit_core::queue::{
    Count, HealthInput, Queue, QueueSettings, Totals, WorkerCounts, health,
};
use queuekit_core::{QueueName, Result, Status, Timestamp};
use redis::Value;

use super::worker_counts;
use crate::RedisStore;
use crate::codec::{array_of, bytes_of, number_of};
use crate::error::{closed, unreadable};
use crate::repeat::Call;
use crate::scripts::Lua;

/// The most queues that are asked at once.
const AT_ONCE: usize = 50;
/// After how many looks a script that counts jobs of keys ends: at a key, or at a job of it. Redis
/// serves nobody else meanwhile; scripts of 2,000 looks took 18 ms each.
const SLICE: u64 = 200;
/// After how many looks the counts of a queue become estimates. A key takes about four.
const LOOKS: u64 = 4 * EXACT_COUNT;

/// The answer of lua/figures.lua.
struct Figures {
    now: Timestamp,
    leased: u64,
    expired: u64,
    completed: u64,
    dead: u64,
    cancelled: u64,
    /// Jobs in `ready`: those without a key, and the next one of each key.
    standing: u64,
    due: u64,
    oldest: Option<i64>,
    plain_failed: u64,
    keyed: u64,
    ends: Vec<u8>,
    ended: u64,
    total_dead: u64,
    total_cancelled: u64,
    corrupt: u64,
    stored: u64,
    removed: u64,
    failures: u64,
    settings: QueueSettings,
}

/// The answers of lua/partition_keys.lua, added up.
#[derive(Default)]
struct OfKeys {
    ready: u64,
    scheduled: u64,
    failed: u64,
    standing: u64,
    due: u64,
    oldest: Option<i64>,
}

impl RedisStore {
    /// The queues with these names that exist.
    pub(crate) async fn queues_shown(&self, names: &[QueueName]) -> Result<Vec<Queue>> {
        Ok(self.show_queues(names, || false).await?.0)
    }

    /// The same for as many names as half of the call's time is enough for, and the last of them if
    /// there are more.
    pub(crate) async fn page_shown(
        &self,
        names: &[QueueName],
    ) -> Result<(Vec<Queue>, Option<QueueName>)> {
        self.show_queues(names, || self.is_late()).await
    }

    async fn show_queues(
        &self,
        names: &[QueueName],
        is_enough: impl Fn() -> bool,
    ) -> Result<(Vec<Queue>, Option<QueueName>)> {
        let workers = worker_counts(self).await?;
        let mut queues = Vec::with_capacity(names.len());
        for names in names.chunks(AT_ONCE) {
            let figures = try_join_all(names.iter().map(|name| self.figures(name))).await?;
            for (name, figures) in names.iter().zip(figures) {
                // None for a queue that is in the set of all and does not exist: its first job is
                // about to be stored, or it was removed meanwhile.
                if let Some(figures) = figures {
                    queues.push(self.queue_shown(name, figures, &workers).await?);
                }
                if is_enough() {
                    return Ok((queues, Some(name.clone())));
                }
            }
        }
        Ok((queues, None))
    }

    pub(super) async fn settings_of(&self, name: &QueueName) -> Result<QueueSettings> {
        let figures = self.figures(name).await?;
        Ok(figures.map(|figures| figures.settings).unwrap_or_default())
    }

    async fn figures(&self, name: &QueueName) -> Result<Option<Figures>> {
        let call = Call::Read;
        let answer = self.on_queue("list_queues", call, Lua::Figures, name, []).await?;
        let parts = array_of(answer).ok_or_else(|| unreadable("the figures of a queue"))?;
        if parts.is_empty() {
            return Ok(None);
        }
        let figures = Figures::read(parts).ok_or_else(|| unreadable("the figures of a queue"))?;
        Ok(Some(figures))
    }

    async fn queue_shown(
        &self,
        name: &QueueName,
        figures: Figures,
        workers: &WorkerCounts,
    ) -> Result<Queue> {
        let mut queue = Queue::empty(name.clone(), figures.settings.clone(), figures.now);
        let (of_keys, exact) = match figures.keyed {
            0 => (OfKeys::default(), true),
            _ => self.of_keys(name).await?,
        };
        let oldest = figures.oldest.into_iter().chain(of_keys.oldest).min();
        let mut set = |status, value, exact| queue.counts.set(status, Count { value, exact });
        let plain = figures.standing.saturating_sub(of_keys.standing);
        let plain_due = figures.due.saturating_sub(of_keys.due).min(plain);
        let plain_later = plain - plain_due;
        let plain_failed = figures.plain_failed.min(plain_later);
        set(Status::Ready, plain_due + of_keys.ready, exact);
        set(Status::Failed, plain_failed + of_keys.failed, exact);
        set(Status::Scheduled, plain_later - plain_failed + of_keys.scheduled, exact);
        let unblocked = of_keys.ready + of_keys.failed + of_keys.scheduled;
        set(Status::Blocked, figures.keyed.saturating_sub(unblocked), exact);
        set(Status::Expired, figures.expired, true);
        set(Status::Running, figures.leased.saturating_sub(figures.expired), true);
        set(Status::Completed, figures.completed, true);
        set(Status::Dead, figures.dead, true);
        set(Status::Cancelled, figures.cancelled, true);
        queue.workers = workers.serving(name);
        queue.oldest_ready_age = oldest.map(|at| figures.now.since(Timestamp::from_millis(at)));
        let ends = Totals::of_ends(figures.ended, figures.total_dead, figures.total_cancelled);
        let enqueued = figures.stored + figures.removed;
        queue.totals = Totals { enqueued, failed: figures.failures, ..ends };
        queue.corrupt = figures.corrupt;
        queue.health = health(HealthInput {
            oldest_ready_age: queue.oldest_ready_age,
            last_ended: figures.last_ended(),
            last_dead: figures.last_dead(),
            has_live_worker: queue.workers > 0,
        });
        Ok(queue)
    }

    /// Counts the jobs of all keys with waiting jobs, up to a bound; false if it was reached.
    async fn of_keys(&self, name: &QueueName) -> Result<(OfKeys, bool)> {
        let mut of_keys = OfKeys::default();
        let (mut cursor, mut job, mut looks) = (Vec::new(), Vec::new(), 0);
        while looks < LOOKS {
            let args = [cursor, SLICE.to_string().into_bytes(), job];
            let call = Call::Read;
            // One such script at a time, so that a call of another waits for one of them at most.
            let _turn = self.shared.counting.acquire().await.map_err(|_| closed())?;
            let answer = self.on_queue("list_queues", call, Lua::PartitionKeys, name, args).await?;
            let broken = || unreadable("the figures of partition keys");
            let mut parts = array_of(answer).ok_or_else(broken)?.into_iter();
            cursor = parts.next().and_then(bytes_of).ok_or_else(broken)?;
            job = parts.next().and_then(bytes_of).ok_or_else(broken)?;
            let taken = parts.next().and_then(number_of).ok_or_else(broken)?;
            looks += u64::try_from(taken).map_err(|_| broken())?;
            of_keys.add(&mut parts).ok_or_else(broken)?;
            if cursor.is_empty() {
                return Ok((of_keys, true));
            }
        }
        Ok((of_keys, false))
    }
}

impl OfKeys {
    fn add(&mut self, parts: &mut impl Iterator<Item = Value>) -> Option<()> {
        let mut next = || number_of(parts.next()?).and_then(|count| u64::try_from(count).ok());
        self.ready += next()?;
        self.scheduled += next()?;
        self.failed += next()?;
        self.standing += next()?;
        self.due += next()?;
        self.oldest = self.oldest.into_iter().chain(number_of(parts.next()?)).min();
        Some(())
    }
}

impl Figures {
    fn read(parts: Vec<Value>) -> Option<Self> {
        let mut parts = parts.into_iter();
        let now = Timestamp::from_millis(number_of(parts.next()?)?);
        let mut count = || number_of(parts.next()?).and_then(|count| u64::try_from(count).ok());
        let (leased, expired) = (count()?, count()?);
        let (completed, dead, cancelled) = (count()?, count()?, count()?);
        let (standing, due) = (count()?, count()?);
        let oldest = number_of(parts.next()?);
        let mut count = || number_of(parts.next()?).and_then(|count| u64::try_from(count).ok());
        let (plain_failed, keyed) = (count()?, count()?);
        let ends = bytes_of(parts.next()?)?;
        let mut count = || number_of(parts.next()?).and_then(|count| u64::try_from(count).ok());
        let (ended, total_dead, total_cancelled) = (count()?, count()?, count()?);
        let corrupt = count()?;
        let (stored, removed, failures) = (count()?, count()?, count()?);
        let settings = QueueSettings::from_json(&bytes_of(parts.next()?)?).at(now);
        Some(Self {
            now,
            leased,
            expired,
            completed,
            dead,
            cancelled,
            standing,
            due,
            oldest,
            plain_failed,
            keyed,
            ends,
            ended,
            total_dead,
            total_cancelled,
            corrupt,
            stored,
            removed,
            failures,
            settings,
        })
    }

    /// How many ends are remembered.
    fn last_ended(&self) -> usize {
        usize::try_from(self.ended).unwrap_or(usize::MAX).min(HEALTH_WINDOW)
    }

    /// How many of the remembered ends were deaths.
    fn last_dead(&self) -> usize {
        self.ends.iter().map(|byte| byte.count_ones() as usize).sum()
    }
}

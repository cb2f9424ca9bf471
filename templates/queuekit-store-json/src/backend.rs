//! The ten operations.

use std::ops::Bound::{Excluded, Unbounded};

use queuekit_core::backend::{QueuePage, recent, search};
use queuekit_core::capability::{Admin, Leases};
use queuekit_core::lifecycle::{self, Record};
use queuekit_core::retry::queue_full_retry_after;
use queuekit_core::{
    Ack, AckOutcome, Backend, Capabilities, DeadLetter, DeadLetterOutcome, EnqueueOutcome, Error,
    ErrorKind, Job, JobFilter, JobId, Limits, Nack, NackOutcome, NewJob, Page, PageSize, Queue,
    QueueName, Reserve, Reserved, Result, State, Timestamp, async_trait,
};

use crate::JsonStore;
use crate::data::Data;

#[async_trait]
impl Backend for JsonStore {
    async fn enqueue(&self, jobs: &[NewJob]) -> Result<Vec<EnqueueOutcome>> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        self.step("enqueue", |data| data.enqueue(jobs, &self.limits))
    }

    async fn reserve(&self, request: &Reserve) -> Result<Reserved> {
        self.step("reserve", |data| data.reserve(request, &self.limits))
    }

    async fn ack(&self, acks: &[Ack]) -> Result<Vec<AckOutcome>> {
        if acks.is_empty() {
            return Ok(Vec::new());
        }
        self.limits.admit_results(acks).map_err(|error| error.during("ack"))?;
        self.step("ack", |data| Ok(acks.iter().map(|ack| data.ack(ack)).collect()))
    }

    async fn nack(&self, nacks: &[Nack]) -> Result<Vec<NackOutcome>> {
        if nacks.is_empty() {
            return Ok(Vec::new());
        }
        self.step("nack", |data| Ok(nacks.iter().map(|nack| data.nack(nack)).collect()))
    }

    async fn dead_letter(&self, dead_letters: &[DeadLetter]) -> Result<Vec<DeadLetterOutcome>> {
        if dead_letters.is_empty() {
            return Ok(Vec::new());
        }
        self.step("dead_letter", |data| {
            Ok(dead_letters.iter().map(|dead_letter| data.dead_letter(dead_letter)).collect())
        })
    }

    async fn list_queues(&self, after: Option<&QueueName>, limit: PageSize) -> Result<QueuePage> {
        self.step("list_queues", |data| {
            let from = (after.map_or(Unbounded, Excluded), Unbounded);
            let mut names = data.queues.range::<QueueName, _>(from).map(|(name, _)| name);
            let page = names.by_ref().take(limit.get());
            let queues: Vec<Queue> = page.filter_map(|name| data.figures(name)).collect();
            let last = queues.last().filter(|_| names.next().is_some());
            let after = last.map(|queue| queue.name.clone());
            Ok(QueuePage { queues, after })
        })
    }

    async fn list_jobs(&self, filter: &JobFilter) -> Result<Page<Job>> {
        if filter.recent {
            return recent(filter, self).await;
        }
        search(filter, async |filter| self.step("list_jobs", |data| data.list_jobs(&filter))).await
    }

    async fn get_job(&self, id: JobId) -> Result<Option<Job>> {
        self.step("get_job", |data| Ok(data.get_job(id)))
    }

    async fn delete_job(&self, id: JobId, force: bool) -> Result<bool> {
        self.step("delete_job", |data| {
            let Some(record) = data.jobs.get(&id) else { return Ok(false) };
            let Some(transition) = lifecycle::delete(record.state, force) else {
                let message = "it is running; delete it by force, or cancel it first";
                return Err(Error::new(ErrorKind::Conflict, message).on(id));
            };
            data.apply(id, transition, |_| {});
            Ok(true)
        })
    }

    async fn close(&self) -> Result<()> {
        self.end();
        Ok(())
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let mut capabilities = Capabilities::default();
        capabilities.leases = Some(self as &dyn Leases);
        capabilities.admin = Some(self as &dyn Admin);
        // Each call writes one file.
        capabilities.atomic_across_queues = true;
        capabilities.limits = self.limits;
        capabilities
    }
}

impl Data {
    /// Every check that can refuse the call comes first, so that nothing of it is stored (R2.7).
    fn enqueue(&mut self, jobs: &[NewJob], limits: &Limits) -> Result<Vec<EnqueueOutcome>> {
        limits.admit_jobs(jobs)?;
        let now = self.now;
        let place = |(item, job): (usize, &NewJob)| {
            job.scheduled_at(now).map_err(|error| error.at_item(item))
        };
        let places: Vec<Timestamp> = jobs.iter().enumerate().map(place).collect::<Result<_>>()?;
        self.open_queues(jobs.iter().map(NewJob::queue), limits)?;
        Ok(jobs.iter().zip(places).map(|(job, at)| self.enqueue_one(job, at)).collect())
    }

    /// Checks the id, the idempotency key and the room in the queue, in this order (R2.4, R2.5,
    /// R2.8).
    fn enqueue_one(&mut self, job: &NewJob, scheduled_at: Timestamp) -> EnqueueOutcome {
        let id = job.id();
        if let Some(stored) = self.jobs.get(&id) {
            return match stored.is_same(job) {
                true => EnqueueOutcome::Duplicate { existing: id },
                false => EnqueueOutcome::Conflict { existing: id },
            };
        }
        if let Some(key) = job.idempotency_key()
            && let Some(existing) = self.key_holder(job.queue(), key)
        {
            return EnqueueOutcome::Duplicate { existing };
        }
        let max = self.queues.get(job.queue()).and_then(|queue| queue.settings.max_pending);
        if let Some(max) = max {
            let pending = self.of_queue(job.queue()).filter(|one| one.state == State::Pending);
            if pending.count() as u64 >= max {
                return EnqueueOutcome::QueueFull { retry_after: queue_full_retry_after() };
            }
        }
        let seq = self.next_seq();
        self.jobs.insert(id, Record::new(job, scheduled_at, seq, self.now));
        EnqueueOutcome::Created { id }
    }
}

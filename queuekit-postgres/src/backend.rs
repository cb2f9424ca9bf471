//! The ten operations, and the capabilities that this store has.

use async_trait::async_trait;
use queuekit_core::backend::*;
use queuekit_core::capability::{Exchange, Exchanged, Settlement};
use queuekit_core::lifecycle;
use queuekit_core::{Error, ErrorKind, Job, JobId, NewJob, Queue, QueueName, Result, State};

use crate::PostgresStore;
use crate::call::Call;
use crate::read;
use crate::step::{self, Change};

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Backend for PostgresStore {
    async fn enqueue(&self, jobs: &[NewJob]) -> Result<Vec<EnqueueOutcome>> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        self.enqueue_jobs(jobs).await.map_err(|error| error.during("enqueue"))
    }

    async fn reserve(&self, request: &Reserve) -> Result<Reserved> {
        self.shared.check_open()?;
        if request.limit == 0 {
            return Ok(Reserved::default());
        }
        self.reserve_jobs(request).await.map_err(|error| error.during("reserve"))
    }

    async fn ack(&self, acks: &[Ack]) -> Result<Vec<AckOutcome>> {
        self.admit_results(acks).map_err(|error| error.during("ack"))?;
        if acks.is_empty() {
            return Ok(Vec::new());
        }
        let acked = self.call("ack", Call::Repeatable, acks, |acks, session| {
            Box::pin(step::ack(session, acks, true))
        });
        let outcomes = acked.await?;
        self.stir_leases(acks.iter().map(|ack| &ack.lease));
        Ok(outcomes)
    }

    async fn nack(&self, nacks: &[Nack]) -> Result<Vec<NackOutcome>> {
        if nacks.is_empty() {
            return Ok(Vec::new());
        }
        let nacked = self.call("nack", Call::Once, nacks, |nacks, session| {
            Box::pin(async move {
                session.begin_settling().await?;
                let answer = step::nack(session, nacks).await?;
                session.commit().await?;
                Ok(answer)
            })
        });
        let (outcomes, stirred) = nacked.await?;
        self.stir(stirred.iter().map(|row| &row.name));
        Ok(outcomes)
    }

    async fn dead_letter(&self, dead_letters: &[DeadLetter]) -> Result<Vec<DeadLetterOutcome>> {
        if dead_letters.is_empty() {
            return Ok(Vec::new());
        }
        let dead_lettered = self.call("dead_letter", Call::Once, dead_letters, |input, session| {
            Box::pin(async move {
                session.begin().await?;
                let answer = step::dead_letter(session, input).await?;
                session.commit().await?;
                Ok(answer)
            })
        });
        let (outcomes, stirred) = dead_lettered.await?;
        self.stir(stirred.iter().map(|row| &row.name));
        Ok(outcomes)
    }

    async fn list_queues(&self, after: Option<&QueueName>, limit: PageSize) -> Result<QueuePage> {
        let page = (after, limit);
        let listed = self.call("list_queues", Call::Repeatable, page, |page, session| {
            Box::pin(read::list_queues(session, page.0, page.1))
        });
        listed.await
    }

    async fn find_queues(&self, names: &[QueueName]) -> Result<Vec<Queue>> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.call("find_queues", Call::Repeatable, names, |names, session| {
            Box::pin(read::find_queues(session, names))
        });
        found.await
    }

    async fn list_jobs(&self, filter: &JobFilter) -> Result<Page<Job>> {
        if filter.recent {
            return recent(filter, self).await;
        }
        let page = async |filter: JobFilter| {
            let position = read::position(&filter).map_err(|error| error.during("list_jobs"))?;
            let input = (filter, position);
            self.call("list_jobs", Call::Repeatable, input, |(filter, position), session| {
                Box::pin(read::jobs(session, filter, position.as_ref()))
            })
            .await
        };
        search(filter, page).await
    }

    async fn get_job(&self, id: JobId) -> Result<Option<Job>> {
        let job = self
            .call("get_job", Call::Repeatable, id, |id, session| Box::pin(read::job(session, *id)));
        job.await
    }

    async fn job_states(&self, ids: &[JobId]) -> Result<Vec<Option<State>>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let states = self.call("job_states", Call::Repeatable, ids.to_vec(), |ids, session| {
            Box::pin(read::job_states(session, ids))
        });
        states.await
    }

    async fn delete_job(&self, id: JobId, force: bool) -> Result<bool> {
        let input = (id, force);
        let deleted = self.call("delete_job", Call::Once, input, |input, session| {
            Box::pin(async move {
                let (id, force) = *input;
                session.begin().await?;
                let ids = std::iter::once(id);
                let mut change = Change::of_jobs(session, ids, true).await?;
                let Some(state) = change.record(id).map(|record| record.state) else {
                    return Ok(None);
                };
                let Some(transition) = lifecycle::delete(state, force) else {
                    let message = "it is running; delete it by force, or cancel it first";
                    return Err(Error::new(ErrorKind::Conflict, message).on(id).into());
                };
                change.apply(id, transition, |_| {}).await?;
                let stirred = change.finish().await?;
                session.commit().await?;
                Ok(Some(stirred))
            })
        });
        let Some(stirred) = deleted.await? else {
            return Ok(false);
        };
        self.stir(stirred.iter().map(|row| &row.name));
        Ok(true)
    }

    async fn close(&self) -> Result<()> {
        self.end().await;
        Ok(())
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let mut capabilities = Capabilities::default();
        capabilities.leases = Some(self);
        capabilities.checkpoints = Some(self);
        capabilities.wakeups = Some(self);
        capabilities.upkeep = Some(self);
        capabilities.exchange = Some(self);
        capabilities.admin = Some(self);
        capabilities.inspect = Some(self);
        capabilities.migrations = Some(self);
        capabilities.schedules = Some(self);
        capabilities.audit = Some(self);
        capabilities.errors = Some(self);
        capabilities.history = Some(self);
        capabilities.control = Some(self);
        capabilities.outbox = Some(self);
        capabilities.atomic_across_queues = true;
        capabilities.calls_at_once = 2;
        capabilities.limits = self.shared.limits;
        capabilities
    }
}

#[async_trait]
impl Exchange for PostgresStore {
    async fn exchange(&self, settlement: &Settlement, request: &Reserve) -> Result<Exchanged> {
        self.admit_results(&settlement.acks).map_err(|error| error.during("exchange"))?;
        let exchanged = self.settle_and_reserve("exchange", Some(settlement), request).await?;
        self.stir_leases(settlement.acks.iter().map(|ack| &ack.lease));
        Ok(exchanged)
    }
}

impl PostgresStore {
    /// Refuses a call on a closed handle, or with a result over its limit, before it takes effect.
    pub(crate) fn admit_results(&self, acks: &[Ack]) -> Result<()> {
        self.shared.check_open()?;
        self.shared.limits.admit_results(acks)
    }

    /// The end of a job with a partition key may let another go.
    fn stir_leases<'a>(&self, leases: impl Iterator<Item = &'a LeaseToken>) {
        let keyed =
            |lease: &&LeaseToken| self.shared.known.get(&lease.queue).is_none_or(|row| row.keyed);
        self.stir(leases.filter(keyed).map(|lease| &lease.queue));
    }
}

//! What an operator does.

use std::time::Duration;

use async_trait::async_trait;
use queuekit_core::capability::{
    Admin, CancelOutcome, RescheduleOutcome, RetryOutcome, Why, admit_retries,
};
use queuekit_core::limits::DELAY;
use queuekit_core::queue::{QueuePatch, QueueSettings};
use queuekit_core::{Error, JobId, QueueName, Result};

use crate::PostgresStore;
use crate::call::Call;
use crate::error::Outcome;
use crate::read;
use crate::session::Session;
use crate::step::{self, ROUNDS, gone};

/// Jobs that one transaction changes.
const SLICE: usize = 100;

#[async_trait]
impl Admin for PostgresStore {
    /// Looks at each waiting job of the queue once if the order or the rules of partition keys
    /// change.
    async fn configure(&self, queue: &QueueName, patch: &QueuePatch) -> Result<QueueSettings> {
        let during = |error: Error| error.during("configure");
        patch.check().map_err(during)?;
        for _ in 0..ROUNDS {
            self.open_queues(vec![queue.clone()], Vec::new()).await.map_err(during)?;
            let input = (queue, patch);
            let configured = self.call("configure", Call::Repeatable, input, |input, session| {
                let (queue, patch) = *input;
                Box::pin(step::configure(session, queue, patch))
            });
            if let Some(row) = configured.await? {
                self.shared.known.learn(std::slice::from_ref(&row));
                self.stir(std::iter::once(queue));
                return Ok(row.settings);
            }
        }
        Err(during(gone()))
    }

    /// Removes the jobs of a large queue in several transactions.
    async fn remove_queue(&self, queue: &QueueName, force: bool) -> Result<bool> {
        loop {
            let input = (queue, force);
            let step = self.call("remove_queue", Call::Repeatable, input, |input, session| {
                let (queue, force) = *input;
                Box::pin(step::remove_queue(session, queue, force))
            });
            match step.await? {
                Some(false) => {}
                gone => {
                    self.shared.known.forget([queue.clone()]);
                    return Ok(gone.is_some());
                }
            }
        }
    }

    async fn cancel(&self, ids: &[JobId]) -> Result<Vec<CancelOutcome>> {
        let mut outcomes = Vec::with_capacity(ids.len());
        for slice in ids.chunks(SLICE) {
            let cancelled = self.call("cancel", Call::Once, slice, |ids, session| {
                Box::pin(in_transaction(session, step::cancel(session, ids)))
            });
            let cancelled = cancelled.await?;
            self.stir(cancelled.stirred.iter().map(|row| &row.name));
            self.tell_cancels(cancelled.requested);
            outcomes.extend(cancelled.outcomes);
        }
        Ok(outcomes)
    }

    async fn retry_after(&self, retries: &[(JobId, Duration)]) -> Result<Vec<RetryOutcome>> {
        admit_retries(retries).map_err(|error| error.during("retry"))?;
        let mut outcomes = Vec::with_capacity(retries.len());
        for slice in retries.chunks(SLICE) {
            let retried = self.call("retry", Call::Once, slice, |slice, session| {
                Box::pin(in_transaction(session, step::retry(session, slice)))
            });
            let (slice, stirred) = retried.await?;
            self.stir(stirred.iter().map(|row| &row.name));
            outcomes.extend(slice);
        }
        Ok(outcomes)
    }

    async fn reschedule(&self, ids: &[JobId], delay: Duration) -> Result<Vec<RescheduleOutcome>> {
        if delay > DELAY {
            let error = Error::invalid("delay", "at most 366 days", format!("{delay:?}"));
            return Err(error.during("reschedule"));
        }
        let mut outcomes = Vec::with_capacity(ids.len());
        for slice in ids.chunks(SLICE) {
            let input = (slice, delay);
            let moved = self.call("reschedule", Call::Once, input, |input, session| {
                let (ids, delay) = *input;
                Box::pin(in_transaction(session, step::reschedule(session, ids, delay)))
            });
            let (slice, stirred) = moved.await?;
            self.stir(stirred.iter().map(|row| &row.name));
            outcomes.extend(slice);
        }
        Ok(outcomes)
    }

    async fn why(&self, id: JobId) -> Result<Option<Why>> {
        let why =
            self.call("why", Call::Repeatable, id, |id, session| Box::pin(read::why(session, *id)));
        why.await
    }
}

async fn in_transaction<T>(
    session: &Session<'_>,
    step: impl Future<Output = Outcome<T>>,
) -> Outcome<T> {
    session.begin().await?;
    let answer = step.await?;
    session.commit().await?;
    Ok(answer)
}

//! Enqueue and ack inside the application's own transaction (contract R2.9).

use std::sync::atomic::AtomicBool;

use queuekit_core::{Ack, AckOutcome, EnqueueOutcome, Error, NewJob, Result};
use tokio_postgres::Transaction;

use crate::PostgresStore;
use crate::error::{Class, Outcome};
use crate::session::Session;
use crate::statements::Sql;
use crate::step;

impl PostgresStore {
    /// Stores jobs in a transaction of the application on the same database: they exist if and
    /// only if it commits. A call that fails leaves the transaction as it was.
    ///
    /// While the transaction is open nobody waits for it, but those who enqueue the same id or
    /// the same idempotency key. Queues that do not exist yet are made on a connection of the
    /// store's own. Workers look for the jobs at the latest within their poll interval after the
    /// commit; [`notify_in`](Self::notify_in) tells them at once.
    ///
    /// # Errors
    /// As [`enqueue`](queuekit_core::Backend::enqueue).
    pub async fn enqueue_in(
        &self,
        tx: &Transaction<'_>,
        jobs: &[NewJob],
    ) -> Result<Vec<EnqueueOutcome>> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        let during = |error: Error| error.during("enqueue_in");
        self.shared.check_open().map_err(during)?;
        let doubt = AtomicBool::new(false);
        let session = Session::foreign(tx, &self.shared.statements, &self.shared.begins, &doubt);
        // Boxed, because it stands in the application's own future.
        Box::pin(self.enqueue_jobs_in(&session, jobs)).await.map_err(during)
    }

    /// Records success in a transaction of the application on the same database: the job is
    /// completed if and only if it commits, in the same instant as what else it wrote. An outcome
    /// other than `Acked` means that somebody else has the job now: roll back.
    ///
    /// While the transaction is open, the worker's heartbeats go on for all other leases; this
    /// one is told as [`Settling`](queuekit_core::capability::ExtendOutcome::Settling).
    ///
    /// # Errors
    /// As [`ack`](queuekit_core::Backend::ack).
    pub async fn ack_in(&self, tx: &Transaction<'_>, acks: &[Ack]) -> Result<Vec<AckOutcome>> {
        if acks.is_empty() {
            return Ok(Vec::new());
        }
        let during = |error: Error| error.during("ack_in");
        self.admit_results(acks).map_err(during)?;
        let doubt = AtomicBool::new(false);
        let session = Session::foreign(tx, &self.shared.statements, &self.shared.begins, &doubt);
        let run = || undone_if_failed(&session, step::ack(&session, acks, false));
        let mut acked = run().await;
        if matches!(&acked, Err(failure) if failure.class == Class::MissingDay) {
            self.add_days().await.map_err(during)?;
            acked = run().await;
        }
        acked.map_err(|failure| during(failure.into()))
    }

    /// Tells workers, when the transaction commits, that these jobs' queues gained work. It makes
    /// the commits of all transactions that do so wait for each other: leave it out where many
    /// commit at the same time.
    ///
    /// # Errors
    /// `Unavailable` if the statement fails.
    pub async fn notify_in(&self, tx: &Transaction<'_>, jobs: &[NewJob]) -> Result<()> {
        let doubt = AtomicBool::new(false);
        let session = Session::foreign(tx, &self.shared.statements, &self.shared.begins, &doubt);
        let mut queues: Vec<&str> = jobs.iter().map(|job| job.queue().as_str()).collect();
        queues.sort_unstable();
        queues.dedup();
        let channel = self.shared.schema.as_str();
        let params = crate::params::params![channel, queues];
        let told = session.query(Sql::Notify, params).await;
        told.map(drop).map_err(|failure| Error::from(failure).during("notify_in"))
    }
}

/// A statement that fails spoils the whole transaction, unless it is undone to a savepoint.
pub(crate) async fn undone_if_failed<T>(
    session: &Session<'_>,
    step: impl Future<Output = Outcome<T>>,
) -> Outcome<T> {
    session.control(Sql::Savepoint).await?;
    let answer = step.await;
    if answer.is_err() {
        session.control(Sql::SavepointRollback).await?;
    }
    session.control(Sql::SavepointRelease).await?;
    answer
}

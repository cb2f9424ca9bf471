//! Enqueue, ack, store a checkpoint and emit inside the application's own transaction (contract
//! R2.9, R13.10, R14.1).

use std::sync::atomic::AtomicBool;

use queuekit_core::capability::{CheckpointOutcome, Emission, EmitOutcome, NewCheckpoint};
use queuekit_core::event::{EventSettings, NewEvent};
use queuekit_core::{Ack, AckOutcome, EnqueueOutcome, Enqueued, Error, ErrorKind, NewJob, Result};
use tokio_postgres::Transaction;

use crate::PostgresStore;
use crate::error::{Class, Outcome};
use crate::session::Session;
use crate::statements::Sql;
use crate::step::{self, Emitted, ROUNDS, gone};

impl PostgresStore {
    /// Stores jobs in a transaction of the application on the same database: the jobs exist if and
    /// only if it commits. A call that fails leaves the transaction as it was.
    ///
    /// [`ids`](Enqueued::ids) fails if a job was refused: then roll back.
    ///
    /// While the transaction is open, only those who enqueue the same id or the same idempotency
    /// key wait for it. Queues that do not exist yet are created on a connection of the store's
    /// own. Workers find the jobs within their poll interval after the commit;
    /// [`notify_in`](Self::notify_in) wakes them at once.
    ///
    /// # Errors
    /// As [`enqueue`](queuekit_core::Backend::enqueue).
    pub async fn enqueue_in(&self, tx: &Transaction<'_>, jobs: &[NewJob]) -> Result<Enqueued> {
        if jobs.is_empty() {
            return Ok(Vec::new().into());
        }
        let during = |error: Error| error.during("enqueue_in");
        self.shared.check_open().map_err(during)?;
        let doubt = AtomicBool::new(false);
        let session = Session::foreign(tx, &self.shared.statements, &self.shared.begins, &doubt);
        // Boxed to keep the application's future small.
        Box::pin(self.enqueue_jobs_in(&session, jobs)).await.map(Enqueued::from).map_err(during)
    }

    async fn enqueue_jobs_in(
        &self,
        session: &Session<'_>,
        jobs: &[NewJob],
    ) -> Result<Vec<EnqueueOutcome>> {
        for _ in 0..ROUNDS {
            let asked = self.ask(jobs).await?;
            match undone_if_failed(session, step::enqueue_in(&asked, session)).await? {
                Some(outcomes) => return Ok(outcomes),
                None => asked.forget_queues(&self.shared.known),
            }
        }
        Err(gone())
    }

    /// Records success in a transaction of the application on the same database: the job is
    /// completed if and only if it commits, together with its other writes. An outcome other than
    /// `Acked` means that another worker has the job now: roll back.
    ///
    /// While the transaction is open, the worker extends all other leases; for this one the outcome
    /// is [`Settling`](queuekit_core::capability::ExtendOutcome::Settling).
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
        let acked = undone_if_failed(&session, step::ack(&session, acks, false)).await;
        acked.map_err(|failure| during(failure.into()))
    }

    /// Stores the result of a step in a transaction of the application on the same database: the
    /// step counts as done if and only if it commits, together with its other writes. An outcome
    /// other than `Stored` means that it must not: `Conflict` if the step was done before,
    /// `LeaseLost` if another worker has the job now. Then roll back.
    ///
    /// While the transaction is open, no other worker gets the job, and extends of its lease are
    /// answered as in [`ack_in`](Self::ack_in).
    ///
    /// # Errors
    /// As [`put_checkpoint`](queuekit_core::capability::KeepCheckpoints::put_checkpoint).
    pub async fn checkpoint_in(
        &self,
        tx: &Transaction<'_>,
        checkpoint: &NewCheckpoint,
    ) -> Result<CheckpointOutcome> {
        let during = |error: Error| error.during("checkpoint_in");
        self.shared.check_open().map_err(during)?;
        let doubt = AtomicBool::new(false);
        let session = Session::foreign(tx, &self.shared.statements, &self.shared.begins, &doubt);
        let stored = undone_if_failed(&session, step::put_new_checkpoint(&session, checkpoint));
        stored.await.map_err(|failure| during(failure.into()))
    }

    /// Stores events and their deliveries in a transaction of the application on the same database:
    /// they exist if and only if it commits, together with its other writes (an outbox).
    /// [`ids`](queuekit_core::Emitted::ids) fails if an event was refused: then roll back.
    ///
    /// While the transaction is open, only those who emit the same id or idempotency key, and those
    /// who change subscriptions, wait for it: its events go to the consumers that exist until it
    /// ends. Workers find the deliveries within their poll interval after the commit;
    /// [`notify_events_in`](Self::notify_events_in) wakes them at once.
    ///
    /// # Errors
    /// As [`Client::emit_all`](queuekit_core::Client::emit_all).
    pub async fn emit_in(
        &self,
        tx: &Transaction<'_>,
        events: &[NewEvent],
    ) -> Result<queuekit_core::Emitted> {
        if events.is_empty() {
            return Ok(Vec::new().into());
        }
        let during = |error: Error| error.during("emit_in");
        self.shared.check_open().map_err(during)?;
        let doubt = AtomicBool::new(false);
        let session = Session::foreign(tx, &self.shared.statements, &self.shared.begins, &doubt);
        // Boxed to keep the application's future small.
        let emitted = Box::pin(self.emit_events_in(&session, events)).await;
        emitted.map(Into::into).map_err(during)
    }

    async fn emit_events_in(
        &self,
        session: &Session<'_>,
        events: &[NewEvent],
    ) -> Result<Vec<EmitOutcome>> {
        self.shared.limits.admit_events(events)?;
        let emission = self.emission_in(session, events).await?;
        let mut misses_partition = false;
        for _ in 0..ROUNDS {
            if std::mem::take(&mut misses_partition) {
                self.add_partitions().await?;
            }
            let emit = self.emit(&emission).await?;
            match undone_if_failed(session, emit.store_in(session)).await {
                Ok(Emitted::Stored(outcomes)) => return Ok(outcomes),
                Ok(Emitted::QueuesGone) => self.shared.known.forget(emit.queues.into_keys()),
                Ok(Emitted::Stale) => {
                    let message = "the subscriptions changed while the transaction held them";
                    return Err(Error::new(ErrorKind::Corrupt, message));
                }
                Err(failure) if failure.class == Class::MissingPartition => misses_partition = true,
                Err(failure) => return Err(failure.into()),
            }
        }
        Err(gone())
    }

    /// The events with their deliveries, which stay the same until the transaction ends.
    async fn emission_in(&self, session: &Session<'_>, events: &[NewEvent]) -> Result<Emission> {
        let hold = step::hold_event_settings(session);
        let stored = undone_if_failed(session, hold).await?;
        EventSettings::read(&stored.body)?.emission(stored.version, events)
    }

    /// Wakes the workers of these events' consumers when the transaction commits. Its cost is that
    /// of [`notify_in`](Self::notify_in).
    ///
    /// # Errors
    /// `Unavailable` if the statement fails.
    pub async fn notify_events_in(&self, tx: &Transaction<'_>, events: &[NewEvent]) -> Result<()> {
        let during = |error: Error| error.during("notify_events_in");
        let doubt = AtomicBool::new(false);
        let session = Session::foreign(tx, &self.shared.statements, &self.shared.begins, &doubt);
        let emission = self.emission_in(&session, events).await.map_err(during)?;
        let deliveries = emission.events.iter().flat_map(|(_, deliveries)| deliveries);
        self.tell_at_commit(&session, deliveries).await.map_err(during)
    }

    /// Wakes the workers of these jobs' queues when the transaction commits. It makes the commits
    /// of all such transactions wait for each other: leave it out where many commit at the same
    /// time.
    ///
    /// # Errors
    /// `Unavailable` if the statement fails.
    pub async fn notify_in(&self, tx: &Transaction<'_>, jobs: &[NewJob]) -> Result<()> {
        let doubt = AtomicBool::new(false);
        let session = Session::foreign(tx, &self.shared.statements, &self.shared.begins, &doubt);
        let told = self.tell_at_commit(&session, jobs.iter()).await;
        told.map_err(|error| error.during("notify_in"))
    }

    async fn tell_at_commit(
        &self,
        session: &Session<'_>,
        jobs: impl Iterator<Item = &NewJob>,
    ) -> Result<()> {
        let mut queues: Vec<&str> = jobs.map(|job| job.queue().as_str()).collect();
        queues.sort_unstable();
        queues.dedup();
        let channel = self.schema();
        let params = crate::params::params![channel, queues];
        Ok(session.query(Sql::Notify, params).await.map(drop)?)
    }
}

/// Runs a step in a transaction of the application. Rolls back to a savepoint if the step fails:
/// otherwise a failed statement would abort the whole transaction.
async fn undone_if_failed<T>(
    session: &Session<'_>,
    step: impl Future<Output = Outcome<T>>,
) -> Outcome<T> {
    // Guard: the application's search_path may lead to functions and operators of other roles,
    // which its statements must not run.
    session.controls([Sql::Savepoint, Sql::PathPin]).await?;
    let answer = step.await;
    let end = match answer {
        Ok(_) => [Sql::PathRestore, Sql::SavepointRelease],
        Err(_) => [Sql::SavepointRollback, Sql::SavepointRelease],
    };
    session.controls(end).await?;
    answer
}

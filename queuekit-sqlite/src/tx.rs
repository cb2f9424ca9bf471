//! Enqueue, ack, store a checkpoint and emit inside the application's own transaction (contract
//! R2.9, R13.10, R14.1).

use queuekit_core::capability::{CheckpointOutcome, NewCheckpoint};
use queuekit_core::event::{EventSettings, NewEvent};
use queuekit_core::{Ack, AckOutcome, Emitted, Enqueued, Error, NewJob, Result};
use rusqlite::Transaction;

use crate::SqliteStore;
use crate::error::failed;
use crate::statements::{SAVEPOINT, SAVEPOINT_RELEASE, SAVEPOINT_ROLLBACK};
use crate::step::Step;

impl SqliteStore {
    /// Stores jobs in a transaction of the application on the same file: the jobs exist if and only
    /// if it commits. [`ids`](Enqueued::ids) fails if a job was refused. A call that fails leaves
    /// the transaction as it was, unless SQLite itself rolled all of it back, as it may when the
    /// disk is full: then the commit fails too.
    ///
    /// While the transaction is open, it holds the file's only write lock: every other writer,
    /// including this store's own thread, waits for its end. So never call the client inside it:
    /// the call and the transaction would wait for each other until the call gives up after
    /// [`op_timeout`](crate::SqliteConfig::op_timeout). Begin the transaction with
    /// [`Immediate`](rusqlite::TransactionBehavior::Immediate): a transaction that has read before
    /// another process wrote cannot write any more. Workers see the jobs within 20 ms of the
    /// commit.
    ///
    /// # Errors
    /// As [`enqueue`](queuekit_core::Backend::enqueue), and `Invalid` if the transaction is on
    /// another file.
    pub fn enqueue_in(&self, tx: &Transaction<'_>, jobs: &[NewJob]) -> Result<Enqueued> {
        let enqueued = self.step_in(tx, |step| step.enqueue(jobs)).map(Enqueued::from);
        enqueued.map_err(|error| error.during("enqueue_in"))
    }

    /// Records success in a transaction of the application on the same file: the job is completed
    /// if and only if it commits, together with its other writes. An outcome other than `Acked`
    /// means that another worker has the job now: roll back.
    ///
    /// The notes on open transactions in [`enqueue_in`](Self::enqueue_in) apply here too. The
    /// leases of this process cannot be extended while the transaction is open, so keep it short.
    ///
    /// # Errors
    /// As [`ack`](queuekit_core::Backend::ack), and `Invalid` if the transaction is on another
    /// file.
    pub fn ack_in(&self, tx: &Transaction<'_>, acks: &[Ack]) -> Result<Vec<AckOutcome>> {
        self.step_in(tx, |step| step.ack(acks)).map_err(|error| error.during("ack_in"))
    }

    /// Stores the result of a step in a transaction of the application on the same file: the step
    /// counts as done if and only if it commits, together with its other writes. An outcome other
    /// than `Stored` means that it must not: `Conflict` if the step was done before, `LeaseLost` if
    /// another worker has the job now. Then roll back.
    ///
    /// The notes on open transactions in [`ack_in`](Self::ack_in) apply here too.
    ///
    /// # Errors
    /// As [`put_checkpoint`](queuekit_core::capability::KeepCheckpoints::put_checkpoint), and
    /// `Invalid` if the transaction is on another file.
    pub fn checkpoint_in(
        &self,
        tx: &Transaction<'_>,
        checkpoint: &NewCheckpoint,
    ) -> Result<CheckpointOutcome> {
        let stored = self.step_in(tx, |step| step.put_new_checkpoint(checkpoint));
        stored.map_err(|error| error.during("checkpoint_in"))
    }

    /// Stores events and their deliveries in a transaction of the application on the same file:
    /// they exist if and only if it commits, together with its other writes (an outbox).
    /// [`ids`](Emitted::ids) fails if an event was refused: then roll back.
    ///
    /// The notes on open transactions in [`enqueue_in`](Self::enqueue_in) apply here too.
    ///
    /// # Errors
    /// As [`Client::emit_all`](queuekit_core::Client::emit_all), and `Invalid` if the transaction
    /// is on another file.
    pub fn emit_in(&self, tx: &Transaction<'_>, events: &[NewEvent]) -> Result<Emitted> {
        let emit = |step: &mut Step<'_>| {
            step.limits.admit_events(events)?;
            let stored = step.event_settings()?;
            let settings = EventSettings::read(&stored.body)?;
            Ok(step.store_events(&settings.emission(stored.version, events)?)?.outcomes)
        };
        self.step_in(tx, emit).map(Emitted::from).map_err(|error| error.during("emit_in"))
    }

    fn step_in<T>(
        &self,
        tx: &Transaction<'_>,
        run: impl FnOnce(&mut Step<'_>) -> Result<T>,
    ) -> Result<T> {
        self.check_open()?;
        self.check_file(tx)?;
        let execute = |sql: &str| {
            tx.prepare_cached(sql).and_then(|mut statement| statement.execute([])).map_err(failed)
        };
        execute(SAVEPOINT)?;
        let mut step = Step::new(tx, &self.shared.config.limits, self.shared.config.clock.now());
        let ran = run(&mut step).and_then(|answer| step.finish().map(|_| answer));
        if ran.is_err() && !tx.is_autocommit() {
            execute(SAVEPOINT_ROLLBACK)?;
        }
        if !tx.is_autocommit() {
            execute(SAVEPOINT_RELEASE)?;
        }
        ran
    }

    fn check_file(&self, tx: &Transaction<'_>) -> Result<()> {
        let path = tx.path().unwrap_or_default();
        if std::path::Path::new(path) == self.path() {
            return Ok(());
        }
        let limit = format!("on the store's own file, {}", self.path().display());
        Err(Error::invalid("transaction", limit, format!("one on {path:?}")))
    }
}

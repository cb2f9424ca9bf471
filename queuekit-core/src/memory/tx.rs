//! Enqueue, ack, store a checkpoint and emit in a transaction, for tests of code that does so in
//! one of its database (contract R2.9, R13.10, R14.1).

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::tables::Tables;
use super::{Faults, MemoryStore, Operation, closed};
use crate::backend::{Ack, AckOutcome};
use crate::capability::{CheckpointOutcome, NewCheckpoint};
use crate::client::{Emitted, Enqueued};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{EventSettings, NewEvent};
use crate::job::NewJob;
use crate::store_limits::Limits;

/// A transaction on a [`MemoryStore`]: its calls take effect if and only if it commits. Dropping it
/// rolls it back.
///
/// Tests use it in place of a database's transaction. Each call answers as if this were the only
/// transaction. The commit makes all calls again, in one step: if one of them would get
/// another answer now, the commit fails and nothing takes effect. So nobody waits for an open
/// transaction, and the times of its jobs are those of the commit. Each call copies the store,
/// which takes long if it has many jobs.
///
/// ```
/// use queuekit::memory::MemoryStore;
/// use queuekit::{Client, JobDraft};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> queuekit::Result<()> {
/// let store = MemoryStore::new();
/// let job = JobDraft::new("ship-order", "{}").build()?;
/// let tx = store.begin();
/// store.enqueue_in(&tx, std::slice::from_ref(&job)).await?.ids()?;
/// let client = Client::new(store);
/// assert!(client.jobs().get(job.id()).await?.is_none());
/// tx.commit().await?;
/// assert!(client.jobs().get(job.id()).await?.is_some());
/// # Ok(())
/// # }
/// ```
#[must_use = "dropping it rolls it back"]
pub struct MemoryTransaction {
    store: MemoryStore,
    calls: Mutex<Vec<Again>>,
}

/// Makes a call again. Returns whether it got the same answer.
type Again = Box<dyn Fn(&mut Tables) -> bool + Send>;

impl MemoryTransaction {
    /// Makes all calls take effect, in one step, and wakes the workers of the jobs.
    ///
    /// # Errors
    /// `Unavailable` if other calls have changed what the answers depend on, or for an injected
    /// fault of [`Operation::Commit`]: nothing took effect. `Indeterminate` for such a fault after
    /// the effect; `Closed`.
    pub async fn commit(self) -> Result<()> {
        self.store.step(Operation::Commit, |tables| {
            *tables = self.made_again(tables)?;
            Ok(())
        })
    }

    /// Ends the transaction without any effect, as dropping it does.
    pub async fn rollback(self) {}

    /// The store as it would be if the transaction committed now.
    fn made_again(&self, tables: &Tables) -> Result<Tables> {
        let mut copy = tables.clone();
        match self.calls().iter().all(|again| again(&mut copy)) {
            true => Ok(copy),
            false => {
                let message = "other calls have changed what the answers in this transaction \
                               depend on; nothing took effect: begin a new one";
                Err(Error::new(ErrorKind::Unavailable, message))
            }
        }
    }

    fn calls(&self) -> MutexGuard<'_, Vec<Again>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MemoryTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryTransaction").field("calls", &self.calls().len()).finish()
    }
}

impl MemoryStore {
    /// Begins a transaction.
    pub fn begin(&self) -> MemoryTransaction {
        MemoryTransaction { store: self.clone(), calls: Mutex::default() }
    }

    /// Stores jobs in a transaction: the jobs exist if and only if it commits.
    /// [`ids`](Enqueued::ids) fails if a job was refused: then roll back. A call that fails leaves
    /// the transaction as it was.
    ///
    /// # Errors
    /// As [`enqueue`](crate::Backend::enqueue); `Unavailable` as [`MemoryTransaction::commit`];
    /// `Invalid` if the transaction is one of another store.
    pub async fn enqueue_in(&self, tx: &MemoryTransaction, jobs: &[NewJob]) -> Result<Enqueued> {
        let jobs = jobs.to_vec();
        let enqueue = move |tables: &mut Tables, limits: &Limits| tables.enqueue(&jobs, limits);
        self.call_in(tx, "enqueue_in", enqueue).map(Enqueued::from)
    }

    /// Records success in a transaction: the job is completed if and only if it commits. An outcome
    /// other than `Acked` means that another worker has the job now: roll back.
    ///
    /// # Errors
    /// As [`ack`](crate::Backend::ack), and those of [`enqueue_in`](Self::enqueue_in).
    pub async fn ack_in(&self, tx: &MemoryTransaction, acks: &[Ack]) -> Result<Vec<AckOutcome>> {
        let acks = acks.to_vec();
        self.call_in(tx, "ack_in", move |tables, limits| {
            limits.admit_results(&acks)?;
            // Faults concern calls that take effect: see the fault of a commit.
            let none = Faults::default();
            Ok(acks.iter().map(|ack| tables.ack(ack, &none)).collect())
        })
    }

    /// Stores the result of a step in a transaction: the step counts as done if and only if it
    /// commits. An outcome other than `Stored` means that it must not: `Conflict` if the step was
    /// done before, `LeaseLost` if another worker has the job now. Then roll back.
    ///
    /// # Errors
    /// Those of [`enqueue_in`](Self::enqueue_in).
    pub async fn checkpoint_in(
        &self,
        tx: &MemoryTransaction,
        checkpoint: &NewCheckpoint,
    ) -> Result<CheckpointOutcome> {
        let new = checkpoint.clone();
        self.call_in(tx, "checkpoint_in", move |tables, _| Ok(tables.put_new_checkpoint(&new)))
    }

    /// Stores events and their deliveries in a transaction: they exist if and only if it commits.
    /// [`ids`](Emitted::ids) fails if an event was refused: then roll back. The events go to the
    /// consumers that exist at the commit.
    ///
    /// # Errors
    /// As [`Client::emit_all`](crate::Client::emit_all), and those of
    /// [`enqueue_in`](Self::enqueue_in).
    pub async fn emit_in(&self, tx: &MemoryTransaction, events: &[NewEvent]) -> Result<Emitted> {
        let events = events.to_vec();
        let emit = move |tables: &mut Tables, limits: &Limits| {
            limits.admit_events(&events)?;
            let settings = &tables.events.settings;
            let emission =
                EventSettings::read(&settings.body)?.emission(settings.version, &events)?;
            Ok(tables.store_events(&emission, limits)?.outcomes)
        };
        self.call_in(tx, "emit_in", emit).map(Emitted::from)
    }

    /// Makes a call on the store as it would be if the transaction committed now.
    fn call_in<T: PartialEq + Clone + Send + 'static>(
        &self,
        tx: &MemoryTransaction,
        name: &'static str,
        call: impl Fn(&mut Tables, &Limits) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let during = |error: Error| error.during(name);
        if !Arc::ptr_eq(&self.shared, &tx.store.shared) {
            let error = Error::invalid("transaction", "one of this store", "one of another");
            return Err(during(error));
        }
        let limits = self.shared.limits;
        let mut tables = self.tables_of(tx).map_err(during)?;
        let answer = call(&mut tables, &limits).map_err(during)?;
        let first = answer.clone();
        tx.calls().push(Box::new(move |tables| {
            call(tables, &limits).is_ok_and(|answer| answer == first)
        }));
        Ok(answer)
    }

    fn tables_of(&self, tx: &MemoryTransaction) -> Result<Tables> {
        let mut tables = self.shared.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if tables.closed {
            return Err(closed());
        }
        tables.now = self.shared.clock.now();
        tx.made_again(&tables)
    }
}

#[cfg(test)]
#[path = "tx_tests.rs"]
mod tests;

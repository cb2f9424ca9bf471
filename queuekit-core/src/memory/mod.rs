//! The store in memory: the executable specification, and a store for tests of handlers.
//!
//! It keeps every rule of the contract, but no jobs after the end of the process. One lock guards
//! everything, so each operation is one step. With a [`ManualClock`](crate::ManualClock) time moves
//! only when told to, and [`Faults`] make it lose acks, leases and replies on purpose.

mod admin;
mod apply;
mod audit;
mod backend;
mod checkpoints;
mod control;
mod dump;
mod enqueue;
mod error_groups;
mod event_table;
mod faults;
mod history;
mod history_table;
mod idempotency;
mod leases;
mod listing;
mod outbox;
mod partition;
mod queue;
mod recent;
mod reserve;
mod schedules;
mod settle;
mod stats;
mod tables;
pub mod tx;
mod upkeep;
mod why;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

pub use faults::{Faults, Operation, When};

use crate::capability::WakeupHub;
use crate::clock::{Clock, SystemClock};
use crate::error::{Error, ErrorKind, Result};
use crate::job::JobId;
use crate::store_limits::Limits;
use tables::Tables;

/// A store in this process's memory; clones share it.
#[derive(Clone)]
pub struct MemoryStore {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Box<dyn Clock>,
    limits: Limits,
    tables: Mutex<Tables>,
    wakeups: WakeupHub,
    faults: Faults,
}

impl MemoryStore {
    /// A store on the machine's clock.
    pub fn new() -> Self {
        Self::with_clock(SystemClock::default())
    }

    /// A store on this clock.
    pub fn with_clock(clock: impl Clock) -> Self {
        Self::with_clock_and_limits(clock, Limits::default())
    }

    /// A store on this clock with these limits.
    pub fn with_clock_and_limits(clock: impl Clock, limits: Limits) -> Self {
        let shared = Shared {
            clock: Box::new(clock),
            limits,
            tables: Mutex::new(Tables::of(&limits)),
            wakeups: WakeupHub::default(),
            faults: Faults::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Faults on request.
    pub fn faults(&self) -> &Faults {
        &self.shared.faults
    }

    /// Makes a job's record unreadable, as a broken disk would; false if it is not stored.
    pub fn corrupt(&self, id: JobId) -> bool {
        let mut tables = self.shared.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.jobs.get_mut(&id).map(|record| record.corrupt = true).is_some()
    }

    /// One step on the tables: everything that happens inside is one instant. Rings for the
    /// queues that gained work, and for cancels of running jobs, after the lock is released.
    fn step<T>(
        &self,
        operation: Operation,
        step: impl FnOnce(&mut Tables) -> Result<T>,
    ) -> Result<T> {
        self.shared.faults.before(operation)?;
        let (answer, stirred, cancels) = {
            let mut tables = self.shared.tables.lock().unwrap_or_else(PoisonError::into_inner);
            if tables.closed {
                return Err(closed().during(operation.as_str()));
            }
            tables.now = self.shared.clock.now();
            let answer = step(&mut tables);
            let cancels = std::mem::take(&mut tables.cancel_requested);
            (answer, std::mem::take(&mut tables.stirred), cancels)
        };
        stirred.iter().for_each(|queue| self.shared.wakeups.ring(queue));
        cancels.iter().for_each(|queue| self.shared.wakeups.ring_cancel(queue));
        self.shared.faults.after(operation)?;
        answer.map_err(|error| error.during(operation.as_str()))
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("clock", &self.shared.clock).finish_non_exhaustive()
    }
}

fn closed() -> Error {
    let message = "this handle was closed; open a new one";
    Error::new(ErrorKind::Closed, message)
}

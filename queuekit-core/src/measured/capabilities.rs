//! What a store can do beyond its ten operations, measured.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use metrics::histogram;

use super::{Measured, failed};
use crate::backend::*;
use crate::capability::*;
use crate::error::{Error, ErrorKind, Result};
use crate::error_group::ErrorGroup;
use crate::history::{HistoryQuery, RunsAdded, RunsRow, TotalsRow};
use crate::job::{CheckpointInfo, Checkpoints, JobId, NewJob};
use crate::metrics::{STORE_CALLS, STORE_ITEMS};
use crate::names::{QueueName, WorkerId};
use crate::queue::{QueuePatch, QueueSettings};

/// The capability of the store behind; it is shown only where the store has it.
macro_rules! inner {
    ($self:ident, $capability:ident) => {
        $self.store.capabilities().$capability.ok_or_else(lacking)?
    };
}

fn lacking() -> Error {
    Error::new(ErrorKind::Unsupported, "the store no longer has this capability")
}

// Everywhere below, a method that is missing is an error: the default one would hide that of the
// store, and be measured under another name.
#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Leases for Measured {
    async fn extend(&self, leases: &[LeaseToken], ttl: LeaseTtl) -> Result<Vec<ExtendOutcome>> {
        measured!("extend", leases, inner!(self, leases).extend(leases, ttl))
    }

    async fn report(&self, reports: &[Report]) -> Result<Vec<ReportOutcome>> {
        measured!("report", reports, inner!(self, leases).report(reports))
    }

    async fn beat(&self, beat: &Beat) -> Result<Orders> {
        measured!("beat", inner!(self, leases).beat(beat))
    }

    async fn forget_worker(&self, worker: &WorkerId) -> Result<bool> {
        measured!("forget_worker", inner!(self, leases).forget_worker(worker))
    }

    async fn list_workers(&self, after: Option<&WorkerId>, limit: PageSize) -> Result<WorkerPage> {
        measured!("list_workers", inner!(self, leases).list_workers(after, limit))
    }

    async fn find_worker(&self, worker: &WorkerId) -> Result<Option<WorkerInfo>> {
        measured!("find_worker", inner!(self, leases).find_worker(worker))
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl KeepCheckpoints for Measured {
    async fn put_checkpoint(&self, checkpoint: &NewCheckpoint) -> Result<CheckpointOutcome> {
        measured!("put_checkpoint", inner!(self, checkpoints).put_checkpoint(checkpoint))
    }

    async fn checkpoints(&self, lease: &LeaseToken) -> Result<Option<Checkpoints>> {
        measured!("checkpoints", inner!(self, checkpoints).checkpoints(lease))
    }

    async fn list_checkpoints(&self, id: JobId) -> Result<Vec<CheckpointInfo>> {
        measured!("list_checkpoints", inner!(self, checkpoints).list_checkpoints(id))
    }

    async fn forget_checkpoints(&self, ids: &[JobId]) -> Result<Vec<bool>> {
        measured!("forget_checkpoints", ids, inner!(self, checkpoints).forget_checkpoints(ids))
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Exchange for Measured {
    async fn exchange(&self, settlement: &Settlement, request: &Reserve) -> Result<Exchanged> {
        // Items go in and out of this call, so it counts them twice, under two names.
        let settled = settlement.acks.len() + settlement.nacks.len();
        histogram!(STORE_ITEMS.name, "operation" => "exchange").record(settled as f64);
        let answer = measured!("exchange", inner!(self, exchange).exchange(settlement, request));
        self.record_pool();
        let nacked = settlement.nacks.iter().map(|nack| nack.lease.id);
        self.ends.ring(settlement.acks.iter().map(|ack| ack.lease.id).chain(nacked));
        if let Ok(exchanged) = &answer {
            let leases = exchanged.reserved.leases.len();
            histogram!(STORE_ITEMS.name, "operation" => "exchange_reserve").record(leases as f64);
        }
        answer
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Upkeep for Measured {
    async fn prune(&self) -> Result<UpkeepReport> {
        measured!("prune", inner!(self, upkeep).prune())
    }

    async fn repair(&self) -> Result<UpkeepReport> {
        measured!("repair", inner!(self, upkeep).repair())
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Admin for Measured {
    async fn configure(&self, queue: &QueueName, patch: &QueuePatch) -> Result<QueueSettings> {
        measured!("configure", inner!(self, admin).configure(queue, patch))
    }

    async fn remove_queue(&self, queue: &QueueName, force: bool) -> Result<bool> {
        measured!("remove_queue", inner!(self, admin).remove_queue(queue, force))
    }

    async fn cancel(&self, ids: &[JobId]) -> Result<Vec<CancelOutcome>> {
        let answer = measured!("cancel", ids, inner!(self, admin).cancel(ids));
        self.ends.ring(ids.iter().copied());
        answer
    }

    async fn retry(&self, ids: &[JobId]) -> Result<Vec<RetryOutcome>> {
        measured!("retry", ids, inner!(self, admin).retry(ids))
    }

    async fn retry_after(&self, retries: &[(JobId, Duration)]) -> Result<Vec<RetryOutcome>> {
        measured!("retry_after", retries, inner!(self, admin).retry_after(retries))
    }

    async fn reschedule(&self, ids: &[JobId], delay: Duration) -> Result<Vec<RescheduleOutcome>> {
        measured!("reschedule", ids, inner!(self, admin).reschedule(ids, delay))
    }

    async fn why(&self, id: JobId) -> Result<Option<Why>> {
        measured!("why", inner!(self, admin).why(id))
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Inspect for Measured {
    async fn check_writes(&self) -> Result<()> {
        measured!("check_writes", inner!(self, inspect).check_writes())
    }

    async fn durability(&self) -> Result<Durability> {
        measured!("durability", inner!(self, inspect).durability())
    }

    async fn facts(&self) -> Result<Vec<Fact>> {
        measured!("facts", inner!(self, inspect).facts())
    }

    async fn findings(&self) -> Result<Vec<Finding>> {
        measured!("findings", inner!(self, inspect).findings())
    }

    fn pool(&self) -> Option<PoolUse> {
        self.store.capabilities().inspect.and_then(Inspect::pool)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Schedules for Measured {
    async fn find_schedules(&self, query: &ScheduleQuery) -> Result<ScheduleRows> {
        measured!("find_schedules", inner!(self, schedules).find_schedules(query))
    }

    async fn change_schedule(&self, change: &ScheduleChange) -> Result<ScheduleChanged> {
        measured!("change_schedule", inner!(self, schedules).change_schedule(change))
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Outbox for Measured {
    async fn event_settings(&self) -> Result<StoredSettings> {
        measured!("event_settings", inner!(self, outbox).event_settings())
    }

    async fn change_event_settings(&self, seen: u64, to: &bytes::Bytes) -> Result<bool> {
        let outbox = inner!(self, outbox);
        measured!("change_event_settings", outbox.change_event_settings(seen, to))
    }

    async fn store_events(&self, emission: &Emission) -> Result<StoredEvents> {
        measured!("store_events", inner!(self, outbox).store_events(emission))
    }

    async fn list_events(&self, filter: &EventFilter) -> Result<EventPage> {
        measured!("list_events", inner!(self, outbox).list_events(filter))
    }

    async fn deliver_again(&self, deliveries: &[NewJob]) -> Result<Vec<bool>> {
        measured!("deliver_again", deliveries, inner!(self, outbox).deliver_again(deliveries))
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl AuditLog for Measured {
    async fn record_act(&self, act: &Act) -> Result<()> {
        measured!("record_act", inner!(self, audit).record_act(act))
    }

    async fn list_acts(&self, before: Option<u64>, limit: PageSize) -> Result<Vec<AuditEntry>> {
        measured!("list_acts", inner!(self, audit).list_acts(before, limit))
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ErrorGroups for Measured {
    async fn list_error_groups(
        &self,
        queues: &[QueueName],
        limit: PageSize,
    ) -> Result<Vec<ErrorGroup>> {
        measured!("list_error_groups", inner!(self, errors).list_error_groups(queues, limit))
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl History for Measured {
    async fn record_totals(&self) -> Result<bool> {
        measured!("record_totals", inner!(self, history).record_totals())
    }

    async fn add_runs(&self, runs: &[RunsAdded]) -> Result<()> {
        measured!("add_runs", runs, inner!(self, history).add_runs(runs))
    }

    async fn list_totals(&self, query: &HistoryQuery) -> Result<Vec<TotalsRow>> {
        measured!("list_totals", inner!(self, history).list_totals(query))
    }

    async fn list_runs(&self, query: &HistoryQuery) -> Result<Vec<RunsRow>> {
        measured!("list_runs", inner!(self, history).list_runs(query))
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Control for Measured {
    async fn control(&self, workers: &[WorkerId], order: WorkerOrder) -> Result<Vec<bool>> {
        measured!("control", workers, inner!(self, control).control(workers, order))
    }
}

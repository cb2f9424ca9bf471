//! Extending leases, reports, presence of workers.

use std::collections::BTreeMap;

use async_trait::async_trait;
use futures_util::future::join_all;
use queuekit_core::capability::{
    Beat, ExtendOutcome, Leases, Orders, Report, ReportOutcome, WorkerInfo, WorkerPage,
};
use queuekit_core::limits::LOG_LINES_KEPT;
use queuekit_core::{
    LeaseToken, LeaseTtl, LogLine, PageSize, QueueName, Result, Timestamp, WorkerId,
};

use crate::RedisStore;
use crate::call::Request;
use crate::codec::{bytes_of, millis, number_of, progress, token};
use crate::control::orders_of;
use crate::error::unreadable;
use crate::indeterminate::in_part;
use crate::read::{StoredBeat, find_worker, list_workers};
use crate::repeat::Call;
use crate::scripts::Lua;

/// The most reports that one script stores: each may read and write a log of 100 KiB.
const REPORTS: usize = 50;

#[async_trait]
impl Leases for RedisStore {
    /// Extends the leases of each queue in a step of its own, so that an unreachable node does not
    /// harm the leases of other queues.
    async fn extend(&self, leases: &[LeaseToken], ttl: LeaseTtl) -> Result<Vec<ExtendOutcome>> {
        self.shared.check_open().map_err(|error| error.during("extend"))?;
        let mut outcomes = vec![ExtendOutcome::Unknown; leases.len()];
        let queues = by_queue(leases);
        let alone = queues.len() == 1 || !self.shared.topology.is_cluster();
        let call = if alone { Call::Heartbeat } else { Call::HeartbeatGlance };
        let parts = queues.iter().map(|(queue, positions)| async move {
            let mut args = vec![millis(ttl.get()).to_string().into_bytes()];
            for at in positions {
                args.extend([leases[*at].id.as_bytes().to_vec(), token(&leases[*at])]);
            }
            let answer = self.on_queue("extend", call, Lua::Extend, queue, args).await?;
            bytes_of(answer).ok_or_else(|| unreadable("the answer to extend"))
        });
        let (mut extended, mut failed) = (false, None);
        for ((queue, positions), answer) in queues.iter().zip(join_all(parts).await) {
            let answer = match answer {
                Ok(answer) => answer,
                // The state of these is unknown: the worker extends them again soon.
                Err(error) => {
                    tracing::debug!(%error, %queue, "leases are not extended yet");
                    failed = Some(error);
                    continue;
                }
            };
            extended = true;
            for (at, outcome) in positions.iter().zip(answer) {
                outcomes[*at] = match outcome {
                    b'N' => ExtendOutcome::NotFound,
                    b'L' => ExtendOutcome::LeaseLost,
                    outcome => ExtendOutcome::Extended {
                        ttl: ttl.get(),
                        cancel_requested: outcome == b'C',
                    },
                };
            }
        }
        failed.filter(|_| !extended).map_or(Ok(outcomes), Err)
    }

    async fn report(&self, reports: &[Report]) -> Result<Vec<ReportOutcome>> {
        let mut outcomes = vec![ReportOutcome::NotFound; reports.len()];
        let leases: Vec<LeaseToken> = reports.iter().map(|report| report.lease.clone()).collect();
        let store = self.for_one_call();
        let mut slices: Vec<(&QueueName, Vec<usize>)> = Vec::new();
        for (queue, positions) in by_queue(&leases) {
            slices.extend(positions.chunks(REPORTS).map(|slice| (queue, slice.to_vec())));
        }
        for (part, (queue, positions)) in slices.into_iter().enumerate() {
            let mut args = vec![LOG_LINES_KEPT.to_string().into_bytes()];
            for at in &positions {
                let report = &reports[*at];
                args.extend([report.lease.id.as_bytes().to_vec(), token(&report.lease)]);
                args.push(report.progress.as_ref().map(progress).unwrap_or_default());
                let skipped = report.lines.len().saturating_sub(LOG_LINES_KEPT);
                args.push((report.lines.len() - skipped).to_string().into_bytes());
                let lines = report.lines.iter().skip(skipped);
                let now = Timestamp::default();
                args.extend(lines.map(|line| LogLine::new(now, line).text.into_bytes()));
            }
            let answer = store.on_queue("report", Call::Once, Lua::Report, queue, args).await;
            let answer = answer.map_err(|error| if part > 0 { in_part(error) } else { error })?;
            let answer = bytes_of(answer).ok_or_else(|| unreadable("the answer to report"))?;
            for (at, outcome) in positions.into_iter().zip(answer) {
                outcomes[at] = match outcome {
                    b'R' => ReportOutcome::Reported,
                    b'L' => ReportOutcome::LeaseLost,
                    _ => ReportOutcome::NotFound,
                };
            }
        }
        self.shared.check_open().map_err(|error| error.during("report"))?;
        Ok(outcomes)
    }

    async fn beat(&self, beat: &Beat) -> Result<Orders> {
        let said = serde_json::to_vec(&StoredBeat::of(beat)).unwrap_or_default();
        let listed_for = millis(beat.listed_for());
        let limits = &self.shared.limits;
        let most = limits.workers().to_string().into_bytes();
        let listed_for = listed_for.to_string().into_bytes();
        let obeyed = beat.obeyed().to_string().into_bytes();
        let seq = Orders::of_new(beat.obeyed()).seq.to_string().into_bytes();
        let args = vec![beat.id.as_str().into(), listed_for, said, most, obeyed, seq];
        let keys = vec![self.shared.keyspace.workers()];
        let request = Request::Script { script: Lua::Beat, keys, args };
        let orders = bytes_of(self.call("beat", Call::Heartbeat, request).await?);
        let orders = orders.ok_or_else(|| unreadable("the answer to beat"))?;
        if orders.is_empty() {
            let refused = limits.admit_worker(limits.workers());
            refused.map_err(|error| error.on(&beat.id).during("beat"))?;
        }
        Ok(orders_of(&orders))
    }

    async fn forget_worker(&self, worker: &WorkerId) -> Result<bool> {
        let keys = vec![self.shared.keyspace.workers()];
        let args = vec![worker.as_str().into()];
        let request = Request::Script { script: Lua::WorkerForget, keys, args };
        let listed = self.call("forget_worker", Call::Once, request).await?;
        Ok(number_of(listed) == Some(1))
    }

    async fn list_workers(&self, after: Option<&WorkerId>, limit: PageSize) -> Result<WorkerPage> {
        list_workers(self, "list_workers", after, limit).await
    }

    async fn find_worker(&self, worker: &WorkerId) -> Result<Option<WorkerInfo>> {
        find_worker(self, worker).await
    }
}

/// The positions of each queue's leases in the call.
fn by_queue(leases: &[LeaseToken]) -> BTreeMap<&QueueName, Vec<usize>> {
    let mut queues: BTreeMap<&QueueName, Vec<usize>> = BTreeMap::new();
    for (at, lease) in leases.iter().enumerate() {
        queues.entry(&lease.queue).or_default().push(at);
    }
    queues
}

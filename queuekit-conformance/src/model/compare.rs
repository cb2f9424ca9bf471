//! Compares the contents of a store and the machine.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fastrand::Rng;
use queuekit_core::limits::PAGE_JOBS;
use queuekit_core::queue::Order;
use queuekit_core::{
    Backend, BackendExt, GroupKey, Job, JobFilter, JobId, PageSize, PartitionKey, QueueName, State,
    Status,
};

use super::machine::{Machine, ModelJob};

/// Compares every job, the order of the listing and the figures of the queues. The store's clock
/// may be ahead of the machine's by `slack`.
pub(super) async fn everything(
    store: &dyn Backend,
    machine: &Machine,
    slack: Duration,
    rng: &mut Rng,
) {
    let page = rng.usize(1..=20);
    let listed = list(store, JobFilter::default().limit(page)).await;
    assert_eq!(listed.len(), machine.jobs.len(), "the listing should have every stored job once");
    for job in &listed {
        let model = machine.job(job.id).unwrap_or_else(|| panic!("{} is not stored", job.id));
        same_job(job, model, machine, slack);
    }
    let places: Vec<_> = listed
        .iter()
        .filter_map(|job| machine.job(job.id).map(|model| place(model, machine)))
        .collect();
    assert!(places.is_sorted(), "the listing is in order: {places:#?}");
    recent(store, &listed, page).await;
    errors(store, machine).await;
    for queue in store.all_queues().await.expect("list_queues") {
        let mut totals = machine.totals.get(&queue.name).copied().unwrap_or_default();
        if store.capabilities().history.is_none() {
            (totals.enqueued, totals.failed) = (0, 0);
        }
        assert_eq!(queue.totals, totals, "totals of queue {}", queue.name);
        for (status, count) in queue.counts.iter() {
            let of_queue = machine.jobs.iter().filter(|job| job.queue == queue.name);
            let expected = of_queue.filter(|job| machine.status(job) == status).count() as u64;
            assert_eq!(count.value, expected, "{status} jobs of queue {}", queue.name);
        }
    }
}

/// Compares what has ended in the order of its ends with what was listed.
async fn recent(store: &dyn Backend, listed: &[Job], page: usize) {
    let recent = list(store, JobFilter::default().recent().limit(page)).await;
    let place = |job: &Job| (Reverse(job.finished_at), job.queue.clone(), job.status);
    assert!(recent.is_sorted_by_key(place), "the newest end first: {recent:#?}");
    let ids = |jobs: &[Job]| -> BTreeSet<JobId> {
        let ended = jobs.iter().filter(|job| job.state.is_terminal());
        ended.map(|job| job.id).collect()
    };
    assert_eq!(ids(&recent), ids(listed), "what has ended");
    assert_eq!(recent.len(), ids(listed).len(), "what has ended, once");
}

/// Compares the error groups. A job that cannot be read may be in none.
async fn errors(store: &dyn Backend, machine: &Machine) {
    let Some(errors) = store.capabilities().errors else { return };
    let queues: Vec<_> = machine.errors.keys().map(|(queue, _)| queue.clone()).collect();
    let all = PageSize::new(PAGE_JOBS).expect("a size");
    let groups = errors.list_error_groups(&queues, all).await.expect("list_error_groups");
    let groups = groups.into_iter().map(|group| {
        assert!(group.first <= group.last, "{group:?}");
        ((group.queue, group.key), (group.failures, group.deaths))
    });
    let is_read =
        |((_, key), _): &((QueueName, GroupKey), (u64, u64))| key.signature.as_str() != "corrupt";
    let groups: BTreeMap<_, _> = groups.filter(is_read).collect();
    let expected: BTreeMap<_, _> = machine.errors.clone().into_iter().filter(is_read).collect();
    assert_eq!(groups, expected, "error groups");
}

pub(super) async fn list(store: &dyn Backend, mut filter: JobFilter) -> Vec<Job> {
    let mut jobs = Vec::new();
    loop {
        let page = store.list_jobs(&filter).await.expect("list_jobs");
        jobs.extend(page.items);
        if page.next.is_none() {
            return jobs;
        }
        filter = filter.after(page.next);
    }
}

fn same_job(job: &Job, model: &ModelJob, machine: &Machine, slack: Duration) {
    let id = job.id;
    assert_eq!(job.state, model.state, "state of {id}");
    assert_eq!(job.status, machine.status(model), "status of {id}");
    assert_eq!(job.queue, model.queue, "queue of {id}");
    assert_eq!(job.attempts, model.attempts, "attempts of {id}");
    assert_eq!(job.max_attempts, model.max_attempts, "max_attempts of {id}");
    assert_eq!(job.releases, model.releases, "releases of {id}");
    assert_eq!(job.lease_seq, model.lease_seq, "lease_seq of {id}");
    assert_eq!(job.cancel_requested, model.cancel_requested, "cancel_requested of {id}");
    assert_eq!(job.partition_key, model.partition_key, "partition_key of {id}");
    assert_eq!(job.idempotency_key, model.idempotency_key, "idempotency_key of {id}");
    assert_eq!(job.logs.len(), model.lines, "log lines of {id}");
    let result = job.result.as_ref().map(|result| result.to_vec());
    assert_eq!(result, model.result, "result of {id}");
    let reason = job.reason.as_ref().map(|reason| reason.as_str().to_owned());
    assert_eq!(reason, model.reason, "reason of {id}");
    let errors: Vec<_> = job.errors.iter().map(|failure| failure.error.as_str()).collect();
    let kept = model.errors.len().saturating_sub(20);
    assert_eq!(errors, model.errors[kept..], "errors of {id}");
    let released = job.released.iter().map(|release| (release.lease_seq, release.cause));
    let kept = model.released.len().saturating_sub(20);
    assert_eq!(released.collect::<Vec<_>>(), model.released[kept..], "releases of {id}");
    assert_eq!(job.kind.as_str(), model.kind, "kind of {id}");
    assert_eq!(job.priority.level(), model.priority, "priority of {id}");
    let is_lost = job.payload.is_empty() && machine.may_have_no_payload(id);
    if !(model.corrupt || is_lost) {
        assert!(job.payload[..] == model.payload[..], "payload of {id}");
    }
    if model.state == State::Running {
        let left = Duration::from_millis((model.lease_expires_at - machine.now).max(0) as u64);
        let told = job.lease_expires_in.expect("a running job has a lease");
        assert!(told <= left && told + slack >= left, "lease of {id}: {told:?}");
    }
}

impl Machine {
    fn status(&self, job: &ModelJob) -> Status {
        match job.state {
            State::Pending if self.is_blocked(job) => Status::Blocked,
            State::Pending if job.scheduled_at <= self.now => Status::Ready,
            State::Pending if job.attempts > 0 => Status::Failed,
            State::Pending => Status::Scheduled,
            State::Running if job.lease_expires_at <= self.now => Status::Expired,
            State::Running => Status::Running,
            State::Completed => Status::Completed,
            State::Dead => Status::Dead,
            State::Cancelled => Status::Cancelled,
        }
    }
}

type Place = (QueueName, usize, Option<PartitionKey>, (u8, i64, u64));

/// Where R8.2 lists a job; jobs that may come in any order have equal places.
fn place(job: &ModelJob, machine: &Machine) -> Place {
    let status = machine.status(job);
    let section = if status == Status::Expired { Status::Running } else { status };
    let fair = machine.queues.get(&job.queue).is_some_and(|queue| queue.order == Order::Fair);
    let (key, within) = match job.state {
        State::Pending if fair || status == Status::Blocked => {
            (job.partition_key.clone(), (0, 0, job.seq))
        }
        State::Pending => (None, job.place()),
        State::Running => (None, (0, job.lease_expires_at, 0)),
        State::Completed | State::Dead | State::Cancelled => {
            (None, (0, -job.finished.unwrap_or(0), 0))
        }
    };
    (job.queue.clone(), section as usize, key, within)
}

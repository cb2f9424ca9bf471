//! What reads and upkeep cost in a store with as many queues as it may have.

use std::sync::Arc;

use criterion::Criterion;
use queuekit_core::{
    Ack, Backend, BackendExt, JobDraft, JobFilter, LeaseTtl, NewJob, PageSize, QueueName, Reserve,
    Status, WorkerId,
};

use crate::BenchStore;
use crate::setup::{CHUNK, group, runtime, scaled};

/// Pages of jobs of all queues (by any status, and by one that no job has), pages of queues, all
/// queues, and a step of retention that finds nothing to remove, in a store whose jobs are one in
/// each of 10,000 queues.
pub(crate) fn many_queues<S: BenchStore>(criterion: &mut Criterion) {
    let runtime = runtime();
    let queues = scaled(10_000);
    let mut opened = None;
    let mut group = group::<S>(criterion, &format!("{queues} queues"));
    for (name, call) in CALLS {
        group.bench_function(*name, |bencher| {
            let store = opened.get_or_insert_with(|| runtime.block_on(open_with::<S>(queues)));
            bencher.iter(|| runtime.block_on(call.make(store, queues)));
        });
    }
}

/// Jobs that have ended in each of 1,000 queues, for pages of what is recent.
const ENDED: usize = 10;

/// Pages of what is recent in 1,000 queues, the most that it is listed of.
pub(crate) fn recent<S: BenchStore>(criterion: &mut Criterion) {
    let runtime = runtime();
    let queues = scaled(1000);
    let mut opened = None;
    let mut group = group::<S>(criterion, &format!("recent of {queues} queues"));
    for limit in [20, 100] {
        group.bench_function(format!("page of {limit} jobs"), |bencher| {
            let store = opened.get_or_insert_with(|| runtime.block_on(ended::<S>(queues)));
            let filter = JobFilter::default().recent().limit(limit);
            bencher.iter(|| {
                let page = runtime.block_on(store.list_jobs(&filter)).expect("list_jobs");
                assert_eq!(page.items.len(), limit);
            });
        });
    }
}

async fn ended<S: BenchStore>(queues: usize) -> Arc<dyn Backend> {
    let store = S::open().await;
    for _ in 0..ENDED {
        let names: Vec<usize> = (0..queues).collect();
        for chunk in names.chunks(CHUNK) {
            let jobs: Vec<NewJob> = chunk.iter().map(|number| job(*number)).collect();
            store.enqueue(&jobs).await.expect("enqueue");
        }
        for number in 0..queues {
            let queue = QueueName::new(format!("q{number}")).expect("a valid name");
            let worker = WorkerId::new("bench").expect("a valid name");
            let request = Reserve::new(queue, 1, LeaseTtl::default(), worker).expect("randomness");
            let leases = store.reserve(&request).await.expect("reserve").leases;
            let acks: Vec<Ack> = leases.into_iter().map(|lease| Ack::new(lease.token)).collect();
            store.ack(&acks).await.expect("ack");
        }
    }
    store
}

const CALLS: &[(&str, Call)] = &[
    ("page of 20 jobs", Call::Jobs(20, None)),
    ("page of 100 jobs", Call::Jobs(100, None)),
    ("page of dead jobs", Call::Jobs(100, Some(Status::Dead))),
    ("page of 20 queues", Call::Queues(20)),
    ("page of 100 queues", Call::Queues(100)),
    ("all queues", Call::AllQueues),
    ("prune step", Call::Prune),
];

#[derive(Clone, Copy)]
enum Call {
    /// A page with at most this number of jobs, of this status or of any.
    Jobs(usize, Option<Status>),
    /// A page with at most this number of queues.
    Queues(usize),
    AllQueues,
    Prune,
}

impl Call {
    async fn make(self, store: &Arc<dyn Backend>, queues: usize) {
        match self {
            Self::Jobs(limit, status) => {
                let filter = JobFilter::default().limit(limit);
                let filter = status.into_iter().fold(filter, JobFilter::status);
                let page = store.list_jobs(&filter).await.expect("list_jobs");
                assert_eq!(page.items.is_empty(), status.is_some());
            }
            Self::Queues(limit) => {
                let limit = PageSize::new(limit).expect("a size");
                let page = store.list_queues(None, limit).await.expect("list_queues");
                assert_eq!(page.queues.len(), limit.get().min(queues));
            }
            Self::AllQueues => {
                let listed = store.all_queues().await.expect("list_queues");
                assert_eq!(listed.len(), queues);
            }
            Self::Prune => {
                let upkeep = store.capabilities().upkeep.expect("the store has Upkeep");
                upkeep.prune().await.expect("prune");
            }
        }
    }
}

async fn open_with<S: BenchStore>(queues: usize) -> Arc<dyn Backend> {
    let store = S::open().await;
    let names: Vec<usize> = (0..queues).collect();
    for chunk in names.chunks(CHUNK) {
        let jobs: Vec<NewJob> = chunk.iter().map(|number| job(*number)).collect();
        store.enqueue(&jobs).await.expect("enqueue");
    }
    store
}

fn job(number: usize) -> NewJob {
    let draft = JobDraft::new("noop", "null").queue(format!("q{number}"));
    draft.build().expect("a valid job")
}

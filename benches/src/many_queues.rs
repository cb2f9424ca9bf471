//! What reads and upkeep cost in a store with as many queues as it may have.

use std::sync::Arc;

use criterion::Criterion;
use queuekit_core::{Backend, BackendExt, JobDraft, JobFilter, NewJob};

use crate::BenchStore;
use crate::setup::{CHUNK, group, runtime, scaled};

/// A page of jobs of all queues, all queues, and a step of retention that finds nothing to remove,
/// in a store whose jobs are one in each of 10,000 queues.
pub(crate) fn many_queues<S: BenchStore>(criterion: &mut Criterion) {
    let runtime = runtime();
    let queues = scaled(10_000);
    let mut opened = None;
    let mut group = group::<S>(criterion, &format!("{queues} queues"));
    for call in [Call::PageOfJobs, Call::Queues, Call::Prune] {
        group.bench_function(call.name(), |bencher| {
            let store = opened.get_or_insert_with(|| runtime.block_on(open_with::<S>(queues)));
            bencher.iter(|| runtime.block_on(call.make(store, queues)));
        });
    }
}

#[derive(Clone, Copy)]
enum Call {
    PageOfJobs,
    Queues,
    Prune,
}

impl Call {
    fn name(self) -> &'static str {
        match self {
            Self::PageOfJobs => "page of 100 jobs",
            Self::Queues => "all queues",
            Self::Prune => "prune step",
        }
    }

    async fn make(self, store: &Arc<dyn Backend>, queues: usize) {
        match self {
            Self::PageOfJobs => {
                let page = store.list_jobs(&JobFilter::default()).await.expect("list_jobs");
                assert!(!page.items.is_empty());
            }
            Self::Queues => {
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

//! R13.12: a worker makes no call while there is nothing to do.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use queuekit_core::capability::WorkerOrder;
use queuekit_core::limits::QUIET;
use queuekit_core::{Backend, Client, Status};
use queuekit_worker::{Ctx, JobResult, RunningWorker, Worker};

use crate::layer::Layer;
use crate::worker::Live;
use crate::worker::kit::{SHORT_TTL, Task, until};
use crate::wrapped::Wrapped;

/// Counts every call of the store.
#[derive(Debug)]
struct Counted {
    inner: Arc<dyn Backend>,
    calls: Arc<AtomicU64>,
}

#[async_trait]
impl Layer for Counted {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.inner
    }

    fn called(&self, _: &'static str) {
        self.calls.fetch_add(1, Ordering::SeqCst);
    }
}

impl Live {
    /// A worker that is quiet when idle, and how many calls it has made.
    fn quiet(&self) -> (Worker, Arc<AtomicU64>) {
        let calls = Arc::<AtomicU64>::default();
        let inner = Arc::clone(self.client.backend());
        let counted = Counted { inner, calls: Arc::clone(&calls) };
        let worker = Worker::new(Client::new(Wrapped(counted))).name("suite");
        let worker = worker.lease_ttl_for_tests(SHORT_TTL).poll_interval(SHORT_TTL / 30);
        let worker = worker.upkeep_interval(SHORT_TTL / 6).quiet_when_idle(true);
        (worker.handle(|_: Task, _: Ctx| async { JobResult::Ok(()) }), calls)
    }

    /// Waits until the worker rests, and its last beat has said so.
    async fn rests(&self, worker: &RunningWorker) {
        until(|| worker.probe().health().resting).await;
        self.listed(worker, |info| info.beat.quiet_for == QUIET).await;
    }
}

/// Long enough for many looks, beats and passes of upkeep.
const A_WHILE: Duration = Duration::from_millis(4 * 600);

/// R13.12, R13.6: a worker whose queues have nothing to do makes no call, is listed all the same,
/// and runs the next job at once; then it is quiet again.
/// Guard: each part that makes calls asks whether the worker rests.
pub(in crate::worker) async fn r13_12_an_idle_worker_makes_no_call_until_it_is_rung(live: Live) {
    let (worker, calls) = live.quiet();
    let worker = worker.start().await.expect("start");
    for n in 0..2 {
        live.rests(&worker).await;
        let before = calls.load(Ordering::SeqCst);
        tokio::time::sleep(A_WHILE).await;
        assert_eq!(calls.load(Ordering::SeqCst), before, "it makes no call");
        assert_eq!(worker.probe().health().why_not_ready(), None);
        let listed = live.world.worker(worker.id().as_str()).await.expect("it is listed");
        assert!(listed.age >= A_WHILE, "{listed:?}");
        let id = live.enqueue(n).await;
        live.until_status(id, Status::Completed).await;
    }
    let summary = worker.stop().await;
    assert_eq!(summary.completed, 2);
    assert_eq!(live.world.worker(worker.id().as_str()).await, None);
}

/// R13.12: without wake-ups no worker is quiet: it polls.
/// Guard: a rest needs wake-ups.
pub(in crate::worker) async fn r13_12_without_wake_ups_it_polls(live: Live) {
    live.switches.silent.store(true, Ordering::SeqCst);
    let (worker, calls) = live.quiet();
    let worker = worker.start().await.expect("start");
    until(|| live.switches.reserves.load(Ordering::SeqCst) >= 10).await;
    let before = calls.load(Ordering::SeqCst);
    tokio::time::sleep(A_WHILE).await;
    assert!(calls.load(Ordering::SeqCst) >= before + 10);
    assert!(!worker.probe().health().resting);
    worker.stop().await;
}

/// R13.12, R3.9: a quiet worker obeys an order when it makes its next call, and not before.
/// Guard: the end of a rest beats at once.
pub(in crate::worker) async fn r13_12_an_order_is_met_at_the_next_call(live: Live) {
    let (worker, _) = live.quiet();
    let worker = worker.start().await.expect("start");
    live.rests(&worker).await;
    assert_eq!(live.world.control(&[worker.id().as_str()], WorkerOrder::Quiet).await, [true]);
    tokio::time::sleep(A_WHILE).await;
    assert!(!worker.snapshot().quiet, "it was not asked");
    live.enqueue(1).await;
    until(|| worker.snapshot().quiet).await;
    live.listed(&worker, |info| info.orders.is_empty() && info.beat.quiet_for.is_zero()).await;
    worker.stop().await;
}

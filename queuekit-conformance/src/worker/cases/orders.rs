//! R3.9: what a worker says of itself, and how it obeys orders.

use std::num::NonZeroU32;
use std::sync::atomic::Ordering;

use queuekit_core::Status;
use queuekit_core::capability::{WorkerInfo, WorkerOrder};
use queuekit_worker::{Ctx, JobResult, RunningWorker, Worker};
use tokio::sync::watch;

use crate::worker::Live;
use crate::worker::kit::{SHORT_TTL, Task, events, next, soon, until};

/// A worker whose handlers report that they run, and continue until the case ends them.
struct Held {
    told: tokio::sync::mpsc::UnboundedReceiver<u32>,
    end: watch::Sender<bool>,
}

fn held(worker: Worker) -> (Worker, Held) {
    let ((tell, told), (end, ends)) = (events(), watch::channel(false));
    let handler = move |task: Task, _: Ctx| {
        let (tell, mut ends) = (tell.clone(), ends.clone());
        async move {
            tell.send(task.n).expect("heard");
            ends.wait_for(|end| *end).await?;
            JobResult::Ok(())
        }
    };
    (worker.handle(handler), Held { told, end })
}

impl Live {
    /// Gives the worker an order, and waits until it has obeyed.
    async fn order(&self, worker: &RunningWorker, order: WorkerOrder) -> WorkerInfo {
        self.beat_of(worker).await;
        assert_eq!(self.world.control(&[worker.id().as_str()], order).await, [true]);
        self.listed(worker, |info| info.orders.is_empty()).await
    }

    /// The worker, once the list shows it so.
    pub(super) async fn listed(
        &self,
        worker: &RunningWorker,
        is: impl Fn(&WorkerInfo) -> bool,
    ) -> WorkerInfo {
        let look = async {
            loop {
                let found = self.world.worker(worker.id().as_str()).await;
                if let Some(info) = found.filter(|info| is(info)) {
                    return info;
                }
                tokio::time::sleep(SHORT_TTL / 60).await;
            }
        };
        soon(look).await
    }

    /// Waits for two more beats: meanwhile the worker would have reserved what there is.
    async fn two_beats(&self) {
        let before = self.switches.beats.load(Ordering::SeqCst);
        until(|| self.switches.beats.load(Ordering::SeqCst) >= before + 2).await;
    }
}

/// R3.9: a beat tells the process of the worker and the jobs that it runs.
/// Guard: the jobs of the registry in each beat.
pub(in crate::worker) async fn r3_9_a_worker_says_what_it_runs(live: Live) {
    let (worker, mut held) = held(live.worker());
    let worker = worker.start().await.expect("start");
    let id = live.enqueue(1).await;
    assert_eq!(next(&mut held.told).await, 1);
    let info = live.listed(&worker, |info| !info.beat.about.jobs().is_empty()).await;
    let about = &info.beat.about;
    let [running] = about.jobs() else { panic!("one job runs: {about:?}") };
    assert_eq!((running.id, running.kind.as_str()), (id, "task"));
    let started_at = about.started_at().expect("a worker knows when it was started");
    assert!(running.since >= started_at, "{about:?}");
    assert_eq!(about.pid(), Some(std::process::id()));
    assert!(!about.version().is_empty());
    held.end.send_replace(true);
    live.listed(&worker, |info| info.beat.about.jobs().is_empty()).await;
    assert_eq!(soon(worker.stop()).await.completed, 1);
}

/// R3.9: a worker that was ordered to be quiet reserves no more and keeps what it runs; resumed, it
/// reserves again.
/// Guard: no slot is free while it is to be quiet, and its leases are extended all the same.
pub(in crate::worker) async fn r3_9_a_quiet_worker_keeps_its_run_and_takes_no_more(live: Live) {
    let (worker, mut held) = held(live.worker().concurrency(2));
    let worker = worker.start().await.expect("start");
    let first = live.enqueue(1).await;
    assert_eq!(next(&mut held.told).await, 1);
    live.order(&worker, WorkerOrder::Quiet).await;
    assert!(worker.snapshot().quiet && worker.probe().health().quiet);
    assert_eq!(worker.probe().health().why_not_ready(), None);
    live.two_beats().await;
    let second = live.enqueue(2).await;
    // Longer than its lease would last.
    for _ in 0..3 {
        live.two_beats().await;
    }
    assert_eq!(live.job(second).await.lease_seq, 0, "a quiet worker takes no more");
    let running = live.job(first).await;
    assert_eq!((running.status, running.lease_seq > 0), (Status::Running, true));
    held.end.send_replace(true);
    live.until_status(first, Status::Completed).await;
    assert_eq!(live.job(second).await.lease_seq, 0);
    live.order(&worker, WorkerOrder::Resume).await;
    assert!(!worker.snapshot().quiet);
    live.until_status(second, Status::Completed).await;
    assert_eq!(soon(worker.stop()).await.lease_lost, 0);
}

/// R3.9, R13.5: a worker that was ordered to stop drains, and ends.
/// Guard: the order begins a drain, and not a forced end.
pub(in crate::worker) async fn r3_9_a_worker_that_is_stopped_drains(live: Live) {
    let (worker, mut held) = held(live.worker().concurrency(2));
    let worker = worker.start().await.expect("start");
    let first = live.enqueue(1).await;
    assert_eq!(next(&mut held.told).await, 1);
    live.order(&worker, WorkerOrder::Stop).await;
    let second = live.enqueue(2).await;
    live.two_beats().await;
    assert_eq!(live.job(first).await.status, Status::Running, "a drain waits");
    held.end.send_replace(true);
    let summary = soon(worker.ended()).await.expect("it ended by itself");
    assert_eq!((summary.completed, summary.released), (1, 0));
    assert_eq!(live.job(second).await.lease_seq, 0);
    assert_eq!(live.world.worker(worker.id().as_str()).await, None);
}

/// R3.9: a worker runs at most as many jobs as it was ordered to, at least one and no more than it
/// began with; running jobs continue.
/// Guard: the bound of free slots, and the bounds of an order.
pub(in crate::worker) async fn r3_9_slots_go_down_and_up(live: Live) {
    let slots = |n| WorkerOrder::Slots(NonZeroU32::new(n).expect("not zero"));
    let (worker, mut held) = held(live.worker().concurrency(3));
    let worker = worker.start().await.expect("start");
    let fewer = live.order(&worker, slots(1)).await;
    assert_eq!((fewer.beat.slots, worker.snapshot().slots), (1, 1));
    let ids = live.enqueue_many(4).await;
    next(&mut held.told).await;
    live.two_beats().await;
    assert_eq!(live.count(Status::Running).await, 1);
    let more = live.order(&worker, slots(100)).await;
    assert_eq!(more.beat.slots, 3, "it began with three");
    for _ in 0..2 {
        next(&mut held.told).await;
    }
    live.order(&worker, slots(1)).await;
    live.two_beats().await;
    assert_eq!(live.count(Status::Running).await, 3, "what runs goes on");
    held.end.send_replace(true);
    for id in ids {
        live.until_status(id, Status::Completed).await;
    }
    soon(worker.stop()).await;
}

/// R3.9: an order is obeyed although the answer to a beat is lost.
/// Guard: the worker says what it has obeyed, and not what it was sent.
pub(in crate::worker) async fn r3_9_an_order_whose_answer_is_lost_is_obeyed(live: Live) {
    let (worker, held) = held(live.worker());
    let worker = worker.start().await.expect("start");
    live.beat_of(&worker).await;
    live.switches.beat_replies_lost.store(2, Ordering::SeqCst);
    let info = live.order(&worker, WorkerOrder::Quiet).await;
    assert_eq!(live.switches.beat_replies_lost.load(Ordering::SeqCst), 0);
    assert_eq!(info.orders.seq, 1);
    assert!(worker.snapshot().quiet);
    live.switches.beat_replies_lost.store(1, Ordering::SeqCst);
    live.order(&worker, WorkerOrder::Resume).await;
    assert!(!worker.snapshot().quiet);
    drop(held);
    soon(worker.stop()).await;
}

/// R3.9: a worker that runs until it is idle ends if it was ordered to take no more.
/// Guard: a quiet worker finds nothing.
pub(in crate::worker) async fn r3_9_a_quiet_worker_that_runs_until_idle_ends(live: Live) {
    let (worker, mut held) = held(live.worker().concurrency(1));
    let first = live.enqueue(1).await;
    let running = tokio::spawn(worker.run_until_idle());
    assert_eq!(next(&mut held.told).await, 1);
    let listed = async {
        loop {
            if let Some(info) = live.world.workers().await.pop() {
                return info.beat.id;
            }
            tokio::time::sleep(SHORT_TTL / 60).await;
        }
    };
    let id = soon(listed).await;
    assert_eq!(live.world.control(&[id.as_str()], WorkerOrder::Quiet).await, [true]);
    live.two_beats().await;
    let second = live.enqueue(2).await;
    live.two_beats().await;
    held.end.send_replace(true);
    let summary = soon(running).await.expect("no panic").expect("it ends");
    assert_eq!(summary.completed, 1);
    assert_eq!(live.job(first).await.status, Status::Completed);
    assert_eq!(live.job(second).await.lease_seq, 0);
}

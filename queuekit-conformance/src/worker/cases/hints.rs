//! R13.6 and R13.7: lost wake-ups, outages and upkeep.

use std::sync::atomic::Ordering;
use std::time::Duration;

use queuekit_core::{Backend, Status};
use queuekit_worker::{Ctx, JobResult};

use crate::time_limit::answered;
use crate::worker::Live;
use crate::worker::kit::{Task, events, next, soon, until};

const LONG: Duration = Duration::from_secs(60);
/// A worker works again within this time after an outage (contract R13.6).
const RESUMES: Duration = Duration::from_secs(5);

/// R13.6: in one process a job starts when it is enqueued, not when the worker next polls.
/// Guard: the wake-up.
pub(in crate::worker) async fn r13_6_a_wakeup_starts_work_before_the_poll(live: Live) {
    let (tell, mut told) = events();
    let handler = move |task: Task, _: Ctx| {
        tell.send(task.n).expect("heard");
        async { JobResult::Ok(()) }
    };
    let worker = live.worker().poll_interval(LONG).handle(handler);
    let worker = worker.start().await.expect("start");
    until(|| live.switches.reserves.load(Ordering::SeqCst) > 0).await;
    live.enqueue(7).await;
    assert_eq!(next(&mut told).await, 7);
    worker.drain(Duration::from_secs(5)).await;
}

/// R13.6: if every wake-up is lost, polling finds the work.
/// Guard: the poll.
pub(in crate::worker) async fn r13_6_without_wakeups_polling_finds_work(live: Live) {
    live.switches.silent.store(true, Ordering::SeqCst);
    let (tell, mut told) = events();
    let handler = move |task: Task, _: Ctx| {
        tell.send(task.n).expect("heard");
        async { JobResult::Ok(()) }
    };
    let worker = live.worker().poll_interval(Duration::from_millis(50)).handle(handler);
    let worker = worker.start().await.expect("start");
    until(|| live.switches.reserves.load(Ordering::SeqCst) > 0).await;
    live.enqueue(7).await;
    assert_eq!(next(&mut told).await, 7);
    worker.drain(Duration::from_secs(5)).await;
}

/// R5.1: a sleeping worker wakes for the job that becomes due.
/// Guard: `next_due_in`.
pub(in crate::worker) async fn r13_6_a_job_that_becomes_due_is_not_polled_for(live: Live) {
    let (tell, mut told) = events();
    let handler = move |task: Task, _: Ctx| {
        tell.send(task.n).expect("heard");
        async { JobResult::Ok(()) }
    };
    let delay = Duration::from_millis(200);
    live.client.enqueue(Task { n: 7 }).delay(delay).await.expect("enqueue");
    let worker = live.worker().poll_interval(LONG).handle(handler);
    let worker = worker.start().await.expect("start");
    assert_eq!(next(&mut told).await, 7);
    worker.drain(Duration::from_secs(5)).await;
}

/// R13.6: the fetch loop survives any outage, and continues soon after its end.
/// Guard: the loop waits and retries instead of ending.
pub(in crate::worker) async fn r13_6_an_outage_ends_without_a_restart(live: Live) {
    let before = live.enqueue(1).await;
    let (tell, mut told) = events();
    let handler = move |_: Task, _: Ctx| {
        tell.send(()).expect("heard");
        async { JobResult::Ok(()) }
    };
    live.switches.outage.store(true, Ordering::SeqCst);
    let worker = live.worker().handle(handler).start().await.expect("start");
    // Several attempts fail meanwhile.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(live.job(before).await.lease_seq, 0);
    live.switches.outage.store(false, Ordering::SeqCst);
    answered("work after an outage", RESUMES, next(&mut told)).await;
    live.until_status(before, Status::Completed).await;
    worker.drain(Duration::from_secs(5)).await;
}

/// A worker also works on a store without `Exchange`.
/// Guard: the fallback to separate calls.
pub(in crate::worker) async fn r13_6_a_worker_of_a_store_without_exchange_works(live: Live) {
    live.switches.no_exchange.store(true, Ordering::SeqCst);
    live.enqueue_many(100).await;
    let handler = |_: Task, _: Ctx| async { JobResult::Ok(()) };
    let summary = live.worker().handle(handler).run_until_idle().await.expect("run");
    assert_eq!(summary.completed, 100);
}

/// R13.7: a worker runs upkeep by itself, and the store removes what retention does not keep.
/// Guard: the upkeep task.
pub(in crate::worker) async fn r13_7_upkeep_runs_beside_the_work(live: Live) {
    let handler = |_: Task, _: Ctx| async { JobResult::Ok(()) };
    let id = live.enqueue(1).await;
    let worker = live.worker().upkeep_interval(Duration::from_millis(100));
    let worker = worker.handle(handler).start().await.expect("start");
    live.until_status(id, Status::Completed).await;
    live.world.advance(Duration::from_secs(25 * 3600)).await;
    soon(async {
        while live.world.backend().get_job(id).await.expect("get_job").is_some() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    worker.drain(Duration::from_secs(5)).await;
}

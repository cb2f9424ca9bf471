//! R13.5: the end of a worker.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use queuekit_core::{LeaseTtl, Status};
use queuekit_worker::{Ctx, JobError, JobResult};

use crate::worker::Live;
use crate::worker::kit::{Task, events, next, soon, until};

/// R13.5: a drain takes no new jobs, and waits for the running ones.
/// Guard: the drain waits.
pub(in crate::worker) async fn r13_5_a_drain_waits_for_what_runs(live: Live) {
    let running = live.enqueue(1).await;
    let (tell, mut told) = events();
    let (answer, heard) = tokio::sync::watch::channel(false);
    let handler = move |_: Task, ctx: Ctx| {
        let (tell, mut heard) = (tell.clone(), heard.clone());
        async move {
            tell.send(()).expect("heard");
            heard.wait_for(|go_on| *go_on).await?;
            assert!(
                !ctx.is_cancelled(),
                "the handler should not be cancelled before its drain timeout"
            );
            JobResult::Ok(())
        }
    };
    // One slot: no reserve is under way while it is taken, whose answer would be given back.
    let worker = live.worker().concurrency(1).handle(handler).start().await.expect("start");
    next(&mut told).await;
    let drain = worker.drain(Duration::from_secs(15));
    let late = async {
        let late = live.enqueue(2).await;
        answer.send(true).expect("the handler listens");
        late
    };
    let (summary, late) = soon(futures_util::future::join(drain, late)).await;
    assert_eq!((summary.completed, summary.released), (1, 0));
    assert_eq!(live.job(running).await.status, Status::Completed);
    assert_eq!(live.job(late).await.lease_seq, 0, "a draining worker takes no more");
}

/// R13.5: a run that does not end in time is released, and spends no attempt.
/// Guard: the drain releases instead of failing the run.
pub(in crate::worker) async fn r13_5_a_drain_releases_what_goes_on_too_long(live: Live) {
    let id = live.enqueue(1).await;
    let (tell, mut told) = events();
    let handler = move |_: Task, _: Ctx| {
        tell.send(()).expect("heard");
        std::future::pending::<JobResult<()>>()
    };
    let worker = live.worker().handle(handler).start().await.expect("start");
    next(&mut told).await;
    let summary = soon(worker.drain(Duration::from_millis(50))).await;
    assert_eq!(summary.released, 1);
    let job = live.job(id).await;
    assert_eq!((job.status, job.attempts, job.releases), (Status::Ready, 0, 1));
}

/// R13.5: a dropped worker does not keep its jobs.
/// Guard: dropping a worker stops it.
pub(in crate::worker) async fn r13_5_a_worker_that_is_dropped_gives_its_jobs_back(live: Live) {
    let id = live.enqueue(1).await;
    let (tell, mut told) = events();
    let handler = move |_: Task, _: Ctx| {
        tell.send(()).expect("heard");
        std::future::pending::<JobResult<()>>()
    };
    let worker = live.worker().handle(handler).start().await.expect("start");
    next(&mut told).await;
    drop(worker);
    let job = live.until_status(id, Status::Ready).await;
    assert_eq!(job.attempts, 0);
}

/// R13.5, R3.9: a worker that has ended is no longer listed, however it ended.
/// Guard: the call of `forget_worker`, and that no beat follows it.
pub(in crate::worker) async fn r13_5_a_worker_that_has_ended_is_listed_no_more(live: Live) {
    let handler = |_: Task, _: Ctx| async { JobResult::Ok(()) };
    let worker = || live.worker().lease_ttl(LeaseTtl::default().get()).handle(handler);
    // It keeps running while the others end.
    let other = worker().start().await.expect("start");
    live.beat_of(&other).await;
    let listed = async || live.world.workers().await.len();
    live.switches.beats_late_ms.store(200, Ordering::SeqCst);
    soon(worker().run_until_idle()).await.expect("run");
    let switches = &live.switches;
    let counted = |calls: &AtomicU64| calls.load(Ordering::SeqCst);
    until(|| counted(&switches.beats_done) == counted(&switches.beats)).await;
    assert_eq!(listed().await, 1, "its first beat was under way when it ended");
    live.switches.beats_late_ms.store(0, Ordering::SeqCst);
    let drained = worker().start().await.expect("start");
    live.beat_of(&drained).await;
    drained.drain(Duration::ZERO).await;
    assert_eq!(listed().await, 1);
    drop(other);
    soon(async {
        while listed().await > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// A worker that runs until idle leaves jobs that are due later.
/// Guard: only jobs that can run now count as work.
pub(in crate::worker) async fn r13_5_until_idle_leaves_what_is_due_later(live: Live) {
    let now = live.enqueue(1).await;
    let hour = Duration::from_secs(3600);
    let later = live.client.enqueue(Task { n: 2 }).delay(hour).await.expect("enqueue");
    let handler = |_: Task, ctx: Ctx| async move {
        // A job that a job enqueues is work too.
        if ctx.attempt() == 1 && ctx.metadata().is_empty() {
            let child = ctx.client().enqueue(Task { n: 3 });
            child.metadata([("child", "yes")]).await?;
        }
        JobResult::Ok(())
    };
    let summary = soon(live.worker().handle(handler).run_until_idle()).await.expect("run");
    assert_eq!(summary.completed, 2);
    assert_eq!(live.job(now).await.status, Status::Completed);
    assert_eq!(live.job(later).await.status, Status::Scheduled);
}

/// A job that becomes ready by an outcome, which was recorded late because the store failed, is
/// work too.
/// Guard: the worker reserves again after outcomes were recorded.
pub(in crate::worker) async fn r13_5_until_idle_sees_what_late_outcomes_free(live: Live) {
    let id = live.enqueue(1).await;
    let handler = |_: Task, ctx: Ctx| async move {
        if ctx.attempt() == 1 {
            return Err(JobError::retry_after("not yet", Duration::ZERO));
        }
        JobResult::Ok(())
    };
    live.switches.settling_failures.store(1, Ordering::SeqCst);
    let summary = soon(live.worker().handle(handler).run_until_idle()).await.expect("run");
    assert_eq!((summary.failed, summary.completed), (1, 1));
    assert_eq!(live.job(id).await.status, Status::Completed);
}

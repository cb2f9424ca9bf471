//! R13.1: leases are kept while handlers run, and handlers stop when they are lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc as blocking;
use std::time::{Duration, Instant};

use queuekit_core::Status;
use queuekit_core::capability::Served;
use queuekit_core::limits::{BEAT_NAMES, BEAT_TTL, TTL};
use queuekit_worker::{Ctx, JobError, JobResult};

use crate::kit::{default_queue, kind, queue};
use crate::time_limit::answered;
use crate::worker::Live;
use crate::worker::kit::{LONG_TTL, SHORT_TTL, Task, events, next, until};

/// A handler notices a cancel within this time (R13.1).
const CANCEL_REACHES: Duration = Duration::from_millis(100);
const NO_GRACE: Duration = Duration::from_millis(50);

/// R13.1: heartbeats continue even if handlers do not yield.
/// Guard: the heartbeat's own thread.
pub(in crate::worker) async fn r13_1_a_handler_that_blocks_its_thread_keeps_its_lease(live: Live) {
    let id = live.enqueue(1).await;
    let handler = |_: Task, _: Ctx| async {
        // Every thread that a worker could lend from the application is as good as this one.
        std::thread::sleep(LONG_TTL + SHORT_TTL);
        JobResult::Ok(())
    };
    let worker = live.worker().lease_ttl_for_tests(LONG_TTL).handle(handler);
    let summary = worker.run_until_idle().await.expect("run");
    assert_eq!((summary.completed, summary.lease_lost), (1, 0));
    let job = live.job(id).await;
    assert_eq!((job.status, job.attempts, job.lease_seq), (Status::Completed, 1, 1));
}

/// R13.1: a worker stops a handler whose lease is gone, and its outcome does not count.
/// Guard: the outcome of extend.
pub(in crate::worker) async fn r13_1_a_lost_lease_stops_its_handler(live: Live) {
    let id = live.enqueue(1).await;
    let (tell, mut told) = events();
    let handler = move |_: Task, ctx: Ctx| {
        let tell = tell.clone();
        async move {
            tell.send("started").expect("heard");
            ctx.cancelled().await;
            tell.send("stopped").expect("heard");
            JobResult::Ok(())
        }
    };
    let worker = live.worker().handle(handler).start().await.expect("start");
    assert_eq!(next(&mut told).await, "started");
    assert!(live.world.backend().delete_job(id, true).await.expect("delete"));
    assert_eq!(next(&mut told).await, "stopped");
    let summary = worker.drain(Duration::from_secs(5)).await;
    assert_eq!((summary.completed, summary.lease_lost), (0, 1));
}

/// R13.1, R6.6: a handler notices a requested cancel at the next heartbeat, even if the store does
/// not notify the worker.
/// Guard: `cancel_requested` of extend.
pub(in crate::worker) async fn r13_1_a_requested_cancel_stops_the_handler(live: Live) {
    live.switches.silent.store(true, Ordering::SeqCst);
    let id = live.enqueue(1).await;
    let (tell, mut told) = events();
    let handler = move |_: Task, ctx: Ctx| {
        let tell = tell.clone();
        async move {
            tell.send(()).expect("heard");
            ctx.cancelled().await;
            JobResult::<()>::Err(JobError::cancel())
        }
    };
    let worker = live.worker().handle(handler).start().await.expect("start");
    next(&mut told).await;
    let _ = live.admin().cancel(&[id]).await.expect("cancel");
    live.until_status(id, Status::Cancelled).await;
    assert_eq!(worker.drain(Duration::from_secs(5)).await.cancelled, 1);
}

/// R13.1: a requested cancel rings, so that the handler does not wait for the heartbeat, which is
/// hours away here. If the store can do it, this works from another process too.
/// Guard: the ring of a cancel.
///
/// The best of five counts: the first may come before the listener has connected, and a busy
/// machine may delay any of them. A store that polls less often is never in time.
pub(in crate::worker) async fn r13_1_a_cancel_reaches_the_handler_within_100_ms(live: Live) {
    let (tell, mut told) = events();
    let handler = move |_: Task, ctx: Ctx| {
        let tell = tell.clone();
        async move {
            tell.send(()).expect("heard");
            ctx.cancelled().await;
            tell.send(()).expect("heard");
            JobResult::<()>::Err(JobError::cancel())
        }
    };
    let worker = live.worker().lease_ttl(TTL.1).handle(handler).start().await.expect("start");
    let crosses = live.world.expect().cancels_cross_handles;
    let other = if crosses { live.world.second_handle().await } else { None };
    assert_eq!(other.is_some(), crosses);
    let mut cancelled = 0;
    for store in [Some(live.world.backend()), other.as_ref()].into_iter().flatten() {
        let admin = store.capabilities().admin.expect("the store has Admin");
        let mut best = Duration::MAX;
        // Other tests take the processor for longer than this at times, but not each time.
        for _ in 0..20 {
            let id = live.enqueue(1).await;
            next(&mut told).await;
            let _ = admin.cancel(&[id]).await.expect("cancel");
            // A busy store may take long to answer; the ring begins when it has stored the cancel.
            let stored = Instant::now();
            next(&mut told).await;
            best = best.min(stored.elapsed());
            live.until_status(id, Status::Cancelled).await;
            cancelled += 1;
            if best < CANCEL_REACHES {
                break;
            }
        }
        assert!(best < CANCEL_REACHES, "a cancel reaches its handler after {best:?} at best");
    }
    assert_eq!(worker.drain(Duration::from_secs(5)).await.cancelled, cancelled);
}

/// R13.1: a run that times out is asked to stop; one that does not is given up after the grace.
/// Guard: the run's deadline.
pub(in crate::worker) async fn r13_1_a_run_that_times_out_is_stopped_then_given_up(live: Live) {
    let timeout = Duration::from_millis(100);
    let request = live.client.enqueue(Task { n: 1 }).timeout(timeout).max_attempts(1);
    let id = request.await.expect("enqueue");
    let (tell, mut told) = events();
    let handler = move |_: Task, ctx: Ctx| {
        let tell = tell.clone();
        async move {
            ctx.cancelled().await;
            tell.send(()).expect("heard");
            std::future::pending::<JobResult<()>>().await
        }
    };
    let worker = live.worker().timeout_grace(NO_GRACE).handle(handler);
    let worker = worker.start().await.expect("start");
    next(&mut told).await;
    let job = live.until_status(id, Status::Dead).await;
    let reason = job.reason.expect("a dead job has a reason");
    assert!(reason.as_str().contains("timed out"), "{reason}");
    assert_eq!(worker.drain(Duration::from_secs(5)).await.dead, 1);
}

/// R13.1: a handler that never yields cannot be stopped: its job is given up, its slot is counted
/// as stuck, and other jobs continue.
/// Guard: the heartbeat's thread watches timeouts.
pub(in crate::worker) async fn r13_1_a_handler_that_never_yields_is_given_up_and_holds_its_slot(
    live: Live,
) {
    let timeout = Duration::from_millis(100);
    let request = live.client.enqueue(Task { n: 0 }).timeout(timeout).max_attempts(1);
    let stuck = request.await.expect("enqueue");
    let (let_go, gate) = blocking::channel::<()>();
    let gate = Arc::new(std::sync::Mutex::new(gate));
    let handler = move |task: Task, _: Ctx| {
        if task.n == 0 {
            let _ = gate.lock().expect("one at a time").recv();
        }
        async { JobResult::Ok(()) }
    };
    let worker = live.worker().concurrency(2).timeout_grace(NO_GRACE).handle(handler);
    let worker = worker.start().await.expect("start");
    live.until_status(stuck, Status::Dead).await;
    until(|| worker.snapshot().counters.stuck == 1).await;
    assert!(worker.snapshot().jobs.iter().any(|job| job.id == stuck && job.stuck));
    let other = live.enqueue(1).await;
    live.until_status(other, Status::Completed).await;
    drop(let_go);
    until(|| worker.snapshot().jobs.is_empty()).await;
    assert_eq!(live.job(stuck).await.status, Status::Dead, "its late answer changes nothing");
    worker.drain(Duration::from_secs(5)).await;
}

/// R13.1: if no extend succeeds, the handler is asked to stop before another worker may start the
/// job.
/// Guard: the limit of 0.9 ttl since the last extend.
pub(in crate::worker) async fn r13_1_a_lease_that_cannot_be_extended_stops_its_handler(live: Live) {
    let id = live.enqueue(1).await;
    let (tell, mut told) = events();
    let handler = move |_: Task, ctx: Ctx| {
        let tell = tell.clone();
        async move {
            let started = Instant::now();
            ctx.cancelled().await;
            tell.send(started.elapsed()).expect("heard");
            JobResult::<()>::Err(JobError::retry("stopped"))
        }
    };
    live.switches.extend_fails.store(true, Ordering::SeqCst);
    // A tenth of it is what a busy machine may take to tell.
    let ttl = LONG_TTL * 3;
    let worker = live.worker().lease_ttl_for_tests(ttl).handle(handler);
    let worker = worker.start().await.expect("start");
    let after = next(&mut told).await;
    assert!(after < ttl, "stopped after {after:?}, when the lease may have run out");
    worker.stop().await;
    assert!(!live.job(id).await.state.is_terminal(), "the job runs again");
}

/// R13.1, R3.9: a worker announces what it serves and runs.
/// Guard: the beat.
pub(in crate::worker) async fn r13_1_presence_is_told(live: Live) {
    let handler = |_: Task, _: Ctx| async { JobResult::Ok(()) };
    let worker = live.worker().concurrency(7).handle(handler).start().await.expect("start");
    let beat = live.beat_of(&worker).await;
    assert_eq!((beat.name.as_str(), beat.slots), ("suite", 7));
    assert_eq!(beat.kinds, Served::first([kind("task")]));
    assert_eq!(beat.queues, Served::first([default_queue()]));
    worker.drain(Duration::from_secs(5)).await;
}

/// R13.1, R3.9: a worker with more queues than a beat may name says so; and however long its leases
/// are, it beats before it leaves the list.
/// Guard: the conversion of queues and ttl into those of a beat.
pub(in crate::worker) async fn r13_1_a_worker_of_many_queues_says_that_it_serves_more(live: Live) {
    let handler = |_: Task, _: Ctx| async { JobResult::Ok(()) };
    let queues = (0..=BEAT_NAMES).map(|n| queue(&format!("q{n}")));
    let worker = live.worker().queues(queues.clone()).lease_ttl(TTL.1).handle(handler);
    let worker = worker.start().await.expect("start");
    let beat = live.beat_of(&worker).await;
    assert_eq!(beat.queues, Served::first(queues));
    assert!(beat.queues.has_more() && !beat.kinds.has_more());
    assert_eq!(beat.ttl.get(), BEAT_TTL);
    worker.drain(Duration::from_secs(5)).await;
}

/// R13.1, R3.9: leases are extended and beats are sent at a third of their ttl: not much later,
/// which would leave no time for a retry, and not much sooner.
/// Guard: `third` of the heartbeat, `beat_every`.
pub(in crate::worker) async fn r13_1_leases_and_presence_are_renewed_at_a_third(live: Live) {
    live.enqueue(1).await;
    let (tell, mut told) = events();
    let handler = move |_: Task, ctx: Ctx| {
        let tell = tell.clone();
        async move {
            tell.send(()).expect("heard");
            ctx.cancelled().await;
            JobResult::Ok(())
        }
    };
    let worker = live.worker().lease_ttl_for_tests(LONG_TTL).handle(handler);
    let worker = worker.start().await.expect("start");
    next(&mut told).await;
    until(|| live.switches.beats.load(Ordering::SeqCst) >= 1).await;
    let again = async |what: &str, calls: &AtomicU64| {
        let next = async |after| {
            let begun = Instant::now();
            let call = until(|| calls.load(Ordering::SeqCst) > after);
            answered(what, LONG_TTL / 2, call).await;
            begun.elapsed()
        };
        let before = calls.load(Ordering::SeqCst);
        next(before).await;
        let apart = next(before + 1).await;
        // On a busy machine the look before may itself have come late.
        assert!(apart >= LONG_TTL / 6, "{what} again after {apart:?}");
    };
    tokio::join!(again("extend", &live.switches.extends), again("beat", &live.switches.beats));
    worker.drain(Duration::ZERO).await;
}

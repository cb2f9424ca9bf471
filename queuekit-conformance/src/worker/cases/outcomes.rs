//! R13.2 and R13.3: every outcome reaches the store, whatever the handler did.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use queuekit_core::history::{Resolution, Runs};
use queuekit_core::{Backend, Kind, RetryPolicy, Status};
use queuekit_worker::{Ctx, JobError, JobResult};
use tokio::sync::Semaphore;

use crate::kit::all_times;
use crate::worker::Live;
use crate::worker::kit::{LONG_TTL, SHORT_TTL, Task, events, next, soon};

/// R13.2: after a lost reply the ack is repeated, not the run.
/// Guard: an Indeterminate ack is repeated.
pub(in crate::worker) async fn r13_2_an_ack_whose_reply_was_lost_is_repeated(live: Live) {
    let id = live.enqueue(1).await;
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    let handler = move |_: Task, _: Ctx| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { JobResult::Ok("done") }
    };
    live.switches.replies_lost.store(3, Ordering::SeqCst);
    let summary = live.worker().handle(handler).run_until_idle().await.expect("run");
    assert_eq!((summary.completed, runs.load(Ordering::SeqCst)), (1, 1));
    assert_eq!(
        live.switches.replies_lost.load(Ordering::SeqCst),
        0,
        "the ack should be repeated for every lost reply"
    );
    let job = live.job(id).await;
    assert_eq!((job.status, job.attempts), (Status::Completed, 1));
    assert_eq!(job.result.as_deref(), Some(&b"\"done\""[..]));
}

/// R13.2: a finished job stays leased while the store does not accept its ack.
/// Guard: the lease is extended until the ack is answered.
pub(in crate::worker) async fn r13_2_a_lease_is_extended_until_its_ack_is_answered(live: Live) {
    let id = live.enqueue(1).await;
    let (tell, mut told) = events();
    let handler = move |_: Task, _: Ctx| {
        tell.send(()).expect("heard");
        async { JobResult::Ok(()) }
    };
    live.switches.settling_fails.store(true, Ordering::SeqCst);
    let worker = live.worker().lease_ttl_for_tests(LONG_TTL).handle(handler);
    let worker = worker.start().await.expect("start");
    next(&mut told).await;
    // Nothing tells that a lease has not run out but the time it would have.
    tokio::time::sleep(LONG_TTL + SHORT_TTL).await;
    assert_eq!(live.job(id).await.status, Status::Running);
    live.switches.settling_fails.store(false, Ordering::SeqCst);
    let job = live.until_status(id, Status::Completed).await;
    assert_eq!((job.attempts, job.lease_seq), (1, 1));
    worker.drain(Duration::from_secs(5)).await;
}

/// R13.2: the outcome of a run that ends during a drain is recorded.
/// Guard: a drain does not interrupt settling.
pub(in crate::worker) async fn r13_2_outcomes_are_recorded_while_the_worker_drains(live: Live) {
    let ids = live.enqueue_many(50).await;
    let (tell, mut told) = events();
    let gate = Arc::new(Semaphore::new(0));
    let closed = Arc::clone(&gate);
    let handler = move |_: Task, _: Ctx| {
        let (tell, gate) = (tell.clone(), Arc::clone(&closed));
        async move {
            tell.send(()).expect("heard");
            gate.acquire().await?.forget();
            JobResult::Ok(())
        }
    };
    let worker = live.worker().concurrency(50).handle(handler).start().await.expect("start");
    for _ in 0..50 {
        next(&mut told).await;
    }
    let drain = worker.drain(Duration::from_secs(10));
    let open = async { gate.add_permits(50) };
    let (summary, ()) = soon(futures_util::future::join(drain, open)).await;
    assert_eq!(summary.completed, 50);
    assert_eq!(live.count(Status::Completed).await, ids.len());
}

/// R13.3: a panic fails the attempt, and its text is kept.
/// Guard: the worker catches panics.
pub(in crate::worker) async fn r13_3_a_panic_is_a_failed_attempt_with_its_text(live: Live) {
    let id = live.enqueue_once(1).await;
    let handler = |task: Task, _: Ctx| async move {
        assert_ne!(task.n, 0, "zero was too much");
        JobResult::Ok(())
    };
    let summary = live.worker().handle(handler).run_until_idle().await.expect("run");
    assert_eq!(summary.dead, 1);
    let job = live.job(id).await;
    assert_eq!(job.status, Status::Dead);
    assert!(job.errors[0].error.as_str().contains("zero was too much"), "{:?}", job.errors);
}

/// R13.3: an error fails the attempt, and it and its causes are kept.
/// Guard: the nack's text.
pub(in crate::worker) async fn r13_3_an_error_is_a_failed_attempt_with_its_causes(live: Live) {
    let id = live.enqueue_once(2).await;
    let handler = |_: Task, _: Ctx| async {
        let number: u32 = "twelve".parse()?;
        JobResult::Ok(number)
    };
    let worker = live.worker().retry(RetryPolicy::Fixed(Duration::ZERO)).handle(handler);
    let summary = worker.run_until_idle().await.expect("run");
    assert_eq!((summary.failed, summary.dead), (1, 1));
    let job = live.job(id).await;
    assert_eq!((job.status, job.attempts, job.errors.len()), (Status::Dead, 2, 2));
    assert!(job.errors[0].error.as_str().contains("invalid digit"), "{:?}", job.errors);
}

/// R13.3: LeaseLost is counted, never fatal.
/// Guard: the outcome of the ack.
pub(in crate::worker) async fn r13_3_a_lost_lease_is_counted_and_the_worker_goes_on(live: Live) {
    let lost = live.enqueue(0).await;
    let backend = Arc::clone(live.world.backend());
    let handler = move |task: Task, ctx: Ctx| {
        let backend = Arc::clone(&backend);
        async move {
            if task.n == 0 {
                backend.delete_job(ctx.id(), true).await?;
            }
            JobResult::Ok(())
        }
    };
    let worker = live.worker().handle(handler).start().await.expect("start");
    crate::worker::kit::until(|| worker.snapshot().counters.lease_lost == 1).await;
    let next = live.enqueue(1).await;
    live.until_status(next, Status::Completed).await;
    assert_eq!(live.client.jobs().get(lost).await.expect("get_job"), None);
    worker.drain(Duration::from_secs(5)).await;
}

/// R13.3, R12: a result over its limit fails the attempt and names the limit.
/// Guard: the check before the ack.
pub(in crate::worker) async fn r13_3_a_result_that_is_too_large_fails_the_attempt(live: Live) {
    let large = live.enqueue_once(1).await;
    let handler = |_: Task, _: Ctx| async { JobResult::Ok("x".repeat(64 * 1024)) };
    let summary = live.worker().handle(handler).run_until_idle().await.expect("run");
    assert_eq!(summary.dead, 1);
    let error = live.job(large).await.errors[0].error.to_string();
    assert!(error.contains("65536"), "{error}");
}

/// R13.3: what the handler returns decides: retry, fatal, snooze or cancel.
/// Guard: the mapping from results to outcomes.
pub(in crate::worker) async fn r13_3_errors_decide_what_becomes_of_the_job(live: Live) {
    let hour = Duration::from_secs(3600);
    let ids = live.enqueue_many(4).await;
    let handler = move |task: Task, _: Ctx| async move {
        JobResult::<()>::Err(match task.n {
            0 => JobError::retry_after("later", hour),
            1 => JobError::fatal("never"),
            2 => JobError::snooze(hour),
            _ => JobError::cancel(),
        })
    };
    let summary = live.worker().handle(handler).run_until_idle().await.expect("run");
    let counts = (summary.failed, summary.dead, summary.released, summary.cancelled);
    assert_eq!(counts, (1, 1, 1, 1));
    let mut seen = Vec::new();
    for id in ids {
        let job = live.job(id).await;
        seen.push((job.status, job.attempts, job.releases, job.errors.len()));
    }
    assert_eq!(
        seen,
        [
            (Status::Failed, 1, 0, 1),
            (Status::Dead, 1, 0, 1),
            (Status::Scheduled, 0, 1, 0),
            (Status::Cancelled, 1, 0, 0),
        ]
    );
}

/// R3.4, R3.8: a result, progress and log lines are stored with the job.
/// Guard: reports are sent before the ack ends the lease.
pub(in crate::worker) async fn r13_3_results_progress_and_lines_are_stored(live: Live) {
    let id = live.enqueue(20).await;
    let handler = |task: Task, ctx: Ctx| async move {
        ctx.progress(0.5, "half way");
        ctx.log("first");
        ctx.log("second");
        JobResult::Ok(task.n + 1)
    };
    live.worker().handle(handler).run_until_idle().await.expect("run");
    let job = live.job(id).await;
    assert_eq!(job.result.as_deref(), Some(&b"21"[..]));
    let progress = job.progress.expect("progress is stored");
    assert_eq!((progress.fraction, progress.message.as_str()), (0.5, "half way"));
    let lines: Vec<_> = job.logs.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(lines, ["first", "second"]);
}

/// R8.5: a worker adds what its runs were like, at the latest when it ends.
/// Guard: a drain adds what was not added.
pub(in crate::worker) async fn r8_5_a_worker_adds_what_it_ran(live: Live) {
    live.enqueue_many(3).await;
    live.enqueue(9).await;
    live.enqueue_raw("unhandled", "1").await;
    let handler = |task: Task, _: Ctx| async move {
        if task.n == 9 { Err(JobError::fatal("no")) } else { JobResult::Ok(()) }
    };
    live.worker().handle(handler).run_until_idle().await.expect("run");
    let history = live.world.backend().capabilities().history.expect("history");
    let rows = history.list_runs(&all_times(Resolution::Hour)).await.expect("list_runs");
    let of = |kind: Option<&str>| {
        let rows = rows.iter().filter(|row| row.kind.as_ref().map(Kind::as_str) == kind);
        rows.fold(Runs::default(), |mut sum, row| {
            sum.merge(&row.runs);
            sum
        })
    };
    let handled = of(Some("task"));
    assert_eq!((handled.completed, handled.dead, handled.failed), (3, 1, 0), "{rows:?}");
    assert_eq!((handled.wait.count(), handled.run.count()), (4, 4), "{rows:?}");
    assert!(of(None).released > 0, "of kinds without a handler: {rows:?}");
}

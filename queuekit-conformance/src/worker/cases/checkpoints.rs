//! R13.10: steps of a handler whose results outlive the run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use queuekit_core::capability::{CheckpointOutcome, RescheduleOutcome};
use queuekit_core::limits::{CHECKPOINT_BYTES, CHECKPOINTS};
use queuekit_core::{Job, JobId, ReleaseCause, RetryPolicy, State, Status};
use queuekit_worker::{Ctx, JobError, JobResult, RunSummary, Worker};

use crate::kit::HOUR;
use crate::worker::Live;
use crate::worker::kit::{Task, events, next};

/// Counts how often something was done.
#[derive(Clone, Default)]
struct Count(Arc<AtomicU32>);

impl Count {
    fn add(&self) -> u32 {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn get(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

/// A worker that brings a failed job back at once.
fn worker(live: &Live) -> Worker {
    live.worker().retry(RetryPolicy::Fixed(Duration::ZERO))
}

async fn run(worker: Worker) -> RunSummary {
    worker.run_until_idle().await.expect("run")
}

async fn assert_completed(live: &Live, id: JobId, attempts: u32) -> Job {
    let job = live.job(id).await;
    assert_eq!((job.state, job.attempts), (State::Completed, attempts), "{:?}", job.errors);
    job
}

/// R13.10: a later run gets what the step has returned and does not run it; only that run reads
/// checkpoints, once, and a job without steps none.
/// Guard: the step is looked for before it runs.
pub(in crate::worker) async fn r13_10_a_step_that_was_done_is_not_run_again(live: Live) {
    let (id, plain) = (live.enqueue(1).await, live.enqueue(2).await);
    let steps = Count::default();
    let counted = steps.clone();
    let handler = async move |task: Task, ctx: Ctx| {
        if task.n == 2 {
            return Ok(Vec::new());
        }
        let mut results = Vec::new();
        for name in ["one", "two", "one"] {
            let steps = counted.clone();
            let step = async move || JobResult::Ok((name.to_owned(), steps.add()));
            results.push(ctx.checkpoint(name, step).await?);
        }
        if ctx.attempt() < 2 { Err(JobError::from("after the steps")) } else { Ok(results) }
    };
    run(worker(&live).handle(handler)).await;
    let job = assert_completed(&live, id, 2).await;
    let result: Vec<(String, u32)> = job.result().expect("its result");
    let [one, two] = [("one".to_owned(), 1), ("two".to_owned(), 2)];
    assert_eq!(result, [one.clone(), two, one]);
    assert_eq!(steps.get(), 2);
    assert_completed(&live, plain, 1).await;
    assert_eq!(live.switches.checkpoint_reads.load(Ordering::SeqCst), 1);
}

/// R13.10: a step that failed, or whose future was dropped, has no result and runs again.
/// Guard: only a result is stored.
pub(in crate::worker) async fn r13_10_a_step_that_failed_or_was_dropped_runs_again(live: Live) {
    let id = live.enqueue(1).await;
    let steps = Count::default();
    let counted = steps.clone();
    let handler = async move |_: Task, ctx: Ctx| {
        let never = ctx.checkpoint("s", std::future::pending::<JobResult<u32>>);
        assert!(tokio::time::timeout(Duration::from_millis(1), never).await.is_err());
        let counted = counted.clone();
        let step = async move || match counted.add() {
            1 => Err("the first time"),
            n => Ok(n),
        };
        ctx.checkpoint("s", step).await
    };
    run(worker(&live).handle(handler)).await;
    let job = assert_completed(&live, id, 2).await;
    assert_eq!(job.result::<u32>().expect("its result"), 2);
    assert_eq!(job.errors[0].error.as_str(), "the first time");
}

/// R13.10: of two steps of one name at once the second is a Conflict and does not run; two of other
/// names run together.
/// Guard: a step that runs is noted.
pub(in crate::worker) async fn r13_10_a_step_that_runs_is_not_begun_twice(live: Live) {
    let id = live.enqueue(1).await;
    let handler = async |_: Task, ctx: Ctx| {
        let inner = ctx.clone();
        let step = async move || {
            let again = inner.checkpoint("s", async || JobResult::Ok(0)).await;
            let other = inner.checkpoint("t", async || JobResult::Ok(3)).await?;
            JobResult::Ok((again.expect_err("it runs already").to_string(), other))
        };
        ctx.checkpoint("s", step).await
    };
    run(worker(&live).handle(handler)).await;
    let job = assert_completed(&live, id, 1).await;
    let (refused, other): (String, u32) = job.result().expect("its result");
    assert!(refused.contains("\"s\" is running already"), "{refused}");
    assert_eq!(other, 3);
}

/// R13.10: while the store cannot be reached, or its reply is lost, the step is stored again, and
/// does not run again.
/// Guard: the call is repeated, and stores once.
pub(in crate::worker) async fn r13_10_a_step_is_stored_once_though_calls_fail(live: Live) {
    let id = live.enqueue(1).await;
    live.switches.checkpoint_failures.store(2, Ordering::SeqCst);
    live.switches.checkpoint_replies_lost.store(2, Ordering::SeqCst);
    let steps = Count::default();
    let counted = steps.clone();
    let handler = async move |_: Task, ctx: Ctx| {
        let steps = counted.clone();
        ctx.checkpoint("s", async move || JobResult::Ok(steps.add())).await
    };
    run(worker(&live).handle(handler)).await;
    assert_completed(&live, id, 1).await;
    assert_eq!(steps.get(), 1);
    assert_eq!(live.switches.checkpoint_replies_lost.load(Ordering::SeqCst), 0);
}

/// R13.10: while the store cannot be reached, a run asks again what earlier runs have done.
/// Guard: the read is repeated.
pub(in crate::worker) async fn r13_10_earlier_steps_are_read_though_calls_fail(live: Live) {
    let id = live.enqueue(1).await;
    let switches = Arc::clone(&live.switches);
    let handler = async move |_: Task, ctx: Ctx| {
        if ctx.attempt() == 2 {
            switches.checkpoint_failures.store(2, Ordering::SeqCst);
        }
        ctx.checkpoint("s", async || JobResult::Ok(())).await?;
        if ctx.attempt() == 1 { Err(JobError::from("after the step")) } else { Ok(()) }
    };
    run(worker(&live).handle(handler)).await;
    assert_completed(&live, id, 2).await;
    assert_eq!(live.switches.checkpoint_reads.load(Ordering::SeqCst), 3);
}

/// R13.10: a run whose job is no longer its own stores nothing, and the step fails.
/// Guard: the fence of a checkpoint.
pub(in crate::worker) async fn r13_10_a_run_that_lost_its_job_stores_nothing(live: Live) {
    let id = live.enqueue(1).await;
    let backend = Arc::clone(live.world.backend());
    let (told, mut tells) = events();
    let handler = async move |_: Task, ctx: Ctx| -> JobResult {
        let (backend, id) = (Arc::clone(&backend), ctx.id());
        let delete = async move || backend.delete_job(id, true).await.map(drop);
        let error = ctx.checkpoint("s", delete).await.expect_err("the lease is lost");
        told.send(error.to_string()).expect("the case listens");
        Err(error)
    };
    run(worker(&live).handle(handler)).await;
    let error = next(&mut tells).await;
    assert!(error.contains("another worker has the job"), "{error}");
    assert!(live.world.find(id).await.is_none(), "it was deleted");
}

/// R13.10: a result of more than 64 KiB, the 65th step and a name that breaks its rule fail the
/// attempt, and the error says why.
/// Guard: the limits of checkpoints.
pub(in crate::worker) async fn r13_10_what_is_too_large_or_too_many_fails_the_attempt(live: Live) {
    let large = live.enqueue_once(1).await;
    let many = live.enqueue_once(1).await;
    let named = live.enqueue_once(1).await;
    let handler = async move |_: Task, ctx: Ctx| -> JobResult {
        if ctx.id() == large {
            let text = "x".repeat(CHECKPOINT_BYTES);
            ctx.checkpoint("s", async || JobResult::Ok(text)).await?;
        } else if ctx.id() == many {
            for n in 0..=CHECKPOINTS {
                ctx.checkpoint(&format!("s{n}"), async || JobResult::Ok(n)).await?;
            }
        } else {
            ctx.checkpoint("no name", async || JobResult::Ok(())).await?;
        }
        Ok(())
    };
    run(live.worker().handle(handler)).await;
    for (id, text) in [(large, "at most 64 KiB"), (many, "at most 64"), (named, "checkpoint")] {
        let job = live.job(id).await;
        let reason = job.reason.as_ref().expect("it is dead");
        assert!(reason.as_str().contains(text), "{reason}");
    }
}

/// R13.10: a handler can look for a step itself, and store its result by other ways.
/// Guard: what is stored otherwise is found.
pub(in crate::worker) async fn r13_10_a_step_can_be_stored_by_the_handlers_own_transaction(
    live: Live,
) {
    let id = live.enqueue(1).await;
    let backend = Arc::clone(live.world.backend());
    let handler = async move |_: Task, ctx: Ctx| {
        if let Some(n) = ctx.find_checkpoint::<u32>("s").await? {
            return Ok(n);
        }
        let keeps = backend.capabilities().checkpoints.expect("checkpoints");
        let outcome = keeps.put_checkpoint(&ctx.new_checkpoint("s", &7)?).await?;
        assert_eq!(outcome, CheckpointOutcome::Stored);
        Err(JobError::from("the run ends here"))
    };
    run(worker(&live).handle(handler)).await;
    assert_eq!(assert_completed(&live, id, 2).await.result::<u32>().expect("its result"), 7);
}

/// Sleeps for two hours between two steps.
async fn sleeper(_: Task, ctx: Ctx) -> JobResult<String> {
    let first = ctx.checkpoint("first", async || JobResult::Ok("first".to_owned())).await?;
    ctx.sleep("nap", 2 * HOUR).await?;
    Ok(first)
}

/// R13.10: a sleep releases the job until its time, takes no attempt, and returns in the run that
/// follows.
/// Guard: the mark of a sleep is stored with its time.
pub(in crate::worker) async fn r13_10_a_sleep_gives_the_job_back_until_its_time(live: Live) {
    let id = live.enqueue_once(1).await;
    run(live.worker().handle(sleeper)).await;
    let job = live.job(id).await;
    assert_eq!((job.status, job.attempts, job.releases), (Status::Scheduled, 0, 1));
    assert_eq!(job.released[0].cause, Some(ReleaseCause::Sleep));
    live.world.advance(2 * HOUR).await;
    run(live.worker().handle(sleeper)).await;
    let job = assert_completed(&live, id, 1).await;
    assert_eq!(job.result::<String>().expect("its result"), "first");
    let after = job.finished_at.expect("it ended").since(job.created_at);
    assert!(after >= 2 * HOUR, "it slept for {after:?}");
}

/// R13.10: a job that runs before its sleep is over sleeps for the rest of it.
/// Guard: what is left of a sleep is reckoned by the store's clock.
pub(in crate::worker) async fn r13_10_a_job_that_is_woken_early_sleeps_on(live: Live) {
    let id = live.enqueue_once(1).await;
    run(live.worker().handle(sleeper)).await;
    live.world.advance(HOUR).await;
    let woken = live.world.reschedule(id, Duration::ZERO).await;
    assert_eq!(woken, RescheduleOutcome::Rescheduled);
    run(live.worker().handle(sleeper)).await;
    let job = live.job(id).await;
    assert_eq!((job.status, job.releases), (Status::Scheduled, 2));
    let due_in = job.scheduled_at.since(live.world.store_now().await);
    assert!(due_in <= HOUR && due_in > HOUR / 2, "{due_in:?}");
    live.world.advance(HOUR).await;
    run(live.worker().handle(sleeper)).await;
    assert_completed(&live, id, 1).await;
}

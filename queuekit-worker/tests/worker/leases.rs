//! Leases hold while handlers run, and outcomes are reported until they are answered.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::{Fixture, Greet, PATIENCE, greet, telling, ttl};
use queuekit_core::memory::{MemoryStore, Operation, When};
use queuekit_core::{Client, JobDraft, ManualClock};
use queuekit_worker::{Ctx, JobError, JobResult};

/// The runtime has one thread and the handler blocks it: nothing else of the worker's runs there.
#[tokio::test]
async fn a_handler_that_blocks_its_thread_keeps_its_lease() {
    let fixture = Arc::new(Fixture::new());
    let id = fixture.enqueue(greet("Ada")).await;
    let (blocked, is_blocked) = std::sync::mpsc::channel();
    let (unblock, unblocked) = std::sync::mpsc::channel::<()>();
    let thief = Arc::clone(&fixture);
    let thief = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let start: Instant = is_blocked.recv_timeout(PATIENCE).unwrap();
        while start.elapsed() < Duration::from_secs(4) {
            assert!(runtime.block_on(thief.steal()).leases.is_empty(), "stolen");
            std::thread::sleep(Duration::from_millis(10));
        }
        unblock.send(()).unwrap();
    });
    let unblocked = Arc::new(std::sync::Mutex::new(unblocked));
    let handler = move |_: Greet, ctx: Ctx| {
        blocked.send(Instant::now()).unwrap();
        unblocked.lock().unwrap().recv_timeout(PATIENCE).unwrap();
        let cancelled = ctx.is_cancelled();
        async move { JobResult::Ok(cancelled) }
    };
    let worker = fixture.worker().lease_ttl_for_tests(ttl(3000)).handle(handler);
    let summary = worker.run_until_idle().await.unwrap();
    thief.join().unwrap();
    assert_eq!((summary.completed, summary.total()), (1, 1));
    let job = fixture.job(id).await;
    assert_eq!((job.attempts, job.result.as_deref()), (1, Some(&b"false"[..])));
}

#[tokio::test]
async fn an_ack_whose_reply_was_lost_is_told_again() {
    let fixture = Fixture::new();
    let id = fixture.enqueue(greet("Ada")).await;
    fixture.store.faults().fail(Operation::Ack, 1, When::After);
    fixture.store.faults().fail(Operation::Ack, 2, When::Before);
    let handler = |_: Greet, _: Ctx| async { JobResult::Ok(()) };
    let summary = fixture.worker().handle(handler).run_until_idle().await.unwrap();
    assert_eq!((summary.completed, summary.total()), (1, 1));
    assert_eq!(fixture.job(id).await.lease_seq, 1);
}

/// Until the ack is answered the lease is extended, which the store refuses, as it has ended.
#[tokio::test]
async fn a_lease_that_an_unanswered_ack_has_ended_is_not_lost() {
    let store = MemoryStore::with_clock(ManualClock::default());
    let fixture = Fixture { client: Client::new(store.clone()), store };
    fixture.enqueue(greet("Ada")).await;
    fixture.store.faults().fail(Operation::Ack, 1, When::After);
    // The waits between them are half a second at least.
    (2..=8).for_each(|nth| fixture.store.faults().fail(Operation::Ack, nth, When::Before));
    let (told, telling) = telling();
    let handler = |_: Greet, _: Ctx| async { JobResult::Ok(()) };
    let worker = fixture.worker().hooks(told).lease_ttl_for_tests(ttl(120)).handle(handler);
    let summary = worker.run_until_idle().await.unwrap();
    assert_eq!((summary.completed, summary.total()), (1, 1));
    assert_eq!(telling.all().await, ["started", "completed"]);
}

#[tokio::test]
async fn a_nack_whose_reply_was_lost_counts_once() {
    let fixture = Fixture::new();
    let id = fixture.enqueue(JobDraft::of(&greet("Ada")).max_attempts(1)).await;
    fixture.store.faults().fail(Operation::Nack, 1, When::After);
    let handler = |_: Greet, _: Ctx| async { JobResult::<()>::Err("no".into()) };
    let summary = fixture.worker().handle(handler).run_until_idle().await.unwrap();
    assert_eq!((summary.dead, summary.total()), (1, 1));
    assert_eq!(fixture.job(id).await.errors.len(), 1);
}

#[tokio::test]
async fn reserve_survives_failing_calls() {
    let fixture = Fixture::new();
    let id = fixture.enqueue(greet("Ada")).await;
    fixture.store.faults().fail(Operation::Reserve, 1, When::Before);
    let handler = |_: Greet, _: Ctx| async { JobResult::Ok(()) };
    let summary = fixture.worker().handle(handler).run_until_idle().await.unwrap();
    assert_eq!(summary.completed, 1);
    assert_eq!(fixture.status(id).await, "completed");
}

#[tokio::test]
async fn a_lost_lease_stops_the_handler_and_drops_its_outcome() {
    let fixture = Fixture::new();
    let id = fixture.enqueue(greet("Ada")).await;
    let (told, mut telling) = telling();
    let handler = |_: Greet, ctx: Ctx| async move {
        ctx.cancelled().await;
        JobResult::Ok(())
    };
    let worker = fixture.worker().hooks(told).lease_ttl_for_tests(ttl(300)).handle(handler);
    let running = worker.start().await.unwrap();
    telling.told("started", 1).await;
    fixture.client.backend().delete_job(id, true).await.unwrap();
    telling.told("lease_lost", 1).await;
    let summary = running.drain(PATIENCE).await;
    assert_eq!((summary.lease_lost, summary.total()), (1, 1));
}

#[tokio::test]
async fn a_requested_cancel_reaches_the_handler() {
    let fixture = Fixture::new();
    let id = fixture.enqueue(greet("Ada")).await;
    let (told, mut telling) = telling();
    let handler = |_: Greet, ctx: Ctx| async move {
        ctx.cancelled().await;
        JobResult::<()>::Err(JobError::retry("stopped"))
    };
    let worker = fixture.worker().hooks(told).lease_ttl_for_tests(ttl(300)).handle(handler);
    let running = worker.start().await.unwrap();
    telling.told("started", 1).await;
    let admin = fixture.client.backend().capabilities().admin.unwrap();
    let _ = admin.cancel(&[id]).await.unwrap();
    telling.told("cancelled", 1).await;
    assert_eq!(fixture.status(id).await, "cancelled");
    assert_eq!(running.drain(PATIENCE).await.total(), 1);
}

#[tokio::test]
async fn a_handler_that_ignores_its_timeout_is_given_up() {
    let fixture = Fixture::new();
    let draft = JobDraft::of(&greet("Ada")).timeout(Duration::from_millis(30)).max_attempts(1);
    let id = fixture.enqueue(draft).await;
    let handler = |_: Greet, _: Ctx| std::future::pending::<JobResult>();
    let worker = fixture.worker().timeout_grace(Duration::from_millis(30)).handle(handler);
    let summary = worker.run_until_idle().await.unwrap();
    assert_eq!((summary.dead, summary.stuck), (1, 0));
    let text = fixture.job(id).await.errors[0].error.to_string();
    assert!(text.starts_with("timed out after 30ms"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_never_yields_holds_its_slot_and_no_lease() {
    let fixture = Fixture::new();
    let draft = JobDraft::of(&greet("blocks")).timeout(Duration::from_millis(30));
    let blocks = fixture.enqueue(draft.max_attempts(1)).await;
    let waits = fixture.enqueue(greet("waits")).await;
    let (told, mut telling) = telling();
    let (unblock, unblocked) = std::sync::mpsc::channel::<()>();
    let unblocked = Arc::new(std::sync::Mutex::new(unblocked));
    let handler = move |job: Greet, _: Ctx| {
        if job.name == "blocks" {
            unblocked.lock().unwrap().recv_timeout(PATIENCE).unwrap();
        }
        async { JobResult::Ok(()) }
    };
    let worker = fixture.worker().timeout_grace(Duration::from_millis(30)).hooks(told);
    let running = worker.concurrency(1).handle(handler).start().await.unwrap();
    telling.told("stuck", 1).await;
    assert!(running.snapshot().jobs[0].stuck);
    assert_eq!(fixture.status(blocks).await, "dead");
    assert_eq!(fixture.status(waits).await, "ready");
    unblock.send(()).unwrap();
    telling.told("completed", 1).await;
    let summary = running.drain(PATIENCE).await;
    assert_eq!((summary.dead, summary.completed, summary.stuck), (1, 1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_blocks_its_thread_holds_up_no_other() {
    let fixture = Fixture::new();
    for name in std::iter::once("blocks").chain(["is quick"; 100]) {
        fixture.enqueue(greet(name)).await;
    }
    let (unblock, unblocked) = std::sync::mpsc::channel::<()>();
    let unblocked = Arc::new(std::sync::Mutex::new(unblocked));
    let handler = move |job: Greet, ctx: Ctx| {
        let unblocked = Arc::clone(&unblocked);
        async move {
            if job.name == "blocks" {
                // Wakes the worker by the thread that is about to be blocked.
                ctx.client().enqueue(greet("is quick")).await?;
                unblocked.lock().unwrap().recv_timeout(PATIENCE).unwrap();
            }
            JobResult::Ok(())
        }
    };
    let (told, mut telling) = telling();
    let running =
        fixture.worker().hooks(told).concurrency(4).handle(handler).start().await.unwrap();
    telling.told("completed", 101).await;
    unblock.send(()).unwrap();
    let summary = running.drain(PATIENCE).await;
    assert_eq!((summary.completed, summary.total()), (102, 102));
}

#[tokio::test]
async fn what_a_run_reports_is_stored_before_its_end() {
    let fixture = Fixture::new();
    let id = fixture.enqueue(greet("Ada")).await;
    let handler = |_: Greet, ctx: Ctx| async move {
        ctx.progress(0.5, "half");
        ctx.log("one");
        ctx.log("two");
        JobResult::Ok(())
    };
    fixture.worker().handle(handler).run_until_idle().await.unwrap();
    let job = fixture.job(id).await;
    assert_eq!(job.progress.unwrap().message, "half");
    let lines: Vec<_> = job.logs.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(lines, ["one", "two"]);
}

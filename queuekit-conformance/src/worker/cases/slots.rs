//! R13.4: a worker reserves as many jobs as it can run, and no more.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use queuekit_core::{EventDraft, Status, SubscriptionDraft};
use queuekit_worker::{Bytes, Ctx, JobResult};
use tokio::sync::Semaphore;

use crate::worker::Live;
use crate::worker::kit::{LONG_TTL, Task, events, next, until};

/// R13.4: never more leases than slots.
/// Guard: the limit of reserve.
pub(in crate::worker) async fn r13_4_a_worker_reserves_only_what_it_has_slots_for(live: Live) {
    live.enqueue_many(20).await;
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
    let worker = live.worker().concurrency(3).handle(handler).start().await.expect("start");
    for started in 3..=20 {
        while told.len() < 3 && started == 3 {
            tokio::task::yield_now().await;
        }
        let running = live.count(Status::Running).await;
        assert!(running <= 3, "{running} leases for 3 slots");
        next(&mut told).await;
        gate.add_permits(1);
    }
    gate.add_permits(2);
    until(|| worker.snapshot().counters.completed == 20).await;
    worker.drain(Duration::from_secs(5)).await;
}

/// R13.4: a worker of a remote store reserves beside a call under way, and still no more than it
/// has slots for.
/// Guard: what calls under way ask for is not free, and a quarter of the slots is worth a call.
pub(in crate::worker) async fn r13_4_two_calls_at_once_ask_for_no_more_than_it_has_slots_for(
    live: Live,
) {
    const SLOTS: usize = 64;
    const WORTH_A_CALL: usize = SLOTS / 4;
    live.enqueue_many(1000).await;
    let (started, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let most = Arc::new(AtomicUsize::new(0));
    let gate = Arc::new(Semaphore::new(0));
    let running = |started: &AtomicUsize, ended: &AtomicUsize| {
        let ended = ended.load(Ordering::SeqCst);
        started.load(Ordering::SeqCst).saturating_sub(ended)
    };
    let (starts, ends) = (Arc::clone(&started), Arc::clone(&ended));
    let (watched, closed) = (Arc::clone(&most), Arc::clone(&gate));
    let handler = move |_: Task, _: Ctx| {
        let (started, ended) = (Arc::clone(&starts), Arc::clone(&ends));
        let (most, gate) = (Arc::clone(&watched), Arc::clone(&closed));
        async move {
            started.fetch_add(1, Ordering::SeqCst);
            most.fetch_max(running(&started, &ended), Ordering::SeqCst);
            gate.acquire().await?.forget();
            ended.fetch_add(1, Ordering::SeqCst);
            JobResult::Ok(())
        }
    };
    live.switches.two_at_once.store(true, Ordering::SeqCst);
    let worker = live.worker().concurrency(SLOTS).lease_ttl_for_tests(LONG_TTL).handle(handler);
    let worker = worker.start().await.expect("start");
    let is_full = || running(&started, &ended) >= SLOTS;
    let end = async |jobs| {
        let before = ended.load(Ordering::SeqCst);
        gate.add_permits(jobs);
        until(|| ended.load(Ordering::SeqCst) == before + jobs).await;
    };
    let waits_from = |acks| live.switches.waits_from.store(acks, Ordering::SeqCst);
    let large = || {
        let waiting = live.switches.waiting.lock().expect("the lock");
        waiting.iter().filter(|acks| **acks >= WORTH_A_CALL).count()
    };
    // The worker settles the ends that it sees first, however few. While that call waits, the
    // others have come in.
    while large() == 0 {
        until(is_full).await;
        waits_from(1);
        end(SLOTS / 2).await;
        until(|| !live.switches.waiting.lock().expect("the lock").is_empty()).await;
        waits_from(WORTH_A_CALL);
        until(|| large() > 0 || is_full()).await;
    }
    end(running(&started, &ended)).await;
    until(|| large() == 2).await;
    waits_from(0);
    until(is_full).await;
    gate.add_permits(1000);
    until(|| worker.snapshot().counters.completed == 1000).await;
    worker.drain(Duration::from_secs(5)).await;
    let most = most.load(Ordering::SeqCst);
    assert!(most <= SLOTS, "{most} jobs ran at once in {SLOTS} slots");
}

/// R13.4: a queue with its own limit keeps to it, and other queues use the rest.
/// Guard: the count of running jobs per queue.
pub(in crate::worker) async fn r13_4_a_queue_keeps_to_its_own_concurrency(live: Live) {
    for n in 0..6 {
        live.client.enqueue(Task { n: 0 }).queue("narrow").await.expect("enqueue");
        live.client.enqueue(Task { n: n + 1 }).queue("wide").await.expect("enqueue");
    }
    let most = Arc::new(AtomicUsize::new(0));
    let now = Arc::new(AtomicUsize::new(0));
    let (watched, counted) = (Arc::clone(&most), Arc::clone(&now));
    let handler = move |task: Task, _: Ctx| {
        let (most, now) = (Arc::clone(&watched), Arc::clone(&counted));
        async move {
            if task.n == 0 {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                // Long enough for the others to be started beside it, if they wrongly are.
                tokio::time::sleep(Duration::from_millis(10)).await;
                now.fetch_sub(1, Ordering::SeqCst);
            }
            JobResult::Ok(())
        }
    };
    let worker = live.worker().queues(["narrow", "wide"]).concurrency(8);
    let worker = worker.queue_concurrency("narrow", 1).handle(handler);
    let summary = worker.run_until_idle().await.expect("run");
    assert_eq!((summary.completed, most.load(Ordering::SeqCst)), (12, 1));
}

/// R13.4: a kind with its own limit keeps to it; one job waits, and the others are released and
/// spend no attempt.
/// Guard: the count of running jobs per kind.
pub(in crate::worker) async fn r13_4_a_kind_keeps_to_its_own_concurrency(live: Live) {
    let ids = live.enqueue_many(6).await;
    let (tell, mut told) = events();
    let (end, ends) = tokio::sync::watch::channel(false);
    let handler = move |_: Task, ctx: Ctx| {
        let (tell, mut ends) = (tell.clone(), ends.clone());
        async move {
            tell.send(ctx.id()).expect("heard");
            ends.wait_for(|ended| *ended).await.expect("the case goes on");
            JobResult::Ok(())
        }
    };
    let worker = live.worker().concurrency(4).kind_concurrency("task", 1).handle(handler);
    let worker = worker.start().await.expect("start");
    let first = next(&mut told).await;
    for id in ids.iter().filter(|id| **id != first).skip(1) {
        let job = live.until_status(*id, Status::Scheduled).await;
        assert!(job.releases > 0);
        assert_eq!((job.attempts, job.lease_seq), (0, u64::from(job.releases)));
    }
    assert!(told.try_recv().is_err(), "jobs should run one at a time");
    end.send_replace(true);
    let second = next(&mut told).await;
    assert!(ids.contains(&second) && second != first);
    worker.drain(Duration::from_secs(5)).await;
}

/// R13.4: during a rolling deploy, an old worker releases jobs of kinds that it does not know. They
/// wait visibly for a new worker, with all their attempts.
/// Guard: Release instead of Retry.
pub(in crate::worker) async fn r13_4_a_kind_without_handler_waits_and_spends_no_attempt(
    live: Live,
) {
    let unknown = live.enqueue_raw("newer", "{}").await;
    let known = live.enqueue(1).await;
    let handler = |_: Task, _: Ctx| async { JobResult::Ok(()) };
    let summary = live.worker().handle(handler).run_until_idle().await.expect("run");
    assert_eq!((summary.completed, summary.released), (1, 1));
    assert_eq!(live.job(known).await.status, Status::Completed);
    let job = live.job(unknown).await;
    assert_eq!((job.status, job.attempts, job.releases), (Status::Scheduled, 0, 1));
    assert!(job.errors.is_empty(), "{:?}", job.errors);
    let wait = job.scheduled_at.since(job.started_at.expect("the job should have been leased"));
    assert!((1000..2000).contains(&wait.as_millis()), "1 s at first, not {wait:?}");
}

/// R13.4: a consumer's handler for any type runs the events that have no other handler.
/// Guard: the handler of the exact type is looked up first.
pub(in crate::worker) async fn r13_4_the_handler_for_any_type_runs_what_has_no_other(live: Live) {
    let all = SubscriptionDraft::new("audit", "*").build().expect("a subscription");
    live.client.consumers().declare(&all).await.expect("declare");
    live.client.emit(Task { n: 7 }).await.expect("emit");
    live.client.emit(EventDraft::new("other", "x")).await.expect("emit");
    let (tell, mut told) = events();
    let exactly = tell.clone();
    let exact = move |task: Task, _: Ctx| {
        let _ = exactly.send(format!("exact {}", task.n));
        async { JobResult::Ok(()) }
    };
    let any = move |data: Bytes, ctx: Ctx| {
        let _ = tell.send(format!("any {} {}", ctx.kind(), String::from_utf8_lossy(&data)));
        async { JobResult::Ok(None) }
    };
    let worker = live.worker().consume("audit", exact).consume_any("audit", any);
    let summary = worker.run_until_idle().await.expect("run");
    assert_eq!((summary.completed, summary.released), (2, 0));
    let mut ran = [next(&mut told).await, next(&mut told).await];
    ran.sort_unstable();
    assert_eq!(ran, ["any other x", "exact 7"]);
}

/// R13.4: while the store accepts no acks, a worker stops reserving.
/// Guard: the limit of unanswered acks.
pub(in crate::worker) async fn r13_4_unanswered_acks_stop_the_fetching(live: Live) {
    live.enqueue_many(100).await;
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let handler = move |_: Task, _: Ctx| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { JobResult::Ok(()) }
    };
    live.switches.settling_fails.store(true, Ordering::SeqCst);
    live.switches.no_exchange.store(true, Ordering::SeqCst);
    let worker = live.worker().concurrency(4).poll_interval(Duration::from_millis(10));
    let worker = worker.lease_ttl_for_tests(LONG_TTL).handle(handler);
    let worker = worker.start().await.expect("start");
    until(|| runs.load(Ordering::SeqCst) >= 4).await;
    // It would take them all within a few polls.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let ran = runs.load(Ordering::SeqCst);
    assert!(ran <= 12, "{ran} jobs were run while no ack was answered");
    live.switches.settling_fails.store(false, Ordering::SeqCst);
    until(|| worker.snapshot().counters.completed == 100).await;
    assert_eq!(runs.load(Ordering::SeqCst), 100, "every job should run once");
    worker.drain(Duration::from_secs(5)).await;
}

/// R13.2, B27: one item that the store refuses does not fail the others of its batch.
/// Guard: after a refusal, items are settled one by one.
pub(in crate::worker) async fn r13_4_a_batch_that_a_poison_item_fails_is_told_apart(live: Live) {
    live.enqueue_many(30).await;
    live.switches.refuses_batches.store(true, Ordering::SeqCst);
    let handler = |_: Task, _: Ctx| async { JobResult::Ok(()) };
    let summary = live.worker().concurrency(10).handle(handler).run_until_idle().await;
    assert_eq!(summary.expect("run").completed, 30);
    assert_eq!(live.count(Status::Completed).await, 30);
}

/// R7.5: a limit of one queue does not change the order of the queues.
/// Guard: every reserve begins with the first queue.
pub(in crate::worker) async fn r13_4_a_bounded_queue_does_not_overtake(live: Live) {
    for _ in 0..20 {
        live.client.enqueue(Task { n: 1 }).queue("second").await.expect("enqueue");
    }
    for _ in 0..60 {
        live.client.enqueue(Task { n: 0 }).queue("first").await.expect("enqueue");
    }
    let (tell, mut told) = events();
    let handler = move |task: Task, _: Ctx| {
        tell.send(task.n).expect("heard");
        async { JobResult::Ok(()) }
    };
    let worker = live.worker().queues(["first", "second"]).concurrency(6);
    let worker = worker.queue_concurrency("second", 2).handle(handler);
    assert_eq!(worker.run_until_idle().await.expect("run").completed, 80);
    for _ in 0..50 {
        assert_eq!(next(&mut told).await, 0, "the first queue had jobs");
    }
}

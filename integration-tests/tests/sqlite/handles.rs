//! Several handles on one file, as several processes have them.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::common::files::{File, Open, add, assert_exact, begin, complete, lease};
use futures_util::FutureExt;
use futures_util::future::join_all;
use queuekit_conformance::kit::{TTL, build, draft, in_parallel, keyed, request, ttl};
use queuekit_conformance::time_limit::answered;
use queuekit_core::capability::{CancelOutcome, Wakeup};
use queuekit_core::{
    Ack, Backend, BackendExt, Bytes, Client, JobFilter, ManualClock, QueueName, State,
};
use queuekit_sqlite::{SqliteStore, rusqlite};
use queuekit_worker::{Ctx, JobResult, Worker};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// A store looks at the file every 20 ms, and a ring takes some time to arrive.
const SOON: Duration = Duration::from_millis(100);
/// Many times as long as it takes until the file is looked at again.
const QUIET: Duration = Duration::from_millis(200);
/// Workers that hear nothing for so long stop.
const ENDS: Duration = Duration::from_secs(1);

/// One that has heard of everything up to now.
async fn subscribe(store: &SqliteStore) -> Wakeup {
    let wakeups = store.capabilities().wakeups.unwrap();
    let wakeup = wakeups.subscribe(&[QueueName::default()]).unwrap();
    for _ in 0..100 {
        if is_silent(&wakeup).await {
            return wakeup;
        }
    }
    panic!("it rings for ever");
}

/// Asserts that it rings soon after something has happened.
async fn rings(what: &str, wakeup: &Wakeup) {
    answered(what, SOON, wakeup.rung()).await;
}

async fn is_silent(wakeup: &Wakeup) -> bool {
    timeout(QUIET, wakeup.rung()).await.is_err()
}

#[tokio::test]
async fn r13_6_an_enqueue_of_another_handle_rings_once() {
    let file = File::new();
    let (ours, theirs) = (file.store().await, file.store().await);
    let wakeup = subscribe(&ours).await;
    add(&theirs, 1).await;
    rings("another handle's enqueue", &wakeup).await;
    assert!(is_silent(&wakeup).await, "nothing happens any more");
    assert_eq!(lease(&theirs, 0).await.len(), 0);
    let nothing = theirs.reserve(&request(QueueName::new("other").unwrap(), 1)).await.unwrap();
    assert_eq!(nothing.leases.len(), 0);
    assert!(theirs.all_queues().await.unwrap().len() == 1);
    assert!(is_silent(&wakeup).await, "who finds nothing writes nothing, so it wakes nobody");
    ours.close().await.unwrap();
    theirs.close().await.unwrap();
}

/// Guard: otherwise each worker that starts would end its first rest at once.
#[tokio::test]
async fn r13_6_what_was_there_before_the_open_rings_nobody() {
    let file = File::new();
    let theirs = file.store().await;
    add(&theirs, 1).await;
    let ours = file.store().await;
    let wakeup = ours.capabilities().wakeups.unwrap().subscribe(&[QueueName::default()]).unwrap();
    assert!(is_silent(&wakeup).await, "a commit before the open rings nobody");
    add(&theirs, 1).await;
    rings("another handle's enqueue", &wakeup).await;
    ours.close().await.unwrap();
    theirs.close().await.unwrap();
}

#[tokio::test]
async fn r13_1_a_cancel_of_another_handle_rings_once() {
    let file = File::new();
    let (ours, theirs) = (file.store().await, file.store().await);
    add(&ours, 2).await;
    let leases = lease(&ours, 2).await;
    let tokens: Vec<_> = leases.iter().map(|lease| lease.token.clone()).collect();
    let wakeups = ours.capabilities().wakeups.unwrap();
    let wakeup = wakeups.subscribe_cancels(&[QueueName::default()]).unwrap();
    assert!(is_silent(&wakeup).await, "nobody asked for anything");
    let outcomes = theirs.capabilities().admin.unwrap().cancel(&[tokens[0].id]).await.unwrap();
    assert_eq!(outcomes, [CancelOutcome::Requested]);
    rings("another handle's cancel", &wakeup).await;
    // Guard: otherwise the extend of one process would make those of the others extend, for ever.
    let _ = theirs.capabilities().leases.unwrap().extend(&tokens, ttl(TTL)).await.unwrap();
    assert!(is_silent(&wakeup).await, "an extend asks nobody to stop");
    let _ = theirs.capabilities().admin.unwrap().cancel(&[tokens[1].id]).await.unwrap();
    rings("the cancel of the other run", &wakeup).await;
    ours.close().await.unwrap();
    theirs.close().await.unwrap();
}

#[tokio::test]
async fn r13_1_a_cancel_of_another_handle_reaches_the_handler_within_100_ms() {
    let file = File::new();
    let (ours, theirs) = (file.store().await, file.store().await);
    let (runs, mut running) = mpsc::unbounded_channel();
    let (stops, mut stopped) = mpsc::unbounded_channel();
    let worker = Worker::new(Client::new(ours.clone())).handle_raw("work", {
        move |_: Bytes, ctx: Ctx| {
            let (runs, stops) = (runs.clone(), stops.clone());
            async move {
                runs.send(ctx.id()).unwrap();
                ctx.cancelled().await;
                stops.send(Instant::now()).unwrap();
                JobResult::Ok(None)
            }
        }
    });
    let worker = worker.start().await.unwrap();
    let mut took = Vec::new();
    // The machine may be busy with something else for a while, and not with each of them.
    while took.len() < 5 && took.iter().all(|took| *took >= SOON) {
        add(&theirs, 1).await;
        let id = running.recv().await.unwrap();
        let asked = Instant::now();
        let _ = theirs.capabilities().admin.unwrap().cancel(&[id]).await.unwrap();
        let stopped = answered("the handler stops", ENDS, stopped.recv()).await.unwrap();
        took.push(stopped - asked);
    }
    assert!(took.iter().any(|took| *took < SOON), "{took:?}");
    worker.stop().await;
    theirs.close().await.unwrap();
}

#[tokio::test]
async fn r13_6_workers_of_two_handles_do_not_wake_each_other_for_ever() {
    let file = File::new();
    let (ours, theirs) = (file.store().await, file.store().await);
    let wakeups = (subscribe(&ours).await, subscribe(&theirs).await);
    let serve = |store: SqliteStore, wakeup: Wakeup| async move {
        let (mut rings, mut served) = (0, 0);
        while timeout(ENDS, wakeup.rung()).await.is_ok() && rings < 1000 {
            rings += 1;
            let leases = lease(&store, 10).await;
            served += leases.len();
            complete(&store, leases).await;
        }
        (rings, served)
    };
    let producer = file.store().await;
    let _wakeup = subscribe(&producer).await;
    producer.enqueue(&[build(draft()), build(keyed("k")), build(keyed("k"))]).await.unwrap();
    let (one, other) = tokio::join!(serve(ours, wakeups.0), serve(theirs, wakeups.1));
    assert_eq!(one.1 + other.1, 3, "{one:?} {other:?}");
    assert!(one.0 + other.0 < 50, "rings and jobs: {one:?} {other:?}");
    producer.close().await.unwrap();
}

#[tokio::test]
async fn r2_9_a_transaction_rings_when_it_commits() {
    let file = File::new();
    let (ours, theirs) = (file.store().await, file.store().await);
    let mut conn = file.connection();
    let (here, there) = (subscribe(&ours).await, subscribe(&theirs).await);
    let tx = begin(&mut conn);
    let _ = ours.enqueue_in(&tx, &[build(draft())]).unwrap();
    assert!(is_silent(&here).await && is_silent(&there).await, "before the commit");
    tx.rollback().unwrap();
    assert!(is_silent(&here).await && is_silent(&there).await, "after a rollback");
    let tx = begin(&mut conn);
    let _ = ours.enqueue_in(&tx, &[build(draft())]).unwrap();
    tx.commit().unwrap();
    tokio::join!(rings("a commit, here", &here), rings("a commit, there", &there));
    ours.close().await.unwrap();
    theirs.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r0_3_a_job_is_leased_once_among_many_handles() {
    let file = File::new();
    let stores = join_all((0..4).map(|_| file.store())).await;
    let produce = |store: SqliteStore, at: usize| async move {
        for n in 0..10 {
            let jobs = [build(draft()), build(keyed(&format!("k{}", (at + n) % 3)))];
            store.enqueue(&jobs).await.unwrap();
        }
    };
    let consume = |store: SqliteStore| async move {
        let (mut seen, mut empty) = (Vec::new(), 0);
        while empty < 3 {
            let leases = lease(&store, 3).await;
            empty = if leases.is_empty() { empty + 1 } else { 0 };
            seen.extend(leases.iter().map(|lease| lease.token.id));
            complete(&store, leases).await;
        }
        seen
    };
    in_parallel(stores.iter().cloned().enumerate().map(|(at, store)| produce(store, at))).await;
    let consumers = stores.iter().flat_map(|store| [0; 4].map(|_| consume(store.clone())));
    let mut seen: Vec<_> = in_parallel(consumers).await.concat();
    // If a job of a key ran elsewhere, the rest of the key may be left.
    seen.extend(consume(stores[0].clone()).await);
    assert_eq!(seen.len(), 80);
    assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), 80, "a job was leased twice");
    assert_exact(&file.connection());
    join_all(stores.iter().map(|store| store.close())).await;
}

#[tokio::test]
async fn r10_3_a_dropped_call_that_waited_for_the_lock_does_nothing() {
    let file = File::new();
    let clock = ManualClock::default();
    let store = file.config().clock(clock.clone()).open().await;
    add(&store, 10).await;
    let mut conn = file.connection();
    let lock = begin(&mut conn);
    let request = request(QueueName::default(), 5);
    let mut taken = store.reserve(&request);
    assert!((&mut taken).now_or_never().is_none());
    // Nothing reports that the writer has taken the call and waits: this is long enough for most.
    tokio::time::sleep(QUIET / 4).await;
    drop(taken);
    for _ in 0..100 {
        assert!(store.reserve(&request).now_or_never().is_none());
    }
    lock.commit().unwrap();
    assert_eq!(lease(&store, 100).await.len(), 10, "nothing was leased to nobody");
    store.close().await.unwrap();
}

#[tokio::test]
async fn r10_3_dropped_calls_leave_no_transaction_and_no_lease_beyond_its_ttl() {
    let file = File::new();
    let clock = ManualClock::default();
    let store = file.config().clock(clock.clone()).open().await;
    add(&store, 100).await;
    let reserve = request(QueueName::default(), 5);
    for _ in 0..50 {
        assert!(store.reserve(&reserve).now_or_never().is_none());
        let jobs = [build(keyed("k"))];
        assert!(store.enqueue(&jobs).now_or_never().is_none());
    }
    // The writer answers in order: what was dropped is done or gone.
    lease(&store, 0).await;
    let conn = rusqlite::Connection::open(&file.path).unwrap();
    conn.busy_timeout(Duration::ZERO).unwrap();
    let mut other = file.connection();
    begin(&mut other).rollback().unwrap();
    assert_exact(&conn);
    clock.advance(TTL);
    let jobs = store.list_jobs(&JobFilter::default().status(State::Pending)).await.unwrap();
    let expired = store.list_jobs(&JobFilter::default().status(State::Running)).await.unwrap();
    let leases = lease(&store, 1000).await;
    assert!(leases.len() >= 100, "{} of {}", leases.len(), jobs.items.len() + expired.items.len());
    complete(&store, leases).await;
    assert_exact(&conn);
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r1_5_counters_are_exact_after_two_handles_worked_at_once() {
    let file = File::new();
    let stores = [file.store().await, file.store().await];
    let work = |store: SqliteStore, at: usize| async move {
        for n in 0..20 {
            let id = store.enqueue_one(build(keyed(&format!("k{}", n % 4)))).await.unwrap();
            let mut leases = lease(&store, 2).await;
            if n % 5 == at {
                // It may be running at the other handle by now.
                let _ = store.delete_job(id, false).await;
            }
            let last = leases.pop();
            complete(&store, leases).await;
            if let Some(lease) = last {
                store.ack(&[Ack::new(lease.token).with_result("done")]).await.unwrap();
            }
        }
    };
    let tasks = stores.iter().flat_map(|store| [0, 1, 2].map(|at| work(store.clone(), at)));
    in_parallel(tasks).await;
    assert_exact(&file.connection());
    for store in stores {
        store.close().await.unwrap();
    }
}

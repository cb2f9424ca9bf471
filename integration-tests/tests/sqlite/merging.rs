//! Calls that share a transaction of the SQLite store cannot hurt each other (contract R2.10).

use std::time::Duration;

use crate::common::files::{File, Open, add, assert_exact, begin, complete, lease};
use futures_util::future::join_all;
use queuekit_conformance::kit::{TTL, build, carrying, draft, queue, request, ttl, worker};
use queuekit_core::capability::Settlement;
use queuekit_core::{
    Ack, AckOutcome, Backend, BackendExt, ErrorKind, JobDraft, JobFilter, Limits, QueueName,
    Reserve, State,
};
use queuekit_sqlite::rusqlite::Connection;

/// What a caller is up to.
const GOOD: usize = 0;
const TOO_LATE: usize = 1;
const TOO_LARGE: usize = 2;
const FAILS: usize = 3;

fn refuse(conn: &Connection) {
    conn.execute_batch(include_str!("../../sql/sqlite_refuse.sql")).unwrap();
}

#[tokio::test]
async fn r2_10_of_200_calls_at_once_only_the_poisoned_fail() {
    let file = File::new();
    let limits = Limits::default().with_payload_bytes(1000);
    let store = file.config().limits(limits).open().await;
    let mut conn = file.connection();
    refuse(&conn);
    // While it is held all calls gather, so that they share one transaction.
    let lock = begin(&mut conn);
    let call = |at: usize| {
        let store = store.clone();
        let kind_of_call = if at % 10 == 9 { 1 + at / 10 % 3 } else { GOOD };
        let far = Duration::from_secs(1000 * 24 * 3600);
        let job = match kind_of_call {
            TOO_LATE => draft().run_at(std::time::UNIX_EPOCH + 100 * far),
            TOO_LARGE => carrying("x".repeat(1001)),
            FAILS => JobDraft::new("poison", "payload"),
            _ => {
                draft().queue(queue(&format!("q{}", at % 7))).partition_key(format!("k{}", at % 3))
            }
        };
        async move { (kind_of_call, store.enqueue_one(build(job)).await) }
    };
    let calls = join_all((0..200).map(call));
    let release = async { lock.commit().unwrap() };
    let (answers, ()) = tokio::join!(calls, release);
    for (kind_of_call, answer) in &answers {
        let kind = answer.as_ref().map_err(|error| error.kind().clone());
        match *kind_of_call {
            GOOD => assert!(kind.is_ok(), "{answer:?}"),
            FAILS => assert_eq!(kind, Err(ErrorKind::Unavailable), "{answer:?}"),
            _ => assert!(matches!(kind, Err(ErrorKind::Invalid { .. })), "{answer:?}"),
        }
    }
    let filter = JobFilter::default().limit(1000);
    assert_eq!(store.list_jobs(&filter).await.unwrap().items.len(), 180);
    assert_exact(&file.connection());
    store.close().await.unwrap();
}

#[tokio::test]
async fn r2_10_a_call_that_fails_leaves_no_trace_in_the_counters() {
    let file = File::new();
    let store = file.store().await;
    let stays = store.enqueue_one(build(JobDraft::new("stays", "payload"))).await.unwrap();
    refuse(&file.connection());
    add(&store, 5).await;
    let error = store.delete_job(stays, false).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
    assert_exact(&file.connection());
    let deletes = join_all((0..5).map(|_| store.delete_job(stays, false)));
    let (deletes, ()) = tokio::join!(deletes, add(&store, 5));
    assert!(deletes.iter().all(Result::is_err), "{deletes:?}");
    assert_exact(&file.connection());
    store.close().await.unwrap();
}

#[tokio::test]
async fn r2_10_a_call_that_is_refused_halfway_leaves_nothing() {
    let file = File::new();
    let store = file.config().limits(Limits::default().with_queues(2)).open().await;
    add(&store, 1).await;
    // The first of its queues can still be made, the second cannot.
    let jobs = ["one", "one-too-many"].map(|name| build(draft().queue(name)));
    let (refused, ()) = tokio::join!(store.enqueue(&jobs), add(&store, 1));
    let refused = refused.unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::Invalid { .. }), "{refused}");
    let queues = store.all_queues().await.unwrap();
    assert_eq!(queues.iter().map(|queue| queue.name.as_str()).collect::<Vec<_>>(), ["default"]);
    assert_exact(&file.connection());
    store.close().await.unwrap();
}

#[tokio::test]
async fn r2_10_an_exchange_that_fails_halfway_settles_nothing() {
    let file = File::new();
    let store = file.store().await;
    add(&store, 2).await;
    let lease = lease(&store, 1).await.remove(0);
    let acks = vec![Ack::new(lease.token.clone())];
    let settlement = Settlement { acks, ..Settlement::default() };
    let exchange = store.capabilities().exchange.unwrap();
    let too_many =
        Reserve::new(QueueName::default(), 100_000, ttl(TTL), worker("w")).expect("a nonce");
    exchange.exchange(&settlement, &too_many).await.unwrap_err();
    assert_eq!(store.get_job(lease.token.id).await.unwrap().unwrap().state, State::Running);
    let one = request(QueueName::default(), 1);
    let exchanged = exchange.exchange(&settlement, &one).await.unwrap();
    assert_eq!(exchanged.acks, [AckOutcome::Acked]);
    complete(&store, exchanged.reserved.leases).await;
    assert_exact(&file.connection());
    store.close().await.unwrap();
}

use std::time::Duration;

use super::*;
use crate::capability::{EmitOutcome, EventFilter, KeepCheckpoints, Wakeups};
use crate::job::{JobDraft, JobId, State};
use crate::memory::When;
use crate::names::{CheckpointName, QueueName, WorkerId};
use crate::{
    Backend, Client, EnqueueOutcome, EventDraft, JobFilter, Lease, LeaseTtl, ManualClock, Reserve,
    SubscriptionDraft,
};

fn job(key: &str) -> NewJob {
    JobDraft::new("k", "{}").idempotency_key(key).build().unwrap()
}

fn event() -> NewEvent {
    EventDraft::new("order.paid", "{}").idempotency_key("once").build().unwrap()
}

async fn reserve(store: &MemoryStore) -> Vec<Lease> {
    let (ttl, worker) = (LeaseTtl::new(Duration::from_secs(30)), WorkerId::new("w").unwrap());
    let request = Reserve::new(QueueName::default(), 1, ttl.unwrap(), worker).unwrap();
    store.reserve(&request).await.unwrap().leases
}

async fn leased(store: &MemoryStore) -> Lease {
    store.enqueue(&[JobDraft::new("k", "{}").build().unwrap()]).await.unwrap();
    reserve(store).await.remove(0)
}

async fn state(store: &MemoryStore, id: JobId) -> Option<State> {
    store.job_states(&[id]).await.unwrap()[0]
}

async fn count(store: &MemoryStore) -> usize {
    store.list_jobs(&JobFilter::default()).await.unwrap().items.len()
}

fn step(lease: &Lease, result: &'static str) -> NewCheckpoint {
    NewCheckpoint::new(lease.token.clone(), CheckpointName::new("s").unwrap(), result).unwrap()
}

#[tokio::test]
async fn r2_9_jobs_of_a_memory_transaction_exist_if_and_only_if_it_commits() {
    let store = MemoryStore::new();
    let bell = store.subscribe(&[QueueName::default()]).unwrap();
    for commits in [false, true] {
        let tx = store.begin();
        let outcomes = store.enqueue_in(&tx, &[job("a"), job("b")]).await.unwrap();
        assert!(outcomes.ids().is_ok());
        let again = store.enqueue_in(&tx, &[job("a")]).await.unwrap();
        let sees_the_first = matches!(again.as_slice(), [EnqueueOutcome::Duplicate { .. }]);
        assert!(sees_the_first, "{again:?}");
        assert_eq!(count(&store).await, 0, "before the commit");
        match commits {
            true => tx.commit().await.unwrap(),
            false => tx.rollback().await,
        }
    }
    bell.rung().await;
    assert_eq!(count(&store).await, 2);
    drop(store.begin());
}

#[tokio::test]
async fn r3_4_a_job_is_completed_if_and_only_if_the_memory_transaction_commits() {
    let store = MemoryStore::new();
    let lease = leased(&store).await;
    for commits in [false, true] {
        let tx = store.begin();
        let acked = store.ack_in(&tx, &[Ack::new(lease.token.clone())]).await.unwrap();
        assert_eq!(acked, [AckOutcome::Acked]);
        assert_eq!(state(&store, lease.id()).await, Some(State::Running));
        match commits {
            true => tx.commit().await.unwrap(),
            false => drop(tx),
        }
    }
    assert_eq!(state(&store, lease.id()).await, Some(State::Completed));
}

/// Guard: the commit compares the answers.
#[tokio::test]
async fn r3_3_a_memory_transaction_whose_job_was_taken_over_does_not_commit() {
    let clock = ManualClock::default();
    let store = MemoryStore::with_clock(clock.clone());
    let lease = leased(&store).await;
    let tx = store.begin();
    store.enqueue_in(&tx, &[job("a")]).await.unwrap().ids().unwrap();
    let acked = store.ack_in(&tx, &[Ack::new(lease.token.clone())]).await.unwrap();
    assert_eq!(acked, [AckOutcome::Acked]);
    clock.advance(Duration::from_secs(60));
    assert_eq!(reserve(&store).await.len(), 1, "another worker gets the job");
    let error = store.enqueue_in(&tx, &[job("b")]).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
    let error = tx.commit().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
    assert_eq!(state(&store, lease.id()).await, Some(State::Running));
    assert_eq!(count(&store).await, 1, "nothing of the transaction took effect");
}

/// Guard: what is stored under the name is a conflict in a transaction, also if it is the same.
#[tokio::test]
async fn r13_10_a_step_is_done_if_and_only_if_the_memory_transaction_commits() {
    let store = MemoryStore::new();
    let lease = leased(&store).await;
    for commits in [false, true] {
        let tx = store.begin();
        let stored = store.checkpoint_in(&tx, &step(&lease, "1")).await.unwrap();
        assert_eq!(stored, CheckpointOutcome::Stored);
        let again = store.checkpoint_in(&tx, &step(&lease, "1")).await.unwrap();
        assert_eq!(again, CheckpointOutcome::Conflict);
        let seen = store.checkpoints(&lease.token).await.unwrap().unwrap();
        assert!(seen.stored.is_empty(), "before the commit: {seen:?}");
        match commits {
            true => tx.commit().await.unwrap(),
            false => tx.rollback().await,
        }
    }
    let seen = store.checkpoints(&lease.token).await.unwrap().unwrap();
    assert_eq!(seen.stored.len(), 1);
    let tx = store.begin();
    let again = store.checkpoint_in(&tx, &step(&lease, "1")).await.unwrap();
    assert_eq!(again, CheckpointOutcome::Conflict);
}

#[tokio::test]
async fn r14_1_an_event_exists_if_and_only_if_the_memory_transaction_commits() {
    let store = MemoryStore::new();
    let client = Client::new(store.clone());
    let subscription = SubscriptionDraft::new("c", "*").build().unwrap();
    let _ = client.consumers().declare(&subscription).await.unwrap();
    for commits in [false, true] {
        let tx = store.begin();
        store.emit_in(&tx, &[event()]).await.unwrap().ids().unwrap();
        let again = store.emit_in(&tx, &[event()]).await.unwrap();
        assert!(matches!(again.as_slice(), [EmitOutcome::Duplicate { .. }]), "{again:?}");
        let log = client.events().list(&EventFilter::default()).await.unwrap();
        assert_eq!((log.events.len(), count(&store).await), (0, 0), "before the commit");
        match commits {
            true => tx.commit().await.unwrap(),
            false => tx.rollback().await,
        }
    }
    let log = client.events().list(&EventFilter::default()).await.unwrap();
    assert_eq!((log.events.len(), count(&store).await), (1, 1));
}

#[tokio::test]
async fn a_call_that_fails_leaves_the_memory_transaction_as_it_was() {
    let store = MemoryStore::new();
    let tx = store.begin();
    store.enqueue_in(&tx, &[job("a")]).await.unwrap().ids().unwrap();
    let large = JobDraft::new("k", "x".repeat(2 << 20)).build().unwrap();
    let error = store.enqueue_in(&tx, &[job("b"), large]).await.unwrap_err();
    assert!(error.to_string().starts_with("enqueue_in: "), "{error}");
    let error = MemoryStore::new().enqueue_in(&tx, &[job("c")]).await.unwrap_err();
    assert!(error.to_string().contains("another"), "{error}");
    tx.commit().await.unwrap();
    assert_eq!(count(&store).await, 1);
}

#[tokio::test]
async fn a_commit_fails_on_demand_before_or_after_its_effect() {
    let store = MemoryStore::new();
    let cases =
        [(When::Before, ErrorKind::Unavailable, 0), (When::After, ErrorKind::Indeterminate, 1)];
    for (when, kind, stored) in cases {
        store.faults().fail(Operation::Commit, 1, when);
        let tx = store.begin();
        store.enqueue_in(&tx, &[job("a")]).await.unwrap().ids().unwrap();
        assert_eq!(*tx.commit().await.unwrap_err().kind(), kind);
        assert_eq!(count(&store).await, stored);
    }
    let tx = store.begin();
    store.close().await.unwrap();
    assert_eq!(*tx.commit().await.unwrap_err().kind(), ErrorKind::Closed);
    let tx = store.begin();
    let error = store.enqueue_in(&tx, &[job("b")]).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Closed, "{error}");
}

//! R10 and R11.1: errors, calls that go away, and the end of a handle.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use queuekit_core::{Ack, AckOutcome, BackendExt, Error, ErrorKind, State};

use crate::kit::{
    HOUR, TTL, build, default_queue, draft, every_call, in_parallel, kind_of, request,
};
use crate::{Capability, World};

/// R10.1: the store has exactly the capabilities that its harness states.
/// Guard: the comparison of `capabilities()` with the harness: a lost capability is a failure, not
/// a skip.
pub async fn r10_1_the_store_can_what_its_harness_states(world: &dyn World) {
    let (expect, can) = (world.expect(), world.capabilities());
    for capability in Capability::ALL {
        let (has, stated) = (capability.is_in(&can), expect.has(capability));
        assert_eq!(
            has, stated,
            "{capability:?}: whether `capabilities()` has it (left) is not what \
             `Expect::capabilities` states (right)"
        );
    }
    assert_eq!(can.atomic_across_queues, expect.atomic_across_queues, "atomic_across_queues");
    let id = world.enqueue(draft()).await;
    assert_eq!(world.corrupt(id).await, expect.can_corrupt, "can_corrupt");
    assert_eq!(world.rewind(Duration::ZERO).await, expect.can_rewind, "can_rewind");
    assert_eq!(world.second_handle().await.is_some(), expect.second_handle, "second_handle");
    assert_eq!(world.raw_dump().await.is_some(), expect.raw_dump, "raw_dump");
}

/// R10.1: an error has its kind and operation, and says whether a retry can help.
/// Guard: one table of the kinds that can be retried.
pub async fn r10_1_an_error_says_what_to_do(world: &dyn World) {
    let lease = world.lease(draft()).await;
    let error =
        world.delete(lease.id(), false).await.expect_err("deleting a running job should fail");
    assert_eq!(*error.kind(), ErrorKind::Conflict);
    assert_eq!(error.operation(), Some("delete_job"));
    assert!(!error.is_retryable() && !error.to_string().is_empty());
    let retryable = |kind: ErrorKind| Error::new(kind, "x").is_retryable();
    let retry_after = HOUR;
    for kind in [
        ErrorKind::QueueFull { retry_after },
        ErrorKind::StorageFull,
        ErrorKind::Unavailable,
        ErrorKind::Indeterminate,
    ] {
        assert!(retryable(kind.clone()), "{kind:?}");
    }
    for kind in [
        ErrorKind::NotFound,
        ErrorKind::Conflict,
        ErrorKind::LeaseLost,
        ErrorKind::Unsupported,
        ErrorKind::Corrupt,
        ErrorKind::Closed,
    ] {
        assert!(!retryable(kind.clone()), "{kind:?}");
    }
}

/// R10.3: a call that is dropped leaves the store working, its job stored whole or not at all.
/// Guard: a dropped future ends its transaction and returns its connection.
pub async fn r10_3_dropped_calls_leak_nothing(world: &dyn World) {
    let mut stored = Vec::new();
    for round in 0..100 {
        let job = build(draft().max_attempts(100));
        let id = job.id();
        let store = Arc::clone(world.backend());
        // Polled once, then dropped: before, during or after its effect.
        let polled = async move { store.enqueue(&[job]).await }.now_or_never();
        let found = world.find(id).await.is_some();
        assert!(
            polled.is_none() || found,
            "round {round}: a job was answered Ok and is not stored"
        );
        stored.extend(found.then_some(id));
        let store = Arc::clone(world.backend());
        drop(async move { store.reserve(&request(default_queue(), 1)).await }.now_or_never());
    }
    // Leases granted to a dropped reserve, perhaps after it was dropped, end at their ttl.
    for _ in 0..5 {
        world.expire().await;
        world.serve_all(&default_queue()).await;
    }
    for id in stored {
        assert_eq!(world.state(id).await, State::Completed);
    }
}

/// R10.4: after close every call answers Closed, also those of capabilities, and closing again is
/// fine.
/// Guard: the check at the start of each call.
pub async fn r10_4_after_close_every_call_is_closed(world: &dyn World) {
    let lease = world.lease(draft()).await;
    let store = world.backend();
    store.close().await.expect("close");
    store.close().await.expect("close, again");
    for (name, call) in every_call(&**store, &lease.token) {
        let kind = call().await.map_err(|error| error.kind().clone());
        assert_eq!(kind, Err(ErrorKind::Closed), "{name}");
    }
}

/// R10.4: nor can anybody subscribe.
/// Guard: the same check, there.
pub async fn r10_4_after_close_nobody_subscribes(world: &dyn World) {
    world.backend().close().await.expect("close");
    let (wakeups, queues) = (world.wakeups(), [default_queue()]);
    let jobs = wakeups.subscribe(&queues).map(drop);
    assert_eq!(kind_of(jobs), ErrorKind::Closed, "subscribe");
    let cancels = wakeups.subscribe_cancels(&queues).map(drop);
    assert_eq!(kind_of(cancels), ErrorKind::Closed, "subscribe_cancels");
}

/// R10.4: calls in flight finish or get Closed. None hangs, and another handle reads the effect of
/// each call that returned Ok.
/// Guard: close waits for calls in progress, or refuses them.
pub async fn r10_4_calls_in_flight_finish_or_get_closed(world: &dyn World) {
    let callers = (0..8).map(|_| {
        let store = Arc::clone(world.backend());
        async move {
            let mut stored = Vec::new();
            for _ in 0..50 {
                match store.enqueue(&[build(draft())]).await {
                    Ok(outcomes) => stored.extend(outcomes[0].job_id()),
                    Err(error) => {
                        assert_eq!(*error.kind(), ErrorKind::Closed, "{error}");
                        break;
                    }
                }
                tokio::task::yield_now().await;
            }
            stored
        }
    });
    let callers = in_parallel(callers);
    let store = Arc::clone(world.backend());
    let close = async move {
        tokio::task::yield_now().await;
        store.close().await.expect("close");
    };
    let (stored, ()) = futures_util::future::join(callers, close).await;
    // A store that ends with its only handle has no other to read from.
    if let Some(other) = world.second_handle().await {
        for id in stored.into_iter().flatten() {
            let job = other.get_job(id).await.expect("get_job");
            assert!(job.is_some(), "{id} was answered Ok and is not stored");
        }
        other.close().await.expect("close");
    }
}

/// R10.4: closing one handle leaves the other handles of the store open.
/// Guard: close ends only what belongs to the handle.
pub async fn r10_4_other_handles_stay_open(world: &dyn World) {
    let lease = world.lease(draft()).await;
    let other = world.second_handle().await.expect("the harness said it can");
    world.backend().close().await.expect("close");
    let outcomes = other.ack(&[Ack::new(lease.token)]).await.expect("ack");
    assert_eq!(outcomes, [AckOutcome::Acked]);
    other.close().await.expect("close");
    assert_eq!(kind_of(other.all_queues().await), ErrorKind::Closed);
}

/// R11.1: the store states which failures a successful call survives, as its harness does.
/// Guard: durability is read from the settings in force.
pub async fn r11_1_the_store_says_what_an_ok_survives(world: &dyn World) {
    let before = world.dump().await;
    world.inspect().check_writes().await.expect("check_writes should succeed");
    world.assert_unchanged(&before).await;
    let says = world.inspect().durability().await.expect("durability");
    let stated = world.expect().durability;
    assert_eq!(Some(says), stated, "`durability()` (left), `Expect::durability` (right)");
    for fact in world.inspect().facts().await.expect("facts") {
        assert!(!fact.name.is_empty(), "{fact:?}");
    }
    for finding in world.inspect().findings().await.expect("findings") {
        assert!(!finding.message.is_empty() && !finding.remedy.is_empty(), "{finding:?}");
    }
}

/// R11.2: an open store has the schema of this build; bringing it up to date again is fine.
/// Guard: migrations are idempotent.
pub async fn r11_2_the_schema_is_current(world: &dyn World) {
    let migrations = world.capabilities().migrations.expect("the capability Migrations");
    let status = migrations.status().await.expect("status");
    assert_eq!(status.stored, status.wanted);
    let lease = world.lease(draft()).await;
    let before = world.dump().await;
    assert_eq!(migrations.up().await.expect("up"), status);
    world.assert_unchanged(&before).await;
    assert_eq!(migrations.pending(status.stored), [], "no migration should be pending");
    world.assert_left(world.job(lease.id()).await.lease_expires_in, TTL);
}

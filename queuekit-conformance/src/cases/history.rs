//! R5.4 and R5.5: the calls of many callers at once, checked from their records.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use queuekit_core::{
    Ack, AckOutcome, Backend, JobId, Lease, LeaseToken, Nack, NackKind, NackOutcome, State,
};

use crate::World;
use crate::kit::{TTL, default_queue, draft, in_parallel, request};

const JOBS: usize = 60;
const WORKERS: u64 = 6;
const PHASES: u64 = 6;
const ROUNDS: u64 = 25;

/// What all callers know. The clock stands still within a phase, so no lease expires: its caller
/// holds it until it begins to settle.
#[derive(Debug, Default)]
struct History {
    /// Jobs that a caller certainly holds.
    held: Mutex<HashSet<JobId>>,
    /// Leases of earlier phases that were never settled.
    abandoned: Mutex<Vec<LeaseToken>>,
    granted: Mutex<HashMap<JobId, Vec<u64>>>,
    acked: Mutex<HashMap<JobId, u64>>,
    /// Leases that took effect, by job and number.
    settled: Mutex<HashSet<(JobId, u64)>>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// R5.5: leases of one job never overlap, none takes effect twice, none after a later one.
/// Guard: the conditions of reserve, reclaim and settling hold at the moment of the write.
pub async fn r5_5_leases_of_a_job_never_overlap(world: &dyn World) {
    let ids = world.enqueue_all((0..JOBS).map(|_| draft().max_attempts(1000))).await;
    let history = Arc::new(History::default());
    let handles = world.handles().await;
    for phase in 0..PHASES {
        let workers = (0..WORKERS).map(|worker| {
            let store = Arc::clone(&handles[worker as usize % handles.len()]);
            let (history, seed) = (Arc::clone(&history), phase * WORKERS + worker + 1);
            async move { work(&*store, &history, seed).await }
        });
        in_parallel(workers).await;
        // Every caller that still holds a lease has lost it now.
        lock(&history.held).clear();
        world.advance(TTL).await;
    }
    let served = world.serve_all(&default_queue()).await;
    check(world, &history, &ids, &served).await;
}

/// One caller: reserves jobs, settles some, abandons others, and tries old leases.
async fn work(store: &dyn Backend, history: &History, seed: u64) {
    let mut dice = Dice(seed);
    let mut mine = Vec::new();
    for _ in 0..ROUNDS {
        let limit = dice.below(4) as usize;
        let reserved = store.reserve(&request(default_queue(), limit)).await.expect("reserve");
        for lease in reserved.leases {
            let seq = lease.token.lease_seq;
            assert!(lock(&history.held).insert(lease.id()), "{:?} is held twice", lease.token);
            lock(&history.granted).entry(lease.id()).or_default().push(seq);
            mine.push(lease);
        }
        tokio::task::yield_now().await;
        if dice.below(3) == 0 {
            settle_a_stale_lease(store, history).await;
        }
        while let Some(lease) = mine.pop() {
            settle(store, history, lease, &mut dice).await;
        }
    }
}

async fn settle(store: &dyn Backend, history: &History, lease: Lease, dice: &mut Dice) {
    let (id, token) = (lease.id(), lease.token);
    let roll = dice.below(20);
    if roll < 4 {
        // Held until the phase ends, then tried again as a stale one.
        lock(&history.abandoned).push(token);
        return;
    }
    lock(&history.held).remove(&id);
    let settled = (id, token.lease_seq);
    if roll == 4 {
        let outcomes = store.ack(&[Ack::new(token)]).await.expect("ack");
        assert_eq!(
            outcomes,
            [AckOutcome::Acked],
            "the clock stands still, so the ack should succeed"
        );
        lock(&history.acked).insert(id, settled.1);
    } else {
        let kind = if roll.is_multiple_of(2) { NackKind::Retry } else { NackKind::Release };
        let nack = Nack::new(token, kind, "failed", Duration::ZERO);
        let outcomes = store.nack(&[nack]).await.expect("nack");
        assert_ne!(
            outcomes,
            [NackOutcome::LeaseLost],
            "the clock stands still, so the lease should be live"
        );
    }
    assert!(lock(&history.settled).insert(settled), "a lease took effect twice");
}

async fn settle_a_stale_lease(store: &dyn Backend, history: &History) {
    let Some(token) = ({
        let mut abandoned = lock(&history.abandoned);
        (!abandoned.is_empty()).then(|| abandoned.remove(0))
    }) else {
        return;
    };
    let settled = (token.id, token.lease_seq);
    let outcome = store.ack(&[Ack::new(token)]).await.expect("ack")[0];
    if outcome == AckOutcome::Acked {
        assert!(lock(&history.settled).insert(settled), "a lease took effect twice");
        lock(&history.acked).insert(settled.0, settled.1);
        lock(&history.held).remove(&settled.0);
    }
}

async fn check(world: &dyn World, history: &History, ids: &[JobId], served: &[JobId]) {
    let (granted, acked) = (lock(&history.granted).clone(), lock(&history.acked).clone());
    for (id, mut seqs) in granted {
        seqs.sort_unstable();
        assert!(
            seqs.windows(2).all(|pair| pair[0] < pair[1]),
            "lease_seq should rise with every lease: {seqs:?}"
        );
        if let Some(seq) = acked.get(&id) {
            assert_eq!(seqs.last(), Some(seq), "{id} was leased after it was completed");
        }
    }
    for id in ids {
        assert_eq!(world.state(*id).await, State::Completed);
        let times = served.iter().filter(|served| *served == id).count();
        assert_eq!(
            times + usize::from(acked.contains_key(id)),
            1,
            "{id} should be completed once, not {times} times"
        );
    }
}

/// R5.4: if a delete and a reserve race, one wins: a deleted job is never leased.
/// Guard: reserve and delete test the state at the moment of the write.
pub async fn r5_4_a_job_is_deleted_or_leased_never_both(world: &dyn World) {
    let handles = world.handles().await;
    for _ in 0..20 {
        let ids = world.enqueue_n(20).await;
        let (one, two) = (Arc::clone(&handles[0]), Arc::clone(&handles[handles.len() - 1]));
        let reserver = tokio::spawn(async move {
            let mut leases = Vec::new();
            for _ in 0..10 {
                let request = request(default_queue(), 3);
                leases.extend(one.reserve(&request).await.expect("reserve").leases);
                tokio::task::yield_now().await;
            }
            leases
        });
        let doomed = ids.clone();
        let deleter = tokio::spawn(async move {
            let mut deleted = Vec::new();
            for id in doomed.into_iter().rev() {
                if two.delete_job(id, false).await.unwrap_or_default() {
                    deleted.push(id);
                }
                tokio::task::yield_now().await;
            }
            deleted
        });
        let leases = reserver.await.expect("the task");
        let deleted = deleter.await.expect("the task");
        for lease in &leases {
            assert!(!deleted.contains(&lease.id()), "deleted without force while it ran");
            world.complete(lease).await;
        }
        let rest = world.serve_all(&default_queue()).await;
        assert_eq!(leases.len() + deleted.len() + rest.len(), ids.len());
    }
}

/// R5.4: if a late ack and a reclaim race, one wins: a completed job is never leased.
/// Guard: reclaim tests the expired lease at the moment of the write.
pub async fn r5_4_a_late_ack_or_a_reclaim_wins_never_both(world: &dyn World) {
    let handles = world.handles().await;
    for _ in 0..20 {
        world.enqueue_n(20).await;
        let late = world.reserve(20).await;
        world.expire().await;
        let (one, two) = (Arc::clone(&handles[0]), Arc::clone(&handles[handles.len() - 1]));
        let reserver = tokio::spawn(async move {
            let mut leases = Vec::new();
            for _ in 0..10 {
                let request = request(default_queue(), 2);
                leases.extend(one.reserve(&request).await.expect("reserve").leases);
                tokio::task::yield_now().await;
            }
            leases
        });
        let acker = tokio::spawn(async move {
            let mut acked = Vec::new();
            for lease in late.into_iter().rev() {
                let id = lease.id();
                let outcome = two.ack(&[Ack::new(lease.token)]).await.expect("ack")[0];
                if outcome == AckOutcome::Acked {
                    acked.push(id);
                }
                tokio::task::yield_now().await;
            }
            acked
        });
        let leases = reserver.await.expect("the task");
        let acked = acker.await.expect("the task");
        for lease in &leases {
            assert!(!acked.contains(&lease.id()), "leased after it was completed");
            world.complete(lease).await;
        }
        let rest = world.serve_all(&default_queue()).await;
        assert_eq!(leases.len() + acked.len() + rest.len(), 20);
    }
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

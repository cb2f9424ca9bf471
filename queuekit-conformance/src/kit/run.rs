//! Enqueueing and reserving.

use std::time::Duration;

use queuekit_core::{
    EnqueueOutcome, JobDraft, JobId, Lease, QueueName, Reserve, Reserved, WorkerId,
};

use super::{TTL, assert_answers_each, build, default_queue, draft, request, ttl};
use crate::World;

/// More rounds than any case needs: a store that answers for ever must not hang its test.
const ROUNDS: usize = 20_000;

impl<'w> dyn World + 'w {
    /// Stores one job.
    pub async fn enqueue(&self, draft: JobDraft) -> JobId {
        match self.try_enqueue(draft).await {
            EnqueueOutcome::Created { id } => id,
            other => panic!("enqueue of a new job answered {other:?}, and not Created"),
        }
    }

    /// Stores one job and returns its outcome.
    pub async fn try_enqueue(&self, draft: JobDraft) -> EnqueueOutcome {
        let outcomes = self.backend().enqueue(&[build(draft)]).await.expect("enqueue");
        assert_answers_each("enqueue", outcomes.len(), 1);
        outcomes[0]
    }

    /// Stores jobs, in one call unless that is more than the store's limit.
    pub async fn enqueue_all(&self, drafts: impl IntoIterator<Item = JobDraft>) -> Vec<JobId> {
        let jobs: Vec<_> = drafts.into_iter().map(build).collect();
        for call in jobs.chunks(self.limits().enqueue_jobs()) {
            let outcomes = self.backend().enqueue(call).await.expect("enqueue");
            assert_answers_each("enqueue", outcomes.len(), call.len());
            assert!(
                outcomes.iter().all(|outcome| outcome.is_created()),
                "enqueue did not store every job of a call: {outcomes:?}"
            );
        }
        jobs.iter().map(|job| job.id()).collect()
    }

    /// Stores this many jobs with all defaults, likewise.
    pub async fn enqueue_n(&self, n: usize) -> Vec<JobId> {
        self.enqueue_all((0..n).map(|_| draft())).await
    }

    /// The whole answer to a request for leases.
    pub async fn reserve_with(&self, request: &Reserve) -> Reserved {
        let reserved = self.backend().reserve(request).await.expect("reserve");
        let (granted, limit) = (reserved.leases.len(), request.limit);
        assert!(granted <= limit, "reserve granted {granted} leases, and was asked for {limit}");
        reserved
    }

    /// Leases from one queue.
    pub async fn reserve_from(&self, queue: &QueueName, limit: usize) -> Vec<Lease> {
        self.reserve_with(&request(queue.clone(), limit)).await.leases
    }

    /// Leases from the queue `default`.
    pub async fn reserve(&self, limit: usize) -> Vec<Lease> {
        self.reserve_from(&default_queue(), limit).await
    }

    /// Leases from one queue, as many as this or as there are, in one call unless that is more than
    /// the store's limit.
    pub async fn reserve_many(&self, queue: &QueueName, many: usize) -> Vec<Lease> {
        let most = self.limits().reserve_jobs();
        let mut leases = Vec::new();
        while leases.len() < many {
            let more = self.reserve_from(queue, most.min(many - leases.len())).await;
            if more.is_empty() {
                break;
            }
            leases.extend(more);
        }
        leases
    }

    /// Leases by this worker, of this length.
    pub async fn reserve_as(&self, worker: WorkerId, limit: usize, length: Duration) -> Vec<Lease> {
        let request = Reserve::new(default_queue(), limit, ttl(length), worker).expect("a nonce");
        self.reserve_with(&request).await.leases
    }

    /// The jobs that a reserve takes, in its order.
    pub async fn reserve_ids(&self, limit: usize) -> Vec<JobId> {
        self.reserve(limit).await.iter().map(Lease::id).collect()
    }

    /// One lease, from a queue that has a job to lease.
    pub async fn reserve_one(&self) -> Lease {
        self.reserve_one_from(&default_queue()).await
    }

    /// One lease from this queue, which has a job to lease.
    pub async fn reserve_one_from(&self, queue: &QueueName) -> Lease {
        let lease = self.reserve_from(queue, 1).await.pop();
        lease
            .unwrap_or_else(|| panic!("reserve granted no lease of a job of `{queue}` that is due"))
    }

    /// Stores a job and leases it.
    pub async fn lease(&self, draft: JobDraft) -> Lease {
        let id = self.enqueue(draft).await;
        let lease = self.reserve_one().await;
        let leased = lease.id();
        assert_eq!(leased, id, "reserve leased {leased}, and not {id}, the one job that is due");
        lease
    }

    /// Asserts that nothing in the queue `default` can be leased now.
    pub async fn assert_nothing_to_lease(&self) {
        let leases = self.reserve(10).await;
        assert!(leases.is_empty(), "reserve leased what nobody may run now: {leases:?}");
    }

    /// Lets every lease of [`TTL`] expire.
    pub async fn expire(&self) {
        self.advance(TTL).await;
    }

    /// Reserves one by one and acks each, until the queue has nothing more; the jobs in order.
    pub async fn serve_all(&self, queue: &QueueName) -> Vec<JobId> {
        let mut served = Vec::new();
        for _ in 0..ROUNDS {
            let reserved = self.reserve_with(&request(queue.clone(), 1)).await;
            for lease in &reserved.leases {
                self.complete(lease).await;
                served.push(lease.id());
            }
            if reserved.leases.is_empty() && !reserved.more {
                return served;
            }
        }
        panic!("the queue never runs out of jobs: {} served", served.len());
    }
}

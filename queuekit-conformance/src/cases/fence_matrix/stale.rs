//! The tokens that hold nothing.

use std::time::Duration;

use queuekit_core::capability::RescheduleOutcome;
use queuekit_core::{
    DeadLetter, DeadLetterOutcome, JobDraft, Lease, LeaseToken, NackKind, Nonce, QueueName, Reserve,
};

use super::operation::Operation;
use crate::World;
use crate::kit::{DAY, HOUR, TTL, TWINS, build, draft, queue, ttl, worker};

/// A lease that outlives the case.
const LONG: Duration = HOUR;

/// A token that is not valid.
#[derive(Debug)]
pub(super) struct Stale {
    /// Its job and queue.
    pub(super) what: String,
    pub(super) token: LeaseToken,
    /// The live lease that the token resembles.
    pub(super) live: Option<Lease>,
    end: End,
}

/// Why a token is not valid.
#[derive(Debug)]
enum End {
    /// It was never valid, or its lease was not ended by an operation with this token.
    Lost,
    /// It names another queue.
    OtherQueue,
    /// Its job is no longer stored.
    Gone,
    /// This operation has ended its lease, with this outcome.
    By(Operation, String),
}

impl Stale {
    /// Asserts that the contract allows this outcome of an operation.
    pub(super) fn assert_refused(&self, operation: Operation, answer: &str) {
        let allowed = match &self.end {
            End::Gone => vec!["NotFound"],
            End::OtherQueue => vec!["LeaseLost", "NotFound"],
            End::By(by @ (Operation::Ack | Operation::DeadLetter), _)
                if *by == operation.alone() =>
            {
                vec!["AlreadyDone"]
            }
            // R4.1: the answer of the first call, or LeaseLost.
            End::By(by, first) if *by == operation.alone() => vec!["LeaseLost", first.as_str()],
            End::Lost | End::By(..) => vec!["LeaseLost"],
        };
        let what = &self.what;
        assert!(allowed.contains(&answer), "{operation:?} by {what}: {answer}, not {allowed:?}");
    }
}

/// Every invalid token, each in its own queue, of a plain job and of one with keys.
pub(super) async fn stale_tokens(world: &dyn World) -> Vec<Stale> {
    let mut stage = Stage { world, stale: Vec::new(), plain: true, queues: 0 };
    for plain in [true, false] {
        stage.plain = plain;
        stage.reclaimed().await;
        stage.ended().await;
        stage.altered().await;
        stage.replaced().await;
    }
    stage.of_twin_queues().await;
    stage.settle_down().await;
    stage.stale
}

struct Stage<'w> {
    world: &'w dyn World,
    stale: Vec<Stale>,
    plain: bool,
    queues: usize,
}

impl Stage<'_> {
    fn add(&mut self, what: &str, token: LeaseToken, live: Option<Lease>, end: End) {
        let what = format!("{what} ({})", if self.plain { "plain" } else { "with keys" });
        self.stale.push(Stale { what, token, live, end });
    }

    /// A job in its own queue.
    fn draft(&mut self) -> JobDraft {
        self.queues += 1;
        let job = draft().queue(format!("q{}", self.queues));
        if self.plain { job } else { job.partition_key("k").idempotency_key("u") }
    }

    async fn lease(&mut self) -> Lease {
        let job = self.draft();
        self.lease_of(job, LONG).await
    }

    async fn lease_of(&self, job: JobDraft, length: Duration) -> Lease {
        let queue = build(job.clone()).queue().clone();
        self.world.enqueue(job).await;
        self.reserve(&queue, length).await.expect("a lease")
    }

    async fn reserve(&self, queue: &QueueName, length: Duration) -> Option<Lease> {
        let request = Reserve::new(queue.clone(), 1, ttl(length), worker("w")).expect("a nonce");
        self.world.reserve_with(&request).await.leases.pop()
    }

    /// Expired leases, with each fate of their jobs.
    async fn reclaimed(&mut self) {
        let by_another = self.draft();
        let by_another = self.lease_of(by_another, TTL).await;
        let completed = self.draft();
        let completed = self.lease_of(completed, TTL).await;
        let final_attempt = self.draft().max_attempts(1);
        let final_attempt = self.lease_of(final_attempt, TTL).await;
        let called_off = self.draft();
        let called_off = self.lease_of(called_off, TTL).await;
        let can_cancel = self.world.capabilities().admin.is_some();
        if can_cancel {
            self.world.request_cancel(called_off.id()).await;
        }
        self.world.expire().await;

        let live = self.reserve(&by_another.token.queue, LONG).await;
        self.add("reclaimed, and leased by another", by_another.token, live, End::Lost);
        let live = self.reserve(&completed.token.queue, LONG).await.expect("the same job");
        self.world.complete(&live).await;
        self.add("reclaimed, and completed by another", completed.token, None, End::Lost);
        let dead = self.reserve(&final_attempt.token.queue, LONG).await;
        assert_eq!(dead, None, "the job should be dead-lettered, not leased");
        self.add("run out on the final attempt", final_attempt.token, None, End::Lost);
        if can_cancel {
            assert_eq!(
                self.reserve(&called_off.token.queue, LONG).await,
                None,
                "the job should be cancelled, not leased"
            );
            self.add("run out when called off", called_off.token, None, End::Lost);
        }
    }

    /// Leases that their holders or operators ended.
    async fn ended(&mut self) {
        let kinds = [NackKind::Retry, NackKind::Release, NackKind::Fatal, NackKind::Cancelled];
        let nacks = kinds.map(Operation::Nack);
        for by in [Operation::Ack, Operation::DeadLetter].into_iter().chain(nacks) {
            let lease = self.lease().await;
            self.end(&format!("after {by:?}"), &lease, by).await;
        }
        let job = self.draft().max_attempts(1);
        let lease = self.lease_of(job, LONG).await;
        self.end("failed on the final attempt", &lease, Operation::Nack(NackKind::Retry)).await;
        if self.world.capabilities().admin.is_some() {
            let lease = self.lease().await;
            self.world.request_cancel(lease.id()).await;
            self.end("failed when called off", &lease, Operation::Nack(NackKind::Retry)).await;
        }

        let broken = self.lease().await;
        let dead_letter = DeadLetter::forced(broken.id(), "operator");
        assert_eq!(self.world.dead_letter(dead_letter).await, DeadLetterOutcome::DeadLettered);
        self.add("dead-lettered by force", broken.token, None, End::Lost);
        let deleted = self.lease().await;
        self.delete(&deleted).await;
        self.add("deleted by force", deleted.token, None, End::Gone);
        let done = self.lease().await;
        self.world.complete(&done).await;
        self.delete(&done).await;
        self.add("acked and deleted", done.token, None, End::Gone);
    }

    async fn end(&mut self, what: &str, lease: &Lease, by: Operation) {
        let first = by.call(self.world, std::slice::from_ref(&lease.token)).await.remove(0);
        assert!(!first.contains("LeaseLost") && !first.contains("NotFound"), "{by:?}: {first}");
        self.add(what, lease.token.clone(), None, End::By(by, first));
    }

    async fn delete(&self, lease: &Lease) {
        assert!(self.world.delete(lease.id(), true).await.expect("delete_job"));
    }

    /// Tokens that differ in one part from a valid token, or from the last valid one.
    async fn altered(&mut self) {
        let live = self.lease().await;
        self.add_altered("of a live lease", &live.token, Some(live.clone()));
        let mut elsewhere = live.token.clone();
        elsewhere.queue = queue("elsewhere");
        self.add("another queue of a live lease", elsewhere, None, End::OtherQueue);

        let acked = self.lease().await;
        self.world.complete(&acked).await;
        self.add_altered("of an acked lease", &acked.token, None);
        let dead_lettered = self.lease().await;
        let dead_letter = DeadLetter::of_lease(dead_lettered.token.clone(), "poison");
        assert_eq!(self.world.dead_letter(dead_letter).await, DeadLetterOutcome::DeadLettered);
        self.add_altered("of a dead-lettered lease", &dead_lettered.token, None);
    }

    fn add_altered(&mut self, of: &str, token: &LeaseToken, mut live: Option<Lease>) {
        let seq = token.lease_seq;
        for lease_seq in [0, seq + 1, seq + (1 << 32), u64::from(u32::MAX), u64::MAX] {
            let token = LeaseToken { lease_seq, ..token.clone() };
            self.add(&format!("lease_seq {lease_seq} {of}"), token, live.take(), End::Lost);
        }
        for (at, what) in [(0, "first"), (15, "last")] {
            let mut nonce = *token.nonce.as_bytes();
            nonce[at] ^= 1;
            let token = LeaseToken { nonce: Nonce::from_bytes(nonce), ..token.clone() };
            self.add(&format!("another {what} byte of the nonce {of}"), token, None, End::Lost);
        }
        let token = LeaseToken { nonce: Nonce::from_bytes([0; 16]), ..token.clone() };
        self.add(&format!("a nonce of zeros {of}"), token, None, End::Lost);
    }

    /// Tokens of jobs that were created again under their id: `lease_seq` may be the same.
    async fn replaced(&mut self) {
        for then in ["waits", "is leased", "is done"] {
            let job = self.draft();
            let old = self.lease_of(job.clone(), LONG).await;
            self.delete(&old).await;
            let again = job.id(old.id());
            let mut live = None;
            if then == "waits" {
                self.world.enqueue(again.delay(DAY)).await;
            } else {
                live = Some(self.lease_of(again, LONG).await);
            }
            if then == "is done" {
                self.world.complete(&live.take().expect("a lease")).await;
            }
            self.add(&format!("created again, and {then}"), old.token, live, End::Lost);
        }
        if self.world.capabilities().admin.is_none() {
            return;
        }
        for then in ["waits", "is leased"] {
            let old = self.lease().await;
            self.world.kill(&old).await;
            self.world.bring_back(old.id()).await;
            let mut live = None;
            if then == "waits" {
                let moved = self.world.reschedule(old.id(), DAY).await;
                assert_eq!(moved, RescheduleOutcome::Rescheduled);
            } else {
                live = self.reserve(&old.token.queue, LONG).await;
            }
            self.add(&format!("brought back, and {then}"), old.token, live, End::Lost);
        }
    }

    /// A token with the name of another queue whose ids have the same tag.
    async fn of_twin_queues(&mut self) {
        let [one, two] = TWINS.map(queue);
        assert_eq!(one.id_tag(), two.id_tag(), "both queues should have the same id tag");
        self.world.enqueue(draft().queue(two.as_str()).delay(DAY)).await;
        let live = self.lease_of(draft().queue(one.as_str()), LONG).await;
        let token = LeaseToken { queue: two, ..live.token };
        self.add("another queue with the same tag", token, Some(live), End::OtherQueue);
    }

    /// Runs a reserve of each queue, which completes pending work of the setup, such as a check of
    /// a key whose job has ended. The reserve of an exchange then writes nothing.
    async fn settle_down(&self) {
        for stale in &self.stale {
            assert_eq!(self.reserve(&stale.token.queue, LONG).await, None, "{}", stale.what);
        }
    }
}

//! Whatever reply of the server is lost, repeating the call is safe (contract R0.1, R10.1).
//!
//! Each operation is made once per reply of it. Each time another reply is lost, after the server
//! has done the request.

mod events;
mod schedules;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use queuekit_conformance::kit::{TTL, build, draft, keyed, ttl, unique};
use queuekit_conformance::time_limit::Stopwatch;
use queuekit_core::capability::{
    Admin, CancelOutcome, Exchange, ExtendOutcome, Leases, RescheduleOutcome, RetryOutcome,
    Schedules, Settlement,
};
use queuekit_core::queue::QueuePatch;
use queuekit_core::{
    Ack, AckOutcome, Backend, DeadLetter, DeadLetterOutcome, EnqueueOutcome, ErrorKind, LeaseToken,
    Nack, NackKind, NackOutcome, NewJob, QueueName, Result, State,
};
use queuekit_integration_tests::servers::{Mode, Proxy};

use super::store_fixture::{PATIENCE, create, lease, request_for, state, until};

#[allow(unused_imports, reason = "most test targets have other tests")]
pub(crate) use events::{
    r14_2_an_emit_whose_reply_was_lost_is_repeated,
    r14_4_a_change_of_subscriptions_whose_reply_was_lost_is_repeated,
    r14_5_a_replay_whose_reply_was_lost_is_repeated,
};
#[allow(unused_imports, reason = "most test targets have other tests")]
pub(crate) use schedules::{
    r15_2_a_change_of_a_schedule_whose_reply_was_lost_is_repeated,
    r15_2_a_tick_whose_replies_were_lost_is_repeated,
};

const OP_TIMEOUT: Duration = Duration::from_secs(5);
/// By which every call has been answered (contract R10.2).
const LATEST: Duration = Duration::from_secs(6);

/// The stage of a store that has a server.
pub(crate) trait LossyStage: Sized {
    type Store: Clone + Backend + Admin + Exchange + Leases + Schedules;

    async fn open(test: &str) -> Option<Self>;
    /// A handle whose replies arrive.
    fn store(&self) -> &Self::Store;
    /// The URL of the server behind the proxy.
    fn server(&self) -> String;
    /// Another handle, by way of the proxy.
    async fn through(&self, proxy: &Proxy, op_timeout: Duration) -> Self::Store;
    /// Asserts that derived data agrees with the jobs.
    async fn assert_exact(&self);
    async fn end(self);
}

/// All cases as tests of a stage.
#[allow(unused_macros, reason = "most test targets have other tests")]
macro_rules! lost_replies {
    ($stage:ty: $($case:ident),* $(,)?) => {
        $(
            #[tokio::test]
            async fn $case() {
                let test = queuekit_conformance::this_test!();
                crate::common::lost_replies::$case::<$stage>(test).await;
            }
        )*
    };
    ($stage:ty) => {
        lost_replies!(
            $stage:
            r2_4_an_enqueue_whose_reply_was_lost_is_repeated,
            r5_10_a_reserve_whose_reply_was_lost_costs_one_ttl_and_one_attempt,
            r3_3_an_ack_whose_reply_was_lost_is_repeated,
            r4_1_a_nack_whose_reply_was_lost_is_repeated,
            r6_1_a_dead_letter_whose_reply_was_lost_is_repeated,
            r6_2_a_delete_whose_reply_was_lost_is_repeated,
            r6_6_a_cancel_whose_reply_was_lost_is_repeated,
            r6_3_a_retry_whose_reply_was_lost_is_repeated,
            r6_4_a_reschedule_whose_reply_was_lost_is_repeated,
            r3_7_an_extend_whose_reply_was_lost_is_repeated,
            r3_3_an_exchange_whose_reply_was_lost_is_repeated,
            a_configure_whose_reply_was_lost_is_repeated,
            r14_2_an_emit_whose_reply_was_lost_is_repeated,
            r14_5_a_replay_whose_reply_was_lost_is_repeated,
            r15_2_a_change_of_a_schedule_whose_reply_was_lost_is_repeated,
            r15_2_a_tick_whose_replies_were_lost_is_repeated,
        );
    };
}
#[allow(unused_imports, reason = "likewise")]
pub(crate) use lost_replies;

/// A store whose replies can be lost; `stage` has one whose replies arrive.
struct Lossy<S: LossyStage> {
    stage: S,
    proxy: Proxy,
    store: S::Store,
    /// Which reply of the next call is lost.
    after: AtomicU64,
    /// The reply was lost.
    lost: AtomicBool,
    /// The machine stood still, so the time of the call proves nothing.
    spoiled: AtomicBool,
}

impl<S: LossyStage> Lossy<S> {
    async fn open(test: &str) -> Option<Self> {
        let stage = S::open(test).await?;
        let proxy = Proxy::start(&stage.server()).await;
        let store = stage.through(&proxy, OP_TIMEOUT).await;
        let (lost, spoiled) = (AtomicBool::new(false), AtomicBool::new(false));
        Some(Self { stage, proxy, store, after: AtomicU64::new(0), lost, spoiled })
    }

    /// Makes a call of which a reply is lost; none if its outcome is in doubt.
    async fn call<T>(&self, call: impl IntoFuture<Output = Result<T>>) -> Option<T> {
        self.proxy.set(Mode::LoseReply { after: self.after.load(Ordering::Relaxed) });
        let watch = Stopwatch::start();
        let answer = call.await;
        let in_time = watch.shows("a call of which a reply is lost", LATEST);
        self.spoiled.fetch_or(!in_time, Ordering::Relaxed);
        self.lost.fetch_or(self.proxy.mode() == Mode::Pass, Ordering::Relaxed);
        self.proxy.set(Mode::Pass);
        match answer {
            Ok(answer) => Some(answer),
            Err(error) => {
                assert_eq!(*error.kind(), ErrorKind::Indeterminate, "{error}");
                assert!(error.to_string().contains("repeat it, which is safe"), "{error}");
                None
            }
        }
    }

    /// Runs the case once for each reply that its call has.
    async fn each_reply(test: &str, case: impl AsyncFn(&Self)) {
        let Some(lossy) = Self::open(test).await else { return };
        for after in 0..100 {
            lossy.after.store(after, Ordering::Relaxed);
            case(&lossy).await;
            if lossy.spoiled.swap(false, Ordering::Relaxed) {
                case(&lossy).await;
                assert!(!lossy.spoiled.load(Ordering::Relaxed), "the machine stood still twice");
            }
            let lost = lossy.lost.swap(false, Ordering::Relaxed);
            lossy.stage.assert_exact().await;
            if !lost {
                assert!(after > 0, "no reply was lost");
                lossy.store.close().await.unwrap();
                return lossy.stage.end().await;
            }
        }
        panic!("a call of 100 replies");
    }

    /// The lease of a new job.
    async fn leased(&self) -> LeaseToken {
        create(self.stage.store(), &build(keyed("k").max_attempts(2))).await;
        lease(self.stage.store(), 1).await.remove(0).token
    }

    /// The lease's job leaves, so that the next one begins anew.
    async fn forget(&self, token: &LeaseToken) {
        assert!(self.stage.store().delete_job(token.id, true).await.unwrap());
    }
}

pub(crate) async fn r2_4_an_enqueue_whose_reply_was_lost_is_repeated<S: LossyStage>(test: &str) {
    let case = async |lossy: &Lossy<S>| {
        let n = lossy.after.load(Ordering::Relaxed);
        let queue = format!("q{n}");
        let jobs = [
            build(draft().queue(queue.clone())),
            build(unique(&format!("u{n}")).partition_key("k").queue(queue)),
        ];
        let plain = build(draft());
        let answers = [
            lossy.call(lossy.store.enqueue(&jobs)).await,
            lossy.call(lossy.store.enqueue(std::slice::from_ref(&plain))).await,
        ];
        for (answer, jobs) in answers.into_iter().zip([&jobs[..], std::slice::from_ref(&plain)]) {
            if let Some(outcomes) = answer {
                // The store has repeated it by itself, which finds the jobs there.
                let ids: Vec<_> = outcomes.iter().filter_map(|o| o.job_id()).collect();
                assert!(ids.iter().copied().eq(jobs.iter().map(NewJob::id)), "{outcomes:?}");
            }
            let again: Vec<_> = jobs.iter().map(|job| job.clone().repeated()).collect();
            let repeated = lossy.stage.store().enqueue(&again).await.unwrap();
            for (outcome, job) in repeated.into_iter().zip(jobs) {
                assert_eq!(outcome, EnqueueOutcome::Duplicate { existing: job.id() });
                let gone = lossy.stage.store().delete_job(job.id(), false).await.unwrap();
                assert!(gone, "it was stored once");
            }
        }
    };
    Lossy::<S>::each_reply(test, case).await;
}

/// A job whose lease never reached the caller comes back after its ttl, one attempt later.
pub(crate) async fn r5_10_a_reserve_whose_reply_was_lost_costs_one_ttl_and_one_attempt<
    S: LossyStage,
>(
    test: &str,
) {
    let case = async |lossy: &Lossy<S>| {
        let store = lossy.stage.store();
        for job in [build(draft()), build(draft()), build(draft())] {
            create(store, &job).await;
        }
        let short = request_for(Duration::from_millis(100), 3);
        let got = lossy.call(lossy.store.reserve(&short)).await;
        let mut leases = got.map_or_else(Vec::new, |reserved| reserved.leases);
        let first = leases.len();
        let begun = Instant::now();
        while leases.len() < 3 {
            assert!(begun.elapsed() < PATIENCE, "a job was lost");
            leases.extend(store.reserve(&request_for(TTL, 3)).await.unwrap().leases);
        }
        assert!(first == 3 || leases.iter().all(|lease| lease.attempt <= 2), "{leases:?}");
        for lease in leases {
            lossy.forget(&lease.token).await;
        }
    };
    Lossy::<S>::each_reply(test, case).await;
}

pub(crate) async fn r3_3_an_ack_whose_reply_was_lost_is_repeated<S: LossyStage>(test: &str) {
    let case = async |lossy: &Lossy<S>| {
        let token = lossy.leased().await;
        let ack = [Ack::new(token.clone()).with_result("done")];
        if let Some(outcomes) = lossy.call(lossy.store.ack(&ack)).await {
            // The store has repeated it by itself.
            let done = [AckOutcome::Acked, AckOutcome::AlreadyDone];
            assert!(done.contains(&outcomes[0]), "{outcomes:?}");
        }
        assert_eq!(lossy.store.ack(&ack).await.unwrap(), [AckOutcome::AlreadyDone]);
        assert_eq!(state(&lossy.store, token.id).await, Some(State::Completed));
    };
    Lossy::<S>::each_reply(test, case).await;
}

pub(crate) async fn r4_1_a_nack_whose_reply_was_lost_is_repeated<S: LossyStage>(test: &str) {
    let case = async |lossy: &Lossy<S>| {
        let token = lossy.leased().await;
        let nack = [Nack::new(token.clone(), NackKind::Retry, "no", Duration::from_secs(60))];
        let retrying = NackOutcome::Retrying { after: Duration::from_secs(60) };
        if let Some(outcomes) = lossy.call(lossy.store.nack(&nack)).await {
            assert_eq!(outcomes, [retrying]);
        }
        let again = lossy.store.nack(&nack).await.unwrap();
        assert!([retrying, NackOutcome::LeaseLost].contains(&again[0]), "{again:?}");
        let job = lossy.store.get_job(token.id).await.unwrap().unwrap();
        assert_eq!((job.state, job.attempts, job.errors.len()), (State::Pending, 1, 1));
        lossy.forget(&token).await;
    };
    Lossy::<S>::each_reply(test, case).await;
}

pub(crate) async fn r6_1_a_dead_letter_whose_reply_was_lost_is_repeated<S: LossyStage>(test: &str) {
    let case = async |lossy: &Lossy<S>| {
        let token = lossy.leased().await;
        let waits = create(lossy.stage.store(), &build(draft())).await;
        let dead_letters =
            [DeadLetter::of_lease(token.clone(), "bad"), DeadLetter::of_job(waits, "bad")];
        for dead_letter in dead_letters {
            if let Some(outcomes) =
                lossy.call(lossy.store.dead_letter(std::slice::from_ref(&dead_letter))).await
            {
                let dead_lettered =
                    [DeadLetterOutcome::DeadLettered, DeadLetterOutcome::AlreadyDone];
                assert!(dead_lettered.contains(&outcomes[0]), "{outcomes:?}");
            }
            let again = lossy.store.dead_letter(&[dead_letter]).await.unwrap();
            assert_eq!(again, [DeadLetterOutcome::AlreadyDone]);
        }
        for id in [token.id, waits] {
            assert_eq!(state(&lossy.store, id).await, Some(State::Dead));
        }
    };
    Lossy::<S>::each_reply(test, case).await;
}

pub(crate) async fn r6_2_a_delete_whose_reply_was_lost_is_repeated<S: LossyStage>(test: &str) {
    let case = async |lossy: &Lossy<S>| {
        let id = create(lossy.stage.store(), &build(unique("u").partition_key("k"))).await;
        let _ = lossy.call(lossy.store.delete_job(id, false)).await;
        let again = lossy.store.delete_job(id, false).await.unwrap();
        assert!(!again, "what was in doubt had taken effect, or was made again");
        assert_eq!(state(&lossy.store, id).await, None);
    };
    Lossy::<S>::each_reply(test, case).await;
}

pub(crate) async fn r6_6_a_cancel_whose_reply_was_lost_is_repeated<S: LossyStage>(test: &str) {
    let case = async |lossy: &Lossy<S>| {
        let id = create(lossy.stage.store(), &build(keyed("k"))).await;
        if let Some(outcomes) = lossy.call(lossy.store.cancel(&[id])).await {
            let done = [CancelOutcome::Cancelled, CancelOutcome::AlreadyDone];
            assert!(done.contains(&outcomes[0]), "{outcomes:?}");
        }
        assert_eq!(lossy.store.cancel(&[id]).await.unwrap(), [CancelOutcome::AlreadyDone]);
        assert_eq!(state(&lossy.store, id).await, Some(State::Cancelled));
    };
    Lossy::<S>::each_reply(test, case).await;
}

pub(crate) async fn r6_3_a_retry_whose_reply_was_lost_is_repeated<S: LossyStage>(test: &str) {
    let case = async |lossy: &Lossy<S>| {
        let id = create(lossy.stage.store(), &build(keyed("k"))).await;
        let dead_lettered =
            lossy.stage.store().dead_letter(&[DeadLetter::of_job(id, "bad")]).await.unwrap();
        assert_eq!(dead_lettered, [DeadLetterOutcome::DeadLettered]);
        if let Some(outcomes) = lossy.call(lossy.store.retry(&[id])).await {
            assert_eq!(outcomes, [RetryOutcome::Retried]);
        }
        // The job is there again, once: it cannot be brought back a second time.
        let _ = lossy.store.retry(&[id]).await.unwrap();
        assert_eq!(lossy.store.retry(&[id]).await.unwrap(), [RetryOutcome::Conflict]);
        assert_eq!(state(&lossy.store, id).await, Some(State::Pending));
        assert!(lossy.stage.store().delete_job(id, false).await.unwrap());
    };
    Lossy::<S>::each_reply(test, case).await;
}

pub(crate) async fn r6_4_a_reschedule_whose_reply_was_lost_is_repeated<S: LossyStage>(test: &str) {
    let case = async |lossy: &Lossy<S>| {
        let id = create(lossy.stage.store(), &build(keyed("k"))).await;
        let hour = Duration::from_secs(3600);
        for _ in 0..2 {
            if let Some(outcomes) = lossy.call(lossy.store.reschedule(&[id], hour)).await {
                assert_eq!(outcomes, [RescheduleOutcome::Rescheduled]);
            }
        }
        let again = lossy.store.reschedule(&[id], hour).await.unwrap();
        assert_eq!(again, [RescheduleOutcome::Rescheduled]);
        assert_eq!(lease(&lossy.store, 1).await.len(), 0, "it is to run later");
        assert!(lossy.stage.store().delete_job(id, false).await.unwrap());
    };
    Lossy::<S>::each_reply(test, case).await;
}

pub(crate) async fn r3_7_an_extend_whose_reply_was_lost_is_repeated<S: LossyStage>(test: &str) {
    let case = async |lossy: &Lossy<S>| {
        let token = [lossy.leased().await];
        let alive = ExtendOutcome::Extended { ttl: TTL, cancel_requested: false };
        if let Some(outcomes) = lossy.call(lossy.store.extend(&token, ttl(TTL))).await {
            assert_eq!(outcomes, [alive]);
        }
        assert_eq!(lossy.store.extend(&token, ttl(TTL)).await.unwrap(), [alive]);
        lossy.forget(&token[0]).await;
    };
    Lossy::<S>::each_reply(test, case).await;
}

pub(crate) async fn r3_3_an_exchange_whose_reply_was_lost_is_repeated<S: LossyStage>(test: &str) {
    let case = async |lossy: &Lossy<S>| {
        let token = lossy.leased().await;
        let next = create(lossy.stage.store(), &build(keyed("k"))).await;
        let mut settlement = Settlement::default();
        settlement.acks.push(Ack::new(token.clone()));
        let short = request_for(Duration::from_millis(100), 1);
        let first = lossy.call(lossy.store.exchange(&settlement, &short)).await;
        if let Some(exchanged) = first {
            assert_eq!(exchanged.acks, [AckOutcome::Acked]);
        }
        let again = lossy.store.exchange(&settlement, &short).await.unwrap();
        assert_eq!(again.acks, [AckOutcome::AlreadyDone]);
        assert_eq!(state(&lossy.store, token.id).await, Some(State::Completed));
        until("the next of its key is leased", async || {
            let leases = lossy.store.reserve(&short).await.unwrap().leases;
            leases.iter().any(|lease| lease.token.id == next)
        })
        .await;
        assert!(lossy.stage.store().delete_job(next, true).await.unwrap());
    };
    Lossy::<S>::each_reply(test, case).await;
}

pub(crate) async fn a_configure_whose_reply_was_lost_is_repeated<S: LossyStage>(test: &str) {
    let case = async |lossy: &Lossy<S>| {
        let room = Some(100 + lossy.after.load(Ordering::Relaxed));
        let patch = QueuePatch::default().max_pending(room);
        let name = QueueName::default();
        if let Some(settings) = lossy.call(lossy.store.configure(&name, &patch)).await {
            assert_eq!(settings.max_pending, room);
        }
        let again = lossy.store.configure(&name, &patch).await.unwrap();
        assert_eq!(again.max_pending, room);
    };
    Lossy::<S>::each_reply(test, case).await;
}

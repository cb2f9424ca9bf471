//! R2.7 and R12: each limit on both sides.

use std::time::Duration;

use queuekit_core::capability::Served;
use queuekit_core::limits::{
    BEAT_NAMES, BEAT_TTL, DELAY, KEY_BYTES, MAX_ATTEMPTS, METADATA_NAMES, NACK_DELAY, NAME_BYTES,
    PAYLOAD_BYTES_HARD, PER_KEY, TIMEOUT,
};
use queuekit_core::queue::{Keep, Retention};
use queuekit_core::{
    Ack, AckOutcome, Backend, BackendExt, ErrorKind, IdempotencyKey, JobDraft, JobFilter, Kind,
    LeaseTtl, Metadata, Nack, NackKind, NewJob, PageSize, PartitionKey, Priority, QueueName,
    QueuePatch, State, WeightedQueues, WorkerId,
};

use crate::World;
use crate::kit::{
    HOUR, MILLISECOND, Moment, assert_invalid, beat_of, build, carrying, default_queue, draft,
    keyed, kind, kind_of, queue, request, ttl, unique, worker,
};

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// R2.7: one oversized item causes the whole call to be refused, with item, field and limit.
/// Guard: the whole call is checked before the store is contacted.
pub async fn r2_7_an_oversized_item_refuses_the_whole_call(world: &dyn World) {
    let before = world.dump().await;
    let jobs = [draft(), carrying("x".repeat(MIB + 1)), draft()].map(build);
    match kind_of(world.backend().enqueue(&jobs).await) {
        ErrorKind::Invalid { item, field, limit } => {
            assert_eq!((item, field), (Some(1), "payload"));
            assert!(limit.contains("1048576"), "{limit}");
        }
        other => panic!("expected invalid, got {other:?}"),
    }
    world.assert_unchanged(&before).await;
}

/// R2.7: nothing is truncated silently: a payload at the limit comes back whole.
/// Guard: the width of the payload's column.
pub async fn r2_7_nothing_is_cut_silently(world: &dyn World) {
    let payload: Vec<u8> = (0..MIB).map(|at| (at % 251) as u8).collect();
    let lease = world.lease(JobDraft::new("work", payload.clone())).await;
    assert!(lease.payload == payload, "the payload came back changed");
}

/// R12: names of queues, kinds and workers have 1..=128 bytes of their alphabet.
/// Guard: the parsers of names, and the width of their columns.
pub async fn r12_names(world: &dyn World) {
    let longest = "n".repeat(NAME_BYTES);
    for name in ["n", "0", "A.b_c:d-e", &longest] {
        let id = world.enqueue(JobDraft::new(name, "").queue(name)).await;
        let mut request = request(queue(name), 1);
        request.worker = worker(name);
        let lease = world.reserve_with(&request).await.leases.remove(0);
        assert_eq!((lease.id(), lease.kind.as_str()), (id, name));
        let job = world.job(id).await;
        assert_eq!((job.queue.as_str(), job.worker), (name, Some(worker(name))));
    }
    for name in ["", "-n", ".n", "_n", ":n", "n n", "n/n", "n\0", "ñ", &format!("{longest}n")] {
        assert_invalid(QueueName::new(name), "queue");
        assert_invalid(Kind::new(name), "kind");
        assert_invalid(WorkerId::new(name), "worker");
    }
}

/// R12: queues with a reserved prefix accept no enqueues.
/// Guard: the check of the queue where a job is built.
pub async fn r12_reserved_queues_take_no_jobs(world: &dyn World) {
    for name in ["event.created", "queuekit.x"] {
        assert_invalid(draft().queue(name).build(), "queue");
    }
    for name in ["event", "events.x", "queuekit", "queuekitx"] {
        world.enqueue(draft().queue(name)).await;
    }
}

/// R12: keys have 1..=256 bytes.
/// Guard: the parsers of keys, and the width of their columns.
pub async fn r12_keys(world: &dyn World) {
    let longest = "k".repeat(KEY_BYTES);
    let wide = "é".repeat(KEY_BYTES / 2);
    for key in ["k", " ", &longest, &wide] {
        let job = world.job(world.enqueue(unique(key).partition_key(key)).await).await;
        assert_eq!(job.idempotency_key.map(String::from).as_deref(), Some(key));
        assert_eq!(job.partition_key.map(String::from).as_deref(), Some(key));
    }
    for key in ["", &"k".repeat(KEY_BYTES + 1), &"é".repeat(KEY_BYTES / 2 + 1)] {
        assert_invalid(IdempotencyKey::new(key), "idempotency_key");
        assert_invalid(PartitionKey::new(key), "partition_key");
        assert_invalid(keyed(key).build(), "partition_key");
    }
}

/// R12: a payload has at most 1 MiB, and never more than 16 MiB whatever is configured.
/// Guard: the admission of a call, and of a draft.
pub async fn r12_payload(world: &dyn World) {
    world.enqueue(carrying("x".repeat(MIB))).await;
    let over = build(carrying("x".repeat(MIB + 1)));
    assert_invalid(world.backend().enqueue(&[over]).await, "payload");
    assert!(JobDraft::new("work", vec![0; PAYLOAD_BYTES_HARD]).build().is_ok());
    assert_invalid(JobDraft::new("work", vec![0; PAYLOAD_BYTES_HARD + 1]).build(), "payload");
}

/// R12: metadata has at most 4 KiB of names and values.
/// Guard: the admission of a call.
pub async fn r12_metadata(world: &dyn World) {
    let of = |bytes: usize| -> Metadata { [("k", "v".repeat(bytes - 1))].into_iter().collect() };
    let id = world.enqueue(draft().metadata(of(4 * KIB))).await;
    assert_eq!(world.job(id).await.metadata, of(4 * KIB));
    let over = build(draft().metadata(of(4 * KIB + 1)));
    assert_invalid(world.backend().enqueue(&[over]).await, "metadata");
}

/// R12: metadata has at most 64 names, however short they are.
/// Guard: the admission of a call.
pub async fn r12_names_of_metadata(world: &dyn World) {
    let of = |names: usize| -> Metadata { (0..names).map(|n| (n.to_string(), "")).collect() };
    let id = world.enqueue(draft().metadata(of(METADATA_NAMES))).await;
    assert_eq!(world.job(id).await.metadata, of(METADATA_NAMES));
    let over = build(draft().metadata(of(METADATA_NAMES + 1)));
    assert_invalid(world.backend().enqueue(&[over]).await, "metadata");
}

/// R12: one enqueue call accepts at most as many jobs as the limit, by default 1,000.
/// Guard: the admission of a call.
pub async fn r12_jobs_per_call(world: &dyn World) {
    let most = world.limits().enqueue_jobs();
    let jobs: Vec<NewJob> = (0..=most).map(|_| build(draft())).collect();
    assert_invalid(world.backend().enqueue(&jobs).await, "jobs per call");
    assert!(world.all_jobs().await.is_empty(), "a part of the call is stored");
    let outcomes = world.backend().enqueue(&jobs[..most]).await.expect("enqueue");
    assert!(outcomes.len() == most && outcomes.iter().all(|outcome| outcome.is_created()));
}

/// R12: one enqueue call accepts at most 8 MiB.
/// Guard: the admission of a call.
pub async fn r12_bytes_per_call(world: &dyn World) {
    let eight: Vec<NewJob> = (0..8).map(|_| build(carrying("x".repeat(MIB)))).collect();
    let mut over = eight.clone();
    over.push(build(carrying("x")));
    assert_invalid(world.backend().enqueue(&over).await, "bytes per call");
    assert!(world.all_jobs().await.is_empty(), "a part of the call is stored");
    let outcomes = world.backend().enqueue(&eight).await.expect("enqueue");
    assert!(outcomes.iter().all(|outcome| outcome.is_created()));
}

/// R12: one reserve call leases at most as many jobs as the limit, by default 1,000.
/// Guard: the admission of the limit.
pub async fn r12_jobs_per_reserve(world: &dyn World) {
    let most = world.limits().reserve_jobs();
    world.enqueue_n(most + 1).await;
    assert_invalid(world.backend().reserve(&request(default_queue(), most + 1)).await, "limit");
    assert_eq!(world.reserve(most).await.len(), most);
}

/// R12: a lease lasts 1 s to 12 h.
/// Guard: the parser of ttls, and the width of the expiry.
pub async fn r12_ttl(world: &dyn World) {
    let (shortest, longest) = (Duration::from_secs(1), Duration::from_secs(12 * 3600));
    assert_invalid(LeaseTtl::new(shortest - MILLISECOND), "ttl");
    assert_invalid(LeaseTtl::new(longest + MILLISECOND), "ttl");
    assert_eq!(LeaseTtl::default().get(), Duration::from_secs(30));
    world.enqueue_n(2).await;
    let long = world.reserve_as(worker("w"), 1, longest).await.remove(0);
    let short = world.reserve_as(worker("w"), 1, shortest).await.remove(0);
    assert_eq!(ttl(longest).get(), longest);
    world.advance(shortest).await;
    assert_eq!(world.reserve_ids(5).await, [short.id()]);
    assert_eq!(world.state(long.id()).await, State::Running);
}

/// R12: a beat counts for 10 min at most: a longer ttl lists no worker for longer.
/// Guard: the conversion of a lease's ttl into that of a beat clamps it.
pub async fn r12_a_beat_lasts_10_min_at_most(world: &dyn World) {
    let mut long = beat_of("w");
    long.ttl = ttl(12 * HOUR).into();
    for moment in Moment::ALL {
        world.beat(&long).await;
        world.advance_to(moment, 3 * BEAT_TTL).await;
        assert_eq!(world.workers().await.is_empty(), moment.has_come(), "{moment:?}");
    }
}

/// R12: a beat names at most 100 queues and 100 kinds; a worker that serves more says so.
/// Guard: the constructor of the names in a beat, and the width of their columns.
pub async fn r12_a_beat_has_at_most_100_names(world: &dyn World) {
    let name = |n: usize| format!("{n:0>NAME_BYTES$}");
    let names = || (0..=BEAT_NAMES).map(name);
    let queues: Vec<_> = names().map(|name| queue(&name)).collect();
    let kinds: Vec<_> = names().map(|name| kind(&name)).collect();
    assert_invalid(Served::new(queues.clone(), false), "names");
    assert_invalid(Served::new(kinds.clone(), true), "names");
    let (queues, kinds) = (Served::first(queues), Served::first(kinds));
    assert_eq!((queues.names().len(), queues.has_more()), (BEAT_NAMES, true));
    let all = Served::new(kinds.names().to_vec(), false).expect("100 names");
    let mut beat = beat_of("w");
    (beat.queues, beat.kinds) = (queues, all);
    world.beat(&beat).await;
    assert_eq!(world.workers().await[0].beat, beat);
}

/// R12: a job has 1..=1000 attempts.
/// Guard: the check where a job is built, and the width of the counter.
pub async fn r12_max_attempts(world: &dyn World) {
    for attempts in [1, MAX_ATTEMPTS] {
        let id = world.enqueue(draft().max_attempts(attempts)).await;
        assert_eq!(world.job(id).await.max_attempts, attempts);
    }
    for attempts in [0, MAX_ATTEMPTS + 1, u32::MAX] {
        assert_invalid(draft().max_attempts(attempts).build(), "max_attempts");
    }
}

/// R12: a delay is at most 366 days; so are a deadline and a timeout, which are never zero.
/// Guard: the checks where a job is built, and the width of the columns.
pub async fn r12_delay_deadline_and_timeout(world: &dyn World) {
    let longest = draft().delay(DELAY).deadline(DELAY).timeout(TIMEOUT);
    let job = world.job(world.enqueue(longest).await).await;
    assert_eq!(job.scheduled_at, job.created_at + DELAY);
    assert_eq!(job.timeout, TIMEOUT);
    let shortest = draft().delay(Duration::ZERO).deadline(MILLISECOND).timeout(MILLISECOND);
    assert_eq!(world.job(world.enqueue(shortest).await).await.timeout, MILLISECOND);
    assert_invalid(draft().delay(DELAY + MILLISECOND).build(), "delay");
    for length in [Duration::ZERO, DELAY + MILLISECOND] {
        assert_invalid(draft().deadline(length).build(), "deadline");
        assert_invalid(draft().timeout(length).build(), "timeout");
    }
}

/// R12: a start is at most 366 days ahead of the store's clock.
/// Guard: the check of `run_at` where the clock is known, before anything of the call is stored.
pub async fn r12_start(world: &dyn World) {
    let farthest = world.store_now().await + DELAY;
    for job in [draft(), unique("u")] {
        let id = world.enqueue(job.clone().run_at(farthest)).await;
        world.delete(id, false).await.expect("delete_job");
        let beyond = job.run_at(farthest + world.slack() + MILLISECOND);
        let call = [build(draft()), build(beyond)];
        assert_invalid(world.backend().enqueue(&call).await, "run_at");
    }
    world.assert_nothing_to_lease().await;
}

/// R12: the delay of a reschedule is at most 366 days too.
/// Guard: the check of the delay in reschedule.
pub async fn r12_reschedule(world: &dyn World) {
    let id = world.enqueue(draft()).await;
    let before = world.dump().await;
    let refused = world.admin().reschedule(&[id], DELAY + MILLISECOND).await;
    assert!(matches!(kind_of(refused), ErrorKind::Invalid { .. }));
    world.assert_unchanged(&before).await;
    world.admin().reschedule(&[id], DELAY).await.expect("reschedule");
    world.assert_nothing_to_lease().await;
}

/// R12: a priority is 0..=31.
/// Guard: the parser of priorities.
pub async fn r12_priority(world: &dyn World) {
    let highest = Priority::new(31).expect("a priority");
    let lease = world.lease(draft().priority(highest)).await;
    assert_eq!(lease.priority, highest);
    assert_invalid(Priority::new(32), "priority");
}

/// R12: a result has at most 64 KiB; a larger one is refused and the lease still holds.
/// Guard: the admission of results before the store is contacted.
pub async fn r12_result(world: &dyn World) {
    let lease = world.lease(draft()).await;
    let ack = |bytes: usize| [Ack::new(lease.token.clone()).with_result(vec![7; bytes])];
    let before = world.dump().await;
    assert_invalid(world.backend().ack(&ack(64 * KIB + 1)).await, "result");
    world.assert_unchanged(&before).await;
    let outcomes = world.backend().ack(&ack(64 * KIB)).await.expect("ack");
    assert_eq!(outcomes, [AckOutcome::Acked]);
    assert_eq!(world.job(lease.id()).await.result.map(|result| result.len()), Some(64 * KIB));
}

/// R12: a page has 1..=1000 jobs.
/// Guard: the parser of page sizes.
pub async fn r12_page(world: &dyn World) {
    world.enqueue_n(3).await;
    for jobs in [1, 1000] {
        let filter = JobFilter::default().limit(jobs);
        assert_eq!(world.list(filter).await.len(), 3);
    }
    assert_invalid(PageSize::new(0), "limit");
    assert_invalid(PageSize::new(1001), "limit");
}

/// R12: `per_key` is 1..=10,000, a weight 1..=100, an age of retention at least 10 min.
/// Guard: the checks where settings and requests are built.
pub async fn r12_settings(world: &dyn World) {
    for leases in [1, PER_KEY] {
        let patch = QueuePatch::default().per_key(leases);
        assert_eq!(world.configure(&default_queue(), patch).await.per_key, leases);
    }
    assert_invalid(QueuePatch::default().per_key(0).check(), "per_key");
    assert_invalid(QueuePatch::default().per_key(PER_KEY + 1).check(), "per_key");
    let ten_minutes = Duration::from_secs(600);
    let keep_for =
        |age| QueuePatch::default().retention(Retention::ALL.done(Keep::ALL.max_age(age)));
    assert!(keep_for(ten_minutes).check().is_ok());
    assert_invalid(keep_for(ten_minutes - MILLISECOND).check(), "retention age");
    let new = queue("new");
    for (json, field) in [
        (r#"{"paused": true, "per_key": 0}"#, "per_key"),
        (r#"{"paused": true, "max_pending": 9223372036854775808}"#, "max_pending"),
        (r#"{"retention": {"done": {"age_ms": 599999}, "dead": {}}}"#, "retention age"),
        (r#"{"paused": true, "dedup_window_ms": 31622400001}"#, "dedup_window_ms"),
        (r#"{"paused": true, "pause_for_ms": 31622400001}"#, "pause_for_ms"),
        (r#"{"paused": true, "pause_reason": "\n"}"#, "pause_reason"),
    ] {
        let patch: QueuePatch = serde_json::from_str(json).expect("the form is right");
        assert_invalid(world.admin().configure(&new, &patch).await, field);
    }
    assert!(world.find_queue(&new).await.is_none(), "a patch that is refused makes no queue");
    for (weight, valid) in [(0, false), (1, true), (100, true), (101, false)] {
        assert_eq!(WeightedQueues::new([(default_queue(), weight)]).is_ok(), valid);
    }
}

/// R12: a description is at most 1 KiB of text, and is returned unchanged.
/// Guard: the check of a patch; stores keep settings that their statements do not read.
pub async fn r12_a_description_is_kept_as_it_is(world: &dyn World) {
    let name = default_queue();
    assert_eq!(world.configure(&name, QueuePatch::default()).await.description, "");
    for text in ["a\tb\n\"c\" \\ ' \u{1f980}".to_owned(), "é".repeat(512), String::new()] {
        let patch = QueuePatch::default().description(&text);
        assert_eq!(world.configure(&name, patch).await.description, text);
        assert_eq!(world.queue(&name).await.settings.description, text);
        let other = world.configure(&name, QueuePatch::default().paused(true)).await;
        assert_eq!(other.description, text, "another setting changes");
    }
    for text in ["é".repeat(512) + "e", "\u{0}".to_owned(), "\r".into(), "\u{9b}".into()] {
        assert_invalid(QueuePatch::default().description(&text).check(), "description");
        let sent = serde_json::json!({ "description": text });
        let patch: QueuePatch = serde_json::from_value(sent).expect("the form is right");
        assert_invalid(world.admin().configure(&name, &patch).await, "description");
    }
}

/// R12: the delay of a nack is clamped to 30 days and never refused.
/// Guard: the constructor of nacks.
pub async fn r12_nack_delay(world: &dyn World) {
    let lease = world.lease(draft()).await;
    let nack = |delay| Nack::new(lease.token.clone(), NackKind::Retry, "failed", delay);
    assert_eq!(nack(NACK_DELAY).delay(), NACK_DELAY);
    assert_eq!(nack(NACK_DELAY + MILLISECOND).delay(), NACK_DELAY);
    assert_eq!(nack(Duration::MAX).delay(), NACK_DELAY);
    world.fail(&lease, NACK_DELAY).await;
}

/// R12: a store has at most 10,000 queues; those that exist can still be used.
/// Guard: the count of queues where one is created.
pub async fn r12_queues(world: &dyn World) {
    let most = world.limits().queues();
    world.enqueue_all((0..most).map(|at| draft().queue(format!("q{at}")))).await;
    let one_more = build(draft().queue("one-more"));
    assert_invalid(world.backend().enqueue(&[one_more]).await, "queues");
    world.enqueue(draft().queue("q0")).await;
    assert_eq!(world.backend().all_queues().await.expect("list_queues").len(), most);
}

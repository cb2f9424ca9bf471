//! R2.1 to R2.4: storing jobs, once.

use std::sync::Arc;
use std::time::Duration;

use queuekit_core::{
    Backend, EnqueueOutcome, JobDraft, JobId, Metadata, NewJob, Priority, QueueName, State,
    Timestamp,
};

use crate::World;
use crate::kit::{
    DAY, HOUR, MINUTE, TWINS, assert_invalid, build, carrying, draft, in_parallel, queue,
};

/// R2.1: a job without settings gets the documented defaults.
/// Guard: the defaults of a draft, and the columns that store them.
pub async fn r2_1_defaults(world: &dyn World) {
    let id = world.enqueue(JobDraft::new("work", "")).await;
    let job = world.job(id).await;
    assert_eq!(job.queue.as_str(), "default");
    assert_eq!(job.priority, Priority::NORMAL);
    assert_eq!(job.max_attempts, 3);
    assert_eq!(job.scheduled_at, job.created_at);
    assert_eq!(job.timeout, 30 * MINUTE);
    assert_eq!(job.deadline_in, None);
    assert_eq!((job.idempotency_key, job.partition_key), (None, None));
    assert!(job.metadata.is_empty() && job.payload.is_empty());
    assert_eq!((job.attempts, job.releases, job.lease_seq), (0, 0, 0));
}

/// R2.1: a reader and a worker get the job as it was enqueued.
/// Guard: every field of a job has a place in the record.
pub async fn r2_1_every_field_reaches_reader_and_worker(world: &dyn World) {
    let metadata: Metadata = [("traceparent", "00-ab"), ("tenant", "ü")].into_iter().collect();
    let described = JobDraft::new("send:email.v2", "{}")
        .queue("emails")
        .priority(Priority::HIGH)
        .max_attempts(7)
        .timeout(Duration::from_millis(1500))
        .deadline(DAY)
        .idempotency_key("order 1")
        .unique_until_done()
        .partition_key("customer 1")
        .metadata(metadata.clone());
    let id = world.enqueue(described).await;
    let job = world.job(id).await;
    assert_eq!((job.queue.as_str(), job.kind.as_str()), ("emails", "send:email.v2"));
    assert_eq!((job.priority, job.max_attempts), (Priority::HIGH, 7));
    assert_eq!(job.timeout, Duration::from_millis(1500));
    world.assert_left(job.deadline_in, DAY);
    assert_eq!(job.idempotency_key.map(String::from).as_deref(), Some("order 1"));
    assert!(job.unique_until_done);
    assert_eq!(job.partition_key.map(String::from).as_deref(), Some("customer 1"));
    assert_eq!(job.metadata, metadata);

    let lease = world.reserve_one_from(&queue("emails")).await;
    assert_eq!((lease.token.queue.as_str(), lease.kind.as_str()), ("emails", "send:email.v2"));
    assert_eq!((lease.priority, lease.max_attempts), (Priority::HIGH, 7));
    assert_eq!(lease.timeout, Duration::from_millis(1500));
    world.assert_left(lease.deadline_in, DAY);
    assert_eq!(lease.partition_key.map(String::from).as_deref(), Some("customer 1"));
    assert_eq!(lease.metadata, metadata);
    assert_eq!((lease.created_at, lease.scheduled_at), (job.created_at, job.scheduled_at));

    let moved = world.enqueue(draft().queue("other").moved_from(id)).await;
    assert_eq!(world.job(moved).await.moved_from, Some(id));
}

/// R2.1: payloads travel byte for byte, whatever they are.
/// Guard: payloads are bytes, never text and never decoded JSON.
pub async fn r2_1_payloads_are_stored_byte_for_byte(world: &dyn World) {
    let every_byte: Vec<u8> = (0..=255).collect();
    let payloads: [&[u8]; 8] = [
        b"",
        b"\0",
        b"\xff\xfe\x80",
        b"{\"n\":9007199254740993,\"m\":1e400}",
        b"{\"a\":1,\"a\":2}",
        b"[]",
        b"{ }\r\n",
        &every_byte,
    ];
    for payload in payloads {
        let lease = world.lease(JobDraft::new("work", payload.to_vec())).await;
        assert_eq!(lease.payload, payload);
        assert_eq!(world.job(lease.id()).await.payload, payload);
        world.fail(&lease, Duration::ZERO).await;
        let again = world.reserve_one().await;
        assert_eq!(again.payload, payload, "after a retry");
        world.complete(&again).await;
    }
}

/// R2.1: every priority of 0..=31 is stored as it is.
/// Guard: the width of the priority's column.
pub async fn r2_1_every_priority_is_stored(world: &dyn World) {
    let levels = (0..32).map(|level| Priority::new(level).expect("a priority"));
    let drafts = levels.clone().map(|priority| draft().priority(priority));
    let ids = world.enqueue_all(drafts).await;
    for (id, priority) in ids.iter().zip(levels) {
        assert_eq!(world.job(*id).await.priority, priority);
    }
    let urgent_first: Vec<JobId> = ids.into_iter().rev().collect();
    assert_eq!(world.reserve_ids(32).await, urgent_first);
}

/// R2.2: an empty batch returns at once and changes nothing. Tests of each store show that the
/// store is not contacted.
/// Guard: the early return of enqueue.
pub async fn r2_2_an_empty_batch_changes_nothing(world: &dyn World) {
    let before = world.dump().await;
    assert_eq!(world.backend().enqueue(&[]).await.expect("enqueue"), []);
    world.assert_unchanged(&before).await;
}

/// R2.3: an enqueue returns an outcome per job, in input order, also over several queues.
/// Guard: outcomes are put back into input order.
pub async fn r2_3_outcomes_are_in_input_order(world: &dyn World) {
    let taken = world.enqueue(draft().queue("b").idempotency_key("k")).await;
    let jobs: Vec<NewJob> = [
        draft().queue("b"),
        draft().queue("b").idempotency_key("k"),
        draft().queue("a"),
        draft().queue("c"),
        draft().queue("a").idempotency_key("k"),
    ]
    .map(build)
    .into();
    let outcomes = world.backend().enqueue(&jobs).await.expect("enqueue");
    let created = |at: usize| EnqueueOutcome::Created { id: jobs[at].id() };
    let duplicate = EnqueueOutcome::Duplicate { existing: taken };
    assert_eq!(outcomes, [created(0), duplicate, created(2), created(3), created(4)]);
}

/// R2.3: the jobs of one call are stored in one atomic step.
/// Guard: one transaction or script per call.
pub async fn r2_3_a_call_is_stored_in_one_step(world: &dyn World) {
    whole_calls_only(world, |_| draft()).await;
}

/// R2.3: so are the jobs of a call over several queues, unless the store states otherwise.
/// Guard: one transaction over all queues of a call.
pub async fn r2_3_a_call_over_several_queues_is_stored_in_one_step(world: &dyn World) {
    whole_calls_only(world, |at| draft().queue(format!("q{}", at % 5))).await;
}

/// A reader that sees one job of a call sees all of them.
async fn whole_calls_only(world: &dyn World, describe: impl Fn(usize) -> JobDraft) {
    for round in 0..10 {
        let jobs: Vec<NewJob> = (0..50).map(|at| build(describe(at))).collect();
        let ids: Vec<JobId> = jobs.iter().map(NewJob::id).collect();
        let store = Arc::clone(world.backend());
        let enqueue = tokio::spawn(async move { store.enqueue(&jobs).await });
        let watched = ids[(round * 7) % ids.len()];
        let mut enqueue = enqueue;
        while world.find(watched).await.is_none() {
            if enqueue.is_finished() && world.find(watched).await.is_none() {
                panic!("not stored: {:?}", (&mut enqueue).await);
            }
            tokio::task::yield_now().await;
        }
        for id in ids {
            assert!(world.find(id).await.is_some(), "a part of the call is not stored yet");
        }
        enqueue.await.expect("the task").expect("enqueue");
    }
}

/// R2.4: an id always ends in the first two bytes of SHA-256 of the queue's name.
/// Guard: the tag of a queue's name.
pub async fn r2_4_an_id_ends_in_its_queues_tag(world: &dyn World) {
    let vectors = [
        ("default", [0x37, 0xa8]),
        ("emails", [0xce, 0xdb]),
        ("a", [0xca, 0x97]),
        ("queue.with:all-_", [0xe4, 0x70]),
        ("x", [0x2d, 0x71]),
    ];
    for (name, tag) in vectors {
        let id = world.enqueue(draft().queue(name)).await;
        assert_eq!(id.queue_tag(), tag, "{name}");
        assert_eq!(id.as_bytes()[6] >> 4, 7, "the id should be a UUIDv7");
        assert_eq!(world.job(id).await.queue.as_str(), name, "found by id alone");
    }
}

/// R2.4: an id of another queue is refused.
/// Guard: the comparison of id and queue where a job is built.
pub async fn r2_4_an_id_of_another_queue_is_refused(world: &dyn World) {
    let id = JobId::generate(&queue("a"), Timestamp::default());
    assert_invalid(draft().queue("b").id(id).build(), "id");
    assert_eq!(world.enqueue(draft().queue("a").id(id)).await, id);
}

/// R2.4: a repeated call creates nothing twice, in whatever state the job is by then.
/// Guard: the search for the id, which includes ended jobs if the call is a repeat.
pub async fn r2_4_a_repeated_call_is_a_duplicate(world: &dyn World) {
    let job = build(draft());
    let duplicate = [EnqueueOutcome::Duplicate { existing: job.id() }];
    let repeat = [job.clone().repeated()];
    assert!(world.backend().enqueue(&[job]).await.expect("enqueue")[0].is_created());
    for state in ["pending", "running", "completed"] {
        let before = world.dump().await;
        let outcomes = world.backend().enqueue(&repeat).await.expect("enqueue");
        assert_eq!(outcomes, duplicate, "{state}");
        world.assert_unchanged_but_for_places(&before).await;
        match state {
            "pending" => drop(world.reserve(1).await),
            "running" => {
                let id = repeat[0].id();
                world.expire().await;
                let lease = world.reserve_one().await;
                assert_eq!(lease.id(), id);
                world.complete(&lease).await;
            }
            _ => {}
        }
    }
    world.assert_nothing_to_lease().await;
}

/// R2.4: the same, for a job that is dead or cancelled.
/// Guard: dead and cancelled jobs are searched too.
pub async fn r2_4_a_repeated_call_finds_dead_and_cancelled_jobs(world: &dyn World) {
    for cancelled in [false, true] {
        let job = build(draft());
        world.backend().enqueue(std::slice::from_ref(&job)).await.expect("enqueue");
        let lease = world.reserve_one().await;
        if cancelled {
            world.call_off(&lease).await;
        } else {
            world.kill(&lease).await;
        }
        let outcomes = world.backend().enqueue(&[job.clone().repeated()]).await.expect("enqueue");
        assert_eq!(outcomes, [EnqueueOutcome::Duplicate { existing: job.id() }]);
        world.assert_nothing_to_lease().await;
    }
}

/// R2.4: the same id with other content is a conflict, and changes nothing.
/// Guard: kind and payload are compared with what is stored.
pub async fn r2_4_an_id_with_other_content_is_a_conflict(world: &dyn World) {
    let id = world.enqueue(carrying("one")).await;
    let conflict = EnqueueOutcome::Conflict { existing: id };
    let before = world.dump().await;
    assert_eq!(world.try_enqueue(carrying("two").id(id)).await, conflict);
    assert_eq!(world.try_enqueue(JobDraft::new("other", "one").id(id)).await, conflict);
    world.assert_unchanged_but_for_places(&before).await;

    let lease = world.reserve_one().await;
    world.complete(&lease).await;
    let other = build(carrying("two").id(id)).repeated();
    assert_eq!(world.backend().enqueue(&[other]).await.expect("enqueue"), [conflict]);
}

/// R2.4: a job of another queue with the same tag is not the job that is enqueued.
/// Guard: the queue is compared too; otherwise a caller could guess the payloads of a queue that it
/// may not read.
pub async fn r2_4_a_job_of_another_queue_is_no_duplicate(world: &dyn World) {
    let [one, other] = TWINS;
    let id = world.enqueue(carrying("guessed").queue(one)).await;
    let outcome = world.try_enqueue(carrying("guessed").queue(other).id(id)).await;
    // Some stores keep ids unique within a queue.
    let allowed = [EnqueueOutcome::Conflict { existing: id }, EnqueueOutcome::Created { id }];
    assert!(allowed.contains(&outcome), "{outcome:?}");
}

/// R2.4: a large payload is compared whole, wherever a store keeps it.
/// Guard: the comparison includes payloads that are stored separately.
pub async fn r2_4_a_repeat_of_a_large_job_is_a_duplicate(world: &dyn World) {
    let large = "x".repeat(100_000);
    let id = world.enqueue(carrying(large.clone())).await;
    let duplicate = EnqueueOutcome::Duplicate { existing: id };
    assert_eq!(world.try_enqueue(carrying(large.clone()).id(id)).await, duplicate);
    let conflict = EnqueueOutcome::Conflict { existing: id };
    let other = format!("{}y", &large[1..]);
    assert_eq!(world.try_enqueue(carrying(other).id(id)).await, conflict);
}

/// R2.4: a job that cannot be served any more is still compared, by what can be read of it.
/// Guard: the comparison needs the kind and the payload, and not the whole record.
pub async fn r2_4_a_repeat_of_an_unreadable_job_is_a_duplicate(world: &dyn World) {
    let id = world.enqueue(carrying("one")).await;
    assert!(world.corrupt(id).await, "the harness states `can_corrupt`, but corrupt failed");
    let again = |payload| build(carrying(payload).id(id)).repeated();
    for _ in ["pending", "dead"] {
        let outcomes = world.backend().enqueue(&[again("one")]).await.expect("enqueue");
        assert_eq!(outcomes, [EnqueueOutcome::Duplicate { existing: id }]);
        let outcomes = world.backend().enqueue(&[again("two")]).await.expect("enqueue");
        assert_eq!(outcomes, [EnqueueOutcome::Conflict { existing: id }]);
        world.assert_nothing_to_lease().await;
    }
    assert_eq!(world.state(id).await, State::Dead);
}

/// R2.4: calls with an id that belongs to no queue find nothing.
/// Guard: an unknown tag is an outcome, not an error.
pub async fn r2_4_an_id_of_no_queue_is_not_found(world: &dyn World) {
    world.enqueue(draft()).await;
    let nowhere = JobId::generate(&queue("nowhere"), Timestamp::default());
    for id in [nowhere, JobId::from_bytes([0; 16]), JobId::from_bytes([0xff; 16])] {
        assert!(world.find(id).await.is_none());
        assert!(!world.delete(id, true).await.expect("delete_job"));
    }
}

/// R2.4: the text form of an id is that of its bytes, in every reader.
/// Guard: stores keep ids as 16 bytes or as their one text form.
pub async fn r2_4_an_id_survives_its_text_and_its_bytes(world: &dyn World) {
    let id = world.enqueue(draft()).await;
    assert_eq!(id.to_string().parse::<JobId>().expect("an id"), id);
    assert_eq!(JobId::from_bytes(*id.as_bytes()), id);
    assert_eq!(world.reserve_one().await.id(), id);
}

/// R6.5: a job that moved records where it came from, and moves only once.
/// Guard: the id of a move is a pure function of the old id and the queue.
pub async fn r6_5_a_move_is_safe_to_repeat(world: &dyn World) {
    let old = world.enqueue(draft().delay(HOUR)).await;
    let moved = draft().queue("b").moved_from(old);
    let id = world.enqueue(moved.clone()).await;
    assert_eq!(id, old.moved_to(&queue("b")));
    assert_eq!(world.job(id).await.moved_from, Some(old));
    assert_eq!(world.try_enqueue(moved).await, EnqueueOutcome::Duplicate { existing: id });
}

/// R2.4: two callers who enqueue one id at once create one job.
/// Guard: the id is unique in the store.
pub async fn r2_4_one_id_at_once_is_created_once(world: &dyn World) {
    let handles = world.handles().await;
    for _ in 0..10 {
        let job = build(draft());
        let calls = (0..8).map(|turn| {
            let (store, job) = (Arc::clone(&handles[turn % handles.len()]), job.clone());
            async move { store.enqueue(&[job]).await.expect("enqueue")[0] }
        });
        let outcomes = in_parallel(calls).await;
        let created = outcomes.iter().filter(|outcome| outcome.is_created()).count();
        assert_eq!(created, 1, "{outcomes:?}");
        assert!(outcomes.iter().all(|outcome| outcome.job_id() == Some(job.id())));
    }
    assert_eq!(world.serve_all(&QueueName::default()).await.len(), 10);
}

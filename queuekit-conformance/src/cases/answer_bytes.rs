//! R8.9: an answer that holds payloads ends at its bytes, and the next one continues behind it.

use std::time::Duration;

use queuekit_core::backend::{AnswerBytes, Queues};
use queuekit_core::capability::{ScheduleQuery, Settlement, WorkerInfo};
use queuekit_core::event::Event;
use queuekit_core::limits::ANSWER_BYTES;
use queuekit_core::queue::Order;
use queuekit_core::{
    Ack, AckOutcome, EventDraft, Job, JobDraft, JobFilter, JobId, Lease, Nack, NackKind,
    NackOutcome, PageSize, QueueName, QueuePatch, Reserve, ScheduleDraft, Status,
    SubscriptionDraft, WeightedQueues,
};

use crate::World;
use crate::kit::{
    DAY, HOUR, beat_of, carrying, default_queue, deliveries_of, draft, queue, request, ttl, worker,
};

/// The payload of most jobs here: some eight of them fill an answer.
const LARGE: usize = 1024 * 1024;

fn large() -> JobDraft {
    carrying("x".repeat(LARGE))
}

/// Enqueues large jobs one by one: more than a few are too many bytes for a call.
async fn enqueue_large(world: &dyn World, queue: &str, jobs: usize) -> Vec<JobId> {
    let mut ids = Vec::with_capacity(jobs);
    for _ in 0..jobs {
        ids.push(world.enqueue(large().queue(queue)).await);
    }
    ids
}

/// Asserts that an answer has no more bytes than it may, and not much less if others follow.
#[track_caller]
fn assert_fills(sizes: impl Iterator<Item = usize>, more: bool) {
    let bytes: usize = sizes.sum();
    assert!(bytes <= ANSWER_BYTES, "an answer of {bytes} bytes is larger than {ANSWER_BYTES}");
    assert!(!more || bytes >= ANSWER_BYTES - 2 * LARGE, "an answer ended early, at {bytes} bytes");
}

/// The jobs of a listing, page by page, each with as many jobs as a page may have.
async fn listed(world: &dyn World, filter: JobFilter) -> Vec<JobId> {
    let mut filter = filter.limit(PageSize::MAX.get());
    let mut listed = Vec::new();
    loop {
        let page = world.page(&filter).await;
        // It may end early for other reasons (R8.2).
        assert_fills(page.items.iter().map(Job::bytes), false);
        listed.extend(page.items.iter().map(|job| job.id));
        if page.next.is_none() {
            return listed;
        }
        filter = filter.after(page.next);
    }
}

/// Leases of a hundred jobs at most, with the check that the bytes are bounded.
async fn reserve_from(world: &dyn World, queues: impl Into<Queues>, left: usize) -> Vec<Lease> {
    let request = Reserve::new(queues, 100, ttl(HOUR), worker("w")).expect("a nonce");
    let reserved = world.reserve_with(&request).await;
    let more = reserved.leases.len() < left;
    assert_fills(reserved.leases.iter().map(Lease::bytes), more);
    assert!(reserved.more || !more, "an answer that is full says that there is more");
    reserved.leases
}

/// R8.9: a page of jobs ends at its bytes, in whatever queue and status, and each job comes once.
/// Guard: the bytes of a page are counted, over all its queues and sections.
pub async fn r8_9_a_page_of_jobs_ends_at_its_bytes(world: &dyn World) {
    let mut ids = enqueue_large(world, "a", 6).await;
    for lease in world.reserve_from(&queue("a"), 4).await {
        world.complete(&lease).await;
    }
    for lease in world.reserve_from(&queue("a"), 1).await {
        world.kill(&lease).await;
    }
    ids.extend(enqueue_large(world, "b", 9).await);
    for small in 0..20 {
        ids.push(world.enqueue(draft().queue(["b", "c"][small % 2])).await);
    }
    ids.extend(enqueue_large(world, "c", 7).await);
    let mut seen = listed(world, JobFilter::default()).await;
    seen.sort();
    ids.sort();
    assert_eq!(seen, ids, "each job should come exactly once");
}

/// R8.9: the failures of jobs count, which may be more than their payloads.
/// Guard: the bytes of a job are not those of its payload alone.
pub async fn r8_9_the_failures_of_jobs_count(world: &dyn World) {
    const JOBS: usize = 12;
    // JSON writes it with six times as many bytes.
    let error = "\u{1}".repeat(8 * 1024);
    let mut ids = world.enqueue_all((0..JOBS).map(|_| draft().max_attempts(100))).await;
    for _ in 0..20 {
        let leases = world.reserve(JOBS).await;
        assert_eq!(leases.len(), JOBS);
        let fail =
            |lease: Lease| Nack::new(lease.token, NackKind::Retry, error.as_str(), Duration::ZERO);
        let nacks: Vec<Nack> = leases.into_iter().map(fail).collect();
        let retries = |outcome: &NackOutcome| matches!(outcome, NackOutcome::Retrying { .. });
        let outcomes = world.backend().nack(&nacks).await.expect("nack");
        assert!(outcomes.iter().all(retries), "{outcomes:?}");
    }
    let mut seen = listed(world, JobFilter::default()).await;
    seen.sort();
    ids.sort();
    assert_eq!(seen, ids);
}

/// R8.9: a reserve grants as many leases as fit, in order, says that there is more, and leaves the
/// others as they are.
/// Guard: the bytes of leases are counted before they are granted.
pub async fn r8_9_a_reserve_ends_at_its_bytes(world: &dyn World) {
    let ids = enqueue_large(world, "q", 20).await;
    let mut served = Vec::new();
    while served.len() < ids.len() {
        let leases = reserve_from(world, queue("q"), ids.len() - served.len()).await;
        assert!(!leases.is_empty(), "a reserve should get on");
        assert!(leases.iter().all(|lease| lease.attempt == 1 && lease.token.lease_seq == 1));
        served.extend(leases.iter().map(Lease::id));
        for id in &ids[served.len()..] {
            assert_eq!(world.job(*id).await.attempts, 0, "no attempt is spent on what did not fit");
        }
    }
    assert_eq!(served, ids, "in the order of the queue");
}

/// R8.9: a caller may ask for fewer bytes than an answer may have; the first job fits nevertheless.
/// Guard: a reserve ends at the bytes that its caller asked for.
pub async fn r8_9_a_reserve_ends_at_the_bytes_its_caller_has_room_for(world: &dyn World) {
    for order in [Order::Strict, Order::Fair] {
        let name = queue(&format!("{order:?}"));
        world.configure(&name, QueuePatch::default().order(order).per_key(9)).await;
        let ids = enqueue_large(world, name.as_str(), 5).await;
        let mut served = Vec::new();
        for (room, jobs) in [(LARGE * 5 / 2, 2), (1, 1), (LARGE * 9, 2)] {
            let mut request = request(name.clone(), 10);
            request.answer = AnswerBytes::up_to(room);
            let reserved = world.reserve_with(&request).await;
            assert_eq!(reserved.leases.len(), jobs, "{room} bytes of a queue by {order:?}");
            served.extend(reserved.leases.iter().map(Lease::id));
            assert_eq!(reserved.more, served.len() < ids.len());
        }
        assert_eq!(served, ids);
    }
}

/// R8.9: a caller with no memory for even one large job leases none, learns that there is more,
/// and changes nothing.
/// Guard: the first job of a strict reserve has to fit as well.
pub async fn r8_9_a_strict_reserve_leases_nothing_that_does_not_fit(world: &dyn World) {
    for order in [Order::Strict, Order::Fair] {
        let name = queue(&format!("{order:?}"));
        world.configure(&name, QueuePatch::default().order(order).per_key(9)).await;
        let small = world.enqueue(draft().queue(name.as_str())).await;
        let ids = enqueue_large(world, name.as_str(), 2).await;
        world.enqueue(draft().queue("later")).await;
        let mut request = request(name.clone(), 10);
        request.queues = vec![name.clone(), queue("later")].into();
        request.answer = AnswerBytes::up_to(LARGE / 2).strictly();
        for wanted in [vec![small], Vec::new()] {
            let reserved = world.reserve_with(&request).await;
            let leased: Vec<JobId> = reserved.leases.iter().map(Lease::id).collect();
            assert_eq!(leased, wanted, "of a queue by {order:?}");
            assert!(reserved.more, "the rest did not fit");
        }
        for id in ids {
            let job = world.job(id).await;
            assert_eq!((job.attempts, job.status), (0, Status::Ready), "nothing was leased");
        }
    }
}

/// R8.9: a later queue gets nothing of an answer that an earlier queue has filled.
/// Guard: nothing is leased behind a job that did not fit, however small it is.
pub async fn r8_9_nothing_is_leased_past_a_job_that_does_not_fit(world: &dyn World) {
    let urgent = enqueue_large(world, "urgent", 10).await;
    world.enqueue(draft().queue("urgent")).await;
    world.enqueue(draft().queue("bulk")).await;
    let queues: Queues = vec![queue("urgent"), queue("bulk")].into();
    let leases = reserve_from(world, queues.clone(), 12).await;
    let served: Vec<JobId> = leases.iter().map(Lease::id).collect();
    assert_eq!(served, urgent[..served.len()]);
    let rest = reserve_from(world, queues, 12 - served.len()).await;
    assert_eq!(rest.len(), 12 - served.len());
    assert_eq!(rest.last().map(|lease| lease.token.queue.clone()), Some(queue("bulk")));
}

/// R7.4, R8.9: the keys of a fair queue take turns from answer to answer.
/// Guard: a key whose job did not fit keeps its turn.
pub async fn r7_4_a_key_whose_job_does_not_fit_keeps_its_turn(world: &dyn World) {
    let fair = QueuePatch::default().order(Order::Fair).per_key(100);
    world.configure(&default_queue(), fair).await;
    let keys = ["a", "b", "c", "d", "e"];
    for key in keys.iter().flat_map(|key| [key; 5]) {
        world.enqueue(large().partition_key(*key)).await;
    }
    let mut served: Vec<String> = Vec::new();
    while served.len() < 25 {
        let leases = reserve_from(world, default_queue(), 25 - served.len()).await;
        let key = |lease: &Lease| lease.partition_key.as_ref().map(ToString::to_string);
        served.extend(leases.iter().filter_map(key));
    }
    for key in keys {
        let got = served[..20].iter().filter(|served| *served == key).count();
        assert!(got >= 2, "{key} got {got} of 20, and its share is 4: {served:?}");
    }
}

/// R7.5, R8.9: by weights, each queue gets its share though each answer has room for few jobs.
/// Guard: what a queue did not get of an answer that was full, it gets first in the next.
pub async fn r7_5_shares_hold_though_answers_are_full(world: &dyn World) {
    // Small jobs, and little room: a store may write all that it has with each call.
    const PAYLOAD: usize = 4096;
    for (weight, least) in [(1, 1.0 / 4.0), (3, 5.0 / 8.0)] {
        let names = [format!("a{weight}"), format!("b{weight}")];
        for name in &names {
            let job = || carrying("x".repeat(PAYLOAD)).queue(name);
            world.enqueue_all((0..24).map(|_| job())).await;
        }
        let [a, b] = names.map(|name| queue(&name));
        let queues = WeightedQueues::new([(a, 1), (b.clone(), weight)]).expect("weights");
        let mut served: Vec<QueueName> = Vec::new();
        while served.len() < 24 {
            let request = Reserve::new(queues.clone(), 100, ttl(HOUR), worker("w"));
            let mut request = request.expect("a nonce");
            request.answer = AnswerBytes::up_to(PAYLOAD * 11 / 2);
            let reserved = world.reserve_with(&request).await;
            assert!((1..6).contains(&reserved.leases.len()) && reserved.more);
            served.extend(reserved.leases.into_iter().map(|lease| lease.token.queue));
        }
        let of_b = served.iter().filter(|name| **name == b).count() as f64 / served.len() as f64;
        assert!((least..0.9).contains(&of_b), "{of_b} for a weight of {weight} beside 1");
    }
}

/// R8.9: an exchange ends at the bytes of its leases, and settles all that it was given.
/// Guard: the outcomes of an exchange do not depend on the room for leases.
pub async fn r8_9_an_exchange_ends_at_its_bytes(world: &dyn World) {
    let exchange = world.backend().capabilities().exchange.expect("the capability");
    let ids = enqueue_large(world, "q", 20).await;
    let first = reserve_from(world, queue("q"), ids.len()).await;
    let acks = first.iter().map(|lease| Ack::new(lease.token.clone())).collect();
    let settlement = Settlement { acks, nacks: Vec::new() };
    let exchanged = exchange.exchange(&settlement, &request(queue("q"), 100)).await;
    let exchanged = exchanged.expect("exchange");
    assert_eq!(exchanged.acks, vec![AckOutcome::Acked; first.len()]);
    let leases = exchanged.reserved.leases;
    assert_fills(leases.iter().map(Lease::bytes), first.len() + leases.len() < ids.len());
    assert!(exchanged.reserved.more);
    let served: Vec<JobId> = first.iter().chain(&leases).map(Lease::id).collect();
    assert_eq!(served, ids[..served.len()]);
}

/// R8.9: a page of events ends at its bytes, and each event comes once.
/// Guard: the bytes of a page are counted before its events are read.
pub async fn r8_9_a_page_of_events_ends_at_its_bytes(world: &dyn World) {
    let mut ids = Vec::new();
    for kind in ["a", "b", "a", "a", "a", "a", "b", "a", "a", "a", "a", "a", "a", "b"] {
        ids.push(world.emit(EventDraft::new(kind, vec![b'x'; LARGE])).await);
    }
    let outbox = world.backend().capabilities().outbox.expect("the capability");
    for pattern in [None, "a".parse().ok()] {
        let mut filter = super::events::page(1000);
        filter.pattern = pattern;
        let mut seen = Vec::new();
        loop {
            let page = outbox.list_events(&filter).await.expect("list_events");
            assert!(!page.events.is_empty() || page.cursor.is_none(), "a page should get on");
            let sizes = page.events.iter().map(Event::bytes);
            assert_fills(sizes, page.cursor.is_some());
            seen.extend(page.events.iter().map(|event| event.id));
            if page.cursor.is_none() {
                break;
            }
            filter.cursor = page.cursor;
        }
        let wanted = if filter.pattern.is_none() { ids.len() } else { 11 };
        assert_eq!(seen.len(), wanted);
        assert!(ids.iter().filter(|id| seen.contains(id)).eq(&seen), "in the order of the log");
    }
}

/// R8.9: deliveries count with the data of their events, where that is stored once for all.
/// Guard: the bytes of a lease and of a listed job are those that the answer has.
pub async fn r8_9_deliveries_count_with_the_data_of_their_events(world: &dyn World) {
    for draft in [SubscriptionDraft::new("plain", "*"), SubscriptionDraft::new("fair", "*").fair()]
    {
        world.subscribe(draft).await;
    }
    for number in 0..12 {
        let event = EventDraft::new("large", vec![b'x'; LARGE]);
        world.emit(event.partition_key(format!("k{}", number % 3))).await;
    }
    for name in ["plain", "fair"] {
        let deliveries = deliveries_of(name);
        let filter = JobFilter::default().queue(deliveries.clone());
        assert_eq!(listed(world, filter).await.len(), 12);
        let mut served = 0;
        while served < 12 {
            let leases = reserve_from(world, deliveries.clone(), 12 - served).await;
            assert!(!leases.is_empty(), "a reserve of {name} should get on");
            assert!(leases.iter().all(|lease| lease.payload.len() == LARGE));
            served += leases.len();
        }
    }
}

/// R8.9: rows of schedules end at their bytes, by name and by when they are due; a tick enqueues
/// the jobs of all.
/// Guard: a store reads no more rows than an answer may have, and returns the query that continues.
pub async fn r8_9_rows_of_schedules_end_at_their_bytes(world: &dyn World) {
    const SCHEDULES: usize = 20;
    let large = || carrying("x".repeat(LARGE * 3 / 4));
    for number in 0..SCHEDULES {
        world.declare(ScheduleDraft::every(format!("s{number:02}"), HOUR, large())).await;
    }
    world.advance(DAY).await;
    for query in [ScheduleQuery::After(None, 1000), ScheduleQuery::Due(None, 1000)] {
        for limit in [1000, 3] {
            let mut next = Some(match &query {
                ScheduleQuery::After(..) => ScheduleQuery::After(None, limit),
                _ => ScheduleQuery::Due(None, limit),
            });
            let mut names = Vec::new();
            while let Some(query) = next {
                let found = world.schedule_rows(query).await;
                assert!(found.rows.len() <= limit);
                let is_full = found.next.is_some() && limit == 1000;
                assert_fills(found.rows.iter().map(|row| row.bytes()), is_full);
                names.extend(found.rows.iter().map(|row| row.name.to_string()));
                next = found.next;
            }
            let all: Vec<String> = (0..SCHEDULES).map(|number| format!("s{number:02}")).collect();
            assert_eq!(names, all, "each should come exactly once, by {query:?}");
        }
    }
    for _ in 0..SCHEDULES {
        // What fails stays due.
        let ticked = world.scheduler().tick().await.expect("tick");
        if ticked.failed.is_empty() && !ticked.more {
            break;
        }
    }
    assert_eq!(world.count(Status::Ready).await, SCHEDULES);
}

/// R3.9, R8.9: a page of workers ends at its bytes, and each worker comes once; queues count all.
/// Guard: the bytes of a page are counted, and the bound is no end of the listing.
pub async fn r8_9_a_page_of_workers_ends_at_its_bytes(world: &dyn World) {
    let ids: Vec<String> = (0..9).map(|number| format!("w{number}")).collect();
    for id in &ids {
        let mut beat = beat_of(id);
        beat.name = "x".repeat(LARGE);
        world.beat(&beat).await;
    }
    let (mut after, mut listed) = (None, Vec::new());
    loop {
        let page = world.leases().list_workers(after.as_ref(), PageSize::MAX).await;
        let page = page.expect("list_workers");
        assert_fills(page.workers.iter().map(WorkerInfo::bytes), page.after.is_some());
        listed.extend(page.workers.into_iter().map(|worker| worker.beat.id.to_string()));
        assert!(listed.len() <= ids.len(), "a page should get on: {listed:?}");
        after = page.after;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(listed, ids, "each should come exactly once");
    world.enqueue(draft()).await;
    assert_eq!(world.queue(&default_queue()).await.workers, ids.len() as u64);
}

//! R8.8: jobs are found by their id, their metadata and their payload, and a page says what it
//! looked at.

use std::time::Duration;

use queuekit_core::{
    DeadLetter, EventDraft, JobDraft, JobFilter, JobId, Kind, Metadata, NackKind, NackOutcome,
    SubscriptionDraft, TimeRange, Timestamp,
};

use crate::World;
use crate::kit::{MINUTE, carrying, default_queue, deliveries_of, draft};

/// The text of large jobs here: some eight of them fill an answer.
const LARGE: usize = 1024 * 1024 - 100;

/// The ids that a filter finds, page by page, in their order.
async fn found(world: &dyn World, filter: JobFilter) -> Vec<JobId> {
    let (mut ids, mut filter) = (Vec::new(), filter);
    loop {
        let page = world.page(&filter).await;
        assert!(page.items.len() <= filter.limit.get(), "{} items", page.items.len());
        ids.extend(page.items.iter().map(|job| job.id));
        if page.next.is_none() {
            return ids;
        }
        filter = filter.after(page.next);
    }
}

/// R8.8: the first digits of an id find it.
/// Guard: the prefix is compared with the id that is shown.
pub async fn r8_8_an_id_is_found_by_its_first_digits(world: &dyn World) {
    // An id begins with the time at which it was drawn, in ms.
    let drawn = |ms| JobId::generate(&default_queue(), Timestamp::from_millis(ms));
    let ids = [0x0199_c3a0_0000, 0x0199_c3a1_0000, 0x0199_c3a1_ffff].map(drawn);
    for id in ids {
        world.enqueue(draft().id(id)).await;
    }
    let by = |prefix: &str| JobFilter::default().id(prefix);
    for (prefix, wanted) in [
        ("0199c3", &ids[..]),
        ("0199c3a1", &ids[1..]),
        ("0199C3A1-F", &ids[2..]),
        (&ids[0].to_string(), &ids[..1]),
        ("0199c3a2", &[]),
        (&ids[0].to_string()[24..], &[]),
    ] {
        assert_eq!(found(world, by(prefix)).await, wanted, "{prefix}");
    }
}

/// R8.8: metadata is found by name and value, as they are.
/// Guard: the value is compared whole.
pub async fn r8_8_metadata_is_found_by_name_and_value(world: &dyn World) {
    let of = |tenant: &str| draft().metadata(Metadata::from([("tenant", tenant), ("n", "1")]));
    let acme = world.enqueue(of("acme")).await;
    world.enqueue(of("acme:eu")).await;
    world.enqueue(draft()).await;
    let by = |term: &str| JobFilter::default().metadata(term);
    assert_eq!(found(world, by("tenant:acme")).await, [acme]);
    assert_eq!(found(world, by("tenant:")).await, []);
    assert_eq!(found(world, by("n:1")).await.len(), 2);
    assert_eq!(found(world, by("n:1").metadata("tenant:acme").kind("other")).await, []);
}

/// R8.8: a payload is found by the text of a scalar in it, in each status that a job can have.
/// Guard: the path leads to the value, and what is no JSON matches nothing.
pub async fn r8_8_a_payload_is_found_by_a_scalar_in_it(world: &dyn World) {
    let payload = |user: &str| carrying(format!(r#"{{"user":{{"id":{user}}},"to":["a","b"]}}"#));
    let mut ids = Vec::new();
    for user in ["7", "\"7\"", "7.0", "70", "[7]"] {
        ids.push(world.enqueue(payload(user)).await);
    }
    for other in ["user.id:7", "{", ""] {
        world.enqueue(carrying(other)).await;
    }
    let by = |term: &str| JobFilter::default().payload(term);
    assert_eq!(found(world, by("user.id:7")).await, ids[..2], "a number and a text");
    assert_eq!(found(world, by("user.id:7.0")).await, ids[2..3]);
    assert_eq!(found(world, by("to.1:b")).await, ids);
    assert_eq!(found(world, by("to:b")).await, []);
    world.complete(&world.reserve_one().await).await;
    world.kill(&world.reserve_one().await).await;
    world.reserve_one().await;
    for (at, term) in ["user.id:7", "user.id:7", "user.id:7.0"].iter().enumerate() {
        let status = world.job(ids[at]).await.status;
        let both = by(term).status(status);
        assert_eq!(found(world, both).await, ids[at..=at], "one that is {status}");
    }
}

/// R8.8: what the event log stores for a delivery is its payload here as everywhere.
/// Guard: the payload that is compared is the one that is shown.
pub async fn r8_8_a_delivery_is_found_by_the_data_of_its_event(world: &dyn World) {
    world.subscribe(SubscriptionDraft::new("mailer", "*")).await;
    for user in [7, 8] {
        let data = format!(r#"{{"user":{user},"text":"{}"}}"#, "x".repeat(2000));
        world.emit(EventDraft::new("order.created", data.into_bytes())).await;
    }
    let of = JobFilter::default().queue(deliveries_of("mailer"));
    assert_eq!(found(world, of.clone().payload("user:7")).await.len(), 1);
    assert_eq!(found(world, of.payload("user:9")).await, []);
}

/// R8.2, R8.8: each job that matches comes once, whatever ends the pages: their length, the bytes
/// of their jobs, or the store.
/// Guard: a page ends before a job for which it has no room, and the next begins with it.
pub async fn r8_8_each_match_comes_once(world: &dyn World) {
    let mut ids = Vec::new();
    for number in 0..21 {
        let (third, size) = (number % 3 == 0, [LARGE, 10][number % 2]);
        let text = "x".repeat(size);
        let payload = format!(r#"{{"any":1,"third":{third},"text":"{text}"}}"#);
        ids.push(world.enqueue(carrying(payload)).await);
    }
    let thirds: Vec<JobId> = ids.iter().copied().step_by(3).collect();
    for (limit, term, wanted) in [
        (1, "third:true", &thirds),
        (3, "third:true", &thirds),
        (1, "any:1", &ids),
        (1000, "any:1", &ids),
        (1000, "any:2", &Vec::new()),
    ] {
        let filter = JobFilter::default().limit(limit).payload(term);
        assert_eq!(found(world, filter).await, *wanted, "{term}, in pages of {limit}");
    }
}

/// R8.8: a page says how many jobs it looked at, and the last of them.
/// Guard: each job that a page looks at is counted, whether it matches or not.
pub async fn r8_8_a_page_says_what_it_looked_at(world: &dyn World) {
    let of = |kind: &str| JobDraft::new(Kind::new(kind).expect("a kind"), r#"{"n":1}"#);
    let ids = world.enqueue_all(["a", "b", "a", "b", "a"].map(of)).await;
    let all = JobFilter::default();
    for (filter, jobs, up_to) in [
        (all.clone(), 5, 4),
        (all.clone().kind("b"), 5, 4),
        (all.clone().kind("b").limit(1), 2, 1),
        (all.clone().payload("n:1"), 5, 4),
        (all.clone().payload("n:2").kind("b"), 5, 4),
        (all.clone().payload("n:1").limit(3), 3, 2),
    ] {
        let page = world.page(&filter).await;
        let told = (page.examined.jobs(), page.examined.up_to());
        assert_eq!(told, (jobs, Some(ids[up_to])), "{filter:?}");
    }
    let none = world.page(&all.queue("none")).await.examined;
    assert_eq!((none.jobs(), none.up_to()), (0, None));
}

/// R8.8: of ended jobs a page looks at those only that ended in the time that its filter asks for,
/// however many ended before and after it.
/// Guard: a listing begins and ends at the times of its filter.
pub async fn r8_8_a_time_of_the_end_is_found_without_a_look_at_others(world: &dyn World) {
    // The place of its status in a listing, when it ended, and which job.
    let mut ends = Vec::new();
    for number in 0..30 {
        let lease = world.lease(draft()).await;
        let (id, section) = (lease.id(), number % 3);
        match section {
            0 => world.kill(&lease).await,
            1 => {
                let stopped = world.nack(&lease.token, NackKind::Cancelled, Duration::ZERO).await;
                assert_eq!(stopped, NackOutcome::Cancelled);
            }
            _ => world.complete(&lease).await,
        }
        ends.push((section, world.job(id).await.finished_at.expect("an end"), id));
        world.advance(MINUTE).await;
    }
    let [from, to] = [ends[10].1, ends[20].1];
    for (range, within) in [
        (TimeRange::from(from..to), 10..20),
        (TimeRange::from(from..), 10..30),
        (TimeRange::from(..to), 0..20),
        (TimeRange::from(to..from), 0..0),
    ] {
        let mut wanted: Vec<_> = ends[within].iter().rev().collect();
        wanted.sort_by_key(|(section, ..)| *section);
        let wanted: Vec<JobId> = wanted.into_iter().map(|(.., id)| *id).collect();
        for limit in [1, 4, 1000] {
            let mut filter = JobFilter::default().finished(range).limit(limit);
            let (mut ids, mut examined) = (Vec::new(), 0);
            loop {
                let page = world.page(&filter).await;
                examined += page.examined.jobs();
                ids.extend(page.items.iter().map(|job| job.id));
                if page.next.is_none() {
                    break;
                }
                filter = filter.after(page.next);
            }
            assert_eq!(ids, wanted, "{range:?}, in pages of {limit}");
            assert_eq!(examined, wanted.len(), "{range:?}, in pages of {limit}");
        }
    }
}

/// R8.8: ended jobs are found by their kind, whatever else of theirs has its text, and those of
/// other kinds count as looked at.
/// Guard: a store that leaves others unread compares the kind itself, and counts them.
pub async fn r8_8_ended_jobs_of_other_kinds_are_looked_at(world: &dyn World) {
    let mut of_b = Vec::new();
    for number in 0..12 {
        let kind = ["a", "ab", "b", "b.c"][number % 4];
        // The text of the other kinds is in the payload and in the metadata.
        let draft = JobDraft::new(Kind::new(kind).expect("a kind"), "a b ab b.c ");
        let lease = world.lease(draft.metadata(Metadata::from([("b", "b ")]))).await;
        match number / 4 {
            0 => world.kill(&lease).await,
            1 => world.call_off(&lease).await,
            _ => world.complete(&lease).await,
        }
        of_b.extend(Some(lease.id()).filter(|_| kind == "b"));
        world.advance(MINUTE).await;
    }
    for (recent, wanted) in [(false, of_b.clone()), (true, of_b.into_iter().rev().collect())] {
        for limit in [1, 100] {
            let mut filter = JobFilter::default().kind("b").limit(limit);
            filter.recent = recent;
            let (mut ids, mut examined) = (Vec::new(), 0);
            loop {
                let page = world.page(&filter).await;
                examined += page.examined.jobs();
                ids.extend(page.items.iter().map(|job| job.id));
                if page.next.is_none() {
                    break;
                }
                filter = filter.after(page.next);
            }
            assert_eq!(ids, wanted, "in pages of {limit}");
            assert_eq!(examined, 12, "in pages of {limit}");
        }
    }
}

/// R8.8: a page whose time is over reads on until it has looked at as many jobs as its limit, and a
/// traversal of such pages lists each job once.
/// Guard: a store asks for the time between its reads.
pub async fn r8_8_a_page_without_time_looks_at_few_jobs(world: &dyn World) {
    const JOBS: usize = 120;
    let of = |number: usize| draft().queue(["a", "b"][number % 2]);
    let ids = world.enqueue_all((0..JOBS).map(of)).await;
    let ends: Vec<_> = ids.iter().map(|id| DeadLetter::of_job(*id, "why")).collect();
    let filters = || {
        let all = JobFilter::default().limit(1);
        let rare = all.clone().kind("other");
        [(all, JOBS), (rare.clone(), 0), (rare.payload("a:1"), 0)]
    };
    for recent in [false, true] {
        for (mut filter, matching) in filters() {
            filter.recent = recent;
            filter = filter.within(Duration::ZERO);
            let first = world.page(&filter).await;
            let looks = first.examined.jobs();
            // Contents are looked into some hundred jobs at a time.
            let is_cut = first.next.is_some() && (1..JOBS).contains(&looks);
            assert!(is_cut || filter.needs_content(), "{looks} looks: {filter:?}");
            let mut listed = found(world, filter.clone()).await;
            listed.sort_unstable();
            listed.dedup();
            assert_eq!(listed.len(), matching, "{filter:?}");
        }
        // Those that have ended, by queue and then by their end.
        world.backend().dead_letter(&ends).await.expect("dead_letter");
    }
}

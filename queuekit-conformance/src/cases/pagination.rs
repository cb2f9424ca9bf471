//! R8.2: pages and cursors.

use queuekit_core::{Cursor, JobDraft, JobFilter, PageSize, Priority, State};

use crate::World;
use crate::kit::{HOUR, assert_invalid, default_queue, draft, keyed, kind, queue};

fn all() -> JobFilter {
    JobFilter::default()
}

/// R8.2: a job that stays in its state is listed exactly once, whatever happens to others between
/// pages.
/// Guard: the cursor is a position, never an offset.
pub async fn r8_2_what_stays_comes_exactly_once(world: &dyn World) {
    for size in [1, 3, 10] {
        let stay = world.enqueue_n(30).await;
        let leave = world.enqueue_all((0..10).map(|_| draft().priority(Priority::HIGH))).await;
        let mut filter = all().status(State::Pending).limit(size);
        let (mut seen, mut pages) = (Vec::new(), 0);
        loop {
            let page = world.page(&filter).await;
            seen.extend(page.items.iter().map(|job| job.id));
            // What has been listed leaves, and others come in before the position.
            if let Some(id) = leave.get(pages) {
                world.delete(*id, true).await.expect("delete_job");
            }
            world.enqueue(draft().priority(Priority::CRITICAL)).await;
            pages += 1;
            assert!(pages < 500, "the listing never ends");
            if page.next.is_none() {
                break;
            }
            filter = filter.after(page.next);
        }
        for id in stay {
            let times = seen.iter().filter(|listed| **listed == id).count();
            assert_eq!(times, 1, "by pages of {size}");
        }
        let everything = world.list_ids(all().limit(PageSize::MAX.get())).await;
        for id in everything {
            world.delete(id, true).await.expect("delete_job");
        }
    }
}

/// R8.2: ended jobs too are listed exactly once while more jobs end.
/// Guard: the position of an ended job has its time and its id, newest first.
pub async fn r8_2_finished_jobs_come_exactly_once(world: &dyn World) {
    let stay = world.enqueue_n(20).await;
    for lease in world.reserve(20).await {
        world.complete(&lease).await;
    }
    let mut filter = all().status(State::Completed).limit(3);
    let mut seen = Vec::new();
    for _ in 0..200 {
        let page = world.page(&filter).await;
        seen.extend(page.items.iter().map(|job| job.id));
        let lease = world.lease(draft()).await;
        world.complete(&lease).await;
        if page.next.is_none() {
            break;
        }
        filter = filter.after(page.next);
    }
    for id in stay {
        assert_eq!(seen.iter().filter(|listed| **listed == id).count(), 1);
    }
}

/// R8.2: jobs with the same lease expiry or end are listed exactly once, page by page.
/// Guard: the position of a page has more than a time.
pub async fn r8_2_what_happened_at_once_comes_exactly_once(world: &dyn World) {
    let mut ids = world.enqueue_n(20).await;
    let leases = world.reserve(20).await;
    ids.sort();
    for state in [State::Running, State::Dead] {
        for lease in leases.iter().filter(|_| state == State::Dead) {
            world.kill(lease).await;
        }
        let mut filter = all().status(state).limit(3);
        let mut seen = Vec::new();
        loop {
            let page = world.page(&filter).await;
            seen.extend(page.items.iter().map(|job| job.id));
            if page.next.is_none() {
                break;
            }
            filter = filter.after(page.next);
        }
        seen.sort();
        assert_eq!(seen, ids, "{state}");
    }
}

/// R8.2: a cursor is bound to its filter, and can be written as opaque text and read again.
/// Guard: the fingerprint in a cursor.
pub async fn r8_2_a_cursor_is_bound_to_its_filter(world: &dyn World) {
    world.enqueue_n(5).await;
    let filter = all().queue(default_queue()).limit(2);
    let page = world.page(&filter).await;
    let cursor = page.next.expect("a page before the last should have a cursor");
    let other = all().queue(queue("other")).after(Some(cursor.clone()));
    assert_invalid(world.backend().list_jobs(&other).await, "cursor");
    let other = all().queue(default_queue()).status(State::Dead).after(Some(cursor.clone()));
    assert_invalid(world.backend().list_jobs(&other).await, "cursor");
    let read: Cursor = cursor.to_string().parse().expect("a cursor");
    let rest = filter.clone().limit(PageSize::MAX.get()).after(Some(read));
    assert_eq!(world.list(rest).await.len(), 3, "pages may differ in size");
    let broken: Cursor = "00ff".parse().expect("a cursor");
    let answer = world.backend().list_jobs(&filter.after(Some(broken))).await;
    assert_invalid(answer, "cursor");
}

/// R8.2: a cursor whose position makes no sense is refused, never a panic and never a loop.
/// Guard: the parser of positions.
pub async fn r8_2_a_forged_position_is_refused_or_harmless(world: &dyn World) {
    let ids = world.enqueue_n(5).await;
    let filter = all().queue(default_queue());
    for position in [&b""[..], b"\xff", &[0; 64], &[0xff; 300], b"9223372036854775807"] {
        let forged = filter.clone().after(Some(filter.cursor_at(position)));
        if let Ok(page) = world.backend().list_jobs(&forged).await {
            assert!(page.items.len() <= ids.len());
        }
    }
    assert_eq!(world.list(filter).await.len(), ids.len());
}

/// R8.2: with any digit of a valid cursor changed, the answer is a page or Invalid.
/// Guard: a position is checked as a whole before the store uses it.
pub async fn r8_2_a_cursor_with_a_digit_changed_is_refused_or_harmless(world: &dyn World) {
    one_in_each_status(world).await;
    let filter = all().limit(1);
    let (mut real, mut next) = (Vec::new(), world.page(&filter).await.next);
    while let Some(cursor) = next {
        real.push(cursor.to_string());
        next = world.page(&filter.clone().after(Some(cursor))).await.next;
    }
    assert!(real.len() >= 8, "a page of each status: {real:?}");
    for cursor in real {
        for (at, digit) in cursor.char_indices() {
            let other = digit.to_digit(16).map(|digit| (digit + 1 + at as u32 % 15) % 16);
            let other = other.and_then(|digit| char::from_digit(digit, 16)).expect("a digit");
            let forged = format!("{}{other}{}", &cursor[..at], &cursor[at + 1..]);
            let after = forged.parse().expect("digits");
            match world.backend().list_jobs(&filter.clone().after(Some(after))).await {
                Ok(page) => assert!(page.items.len() <= 1),
                Err(error) => assert_invalid(Err::<(), _>(error), "cursor"),
            }
        }
    }
}

async fn one_in_each_status(world: &dyn World) {
    for state in [State::Dead, State::Cancelled, State::Completed] {
        let lease = world.lease(draft()).await;
        match state {
            State::Dead => world.kill(&lease).await,
            State::Cancelled => world.call_off(&lease).await,
            _ => world.complete(&lease).await,
        }
    }
    let failed = world.lease(draft()).await;
    world.fail(&failed, HOUR).await;
    world.lease(keyed("k")).await;
    for waiting in [keyed("k"), keyed("k"), draft().delay(HOUR), keyed("l"), draft()] {
        world.enqueue(waiting).await;
    }
}

/// R8.2: a page examines a bounded number of jobs, and a match far behind is found all the same.
/// Guard: a short or empty page has a cursor.
pub async fn r8_2_a_rare_job_is_found_behind_many(world: &dyn World) {
    for _ in 0..11 {
        world.enqueue_n(1000).await;
    }
    let rare = world.enqueue(JobDraft::new("rare", "")).await;
    world.enqueue_n(1000).await;
    let mut filter = all().kind(kind("rare")).limit(10);
    let first = world.page(&filter).await;
    assert_eq!(first.items, [], "a page examines at most 10,000 jobs");
    assert!(first.next.is_some(), "an empty page behind which there is more has a cursor");
    filter = filter.after(first.next);
    assert_eq!(world.list_ids(filter).await, [rare]);
}

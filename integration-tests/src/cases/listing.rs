//! R8.1 and R8.2: reading one job, and listing many.

use std::time::Duration;

use queuekit_core::queue::Order;
use queuekit_core::{
    Cursor, JobFilter, JobId, Nack, NackKind, PageSize, Priority, QueuePatch, Reserve, State,
    Status, TimeRange,
};

use crate::World;
use crate::kit::{
    DAY, HOUR, MINUTE, assert_invalid, default_queue, draft, keyed, kind, partition_key, queue,
    ttl, worker,
};

fn all() -> JobFilter {
    JobFilter::default()
}

fn pages_of(jobs: usize) -> PageSize {
    PageSize::new(jobs).expect("a page size")
}

/// R8.1: an unknown id is none; a handle sees its own writes at once.
/// Guard: reads go to where writes went.
pub async fn r8_1_a_handle_sees_its_own_writes(world: &dyn World) {
    let id = world.enqueue(draft()).await;
    assert_eq!(world.state(id).await, State::Pending);
    assert_eq!(world.list_ids(all()).await, [id]);
    let lease = world.reserve_one().await;
    assert_eq!(world.state(id).await, State::Running);
    world.complete(&lease).await;
    assert_eq!(world.state(id).await, State::Completed);
    assert!(world.delete(id, false).await.expect("delete_job"));
    assert!(world.find(id).await.is_none());
    assert_eq!(world.list_ids(all()).await, []);
}

/// R8.1: reads change nothing, whatever they meet.
/// Guard: no read reclaims, buries or prunes.
pub async fn r8_1_reads_change_nothing(world: &dyn World) {
    world.enqueue_n(3).await;
    let leases = world.reserve(2).await;
    world.complete(&leases[0]).await;
    let doomed = world.enqueue(draft().deadline(MINUTE)).await;
    world.advance(2 * DAY).await;
    let before = world.dump().await;
    for _ in 0..3 {
        world.job(doomed).await;
        world.all_jobs().await;
        world.queue(&default_queue()).await;
    }
    world.assert_unchanged(&before).await;
    assert_eq!(world.status(leases[1].id()).await, Status::Expired);
}

/// R8.2: queue by queue by name, in each the statuses in turn, each in its own order.
/// Guard: the order of listings, in full.
pub async fn r8_2_jobs_are_listed_in_the_documented_order(world: &dyn World) {
    let mut wanted = Vec::new();
    for name in ["b", "a"] {
        let name = queue(name);
        let make = || draft().queue(&name);
        let mut ended = Vec::new();
        for state in [State::Dead, State::Cancelled, State::Completed] {
            let mut newest_first = Vec::new();
            for _ in 0..2 {
                world.enqueue(make()).await;
                let lease = world.reserve_one_from(&name).await;
                world.advance(MINUTE).await;
                match state {
                    State::Dead => world.kill(&lease).await,
                    State::Cancelled => world.call_off(&lease).await,
                    _ => world.complete(&lease).await,
                }
                newest_first.insert(0, lease.id());
            }
            ended.extend(newest_first);
        }
        let mut failed = Vec::new();
        for delay in [3 * HOUR, 2 * HOUR] {
            world.enqueue(make()).await;
            let lease = world.reserve_one_from(&name).await;
            world.fail(&lease, delay).await;
            failed.insert(0, lease.id());
        }
        let mut running = Vec::new();
        for (key, length) in [("y", 3 * HOUR), ("x", 2 * HOUR)] {
            world.enqueue(make().partition_key(key)).await;
            let request = Reserve::new(name.clone(), 1, ttl(length), worker("w"));
            let lease = world
                .reserve_with(&request.expect("a nonce"))
                .await
                .leases
                .remove(0);
            running.insert(0, lease.id());
        }
        let blocked = [
            world.enqueue(make().partition_key("y")).await,
            world.enqueue(make().partition_key("x")).await,
        ];
        let scheduled = [
            world
                .enqueue(make().delay(2 * HOUR).priority(Priority::LOW))
                .await,
            world.enqueue(make().delay(3 * HOUR)).await,
            world.enqueue(make().delay(HOUR)).await,
        ];
        let ready = [
            world.enqueue(make()).await,
            world.enqueue(make().priority(Priority::HIGH)).await,
        ];
        let mut of_queue = running;
        of_queue.extend([ready[1], ready[0]]);
        of_queue.extend(failed);
        of_queue.extend([scheduled[2], scheduled[1], scheduled[0]]);
        of_queue.extend([blocked[1], blocked[0]]);
        of_queue.extend(ended);
        wanted.splice(0..0, of_queue);
    }
    for size in [1, 2, 7, 1000] {
        let listed = world.list(all().limit(pages_of(size))).await;
        let shown: Vec<_> = listed.iter().map(|job| (job.id, job.status)).collect();
        assert_eq!(
            shown.iter().map(|(id, _)| *id).collect::<Vec<_>>(),
            wanted,
            "{shown:#?}"
        );
    }
}

/// R8.2: blocked jobs, and all that wait in a fair queue, come by key, then sequence.
/// Guard: the order of serving is no order for what cannot be served.
pub async fn r8_2_blocked_jobs_are_listed_by_key(world: &dyn World) {
    let mut by_key = Vec::new();
    for key in ["b", "a", "c", "a", "b"] {
        by_key.push((
            key,
            world.enqueue(keyed(key).priority(Priority::HIGH)).await,
        ));
        by_key.push((key, world.enqueue(keyed(key).priority(Priority::LOW)).await));
    }
    by_key.sort_by_key(|(key, _)| *key);
    assert_eq!(world.reserve(10).await.len(), 3);
    let blocked = world
        .list_ids(all().status(Status::Blocked).limit(pages_of(2)))
        .await;
    let mut heads = Vec::new();
    let wanted: Vec<JobId> = by_key
        .into_iter()
        .filter(|(key, _)| {
            let behind = heads.contains(key);
            heads.push(*key);
            behind
        })
        .map(|(_, id)| id)
        .collect();
    assert_eq!(blocked, wanted);
}

/// R8.2: the ready jobs of a fair queue come by key, then sequence.
/// Guard: a fair queue has no order by priority to list by.
pub async fn r8_2_a_fair_queue_is_listed_by_key(world: &dyn World) {
    let fair = QueuePatch::default()
        .order(Order::Fair)
        .per_key(9)
        .expect("per_key");
    world.configure(&default_queue(), fair).await;
    let mut by_key = Vec::new();
    for key in ["b", "a", "b", "a"] {
        by_key.push((key, world.enqueue(keyed(key)).await));
    }
    by_key.sort_by_key(|(key, _)| *key);
    let wanted: Vec<JobId> = by_key.into_iter().map(|(_, id)| id).collect();
    assert_eq!(
        world
            .list_ids(all().status(Status::Ready).limit(pages_of(1)))
            .await,
        wanted
    );
}

/// R8.2: every part of a filter filters.
/// Guard: each condition of the listing.
pub async fn r8_2_every_part_of_a_filter_filters(world: &dyn World) {
    let early = world.enqueue(draft()).await;
    world.advance(HOUR).await;
    let described = queuekit_core::JobDraft::new("other", "")
        .queue("q")
        .partition_key("p");
    let late = world.enqueue(described.delay(HOUR)).await;
    let lease = world.reserve_as(worker("w-7"), 1, HOUR).await.remove(0);
    let nack = Nack::new(
        lease.token,
        NackKind::Fatal,
        "disk is 100% full",
        Duration::ZERO,
    );
    let _ = world.backend().nack(&[nack]).await.expect("nack");
    let (early_job, late_job) = (world.job(early).await, world.job(late).await);
    let created = late_job.created_at;
    let finished = early_job.finished_at.expect("an end");
    let from = |at| TimeRange {
        from: Some(at),
        to: None,
    };
    let to = |at| TimeRange {
        from: None,
        to: Some(at),
    };
    let filters = [
        (all(), vec![early, late]),
        (all().queue(queue("q")), vec![late]),
        (all().queue(queue("unknown")), vec![]),
        (all().status(State::Dead), vec![early]),
        (all().status(Status::Scheduled), vec![late]),
        (all().kind(kind("other")), vec![late]),
        (all().kind(kind("othe")), vec![]),
        (
            JobFilter {
                partition_key: Some(partition_key("p")),
                ..all()
            },
            vec![late],
        ),
        (
            JobFilter {
                worker: Some(worker("w-7")),
                ..all()
            },
            vec![early],
        ),
        (
            JobFilter {
                worker: Some(worker("w")),
                ..all()
            },
            vec![],
        ),
        (
            JobFilter {
                error_contains: Some("100% full".to_owned()),
                ..all()
            },
            vec![early],
        ),
        (
            JobFilter {
                error_contains: Some("100_ full".to_owned()),
                ..all()
            },
            vec![],
        ),
        (
            JobFilter {
                created: from(created),
                ..all()
            },
            vec![late],
        ),
        (
            JobFilter {
                created: to(created),
                ..all()
            },
            vec![early],
        ),
        (
            JobFilter {
                finished: from(finished),
                ..all()
            },
            vec![early],
        ),
        (
            JobFilter {
                finished: to(finished),
                ..all()
            },
            vec![],
        ),
        (
            all()
                .queue(default_queue())
                .kind(kind("work"))
                .status(State::Dead),
            vec![early],
        ),
        (all().queue(default_queue()).kind(kind("other")), vec![]),
    ];
    for (filter, wanted) in filters {
        assert_eq!(world.list_ids(filter.clone()).await, wanted, "{filter:?}");
    }
}

/// R8.2: a failed job that waits is found by its last error, too.
/// Guard: the error filter covers failed jobs.
pub async fn r8_2_failed_jobs_are_found_by_their_last_error(world: &dyn World) {
    let id = world.enqueue(draft()).await;
    for (error, delay) in [("first error", Duration::ZERO), ("second error", HOUR)] {
        let lease = world.reserve_one().await;
        let nack = Nack::new(lease.token, NackKind::Retry, error, delay);
        let _ = world.backend().nack(&[nack]).await.expect("nack");
    }
    world.enqueue(draft()).await;
    for (text, wanted) in [("second", vec![id]), ("first", vec![]), ("third", vec![])] {
        let filter = JobFilter {
            error_contains: Some(text.to_owned()),
            ..all()
        };
        assert_eq!(world.list_ids(filter).await, wanted, "{text}");
    }
}

/// R8.2: a job that stays in its state comes exactly once, whatever others do between pages.
/// Guard: the cursor is a position, never an offset.
pub async fn r8_2_what_stays_comes_exactly_once(world: &dyn World) {
    for size in [1, 3, 10] {
        let stay = world.enqueue_n(30).await;
        let leave = world
            .enqueue_all((0..10).map(|_| draft().priority(Priority::HIGH)))
            .await;
        let mut filter = all().status(State::Pending).limit(pages_of(size));
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
        let everything = world.list_ids(all().limit(PageSize::MAX)).await;
        for id in everything {
            world.delete(id, true).await.expect("delete_job");
        }
    }
}

/// R8.2: finished jobs too are listed exactly once while more of them end.
/// Guard: newest first, by a position in time and identity.
pub async fn r8_2_finished_jobs_come_exactly_once(world: &dyn World) {
    let stay = world.enqueue_n(20).await;
    for lease in world.reserve(20).await {
        world.complete(&lease).await;
    }
    let mut filter = all().status(State::Completed).limit(pages_of(3));
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

/// R8.2: a cursor is bound to its filter; its text form is opaque and survives.
/// Guard: the fingerprint in a cursor.
pub async fn r8_2_a_cursor_is_bound_to_its_filter(world: &dyn World) {
    world.enqueue_n(5).await;
    let filter = all().queue(default_queue()).limit(pages_of(2));
    let page = world.page(&filter).await;
    let cursor = page.next.expect("there is more");
    let other = all().queue(queue("other")).after(Some(cursor.clone()));
    assert_invalid(world.backend().list_jobs(&other).await, "cursor");
    let other = all()
        .queue(default_queue())
        .status(State::Dead)
        .after(Some(cursor.clone()));
    assert_invalid(world.backend().list_jobs(&other).await, "cursor");
    let read: Cursor = cursor.to_string().parse().expect("a cursor");
    let rest = filter.clone().limit(PageSize::MAX).after(Some(read));
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
    for position in [
        &b""[..],
        b"\xff",
        &[0; 64],
        &[0xff; 300],
        b"9223372036854775807",
    ] {
        let forged = filter.clone().after(Some(filter.cursor_at(position)));
        if let Ok(page) = world.backend().list_jobs(&forged).await {
            assert!(page.items.len() <= ids.len());
        }
    }
    assert_eq!(world.list(filter).await.len(), ids.len());
}

/// R8.2: a bounded number is examined per page; what is far behind is found all the same.
/// Guard: a short or empty page carries a cursor.
pub async fn r8_2_a_rare_job_is_found_behind_many(world: &dyn World) {
    for _ in 0..3 {
        world.enqueue_n(1000).await;
    }
    let rare = world
        .enqueue(queuekit_core::JobDraft::new("rare", ""))
        .await;
    world.enqueue_n(1000).await;
    assert_eq!(
        world
            .list_ids(all().kind(kind("rare")).limit(pages_of(10)))
            .await,
        [rare]
    );
}

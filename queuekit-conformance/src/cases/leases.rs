//! R3.7 to R3.9: extending leases, reporting, presence.

use std::time::Duration;

use queuekit_core::capability::{
    Beat, ExtendOutcome, Report, ReportOutcome, Served, Why, WorkerPage,
};
use queuekit_core::{
    Job, JobDraft, JobId, Lease, LeaseToken, Nonce, PageSize, Progress, State, Timestamp,
};

use crate::World;
use crate::kit::{
    HOUR, MINUTE, Moment, TTL, beat_of, default_queue, draft, kind, queue, ttl, worker,
};

fn extended(length: Duration) -> ExtendOutcome {
    ExtendOutcome::Extended { ttl: length, cancel_requested: false }
}

/// R3.7: an extended lease lasts for its ttl from now, however often it is extended, and an extend
/// may shorten it.
/// Guard: expiry = now + ttl, not expiry + ttl.
pub async fn r3_7_extend_counts_from_now(world: &dyn World) {
    let lease = world.lease(draft()).await;
    for _ in 0..3 {
        assert_eq!(world.extend(&lease.token, HOUR).await, extended(HOUR));
        world.assert_left(world.job(lease.id()).await.lease_expires_in, HOUR);
    }
    world.advance(50 * MINUTE).await;
    world.assert_nothing_to_lease().await;
    assert_eq!(world.extend(&lease.token, MINUTE).await, extended(MINUTE));
    world.advance(MINUTE).await;
    assert_eq!(world.reserve_one().await.id(), lease.id());
}

/// R3.7: an expired lease that was not reclaimed can be extended.
/// Guard: extend compares the token, not the time.
pub async fn r3_7_an_expired_lease_can_be_extended(world: &dyn World) {
    let lease = world.lease(draft()).await;
    world.advance(HOUR).await;
    assert_eq!(world.extend(&lease.token, HOUR).await, extended(HOUR));
    world.assert_nothing_to_lease().await;
    world.complete(&lease).await;
}

/// R3.7: an extend with a stale lease is LeaseLost and changes nothing.
/// Guard: the fence in extend.
pub async fn r3_7_a_lost_lease_is_not_extended(world: &dyn World) {
    let stale = world.lease(draft()).await;
    world.expire().await;
    let live = world.reserve_one().await;
    world.advance(TTL / 2).await;
    assert_not_extended(world, &stale.token).await;
    let mut guess = live.token.clone();
    guess.nonce = Nonce::from_bytes([3; 16]);
    assert_not_extended(world, &guess).await;
    let old_seq = LeaseToken { lease_seq: stale.token.lease_seq, ..live.token.clone() };
    assert_not_extended(world, &old_seq).await;
    world.complete(&live).await;
    assert_not_extended(world, &live.token).await;
    let waiting = world.lease(draft()).await;
    world.fail(&waiting, HOUR).await;
    assert_not_extended(world, &waiting.token).await;
}

async fn assert_not_extended(world: &dyn World, token: &LeaseToken) {
    let before = world.dump().await;
    assert_eq!(world.extend(token, HOUR).await, ExtendOutcome::LeaseLost);
    world.assert_unchanged(&before).await;
}

/// R3.7: an extend returns whether the run was asked to stop.
/// Guard: extend reads the cancel request.
pub async fn r3_7_extend_tells_of_a_requested_cancel(world: &dyn World) {
    let lease = world.lease(draft()).await;
    world.request_cancel(lease.id()).await;
    let asked = ExtendOutcome::Extended { ttl: HOUR, cancel_requested: true };
    assert_eq!(world.extend(&lease.token, HOUR).await, asked);
}

/// R3.7: a batch of leases returns an outcome per item, in order.
/// Guard: items are independent.
pub async fn r3_7_a_batch_of_leases_is_answered_per_item(world: &dyn World) {
    let (one, two) = (world.lease(draft()).await, world.lease(draft()).await);
    let three = world.lease(draft()).await;
    world.complete(&two).await;
    let tokens = [one.token.clone(), two.token.clone(), three.token.clone()];
    let outcomes = world.leases().extend(&tokens, ttl(HOUR)).await.expect("extend");
    assert_eq!(outcomes, [extended(HOUR), ExtendOutcome::LeaseLost, extended(HOUR)]);
    assert_eq!(world.leases().extend(&[], ttl(HOUR)).await.expect("extend"), []);
    assert_eq!(world.leases().report(&[]).await.expect("report"), []);
}

fn report(lease: &Lease, lines: impl IntoIterator<Item = String>) -> Report {
    Report::new(lease.token.clone(), None, lines.into_iter().collect())
}

/// R3.8: progress and lines are stored; a report without progress keeps the last one.
/// Guard: the fields that a report writes.
pub async fn r3_8_progress_and_lines_are_stored(world: &dyn World) {
    let lease = world.lease(draft()).await;
    let progress = Progress::new(0.5, "half way");
    let mut first = report(&lease, ["one".to_owned()]);
    first.progress = Some(progress.clone());
    assert_eq!(world.report(first).await, ReportOutcome::Reported);
    let second = report(&lease, ["two".to_owned(), "three".to_owned()]);
    assert_eq!(world.report(second).await, ReportOutcome::Reported);
    let job = world.job(lease.id()).await;
    assert_eq!(job.progress, Some(progress));
    let lines: Vec<_> = job.logs.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(lines, ["one", "two", "three"]);
    assert_eq!((job.state, job.attempts), (State::Running, 1));
}

/// R3.8: the last 100 lines are kept, each cut at 1 KiB on a character's boundary.
/// Guard: the limits of a job's log lines.
pub async fn r3_8_the_last_lines_are_kept_and_cut(world: &dyn World) {
    let lease = world.lease(draft()).await;
    let numbered = (0..150).map(|n| n.to_string());
    assert_eq!(world.report(report(&lease, numbered)).await, ReportOutcome::Reported);
    let long = ["é".repeat(1000), "a\0b".to_owned()];
    assert_eq!(world.report(report(&lease, long)).await, ReportOutcome::Reported);
    let logs = world.job(lease.id()).await.logs;
    assert_eq!(logs.len(), 100);
    assert_eq!(logs[0].text, "52");
    assert_eq!(logs[97].text, "149");
    assert!(logs[98].text.len() <= 1024 && logs[98].text.starts_with("éé"));
    assert!(!logs[99].text.contains('\0'), "{:?}", logs[99].text);
}

/// R3.8: a report with a stale lease changes nothing.
/// Guard: the fence in report: the number of the lease, its nonce, and that it runs.
pub async fn r3_8_a_lost_lease_reports_nothing(world: &dyn World) {
    let stale = world.lease(draft()).await;
    world.expire().await;
    let live = world.reserve_one().await;
    let mut guess = live.token.clone();
    guess.nonce = Nonce::from_bytes([3; 16]);
    let old_seq = LeaseToken { lease_seq: stale.token.lease_seq, ..live.token.clone() };
    let old_nonce = LeaseToken { nonce: stale.token.nonce, ..live.token.clone() };
    for token in [stale.token, guess, old_seq, old_nonce] {
        assert_reports_nothing(world, token).await;
    }
    world.kill(&live).await;
    assert_reports_nothing(world, live.token).await;
}

async fn assert_reports_nothing(world: &dyn World, token: LeaseToken) {
    let before = world.dump().await;
    let progress = Some(Progress::new(1.0, "late"));
    let late = Report::new(token, progress, vec!["late".to_owned()]);
    assert_eq!(world.report(late).await, ReportOutcome::LeaseLost);
    world.assert_unchanged(&before).await;
}

/// R3.8: several reports of one lease in a call are stored as if each had been sent alone, and
/// those of leases that do not hold change nothing.
/// Guard: a store that writes the reports of a call together keeps them apart.
pub async fn r3_8_reports_of_one_call_are_stored_in_their_order(world: &dyn World) {
    let [one, other] = [world.lease(draft()).await, world.lease(draft()).await];
    let mut stale = one.token.clone();
    stale.nonce = Nonce::from_bytes([3; 16]);
    let gone = LeaseToken {
        id: JobId::generate(&default_queue(), Timestamp::default()),
        ..one.token.clone()
    };
    let line = |token: &LeaseToken, fraction: Option<f32>, text: &str| {
        let progress = fraction.map(|fraction| Progress::new(fraction, text));
        Report::new(token.clone(), progress, vec![text.to_owned()])
    };
    let mut reports = vec![
        line(&stale, Some(1.0), "stale"),
        line(&one.token, Some(0.25), "first"),
        line(&other.token, None, "of another job"),
        line(&gone, None, "gone"),
        line(&one.token, Some(0.5), "second"),
        line(&one.token, None, "third"),
    ];
    reports.extend((0..98).map(|number| line(&other.token, None, &number.to_string())));
    let outcomes = world.leases().report(&reports).await.expect("report");
    let told = [
        ReportOutcome::LeaseLost,
        ReportOutcome::Reported,
        ReportOutcome::Reported,
        ReportOutcome::NotFound,
    ];
    assert_eq!(outcomes[..4], told);
    assert!(outcomes[4..].iter().all(|outcome| *outcome == ReportOutcome::Reported));
    let texts = |job: &Job| job.logs.iter().map(|line| line.text.clone()).collect::<Vec<_>>();
    let job = world.job(one.id()).await;
    assert_eq!(texts(&job), ["first", "second", "third"]);
    assert_eq!(job.progress, Some(Progress::new(0.5, "second")));
    let job = world.job(other.id()).await;
    assert_eq!((texts(&job).len(), &*texts(&job)[0]), (99, "of another job"));
    assert_eq!((&*texts(&job)[98], job.progress), ("97", None));
}

fn mailer(id: &str) -> Beat {
    let queues = Served::first([default_queue(), queue("emails")]);
    let kinds = Served::first([kind("send")]);
    let mut beat = Beat::new(worker(id), queues, kinds, ttl(TTL));
    beat.name = "mailer".to_owned();
    beat.slots = 8;
    beat.running = 3;
    beat
}

/// R3.9: a worker is listed with the content of its last beat, until 3 ttl after it.
/// Guard: the age of a beat in `list_workers`.
pub async fn r3_9_a_worker_is_listed_until_three_ttl(world: &dyn World) {
    let mailer = mailer("mailer-1");
    world.beat(&mailer).await;
    let listed = world.workers().await;
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].beat, mailer);
    world.advance(2 * TTL).await;
    let mut busier = mailer;
    busier.running = 8;
    world.beat(&busier).await;
    world.advance(2 * TTL).await;
    let listed = world.workers().await;
    assert_eq!(listed[0].beat.running, 8, "the last beat counts");
    world.assert_passed(listed[0].age, 2 * TTL);
    world.enqueue(draft()).await;
    for moment in Moment::ALL {
        world.beat(&busier).await;
        world.advance_to(moment, 3 * TTL).await;
        assert_eq!(world.workers().await.is_empty(), moment.has_come(), "{moment:?}");
        let counted = world.queue(&default_queue()).await.workers;
        assert_eq!(counted == 0, moment.has_come(), "{moment:?}");
    }
    world.beat(&busier).await;
    let ages: Vec<_> = world.workers().await.into_iter().map(|info| info.age).collect();
    assert_eq!(ages.len(), 1, "a worker that comes back is listed again");
    world.assert_passed(ages[0], Duration::ZERO);
}

/// R3.9: a listed worker is found by its id.
/// Guard: the id and the age in the condition of `find_worker`.
pub async fn r3_9_a_worker_is_found_by_its_id(world: &dyn World) {
    assert_eq!(world.worker("mailer-1").await, None);
    let (mailer, other) = (mailer("mailer-1"), beat_of("other"));
    world.beat(&mailer).await;
    world.beat(&other).await;
    let found = world.worker("mailer-1").await.expect("the worker is listed");
    assert_eq!(found.beat, mailer);
    for moment in Moment::ALL {
        world.beat(&mailer).await;
        world.advance_to(moment, 3 * TTL).await;
        let found = world.worker("mailer-1").await;
        assert_eq!(found.is_none(), moment.has_come(), "{moment:?}");
    }
}

/// R3.9: a beat removes workers whose 3 ttl are over, and no others.
/// Guard: the age in the condition of the removal.
pub async fn r3_9_a_beat_forgets_nobody_too_early(world: &dyn World) {
    world.beat(&beat_of("first")).await;
    world.advance(2 * TTL).await;
    world.beat(&beat_of("second")).await;
    let listed = world.workers().await;
    assert_eq!(listed.len(), 2, "{listed:?}");
}

/// R3.9: two processes with one name are two workers, listed by id.
/// Guard: presence is stored by id, never by name.
pub async fn r3_9_two_workers_may_share_a_name(world: &dyn World) {
    for id in ["mailer-b", "mailer-a"] {
        world.beat(&mailer(id)).await;
    }
    let listed: Vec<_> = world.workers().await.into_iter().map(|worker| worker.beat.id).collect();
    assert_eq!(listed, [worker("mailer-a"), worker("mailer-b")]);
}

/// R3.9: workers are listed page by page, by id and each once, from any id on.
/// Guard: a page begins behind the last id of the one before, and only the last has no `after`.
pub async fn r3_9_workers_are_listed_page_by_page(world: &dyn World) {
    let ids: Vec<String> = (0..9).map(|number| format!("w{number}")).collect();
    for id in ids.iter().rev() {
        world.beat(&beat_of(id)).await;
    }
    for limit in [1, 4, 8, 9, PageSize::MAX.get()] {
        let limit = PageSize::new(limit).expect("a size");
        let (mut after, mut listed) = (None, Vec::new());
        loop {
            let page = world.leases().list_workers(after.as_ref(), limit).await;
            let page = page.expect("list_workers");
            assert!(page.workers.len() <= limit.get(), "a page of {}", limit.get());
            listed.extend(page.workers.into_iter().map(|worker| worker.beat.id.to_string()));
            assert!(listed.len() <= ids.len(), "a page should get on: {listed:?}");
            after = page.after;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(listed, ids, "pages of {}", limit.get());
    }
    // The id to begin after need not be a worker's.
    for (after, first) in [("a", "w0"), ("w5", "w6"), ("w5x", "w6"), ("w7", "w8")] {
        let limit = PageSize::new(2).expect("a size");
        let page = world.leases().list_workers(Some(&worker(after)), limit).await;
        let page = page.expect("list_workers");
        assert_eq!(page.workers.first().map(|worker| worker.beat.id.as_str()), Some(first));
        assert_eq!(page.after.is_none(), first == "w8", "{page:?}");
    }
    let none = world.leases().list_workers(Some(&worker("w8")), PageSize::MAX).await;
    assert_eq!(none.expect("list_workers"), WorkerPage::default());
}

/// R3.9: nothing depends on presence: leases of listed workers expire, and leases of unlisted ones
/// hold.
/// Guard: reclaim tests only the expiry of the lease.
pub async fn r3_9_leases_do_not_depend_on_presence(world: &dyn World) {
    let alive = worker("alive");
    world.enqueue(draft()).await;
    let held = world.reserve_as(alive.clone(), 1, TTL).await.remove(0);
    world.expire().await;
    world.beat(&beat_of("alive")).await;
    let again = world.reserve_as(alive, 1, HOUR).await.remove(0);
    assert_eq!(again.id(), held.id(), "a living name keeps no expired lease");
    world.advance(30 * MINUTE).await;
    assert_eq!(world.workers().await, []);
    world.assert_nothing_to_lease().await;
    world.complete(&again).await;
}

/// R3.9: a forgotten worker leaves the list at once, and nothing else changes; it is listed again
/// with its next beat.
/// Guard: the id and the age in the condition of `forget_worker`.
pub async fn r3_9_a_worker_that_is_forgotten_is_gone_at_once(world: &dyn World) {
    world.enqueue(draft()).await;
    let held = world.reserve_as(worker("a"), 1, HOUR).await.remove(0);
    for id in ["a", "b"] {
        world.beat(&beat_of(id)).await;
    }
    assert!(!world.forget("c").await, "an unknown worker should not be found");
    assert!(world.forget("a").await);
    assert!(!world.forget("a").await, "a forgotten worker should not be found again");
    let listed = world.workers().await;
    assert_eq!(listed.into_iter().map(|info| info.beat).collect::<Vec<_>>(), [beat_of("b")]);
    assert_eq!(world.queue(&default_queue()).await.workers, 1);
    world.complete(&held).await;
    world.beat(&beat_of("a")).await;
    assert_eq!(world.workers().await.len(), 2);
    for moment in Moment::ALL {
        world.beat(&beat_of("a")).await;
        world.advance_to(moment, 3 * TTL).await;
        assert_eq!(world.forget("a").await, !moment.has_come(), "{moment:?}");
    }
}

/// R3.9: a worker that serves more than it names may serve any queue, or run any kind.
/// Guard: the comparison of names, and the stored mark that there are more.
pub async fn r3_9_a_worker_that_serves_more_than_it_names_may_serve_any(world: &dyn World) {
    let unnamed = world.enqueue(draft().queue("unnamed")).await;
    let other_kind = world.enqueue(JobDraft::new("other", "")).await;
    let exact = beat_of("w");
    let [mut no_kinds, mut more_queues, mut more_kinds] = [(); 3].map(|()| exact.clone());
    no_kinds.kinds = Served::first([]);
    more_queues.queues = more_queues.queues.or_more(true);
    more_kinds.kinds = more_kinds.kinds.or_more(true);
    for (beat, serves_queue, serves_kind) in [
        (exact, false, false),
        (no_kinds, false, false),
        (more_queues, true, false),
        (more_kinds, false, true),
    ] {
        world.beat(&beat).await;
        assert_eq!(world.workers().await[0].beat, beat);
        assert_eq!(
            world.queue(&queue("unnamed")).await.workers,
            u64::from(serves_queue),
            "{beat:?}"
        );
        assert_eq!(is_served(world, unnamed).await, serves_queue, "{beat:?}");
        assert_eq!(is_served(world, other_kind).await, serves_kind, "{beat:?}");
    }
}

async fn is_served(world: &dyn World, id: JobId) -> bool {
    let why = world.admin().why(id).await.expect("why").expect("the job should be stored");
    !matches!(why, Why::NoLiveWorker { .. })
}

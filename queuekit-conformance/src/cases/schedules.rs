//! R15: schedules.

use std::time::Duration;

use futures_util::{StreamExt, stream};
use queuekit_core::capability::{ScheduleChange, ScheduleChanged, ScheduleQuery};
use queuekit_core::schedule::NOMINAL_MS;
use queuekit_core::{
    Bytes, CatchUp, Declared, ErrorKind, Job, JobDraft, Overlap, QueuePatch, ScheduleDraft,
    Timestamp,
};

use crate::World;
use crate::kit::{
    DAY, HOUR, MINUTE, assert_invalid, defined, draft, kind_of, queue, schedule_name,
};

pub(super) const EVERY: Duration = HOUR;

/// Every hour, a job as `draft()`.
pub(super) fn hourly(name: &str) -> ScheduleDraft {
    ScheduleDraft::every(name, EVERY, draft())
}

pub(super) fn nominal_of(job: &Job) -> Timestamp {
    let nominal = job.metadata.get(NOMINAL_MS).expect("a nominal time");
    Timestamp::from_millis(nominal.parse().expect("milliseconds"))
}

/// R15.1: a schedule is stored as declared, listed by name, and can be removed.
/// Guard: the body of a row is stored byte for byte.
pub async fn r15_1_a_schedule_is_stored_listed_and_removed(world: &dyn World) {
    let payload: Vec<u8> = (0..=255).collect();
    let job = JobDraft::new("report", payload).queue("reports").max_attempts(7);
    let nightly = ScheduleDraft::cron("b", "30 2 * * *", job)
        .zone("Europe/Berlin")
        .catch_up(CatchUp::All(5))
        .overlap(Overlap::Skip)
        .jitter(MINUTE);
    let nightly = defined(nightly);
    assert!(world.scheduler().put(&nightly).await.expect("put"));
    for other in ["a", "c", "d"] {
        assert_eq!(world.declare(hourly(other)).await, Declared::Created);
    }
    assert_eq!(world.schedule("b").await.definition, nightly);
    let listed = async |after: Option<&str>, limit| {
        let after = after.map(schedule_name);
        let listed = world.scheduler().list(after.as_ref(), limit).await.expect("list");
        listed.schedules.iter().map(|entry| entry.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(listed(None, 3).await, ["a", "b", "c"]);
    assert_eq!(listed(Some("b"), 10).await, ["c", "d"]);
    let upcoming = world.scheduler().upcoming(&schedule_name("b"), 3).await.expect("upcoming");
    assert_eq!(upcoming[0], world.schedule("b").await.next_at.expect("a next time"));
    assert!(upcoming.is_sorted() && upcoming.len() == 3, "{upcoming:?}");
    world.advance(3 * DAY).await;
    let now = world.schedule_rows(ScheduleQuery::Due(None, 0)).await.now;
    let upcoming = world.scheduler().upcoming(&schedule_name("b"), 3).await.expect("upcoming");
    assert!(upcoming[0] > now && upcoming.len() == 3, "though none has run: {upcoming:?}");
    assert!(world.scheduler().delete(&schedule_name("b")).await.expect("delete"));
    assert!(!world.scheduler().delete(&schedule_name("b")).await.expect("delete"));
    assert_eq!(world.scheduler().get(&schedule_name("b")).await.expect("get"), None);
    assert_eq!(listed(None, 10).await, ["a", "c", "d"]);
}

/// R15.1: a store has no more schedules than its limit, however many are created at once; existing
/// schedules continue.
/// Guard: the step that creates a schedule counts them.
pub async fn r15_1_a_store_has_no_more_schedules_than_its_limit(world: &dyn World) {
    world.declare(hourly("first")).await;
    let body = world.schedule_row("first").await.body;
    let most = world.backend().capabilities().limits.schedules();
    let create = async |number: usize| {
        let name = schedule_name(&format!("s{number}"));
        let to = Some((None, body.clone()));
        let change = ScheduleChange { name, seen: None, to, jobs: Vec::new() };
        world.schedules().change_schedule(&change).await
    };
    let created = stream::iter(1..most + 8).map(create).buffer_unordered(16);
    let created: Vec<_> = created.collect().await;
    let refused = created.into_iter().filter_map(Result::err).inspect(|error| {
        assert!(matches!(error.kind(), ErrorKind::Invalid { .. }), "{error}");
    });
    assert_eq!(refused.count(), 8, "all 8 schedules over the limit should be refused");
    let listed = world.schedule_rows(ScheduleQuery::After(None, 2 * most)).await.rows;
    assert_eq!(listed.len(), most);
    let edited = defined(ScheduleDraft::every("first", 2 * EVERY, draft()));
    assert!(
        !world
            .scheduler()
            .put(&edited)
            .await
            .expect("changing a schedule that exists should succeed")
    );
}

/// R15.1: an application declares its schedules at each start. Changes by an operator persist until
/// the declaration changes.
/// Guard: the digest of the last declaration.
pub async fn r15_1_a_declaration_spares_what_an_operator_changed(world: &dyn World) {
    assert_eq!(world.declare(hourly("s")).await, Declared::Created);
    let first = world.schedule_row("s").await;
    assert_eq!(world.declare(hourly("s")).await, Declared::Unchanged);
    assert_eq!(world.schedule_row("s").await, first);
    let edited = defined(ScheduleDraft::every("s", 2 * EVERY, draft()));
    assert!(!world.scheduler().put(&edited).await.expect("put"));
    world.scheduler().pause(&schedule_name("s")).await.expect("pause");
    assert_eq!(world.declare(hourly("s")).await, Declared::Unchanged);
    assert_eq!(world.schedule("s").await.definition, edited);
    let changed = ScheduleDraft::every("s", 3 * EVERY, draft());
    assert_eq!(world.declare(changed.clone()).await, Declared::Changed);
    let stored = world.schedule("s").await;
    assert_eq!((stored.definition, stored.paused), (defined(changed), true));
}

/// R15.1: a schedule that an operator changed says so, and after a reset the next declaration
/// applies, although it is the same.
/// Guard: a reset removes the digest of the last declaration.
pub async fn r15_1_after_a_reset_the_code_applies_again(world: &dyn World) {
    let name = schedule_name("s");
    let differs = async || world.schedule("s").await.differs_from_code();
    world.declare(hourly("s")).await;
    assert!(!differs().await);
    world.scheduler().reset(&name).await.expect("reset");
    assert_eq!(world.declare(hourly("s")).await, Declared::Changed);
    let edited = defined(ScheduleDraft::every("s", 2 * EVERY, draft()));
    world.scheduler().put(&edited).await.expect("put");
    world.scheduler().pause(&name).await.expect("pause");
    assert!(differs().await);
    world.scheduler().reset(&name).await.expect("reset");
    let stored = world.schedule("s").await;
    assert!(stored.definition == edited && stored.paused, "nothing changes before a declaration");
    world.scheduler().reset(&name).await.expect("a second reset");
    assert_eq!(world.declare(hourly("s")).await, Declared::Changed);
    let stored = world.schedule("s").await;
    assert_eq!((stored.definition, stored.paused), (defined(hourly("s")), true));
    assert!(!differs().await);
    world.scheduler().put(&defined(hourly("put"))).await.expect("put");
    assert!(!world.schedule("put").await.differs_from_code(), "no code has declared it");
    let absent = world.scheduler().reset(&schedule_name("none")).await.expect_err("absent");
    assert_eq!(absent.kind().as_str(), "not_found");
}

/// R15.1: a schedule without occurrences is refused, with the reason, and nothing is stored.
/// Guard: a schedule is checked before it is stored.
pub async fn r15_1_what_never_occurs_is_refused(world: &dyn World) {
    let cron = |expression: &str| ScheduleDraft::cron("s", expression, draft());
    for expression in ["0 0 30 2 *", "61 * * * *", "* * *", "", "every day"] {
        assert_invalid(cron(expression).build(), "cron");
    }
    let long = |minutes: usize| format!("{}0 0 * * *", "0,".repeat((minutes - 9) / 2));
    assert_eq!((long(255).len(), cron(&long(255)).build().is_ok()), (255, true));
    assert_invalid(cron(&long(257)).build(), "cron");
    assert_invalid(cron(&"0-59,".repeat(1_000_000)).build(), "cron");
    let far = "Europe/".repeat(10);
    for zone in ["Europe/Atlantis", "localtime", "LocalTime", "posixrules", far.as_str(), ""] {
        assert_invalid(cron("0 0 * * *").zone(zone).build(), "zone");
    }
    assert_invalid(ScheduleDraft::every("s", Duration::ZERO, draft()).build(), "every");
    assert_invalid(cron("@daily").jitter(400 * DAY).build(), "jitter");
    assert_invalid(cron("@daily").catch_up(CatchUp::All(1001)).build(), "catch_up");
    let delayed = ScheduleDraft::cron("s", "@daily", draft().delay(HOUR));
    assert_invalid(delayed.build(), "delay");
    let long_ago = defined(cron("0 0 0 1 1 * 2020"));
    assert_invalid(world.scheduler().put(&long_ago).await, "cron");
    let now = world.schedule_rows(ScheduleQuery::Due(None, 0)).await.now;
    let ends = defined(cron("0 0 0 1 1 * 2020").end(now + HOUR));
    assert_invalid(world.scheduler().put(&ends).await, "cron");
    let ended = defined(cron("@daily").end(now.minus(HOUR)));
    assert_invalid(world.scheduler().put(&ended).await, "end");
    let too_soon = defined(cron("0 0 0 1 1 * 2090").end(now + HOUR));
    assert_invalid(world.scheduler().put(&too_soon).await, "end");
    let large = JobDraft::new("work", vec![0; 1024 * 1024 + 1]);
    let large = defined(ScheduleDraft::every("s", EVERY, large));
    assert_invalid(world.scheduler().put(&large).await, "payload");
    assert!(world.schedule_rows(ScheduleQuery::After(None, 10)).await.rows.is_empty());
}

/// R15.3: start and end bound the nominal times, and jitter delays each job by the same time in
/// every process.
/// Guard: start and end are compared with nominal times.
pub async fn r15_3_start_end_and_jitter(world: &dyn World) {
    let hour = world.to_the_hour().await;
    let bounded = hourly("s").start(hour + EVERY * 2).end(hour + EVERY * 3).jitter(30 * MINUTE);
    world.declare(bounded).await;
    for _ in 0..5 {
        world.to_the_hour().await;
        world.tick().await;
    }
    let jobs = world.all_jobs().await;
    let mut nominal: Vec<_> = jobs.iter().map(nominal_of).collect();
    nominal.sort_unstable();
    assert_eq!(nominal, [hour + EVERY * 2, hour + EVERY * 3]);
    for job in &jobs {
        let moved = job.scheduled_at.since(nominal_of(job));
        assert!(moved <= 30 * MINUTE && job.scheduled_at >= nominal_of(job), "{moved:?}");
    }
    assert_eq!(world.schedule("s").await.next_at, None);
    // One of eight jobs is moved by more than a minute, but once in 10^11 times.
    let moving = queue("moving");
    for n in 0..8 {
        let name = format!("jitter-{n}");
        let draft = ScheduleDraft::every(name.as_str(), EVERY, draft().queue(&moving));
        world.declare(draft.jitter(30 * MINUTE)).await;
    }
    world.to_the_hour().await;
    world.tick().await;
    let moved = |job: &Job| job.scheduled_at.since(nominal_of(job));
    let jobs = world.jobs_of(&moving).await;
    assert!(
        jobs.len() == 8 && jobs.iter().any(|job| moved(job) > MINUTE),
        "jitter should move some of 8 jobs by more than a minute"
    );
}

/// R15.4: occurrences that were missed run as the catch-up rule says.
/// Guard: one function in core decides which nominal times run.
pub async fn r15_4_missed_occurrences_follow_the_policy(world: &dyn World) {
    const OWED: usize = 10;
    let policies = [
        ("skip", CatchUp::Skip, 0),
        ("once", CatchUp::Once, 1),
        ("three", CatchUp::All(3), 3),
        ("all", CatchUp::All(1000), OWED),
    ];
    world.to_the_hour().await;
    for (schedule, catch_up, _) in policies {
        let job = draft().queue(schedule);
        let missed = ScheduleDraft::every(schedule, EVERY, job).catch_up(catch_up);
        world.declare(missed).await;
    }
    world.advance(OWED as u32 * EVERY + 10 * MINUTE).await;
    world.tick().await;
    for (schedule, _, wanted) in policies {
        let jobs = world.jobs_of(&queue(schedule)).await;
        assert_eq!(jobs.len(), wanted, "{schedule}");
        let stored = world.schedule(schedule).await;
        assert_eq!(stored.skipped, (OWED - wanted) as u64, "{schedule}");
        let next = stored.next_at.expect("a next time");
        assert!(jobs.iter().all(|job| next.since(nominal_of(job)) <= EVERY * 10), "{schedule}");
    }
    assert_eq!(world.tick().await.enqueued, 0);
}

/// R15.5: if runs must not overlap, an occurrence is skipped while the job of the last one has not
/// ended.
/// Guard: the tick reads the job of the last occurrence.
pub async fn r15_5_an_occurrence_waits_for_no_overlap(world: &dyn World) {
    world.declare(hourly("s").overlap(Overlap::Skip)).await;
    let pass = async || {
        world.to_the_hour().await;
        let ticked = world.tick().await;
        (ticked.enqueued, ticked.passed)
    };
    assert_eq!(pass().await, (1, 0));
    assert_eq!(pass().await, (0, 1), "the occurrence should be skipped while the last job waits");
    let lease = world.reserve_one().await;
    world.complete(&lease).await;
    assert_eq!(pass().await, (1, 0));
    let lease = world.reserve_one().await;
    assert_eq!(pass().await, (0, 1), "the occurrence should be skipped while the last job runs");
    world.kill(&lease).await;
    assert_eq!(pass().await, (1, 0), "a dead job has ended");
    let stored = world.schedule("s").await;
    assert_eq!((stored.enqueued, stored.skipped), (3, 2));
}

/// R15.6: a paused schedule enqueues nothing and catches up on nothing later; a requested run is
/// enqueued at once.
/// Guard: a paused row has no next time.
pub async fn r15_6_pause_resume_and_run_now(world: &dyn World) {
    world.declare(hourly("s").catch_up(CatchUp::All(100))).await;
    let (scheduler, name) = (world.scheduler(), schedule_name("s"));
    scheduler.pause(&name).await.expect("pause");
    world.advance(5 * EVERY).await;
    assert_eq!(world.tick().await.enqueued, 0);
    let due = world.schedule_rows(ScheduleQuery::Due(None, 10)).await;
    assert_eq!((due.rows, due.next_due_in), (Vec::new(), None));
    let id = scheduler.run_now(&name).await.expect("run_now");
    let stored = world.schedule("s").await;
    assert_eq!((stored.last.map(|last| last.job), stored.enqueued), (Some(id), 1));
    assert!(stored.paused && stored.next_at.is_none());
    scheduler.resume(&name).await.expect("resume");
    assert_eq!(world.tick().await.enqueued, 0);
    world.to_the_hour().await;
    assert_eq!(world.tick().await.enqueued, 1);
    assert_eq!(world.all_jobs().await.len(), 2);
    let unknown = schedule_name("unknown");
    assert_eq!(kind_of(scheduler.pause(&unknown).await), ErrorKind::NotFound);
    assert_eq!(kind_of(scheduler.run_now(&unknown).await), ErrorKind::NotFound);
}

/// R15.6: a change of the job that a schedule enqueues loses no due occurrence.
/// Guard: a change that keeps the times keeps the next time.
pub async fn r15_6_an_edit_keeps_what_is_due(world: &dyn World) {
    world.declare(hourly("s")).await;
    world.to_the_hour().await;
    let edited = ScheduleDraft::every("s", EVERY, JobDraft::new("other", "new"));
    world.scheduler().put(&defined(edited)).await.expect("put");
    assert_eq!(world.tick().await.enqueued, 1);
    assert_eq!(world.all_jobs().await[0].kind.as_str(), "other");
}

/// R15.7: an occurrence whose queue is full stays due, and other schedules continue.
/// Guard: QueueFull undoes the whole step.
pub async fn r15_7_a_full_queue_keeps_it_due(world: &dyn World) {
    let full = queue("full");
    world.configure(&full, QueuePatch::default().max_pending(1)).await;
    let schedule = ScheduleDraft::every("a", EVERY, draft().queue("full"));
    world.declare(schedule.catch_up(CatchUp::All(10))).await;
    world.declare(hourly("b")).await;
    world.to_the_hour().await;
    world.tick().await;
    world.to_the_hour().await;
    let before = world.schedule_row("a").await;
    let ticked = world.scheduler().tick().await.expect("tick");
    assert_eq!(ticked.enqueued, 1, "only the other schedule should be enqueued");
    let kinds: Vec<_> = ticked.failed.iter().map(|(name, error)| (name, error.kind())).collect();
    assert!(matches!(&kinds[..], [(_, ErrorKind::QueueFull { .. })]), "{kinds:?}");
    assert_eq!(world.schedule_row("a").await, before);
    world.advance(EVERY).await;
    for _ in 0..2 {
        let lease = world.reserve_one_from(&full).await;
        world.complete(&lease).await;
        world.scheduler().tick().await.expect("tick");
    }
    assert_eq!(world.jobs_of(&full).await.len(), 3, "two are done, one waits");
}

/// R15.7: an unreadable schedule does not stop others, and stays due for a program that can read
/// it.
/// Guard: each due row is served alone, and a tick does not change a row that it cannot read.
pub async fn r15_7_an_unreadable_schedule_stops_no_other(world: &dyn World) {
    let now = world.schedule_rows(ScheduleQuery::Due(None, 0)).await.now;
    let broken = ScheduleChange {
        name: schedule_name("broken"),
        seen: None,
        to: Some((Some(now), Bytes::from_static(b"no schedule"))),
        jobs: Vec::new(),
    };
    let changed = world.change_schedule(&broken).await;
    assert_eq!(changed, ScheduleChanged::Changed);
    world.declare(hourly("s")).await;
    world.to_the_hour().await;
    let ticked = world.scheduler().tick().await.expect("tick");
    assert_eq!(ticked.enqueued, 1);
    let kinds: Vec<_> = ticked.failed.iter().map(|(_, error)| error.kind()).collect();
    assert_eq!(kinds, [&ErrorKind::Corrupt]);
    let row = world.schedule_row("broken").await;
    assert_eq!((row.next_at, &row.body[..]), (Some(now), &b"no schedule"[..]));
    let listed = world.scheduler().list(None, 10).await.expect("list").schedules;
    let readable: Vec<_> = listed.iter().map(|entry| entry.schedule.is_ok()).collect();
    assert_eq!(readable, [false, true]);
    let again = defined(ScheduleDraft::every("broken", EVERY, draft()));
    world.scheduler().put(&again).await.expect("put");
    world.to_the_hour().await;
    assert_eq!(world.tick().await.enqueued, 2);
}

//! R8.5: the totals of queues, as they were an hour ago.

use std::sync::Arc;
use std::time::Duration;

use queuekit_core::history::{Resolution, TotalsRow, rates};
use queuekit_core::queue::Totals;
use queuekit_core::{Backend, DeadLetter, JobDraft, NackKind, QueueName, QueuePatch, Timestamp};

use crate::World;
use crate::kit::{DAY, HOUR, MINUTE, a_run, default_queue, draft, in_parallel, queue};

/// R8.5: the first to record a minute wins, and the others write nothing.
/// Guard: a minute that is recorded is left alone.
pub async fn r8_5_a_minute_is_recorded_once(world: &dyn World) {
    world.on_the_hour().await;
    world.enqueue(draft()).await;
    assert!(world.record().await);
    let first = world.totals(Resolution::Minute).await;
    world.enqueue(draft()).await;
    assert!(!world.record().await, "the minute is recorded");
    assert_eq!(world.totals(Resolution::Minute).await, first);
    world.advance(MINUTE).await;
    assert!(world.record().await, "the next minute is not");
    let rows = world.totals(Resolution::Minute).await;
    assert_eq!(numbers(&rows, |totals| totals.enqueued), [1, 2]);
}

/// R8.5: of those who record a minute at once, one does.
/// Guard: the mark is compared in the step that raises it.
pub async fn r8_5_one_of_two_handles_records_a_minute(world: &dyn World) {
    world.on_the_hour().await;
    let handles = world.handles().await;
    for minute in 1..=3 {
        world.enqueue_n(2).await;
        let recorded = in_parallel((0..8).map(|at| {
            let store = Arc::clone(&handles[at % handles.len()]);
            async move {
                let history = store.capabilities().history.expect("history");
                history.record_totals().await.expect("record_totals")
            }
        }))
        .await;
        assert_eq!(recorded.iter().filter(|recorded| **recorded).count(), 1, "minute {minute}");
        assert_eq!(world.totals(Resolution::Minute).await.len(), minute);
        world.advance(MINUTE).await;
    }
}

/// R8.5: a row has the totals that were read first in its time, and when they were read.
/// Guard: a row that is there is left as it is.
pub async fn r8_5_totals_are_those_of_their_time(world: &dyn World) {
    let hour = world.on_the_hour().await;
    let minutes = [0, 1, 9, 10, 59, 60];
    for (at, minute) in minutes.into_iter().enumerate() {
        let before = at.checked_sub(1).map_or(0, |before| minutes[before]);
        world.advance((minute - before) * MINUTE).await;
        world.enqueue(draft()).await;
        world.complete(&world.reserve_one().await).await;
        assert!(world.record().await);
    }
    for (resolution, wanted) in [
        (Resolution::Minute, &[0, 1, 9, 10, 59, 60][..]),
        (Resolution::TenMinutes, &[0, 10, 59, 60]),
        (Resolution::Hour, &[0, 60]),
    ] {
        let rows = world.totals(resolution).await;
        let read: Vec<_> = rows.iter().map(|row| row.read_at).collect();
        let minute =
            |at: &Timestamp| u32::try_from(at.since(hour).as_secs() / 60).expect("a minute");
        assert_eq!(read.iter().map(minute).collect::<Vec<_>>(), wanted, "{resolution} {rows:?}");
        // One job ended in each of the minutes.
        let ended: Vec<_> =
            wanted.iter().map(|of| minutes.partition_point(|at| at <= of)).collect();
        let ended: Vec<_> = ended.into_iter().map(|ended| ended as u64).collect();
        assert_eq!(numbers(&rows, |totals| totals.completed), ended, "{resolution}");
        assert_eq!(numbers(&rows, |totals| totals.enqueued), ended, "{resolution}");
        for row in &rows {
            assert_eq!(row.queue, default_queue());
            assert_eq!(row.at, resolution.start_of(row.read_at));
        }
    }
}

/// R8.5: a minute in which no total of a queue changed has no row, however long that lasts.
/// Guard: the totals are compared with those that were recorded last, not with those still kept.
pub async fn r8_5_a_quiet_minute_has_no_row(world: &dyn World) {
    world.on_the_hour().await;
    world.configure_nothing(&queue("unused")).await;
    world.enqueue_n(2).await;
    assert!(world.record().await);
    let lease = world.reserve_one().await;
    world.advance(MINUTE).await;
    assert!(world.record().await);
    world.release(&lease, Duration::ZERO).await;
    world.advance(MINUTE).await;
    assert!(world.record().await);
    assert_eq!(world.totals(Resolution::Minute).await.len(), 1, "no total has changed");
    world.advance(4 * HOUR).await;
    world.prune_all().await;
    assert!(world.record().await);
    assert_eq!(world.totals(Resolution::Minute).await, [], "the row is no longer kept");
    assert_eq!(world.totals(Resolution::TenMinutes).await.len(), 1);
    world.enqueue(draft()).await;
    world.advance(MINUTE).await;
    assert!(world.record().await);
    let rows = world.totals(Resolution::Minute).await;
    assert_eq!(numbers(&rows, |totals| totals.enqueued), [3]);
    assert!(rows.iter().all(|row| row.queue == default_queue()), "{rows:?}");
    world.advance(MINUTE).await;
    assert!(world.record().await);
    assert_eq!(world.totals(Resolution::Minute).await.len(), 1, "quiet again");
}

/// R8.5: what was enqueued counts also when it is no longer stored, and a retry enqueues nothing.
/// Guard: each step that removes a job counts it.
pub async fn r8_5_what_is_gone_was_enqueued(world: &dyn World) {
    let enqueued = async |wanted: u64, what: &str| {
        assert_eq!(world.queue(&default_queue()).await.totals.enqueued, wanted, "{what}");
    };
    let ids = world.enqueue_n(6).await;
    enqueued(6, "stored").await;
    assert!(world.delete(ids[5], false).await.expect("delete_job"));
    enqueued(6, "deleted while it waited").await;
    let leases = world.reserve(4).await;
    assert!(world.delete(leases[3].id(), true).await.expect("delete_job"));
    enqueued(6, "deleted while it ran").await;
    world.complete(&leases[0]).await;
    world.kill(&leases[1]).await;
    world.call_off(&leases[2]).await;
    enqueued(6, "ended").await;
    world.bring_back(leases[1].id()).await;
    enqueued(6, "retried").await;
    world.enqueue(JobDraft::new("work", "x").idempotency_key("once")).await;
    let _ = world.try_enqueue(JobDraft::new("work", "x").idempotency_key("once")).await;
    enqueued(7, "a duplicate is not enqueued").await;
    world.advance(10 * 365 * DAY).await;
    world.prune_all().await;
    enqueued(7, "pruned").await;
    world.assert_recorded().await;
    assert!(world.admin().remove_queue(&default_queue(), true).await.expect("remove_queue"));
    world.enqueue(draft()).await;
    enqueued(1, "a new queue of that name").await;
    assert_eq!(world.queue(&default_queue()).await.totals.failed, 0);
}

/// R8.5: each attempt that failed counts, also one whose lease expired, and nothing else.
/// Guard: what adds a failure to a job's history counts it.
pub async fn r8_5_failed_attempts_are_counted(world: &dyn World) {
    let failed = async |wanted: u64, what: &str| {
        assert_eq!(world.queue(&default_queue()).await.totals.failed, wanted, "{what}");
    };
    let lease = world.lease(draft().max_attempts(2)).await;
    world.fail(&lease, Duration::ZERO).await;
    failed(1, "failed").await;
    world.kill(&world.reserve_one().await).await;
    failed(2, "died").await;
    // A store may add them up later, and has to add to the number that it has.
    world.prune_all().await;
    failed(2, "added up").await;
    let lease = world.lease(draft().max_attempts(2)).await;
    let _ = world.nack(&lease.token, NackKind::Fatal, Duration::ZERO).await;
    failed(3, "failed for good").await;
    world.lease(draft().max_attempts(2)).await;
    world.expire().await;
    let lease = world.reserve_one().await;
    failed(4, "its lease expired").await;
    world.release(&lease, Duration::ZERO).await;
    let lease = world.reserve_one().await;
    world.expire().await;
    world.assert_nothing_to_lease().await;
    failed(5, "it died of that").await;
    let _ = world.nack(&lease.token, NackKind::Retry, Duration::ZERO).await;
    failed(5, "a stale lease").await;
    let lease = world.lease(draft()).await;
    let _ = world.dead_letter(DeadLetter::of_lease(lease.token, "by lease")).await;
    world.dead_letter_waiting(world.enqueue(draft()).await).await;
    let lease = world.lease(draft()).await;
    world.complete(&lease).await;
    failed(5, "no attempt failed").await;
    world.prune_all().await;
    failed(5, "added up again").await;
    world.assert_recorded().await;
}

/// R8.5: a queue that was removed and created again counts from 0.
/// Guard: what was recorded last goes with the queue, and rates know a total that fell.
pub async fn r8_5_a_new_queue_counts_from_zero(world: &dyn World) {
    world.on_the_hour().await;
    for jobs in [3, 3, 1] {
        world.enqueue_n(jobs).await;
        assert!(world.record().await);
        assert!(world.admin().remove_queue(&default_queue(), true).await.expect("remove_queue"));
        world.advance(MINUTE).await;
    }
    let rows = world.totals(Resolution::Minute).await;
    assert_eq!(numbers(&rows, |totals| totals.enqueued), [3, 3, 1], "a removed queue's stay");
    let changes: Vec<_> = rates(&rows).iter().map(|rate| rate.change.enqueued).collect();
    assert_eq!(changes, [0, 1], "equal totals show no change, lower ones count from 0");
}

/// R8.5: rows are kept by their resolution: 3 hours, 2 days, 60 days.
/// Guard: retention compares the beginning of a row with the time that its resolution is kept.
pub async fn r8_5_rows_are_kept_as_long_as_their_resolution(world: &dyn World) {
    world.on_the_hour().await;
    world.enqueue(draft()).await;
    world.add_runs(&[a_run()]).await;
    assert!(world.record().await);
    let mut passed = Duration::ZERO;
    let mut after = async |time: Duration, wanted: [usize; 3]| {
        world.advance(time - passed).await;
        passed = time;
        world.prune_all().await;
        for (resolution, wanted) in Resolution::ALL.iter().zip(wanted) {
            assert_eq!(world.totals(*resolution).await.len(), wanted, "{resolution} {time:?}");
            assert_eq!(world.runs(*resolution).await.len(), wanted, "{resolution} {time:?}");
        }
    };
    after(3 * HOUR - MINUTE, [1, 1, 1]).await;
    after(3 * HOUR + MINUTE, [0, 1, 1]).await;
    after(2 * DAY - MINUTE, [0, 1, 1]).await;
    after(2 * DAY + MINUTE, [0, 0, 1]).await;
    after(60 * DAY - MINUTE, [0, 0, 1]).await;
    after(60 * DAY + MINUTE, [0, 0, 0]).await;
}

impl<'w> dyn World + 'w {
    /// Creates a queue.
    async fn configure_nothing(&self, of: &QueueName) {
        let id = self.enqueue(draft().queue("clock")).await;
        assert!(self.delete(id, false).await.expect("delete_job"));
        if let Some(admin) = self.capabilities().admin {
            admin.configure(of, &QueuePatch::default()).await.expect("configure");
        }
    }

    /// Asserts that what is recorded now is what the figures of the queue `default` show.
    async fn assert_recorded(&self) {
        assert!(self.record().await);
        let rows = self.totals(Resolution::Minute).await;
        let shown = self.queue(&default_queue()).await.totals;
        assert_eq!(rows.last().map(|row| row.totals), Some(shown));
    }
}

fn numbers(rows: &[TotalsRow], of: impl Fn(&Totals) -> u64) -> Vec<u64> {
    rows.iter().map(|row| of(&row.totals)).collect()
}

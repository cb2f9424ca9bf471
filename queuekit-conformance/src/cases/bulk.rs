//! R6.8: one function for every action on many jobs.

use std::time::Duration;

use queuekit_core::{BulkAction, BulkReport, BulkRequest, JobFilter, JobId, State, Status, bulk};

use crate::World;
use crate::kit::{HOUR, MINUTE, default_queue, draft};

/// More steps than any case needs.
const STEPS: usize = 1000;

/// Runs the action to the end, with this limit of jobs per call. Returns the sum of the reports.
async fn run(world: &dyn World, mut request: BulkRequest, per_call: usize) -> BulkReport {
    request.filter = request.filter.limit(per_call);
    let mut sum = BulkReport::default();
    for _ in 0..STEPS {
        let report = bulk(&**world.backend(), &request).await.expect("bulk");
        assert!(report.matched <= per_call as u64, "a call examines a page");
        assert_eq!(
            report.matched,
            if request.dry_run { report.matched } else { report.changed + report.skipped }
        );
        sum.matched += report.matched;
        sum.changed += report.changed;
        sum.skipped += report.skipped;
        let Some(next) = request.after(&report) else { return sum };
        request = next;
        // Time passes between two steps.
        world.advance(Duration::from_millis(1)).await;
    }
    panic!("the action never ends: {sum:?}");
}

fn request(action: BulkAction, filter: JobFilter) -> BulkRequest {
    BulkRequest::new(action, filter)
}

fn sum(matched: u64, changed: u64) -> BulkReport {
    let mut report = BulkReport::default();
    (report.matched, report.changed, report.skipped) = (matched, changed, matched - changed);
    report
}

async fn dead_jobs(world: &dyn World, n: usize) -> Vec<JobId> {
    let ids = world.enqueue_n(n).await;
    for id in &ids {
        world.dead_letter_waiting(*id).await;
    }
    ids
}

/// R6.8: a dry run counts what matches and changes nothing.
/// Guard: the early return of a dry run.
pub async fn r6_8_a_dry_run_only_counts(world: &dyn World) {
    dead_jobs(world, 7).await;
    let before = world.dump().await;
    let mut request = request(BulkAction::Delete, JobFilter::default().status(State::Dead));
    request.dry_run = true;
    let report = run(world, request, 3).await;
    assert_eq!((report.matched, report.changed), (7, 0));
    world.assert_unchanged(&before).await;
}

/// R6.8: a purge deletes what matches, page by page, and nothing else.
/// Guard: the cursor stays valid after the jobs of its page were deleted.
pub async fn r6_8_a_purge_deletes_all_that_matches(world: &dyn World) {
    dead_jobs(world, 10).await;
    let kept = world.enqueue(draft()).await;
    let filter = JobFilter::default().queue(default_queue()).status(State::Dead);
    assert_eq!(run(world, request(BulkAction::Delete, filter), 3).await, sum(10, 10));
    let left: Vec<JobId> = world.all_jobs().await.iter().map(|job| job.id).collect();
    assert_eq!(left, [kept]);
}

/// R6.8: a purge and a dead-lettering skip running jobs, and count them as skipped.
/// Guard: each job is changed by the same conditional call as a single one.
pub async fn r6_8_what_runs_is_skipped(world: &dyn World) {
    world.enqueue_n(5).await;
    let leases = world.reserve(2).await;
    let all = JobFilter::default;
    let dead_letter = request(BulkAction::DeadLetter("operator".to_owned()), all());
    assert_eq!(run(world, dead_letter, 100).await, sum(5, 3));
    let delete = request(BulkAction::Delete, all());
    assert_eq!(run(world, delete, 100).await, sum(5, 3));
    for lease in leases {
        world.complete(&lease).await;
    }
}

/// R6.8: a bulk retry brings a whole dead-letter queue back, page by page.
/// Guard: the cursor stays valid after a job has left its state.
pub async fn r6_8_the_dead_are_brought_back(world: &dyn World) {
    let mut ids = dead_jobs(world, 10).await;
    let filter = JobFilter::default().status(State::Dead);
    assert_eq!(run(world, request(BulkAction::Retry, filter), 4).await, sum(10, 10));
    let mut served = world.serve_all(&default_queue()).await;
    ids.sort();
    served.sort();
    assert_eq!(served, ids);
}

/// R6.8: a retry can be spread: each job is due within the time, and not all at its beginning.
/// Guard: each job gets a delay of its own.
pub async fn r6_8_a_retry_is_spread_over_a_time(world: &dyn World) {
    dead_jobs(world, 40).await;
    let filter = JobFilter::default().status(State::Dead);
    let spread = request(BulkAction::RetryOver(10 * HOUR), filter);
    assert_eq!(run(world, spread, 16).await, sum(40, 40));
    let mut due = Vec::new();
    for _ in 0..10 {
        world.advance(HOUR).await;
        let leases = world.reserve(40).await;
        for lease in &leases {
            world.complete(lease).await;
        }
        due.push(leases.len());
    }
    assert_eq!(due.iter().sum::<usize>(), 40, "{due:?}");
    // Of 40 jobs over 10 hours, about four are due in each; 30 in one hour cannot be chance.
    assert!(due.iter().all(|jobs| *jobs < 30), "{due:?}");
}

/// R6.8: bulk actions reschedule and cancel waiting jobs, and ask running ones to stop.
/// Guard: which outcomes count as a change.
pub async fn r6_8_waiting_jobs_are_rescheduled_and_called_off(world: &dyn World) {
    world.enqueue_n(4).await;
    let running = world.reserve_one().await;
    let filter = JobFilter::default().queue(default_queue());
    let reschedule = request(BulkAction::Reschedule(HOUR), filter.clone());
    assert_eq!(run(world, reschedule, 100).await, sum(4, 3));
    assert_eq!(world.count(Status::Scheduled).await, 3);
    let cancel = request(BulkAction::Cancel, filter);
    assert_eq!(run(world, cancel, 100).await, sum(4, 4));
    assert_eq!(world.count(Status::Cancelled).await, 3);
    assert!(world.job(running.id()).await.cancel_requested);
}

/// R6.8: each job is changed once, although rescheduled jobs move behind the cursor and are found
/// again.
/// Guard: each step carries the time of the first step.
pub async fn r6_8_a_bulk_reschedule_ends(world: &dyn World) {
    for _ in 0..10 {
        world.enqueue(draft().delay(MINUTE)).await;
    }
    let request = request(BulkAction::Reschedule(HOUR), JobFilter::default());
    assert_eq!(run(world, request, 3).await.changed, 10);
}

//! A tick enqueues the occurrences that are due. Any number of processes may tick at once.

use std::collections::HashSet;
use std::time::Duration;

use bytes::Bytes;

use super::occurrences::{Overlap, owed, skipped};
use super::scheduler::Scheduler;
use super::stored::{Occurrence, Schedule};
use crate::capability::{ScheduleChange, ScheduleChanged, ScheduleQuery, ScheduleRow};
use crate::clock::Timestamp;
use crate::error::{Error, ErrorKind, Result};
use crate::job::NewJob;
use crate::names::{QueueName, ScheduleName};
use crate::retry::queue_full_retry_after;

/// The most occurrences of one schedule that one tick enqueues; the next tick continues.
const JOBS: usize = 100;

/// The result of a tick.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Ticked {
    /// Jobs that the tick enqueued.
    pub enqueued: usize,
    /// Schedules whose due occurrence was skipped because of overlap or catch-up.
    pub passed: usize,
    /// Schedules that could not be served, and why. They stay due: a full queue may get room, and a
    /// process that is newer or knows more time zones may read what this one cannot.
    pub failed: Vec<(ScheduleName, Error)>,
    /// Whether schedules were left out that could not be served a moment ago
    /// ([`Ticker`](super::Ticker)).
    pub left_out: bool,
    /// Whether there is more to do: tick again.
    pub more: bool,
    /// The time to the next occurrence.
    pub next_in: Option<Duration>,
}

impl Scheduler<'_> {
    /// An error affects this schedule alone, unless the store is unreachable.
    pub(super) async fn serve_or_note(
        &self,
        row: &ScheduleRow,
        now: Timestamp,
        round: &mut Round,
    ) -> Result<Served> {
        let error = match self.serve(row, now, round).await {
            Ok(served) => return Ok(served),
            Err(error) => error,
        };
        match error.kind() {
            // No other schedule could be served either.
            ErrorKind::Closed | ErrorKind::StorageFull => return Err(error),
            ErrorKind::Unavailable | ErrorKind::Indeterminate => {
                // The queue may be on another server than the rows.
                let rows = self.rows()?.find_schedules(&ScheduleQuery::Due(None, 0)).await;
                if rows.is_err() {
                    return Err(error);
                }
            }
            _ => {}
        }
        round.ticked.failed.push((row.name.clone(), error));
        Ok(Served::Failed)
    }

    async fn serve(&self, row: &ScheduleRow, now: Timestamp, round: &mut Round) -> Result<Served> {
        let schedule = Schedule::from_row(row)?;
        let Some(due) = row.next_at else { return Ok(Served::Done) };
        let queue = schedule.definition.job().queue();
        // One call that waits for its whole time limit is enough for a queue that does not answer.
        if round.away.contains(queue) {
            let message = "its queue did not answer for an earlier schedule; this one stays due";
            return Err(Error::new(ErrorKind::Unavailable, message));
        }
        let served = self.enqueue_owed(row, &schedule, due, now, round).await;
        match served.as_ref().map_err(Error::kind) {
            Err(ErrorKind::Unavailable) => drop(round.away.insert(queue.clone())),
            Err(ErrorKind::QueueFull { .. }) => drop(round.full.insert(queue.clone())),
            _ => {}
        }
        served
    }

    async fn enqueue_owed(
        &self,
        row: &ScheduleRow,
        schedule: &Schedule,
        due: Timestamp,
        now: Timestamp,
        round: &mut Round,
    ) -> Result<Served> {
        let run = self.owed_now(schedule, due, now).await?;
        // A schedule that has nothing to enqueue advances, however full its queue is.
        if !run.is_empty() && round.full.contains(schedule.definition.job().queue()) {
            return Err(full(queue_full_retry_after()));
        }
        let mut schedule = schedule.clone();
        let (timing, term) = (schedule.definition.timing(), schedule.definition.term());
        schedule.skipped += skipped(timing, &term, due, now, &run);
        let mut most = self.most_of(&schedule);
        loop {
            let count = run.len().min(most);
            let (next, jobs) = advanced(schedule.clone(), &run, count, now)?;
            let next_at = next.next_at;
            let change = change(row, (next_at, next.body()?), jobs);
            match self.rows()?.change_schedule(&change).await? {
                ScheduleChanged::Changed => {
                    let next_in = next_at.map(|next| next.since(now));
                    round.ticked.served(count, run.len(), next_in);
                    let is_done = count == run.len();
                    return Ok(if is_done { Served::Done } else { Served::InPart });
                }
                // Another process was first.
                ScheduleChanged::Stale => return Ok(Served::Done),
                // The queue may have room for a single job.
                ScheduleChanged::QueueFull { .. } if count > 1 => most = 1,
                ScheduleChanged::QueueFull { retry_after } => return Err(full(retry_after)),
            }
        }
    }

    /// The nominal times that run now (R15.3 to R15.5).
    async fn owed_now(
        &self,
        schedule: &Schedule,
        due: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<Timestamp>> {
        let definition = &schedule.definition;
        let (timing, term) = (definition.timing(), definition.term());
        let mut run = owed(timing, &term, definition.catch_up(), due, now);
        if definition.overlap() == Overlap::Skip && !run.is_empty() {
            // Only the latest one may run: the others would overlap with it.
            run.drain(..run.len() - 1);
            if let Some(last) = schedule.last
                && let Some(job) = self.backend.get_job(last.job).await?
                && !job.state.is_terminal()
            {
                run.clear();
            }
        }
        Ok(run)
    }

    /// How many jobs of the template one call may enqueue.
    fn most_of(&self, schedule: &Schedule) -> usize {
        let room = self.backend.capabilities().limits.enqueue_bytes();
        // Their metadata counts too, and is some bytes larger than that of the template.
        let each = schedule.definition.job().payload().len() + 8 * 1024;
        JOBS.min(room / each).max(1)
    }
}

/// The state of a running tick.
#[derive(Default)]
pub(super) struct Round {
    pub(super) ticked: Ticked,
    /// Queues that did not answer. This tick does not try them again.
    away: HashSet<QueueName>,
    /// Queues without room for one job. A job may be large, so this tick does not send them others.
    full: HashSet<QueueName>,
}

/// What came of a schedule that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Served {
    /// It is due no more.
    Done,
    /// It is due with the rest of what it owes.
    InPart,
    /// It stays due, and is not to be tried again at once.
    Failed,
}

fn full(retry_after: Duration) -> Error {
    let message = "the queue of its job is full; the schedule stays due";
    Error::new(ErrorKind::QueueFull { retry_after }, message)
}

impl Ticked {
    fn served(&mut self, enqueued: usize, owed: usize, next_in: Option<Duration>) {
        self.enqueued += enqueued;
        self.passed += usize::from(enqueued == 0);
        self.more |= enqueued < owed;
        self.look_again_in(next_in);
    }

    pub(super) fn look_again_in(&mut self, time: Option<Duration>) {
        self.next_in = self.next_in.into_iter().chain(time).min();
    }
}

/// The schedule after the first of these nominal times, and the jobs of these times.
fn advanced(
    mut schedule: Schedule,
    run: &[Timestamp],
    count: usize,
    now: Timestamp,
) -> Result<(Schedule, Vec<NewJob>)> {
    let definition = &schedule.definition;
    let (name, jitter) = (definition.name(), definition.jitter());
    let job = |nominal: &Timestamp| definition.job().at(name, *nominal, jitter);
    let jobs: Vec<NewJob> = run[..count].iter().map(job).collect::<Result<_>>()?;
    let next = definition.next_after(now);
    if let (Some(nominal), Some(job)) = (run[..count].last(), jobs.last()) {
        schedule.last = Some(Occurrence { nominal: *nominal, job: job.id() });
    }
    schedule.enqueued += jobs.len() as u64;
    schedule.next_at = run.get(count).copied().or(next);
    Ok((schedule, jobs))
}

fn change(row: &ScheduleRow, to: (Option<Timestamp>, Bytes), jobs: Vec<NewJob>) -> ScheduleChange {
    ScheduleChange { name: row.name.clone(), seen: Some(row.revision), to: Some(to), jobs }
}

//! Ticks: enqueue the occurrences that are due. Any number of processes may tick at once.

use std::collections::HashSet;
use std::time::Duration;

use bytes::Bytes;

use super::occurrences::{Overlap, owed};
use super::scheduler::Scheduler;
use super::stored::{Occurrence, Schedule};
use crate::backend::Backend;
use crate::capability::{ScheduleChange, ScheduleChanged, ScheduleQuery, ScheduleRow};
use crate::clock::Timestamp;
use crate::error::{Error, ErrorKind, Result};
use crate::job::NewJob;
use crate::names::{QueueName, ScheduleName};
use crate::retry::queue_full_retry_after;

/// The most schedules that one tick reads.
const ROWS: usize = 1000;
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
    /// Whether there is more to do: tick again.
    pub more: bool,
    /// The time to the next occurrence.
    pub next_in: Option<Duration>,
}

impl Scheduler<'_> {
    /// Enqueues the occurrences that are due (R15.2), each exactly once, however many processes
    /// tick, are killed or are restarted. The first process that changes the schedule's row
    /// enqueues its jobs in the same step. All others find that the row has changed.
    ///
    /// # Errors
    /// `Unavailable`, `Indeterminate`, `Closed`. Occurrences that were not enqueued stay due for
    /// the next tick.
    pub async fn tick(&self) -> Result<Ticked> {
        let mut round = Round::default();
        let mut query = ScheduleQuery::Due(None, ROWS);
        loop {
            let found = self.rows()?.find_schedules(&query).await?;
            round.ticked.look_again_in(found.next_due_in);
            let failed_before = round.ticked.failed.len();
            for row in &found.rows {
                self.serve_or_note(row, found.now, &mut round).await?;
            }
            let failed = round.ticked.failed.len() - failed_before;
            let some_served = failed < found.rows.len();
            match found.next {
                // Schedules that cannot be served stay the earliest, so the tick reads past them.
                Some(next) if !some_served => query = next,
                next => {
                    round.ticked.more |= next.is_some();
                    return Ok(round.ticked);
                }
            }
        }
    }

    /// An error affects this schedule alone, unless the store is unreachable.
    async fn serve_or_note(
        &self,
        row: &ScheduleRow,
        now: Timestamp,
        round: &mut Round,
    ) -> Result<()> {
        let Err(error) = self.serve(row, now, round).await else { return Ok(()) };
        match error.kind() {
            ErrorKind::Closed | ErrorKind::StorageFull => return Err(error),
            ErrorKind::Unavailable | ErrorKind::Indeterminate => {
                // The queue may be on another server than the rows.
                if self.rows()?.find_schedules(&ScheduleQuery::Due(None, 0)).await.is_err() {
                    return Err(error);
                }
                round.ticked.look_again_in(Some(queue_full_retry_after()));
            }
            _ => {}
        }
        round.ticked.failed.push((row.name.clone(), error));
        Ok(())
    }

    async fn serve(&self, row: &ScheduleRow, now: Timestamp, round: &mut Round) -> Result<()> {
        let schedule = Schedule::from_row(row)?;
        let Some(due) = row.next_at else { return Ok(()) };
        let queue = schedule.definition.job().queue();
        if round.away.contains(queue) {
            let message = "its queue did not answer for an earlier schedule; this one stays due";
            return Err(Error::new(ErrorKind::Unavailable, message));
        }
        let served = self.enqueue_owed(row, &schedule, due, now, &mut round.ticked).await;
        if served.as_ref().is_err_and(|error| *error.kind() == ErrorKind::Unavailable) {
            round.away.insert(queue.clone());
        }
        served
    }

    async fn enqueue_owed(
        &self,
        row: &ScheduleRow,
        schedule: &Schedule,
        due: Timestamp,
        now: Timestamp,
        ticked: &mut Ticked,
    ) -> Result<()> {
        let run = self.owed_now(schedule, due, now).await?;
        let mut most = self.most_of(schedule);
        loop {
            let count = run.len().min(most);
            let (next, jobs) = advanced(schedule.clone(), &run, count, now)?;
            let next_at = next.next_at;
            let change = change(row, (next_at, next.body()?), jobs);
            match self.rows()?.change_schedule(&change).await? {
                ScheduleChanged::Changed => {
                    ticked.served(count, run.len(), next_at.map(|next| next.since(now)));
                    return Ok(());
                }
                // Another process was first.
                ScheduleChanged::Stale => return Ok(()),
                // The queue may have room for a single job.
                ScheduleChanged::QueueFull { .. } if count > 1 => most = 1,
                ScheduleChanged::QueueFull { retry_after } => {
                    ticked.look_again_in(Some(retry_after));
                    let message = "the queue of its job is full; the schedule stays due";
                    return Err(Error::new(ErrorKind::QueueFull { retry_after }, message));
                }
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
struct Round {
    ticked: Ticked,
    /// Queues that did not answer. This tick does not try them again.
    away: HashSet<QueueName>,
}

impl Ticked {
    fn served(&mut self, enqueued: usize, owed: usize, next_in: Option<Duration>) {
        self.enqueued += enqueued;
        self.passed += usize::from(enqueued == 0);
        self.more |= enqueued < owed;
        self.look_again_in(next_in);
    }

    fn look_again_in(&mut self, time: Option<Duration>) {
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

/// Runs [`Scheduler::tick`] on a store that may have no schedules.
///
/// # Errors
/// Those of [`Scheduler::tick`].
pub async fn tick(backend: &dyn Backend) -> Result<Option<Ticked>> {
    match backend.capabilities().schedules {
        Some(_) => Scheduler::of(backend).tick().await.map(Some),
        None => Ok(None),
    }
}

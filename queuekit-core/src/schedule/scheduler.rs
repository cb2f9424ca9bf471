//! Schedules as applications and operators use them.

use std::fmt;
use std::time::Duration;

use super::definition::Definition;
use super::occurrences::Term;
use super::stored::{Occurrence, Schedule};
use crate::backend::{Backend, needed};
use crate::capability::{
    ScheduleChange, ScheduleChanged, ScheduleQuery, ScheduleRow, ScheduleRows, Schedules,
};
use crate::clock::Timestamp;
use crate::declared::{Declared, digest_of};
use crate::error::{Error, ErrorKind, Result, parsed};
use crate::job::{JobId, NewJob};
use crate::names::ScheduleName;

/// How often a change is tried again because other processes have changed the row first.
const TRIES: usize = 20;
/// The end of the year 9999: no nominal time has more digits.
const LATEST: Timestamp = Timestamp::from_millis(253_402_300_799_999);

/// The schedules of a store.
#[derive(Clone, Copy)]
pub struct Scheduler<'a> {
    pub(super) backend: &'a dyn Backend,
    may_change: Option<&'a MayChange<'a>>,
}

type MayChange<'a> = dyn Fn(&Schedule) -> bool + Send + Sync + 'a;

impl fmt::Debug for Scheduler<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduler").field("backend", &self.backend).finish_non_exhaustive()
    }
}

/// A schedule in a listing. An unreadable one does not hide the others.
// Exhaustive: a name, and what is stored under it.
#[derive(Clone, Debug)]
pub struct ScheduleEntry {
    /// The name.
    pub name: ScheduleName,
    /// What is stored.
    pub schedule: Result<Schedule>,
}

/// A page of schedules.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SchedulePage {
    /// By name.
    pub schedules: Vec<ScheduleEntry>,
    /// The name after which the next page begins; none at the end.
    pub after: Option<ScheduleName>,
}

impl<'a> Scheduler<'a> {
    /// The schedules of this store. Every call returns `Unsupported` if the store keeps none.
    pub fn of(backend: &'a dyn Backend) -> Self {
        Self { backend, may_change: None }
    }

    /// The same schedules, of which calls change only those that this accepts. For others, also for
    /// one that another process has just stored, they return `NotFound`, and for one that cannot be
    /// read, `Corrupt`.
    #[must_use]
    pub fn changing_only(self, may_change: &'a MayChange<'a>) -> Self {
        Self { may_change: Some(may_change), ..self }
    }

    pub(super) fn rows(&self) -> Result<&'a dyn Schedules> {
        needed(self.backend.capabilities().schedules, "Schedules")
    }

    /// Creates the schedule, or changes it if the code has changed since the last declaration. So
    /// an application may declare its schedules at each start. Changes by an operator persist until
    /// the code changes, and a pause until the schedule is resumed (R15.1).
    ///
    /// # Errors
    /// `Invalid` if a field breaks its limit, which the error names, if the schedule has no further
    /// occurrence, or if there would be too many schedules; `Unavailable`, `Indeterminate` (declare
    /// it again), `Closed`.
    pub async fn declare<D>(&self, schedule: D) -> Result<Declared>
    where
        D: TryInto<Definition, Error: Into<Error>>,
    {
        let definition = &parsed(schedule)?;
        self.admit(definition)?;
        let digest = digest_of(&definition.parts, definition.job().payload())?;
        let declare = |found: &Found| match &found.schedule {
            Some(Ok(old)) if old.declared.as_ref() == Some(&digest) => {
                Ok((Edit::Keep, Declared::Unchanged))
            }
            old => {
                let mut new = found.put(definition)?;
                new.declared = Some(digest.clone());
                let what = if old.is_some() { Declared::Changed } else { Declared::Created };
                Ok((Edit::Put(Box::new(new), Vec::new()), what))
            }
        };
        self.change(definition.name(), declare).await
    }

    /// Creates or replaces the schedule; a paused one stays paused. Returns true if it is new.
    ///
    /// # Errors
    /// Those of [`declare`](Self::declare); also `Invalid` if the schedule ends before its next
    /// occurrence.
    pub async fn put<D>(&self, schedule: D) -> Result<bool>
    where
        D: TryInto<Definition, Error: Into<Error>>,
    {
        let definition = &parsed(schedule)?;
        self.admit(definition)?;
        let put = |found: &Found| {
            let new = found.put(definition)?;
            if definition.next_after(found.now).is_none() {
                let error = Error::invalid("end", "after the next occurrence", "an earlier time");
                return Err(error.on(definition.name()));
            }
            Ok((Edit::Put(Box::new(new), Vec::new()), found.row.is_none()))
        };
        self.change(definition.name(), put).await
    }

    /// The schedule of this name.
    ///
    /// # Errors
    /// `Corrupt` if the schedule cannot be read; `Unavailable`, `Closed`.
    pub async fn get<N>(&self, name: N) -> Result<Option<Schedule>>
    where
        N: TryInto<ScheduleName, Error: Into<Error>>,
    {
        let name = &parsed(name)?;
        self.find(name).await?.schedule.transpose()
    }

    /// A page of schedules by name, beginning after this name: at most `limit`, and as many as fit
    /// into an answer (R8.9).
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    pub async fn list(&self, after: Option<&ScheduleName>, limit: usize) -> Result<SchedulePage> {
        let query = ScheduleQuery::After(after.cloned(), limit);
        let found = self.rows()?.find_schedules(&query).await?;
        let entry = |row: &ScheduleRow| ScheduleEntry {
            name: row.name.clone(),
            schedule: Schedule::from_row(row),
        };
        let after = match found.next {
            Some(ScheduleQuery::After(after, _)) => after,
            _ => None,
        };
        Ok(SchedulePage { schedules: found.rows.iter().map(entry).collect(), after })
    }

    /// Removes a schedule; jobs that it has enqueued stay. Returns false if there was none.
    ///
    /// # Errors
    /// `Unavailable`, `Indeterminate`, `Closed`.
    pub async fn delete<N>(&self, name: N) -> Result<bool>
    where
        N: TryInto<ScheduleName, Error: Into<Error>>,
    {
        let name = &parsed(name)?;
        let delete = |found: &Found| match found.row {
            Some(_) => Ok((Edit::Remove, true)),
            None => Ok((Edit::Keep, false)),
        };
        self.change(name, delete).await
    }

    /// Pauses a schedule: it enqueues nothing until it is resumed.
    ///
    /// # Errors
    /// `NotFound`; `Unavailable`, `Indeterminate`, `Closed`.
    pub async fn pause<N>(&self, name: N) -> Result<()>
    where
        N: TryInto<ScheduleName, Error: Into<Error>>,
    {
        let name = &parsed(name)?;
        self.set_paused(name, true).await
    }

    /// Resumes a schedule. It continues with its next occurrence; those during the pause do not run
    /// (R15.6).
    ///
    /// # Errors
    /// Those of [`pause`](Self::pause).
    pub async fn resume<N>(&self, name: N) -> Result<()>
    where
        N: TryInto<ScheduleName, Error: Into<Error>>,
    {
        let name = &parsed(name)?;
        self.set_paused(name, false).await
    }

    /// Lets the next declaration apply, even if the code has not changed: the schedule keeps its
    /// definition until a program that [declares](Self::declare) it starts, and then has that of
    /// the code (R15.1).
    ///
    /// # Errors
    /// `NotFound`, `Corrupt`; `Unavailable`, `Closed`.
    pub async fn reset<N>(&self, name: N) -> Result<()>
    where
        N: TryInto<ScheduleName, Error: Into<Error>>,
    {
        let name = &parsed(name)?;
        let reset = |found: &Found| {
            let mut schedule = found.present(name)?;
            if schedule.declared.take().is_none() {
                return Ok((Edit::Keep, ()));
            }
            Ok((Edit::Put(Box::new(schedule), Vec::new()), ()))
        };
        self.change(name, reset).await
    }

    /// Enqueues the job of a schedule at once, regardless of times, pause and overlap.
    ///
    /// # Errors
    /// `NotFound`; `QueueFull`; `Unavailable`, `Closed`; `Indeterminate`: check the
    /// [`last`](Schedule::last) occurrence before you repeat the call, or the job may run twice.
    pub async fn run_now<N>(&self, name: N) -> Result<JobId>
    where
        N: TryInto<ScheduleName, Error: Into<Error>>,
    {
        let name = &parsed(name)?;
        let run = |found: &Found| {
            let mut schedule = found.present(name)?;
            let job = schedule.definition.job().now(name)?;
            let id = job.id();
            schedule.last = Some(Occurrence { nominal: found.now, job: id });
            schedule.enqueued += 1;
            Ok((Edit::Put(Box::new(schedule), vec![job]), id))
        };
        self.change(name, run).await
    }

    /// The next nominal times of a schedule, at most `count`; none while it is paused.
    ///
    /// # Errors
    /// `NotFound`, `Corrupt`; `Unavailable`, `Closed`.
    pub async fn upcoming<N>(&self, name: N, count: usize) -> Result<Vec<Timestamp>>
    where
        N: TryInto<ScheduleName, Error: Into<Error>>,
    {
        let name = &parsed(name)?;
        let found = self.find(name).await?;
        let (now, schedule) = (found.now, found.present(name)?);
        Ok(schedule.upcoming(now, count))
    }

    /// Checks that the store accepts the job of the schedule.
    fn admit(&self, definition: &Definition) -> Result<()> {
        // Checks the job of an occurrence, because it has more metadata than that of a requested
        // run.
        let job = definition.job().at(definition.name(), LATEST, Duration::ZERO)?;
        let admitted = self.backend.capabilities().limits.admit_jobs(&[job]);
        admitted.map_err(|error| error.on(definition.name()))
    }

    async fn set_paused(&self, name: &ScheduleName, paused: bool) -> Result<()> {
        let set = |found: &Found| {
            let mut schedule = found.present(name)?;
            if schedule.paused == paused {
                return Ok((Edit::Keep, ()));
            }
            schedule.paused = paused;
            schedule.next_at = schedule.next_from(found.now);
            Ok((Edit::Put(Box::new(schedule), Vec::new()), ()))
        };
        self.change(name, set).await
    }

    async fn find(&self, name: &ScheduleName) -> Result<Found> {
        let query = ScheduleQuery::Named(name.clone());
        let ScheduleRows { now, rows, .. } = self.rows()?.find_schedules(&query).await?;
        let row = rows.into_iter().next();
        Ok(Found { now, schedule: row.as_ref().map(Schedule::from_row), row })
    }

    /// Checks the very row that is then replaced.
    fn check_may_change(&self, found: &Found, name: &ScheduleName) -> Result<()> {
        match (self.may_change, &found.schedule) {
            (Some(may_change), Some(Ok(schedule))) if !may_change(schedule) => Err(absent(name)),
            (Some(_), Some(Err(error))) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Reads the row, decides, and writes it. Starts again if another process has changed it
    /// meanwhile.
    async fn change<T>(
        &self,
        name: &ScheduleName,
        decide: impl Fn(&Found) -> Result<(Edit, T)>,
    ) -> Result<T> {
        for _ in 0..TRIES {
            let found = self.find(name).await?;
            self.check_may_change(&found, name)?;
            let (edit, answer) = decide(&found)?;
            let change = match edit {
                Edit::Keep => return Ok(answer),
                Edit::Put(schedule, jobs) => found.row_to(&schedule, jobs)?,
                Edit::Remove => found.change(name, None, Vec::new()),
            };
            match self.rows()?.change_schedule(&change).await? {
                ScheduleChanged::Changed => return Ok(answer),
                ScheduleChanged::Stale => {}
                ScheduleChanged::QueueFull { retry_after } => {
                    let message = "the queue of its job is full; try again later";
                    let kind = ErrorKind::QueueFull { retry_after };
                    return Err(Error::new(kind, message).on(name));
                }
            }
        }
        let message = format!("the schedule changed {TRIES} times during the call; try again");
        Err(Error::new(ErrorKind::Unavailable, message).on(name))
    }
}

enum Edit {
    Keep,
    Put(Box<Schedule>, Vec<NewJob>),
    Remove,
}

fn absent(name: &ScheduleName) -> Error {
    let message = "there is no schedule of this name; declare it first";
    Error::new(ErrorKind::NotFound, message).on(name)
}

/// The row of a name.
struct Found {
    now: Timestamp,
    row: Option<ScheduleRow>,
    schedule: Option<Result<Schedule>>,
}

impl Found {
    fn present(&self, name: &ScheduleName) -> Result<Schedule> {
        self.schedule.clone().ok_or_else(|| absent(name))?
    }

    /// The schedule with a new definition. Its history and its pause stay.
    fn put(&self, definition: &Definition) -> Result<Schedule> {
        let old = self.schedule.as_ref().and_then(|schedule| schedule.as_ref().ok());
        let same_times = old.is_some_and(|old| {
            let old = &old.definition;
            old.timing() == definition.timing() && old.term() == definition.term()
        });
        let mut new = Schedule {
            definition: definition.clone(),
            paused: old.is_some_and(|old| old.paused),
            next_at: old.and_then(|old| old.next_at),
            last: old.and_then(|old| old.last),
            enqueued: old.map_or(0, |old| old.enqueued),
            skipped: old.map_or(0, |old| old.skipped),
            revision: 0,
            declared: old.and_then(|old| old.declared.clone()),
        };
        if !same_times {
            new.next_at = new.next_from(self.now);
        }
        let Term { start, end } = definition.term();
        let is_over = end.is_some_and(|end| end <= self.now);
        // When the code starts again, the last time before the end may have passed.
        let endless = Term { start, end: None };
        if !is_over && endless.next_after(definition.timing(), self.now).is_none() {
            let limit = "an expression that matches a time in the future";
            let got = format!("{}, whose times have all passed", definition.timing());
            return Err(Error::invalid("cron", limit, got).on(definition.name()));
        }
        Ok(new)
    }

    fn row_to(&self, to: &Schedule, jobs: Vec<NewJob>) -> Result<ScheduleChange> {
        Ok(self.change(to.name(), Some((to.next_at, to.body()?)), jobs))
    }

    fn change(
        &self,
        name: &ScheduleName,
        to: Option<(Option<Timestamp>, bytes::Bytes)>,
        jobs: Vec<NewJob>,
    ) -> ScheduleChange {
        let seen = self.row.as_ref().map(|row| row.revision);
        ScheduleChange { name: name.clone(), seen, to, jobs }
    }
}

//! Drafts and definitions of schedules.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{CatchUp, Cron, Interval, JobTemplate, Overlap, Term, Timing};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::job::{IntoJob, JobDraft};
use crate::limits::{CATCH_UP, INTERVAL_MAX};
use crate::names::ScheduleName;

/// Describes a schedule. [`build`](Self::build) checks it, and its error names what is wrong.
///
/// ```
/// use queuekit::JobDraft;
/// use queuekit::schedules::{CatchUp, Overlap, ScheduleDraft};
///
/// let report = JobDraft::new("report", "{}").queue("reports");
/// let nightly = ScheduleDraft::cron("nightly-report", "30 2 * * *", report)
///     .zone("Europe/Berlin")
///     .catch_up(CatchUp::Once)
///     .overlap(Overlap::Skip)
///     .build()?;
/// # Ok::<_, queuekit::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a draft schedules nothing"]
pub struct ScheduleDraft {
    name: Result<ScheduleName>,
    when: When,
    zone: String,
    job: JobDraft,
    rest: Rest,
}

#[derive(Clone, Debug)]
enum When {
    Cron(String),
    Every(Duration),
}

/// A schedule within all limits: only [`ScheduleDraft::build`] makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    pub(super) name: ScheduleName,
    pub(super) parts: Parts,
}

/// What is stored of a schedule, except its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Parts {
    pub(super) timing: Timing,
    pub(super) job: JobTemplate,
    #[serde(flatten)]
    pub(super) rest: Rest,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Rest {
    pub(super) catch_up: CatchUp,
    pub(super) overlap: Overlap,
    pub(super) jitter_ms: u64,
    #[serde(flatten)]
    pub(super) term: Term,
}

impl ScheduleDraft {
    /// Enqueues the job at the times of a cron expression; see [`Cron`].
    pub fn cron<N>(name: N, expression: impl Into<String>, job: impl IntoJob) -> Self
    where
        N: TryInto<ScheduleName, Error: Into<Error>>,
    {
        Self::new(name, When::Cron(expression.into()), job.into())
    }

    /// Enqueues the job at an interval; see [`Interval`].
    pub fn every<N>(name: N, interval: Duration, job: impl IntoJob) -> Self
    where
        N: TryInto<ScheduleName, Error: Into<Error>>,
    {
        Self::new(name, When::Every(interval), job.into())
    }

    fn new<N>(name: N, when: When, job: JobDraft) -> Self
    where
        N: TryInto<ScheduleName, Error: Into<Error>>,
    {
        let name = name.try_into().map_err(Into::into);
        Self { name, when, zone: "UTC".to_owned(), job, rest: Rest::default() }
    }

    /// Sets the time zone of the cron expression (default `UTC`).
    pub fn zone(mut self, zone: impl Into<String>) -> Self {
        self.zone = zone.into();
        self
    }

    /// Sets which missed occurrences run (default [`CatchUp::Once`]).
    pub fn catch_up(mut self, catch_up: CatchUp) -> Self {
        self.rest.catch_up = catch_up;
        self
    }

    /// Sets whether an occurrence runs while the last one has not ended (default
    /// [`Overlap::Allow`]).
    pub fn overlap(mut self, overlap: Overlap) -> Self {
        self.rest.overlap = overlap;
        self
    }

    /// Delays each job by a random time of up to this (default none), so that schedules of one time
    /// do not all run at once; at most 366 days.
    pub fn jitter(mut self, jitter: Duration) -> Self {
        self.rest.jitter_ms = u64::try_from(jitter.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// No occurrence before this instant of the store's clock (default none).
    pub fn start(mut self, start: impl Into<Timestamp>) -> Self {
        self.rest.term.start = Some(start.into());
        self
    }

    /// No occurrence after this instant of the store's clock (default none).
    pub fn end(mut self, end: impl Into<Timestamp>) -> Self {
        self.rest.term.end = Some(end.into());
        self
    }

    /// Checks the schedule.
    ///
    /// # Errors
    /// `Invalid`. It names the first field that breaks its limit, and for a cron expression the
    /// reason.
    pub fn build(self) -> Result<Definition> {
        let name = self.name?;
        let of_name = |error: Error| error.on(&name);
        let timing = match self.when {
            When::Cron(expression) => Cron::new(&expression, &self.zone).map(Timing::Cron),
            When::Every(interval) => Interval::new(interval).map(Timing::Every),
        };
        let timing = timing.map_err(of_name)?;
        let job = JobTemplate::of(self.job).map_err(of_name)?;
        self.rest.check().map_err(of_name)?;
        Ok(Definition { name, parts: Parts { timing, job, rest: self.rest } })
    }
}

impl TryFrom<ScheduleDraft> for Definition {
    type Error = Error;

    fn try_from(draft: ScheduleDraft) -> Result<Self> {
        draft.build()
    }
}

impl From<&Self> for Definition {
    fn from(definition: &Self) -> Self {
        definition.clone()
    }
}

impl Rest {
    pub(super) fn jitter(&self) -> Duration {
        Duration::from_millis(self.jitter_ms)
    }

    fn check(&self) -> Result<()> {
        if self.jitter() > INTERVAL_MAX {
            let got = format!("{:?}", self.jitter());
            return Err(Error::invalid("jitter", "at most 366 days", got));
        }
        if let CatchUp::All(most) = self.catch_up
            && most > CATCH_UP
        {
            return Err(Error::invalid("catch_up", "at most 1,000 occurrences", most));
        }
        if let Term { start: Some(start), end: Some(end) } = self.term
            && end < start
        {
            let got = format!("{} ms before it", start.since(end).as_millis());
            return Err(Error::invalid("end", "at the start or later", got));
        }
        Ok(())
    }
}

impl Definition {
    /// The name.
    pub fn name(&self) -> &ScheduleName {
        &self.name
    }

    /// The cron expression or the interval.
    pub fn timing(&self) -> &Timing {
        &self.parts.timing
    }

    /// The job that the schedule enqueues.
    pub fn job(&self) -> &JobTemplate {
        &self.parts.job
    }

    /// Which missed occurrences run.
    pub fn catch_up(&self) -> CatchUp {
        self.parts.rest.catch_up
    }

    /// Whether occurrences may overlap.
    pub fn overlap(&self) -> Overlap {
        self.parts.rest.overlap
    }

    /// The longest delay of a job.
    pub fn jitter(&self) -> Duration {
        self.parts.rest.jitter()
    }

    /// The start and the end of the schedule.
    pub fn term(&self) -> Term {
        self.parts.rest.term
    }

    /// The first nominal time after an instant; none if there is none.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        self.parts.rest.term.next_after(&self.parts.timing, after)
    }

    /// The nominal times after an instant.
    pub fn upcoming(&self, after: Timestamp) -> impl Iterator<Item = Timestamp> {
        std::iter::successors(self.next_after(after), |last| self.next_after(*last))
    }
}

//! How many jobs match a filter, for the page that asks before an action on all of them.

use std::time::Instant;

use axum::http::Method;

use super::filter::{Filter, READ_FOR_MS};
use crate::ui::failure::Failure;
use crate::ui::form::Form;
use crate::ui::live::Snapshot;
use crate::ui::view::Count;
use crate::ui::viewer::Viewer;
use crate::wire::{BulkBody, BulkReportBody, millis};

/// Jobs that a call of the count looks for.
const STEP: usize = 1000;
/// Above this number of jobs, an action that destroys asks for the number.
const TYPED: u64 = 1000;

/// The number of jobs that match.
pub(super) struct Matched {
    pub(super) jobs: Count,
    /// Whether there may be more: the count stopped early.
    pub(super) or_more: bool,
}

impl Matched {
    /// Counts for a moment. If that does not reach the end, the figures of queues have the number,
    /// unless the filter asks for more than queues and statuses.
    pub(super) async fn count(
        viewer: &Viewer,
        filter: &Filter,
        body: BulkBody,
        now: &Snapshot,
    ) -> Result<Self, Failure> {
        let (seen, or_more) = seen(viewer, body).await?;
        let told = filter.counted(viewer, now).filter(|told| or_more && told.value >= seen);
        Ok(match told {
            Some(jobs) => Self { jobs, or_more: false },
            None => Self { jobs: Count::exact(seen), or_more },
        })
    }

    /// No job.
    pub(super) fn none() -> Self {
        Self { jobs: Count::default(), or_more: false }
    }

    /// What the form says that was counted.
    pub(super) fn of(form: &Form) -> Self {
        let jobs = Count::exact(form.get("matched").parse().unwrap_or(0));
        Self { jobs, or_more: form.get("or_more") == "true" }
    }

    /// `1 job`, `12 jobs`, `at least 12 jobs`
    pub(super) fn told(&self) -> String {
        match self.or_more {
            true if self.jobs.is_zero() => "all jobs that match".to_owned(),
            true => format!("at least {}", self.jobs.jobs()),
            false => self.jobs.jobs(),
        }
    }

    /// Whether there is nothing to do.
    pub(super) fn is_none(&self) -> bool {
        self.jobs.is_zero() && !self.or_more
    }

    /// What has to be typed before many jobs are destroyed: their number, or the action if the
    /// number is not known.
    pub(super) fn to_type(&self, action: &str) -> Option<String> {
        match self.or_more {
            true => Some(action.to_owned()),
            false => (self.jobs.value > TYPED).then(|| self.jobs.value.to_string()),
        }
    }

    /// How many jobs a run will look at, if that is known.
    pub(super) fn expected(&self) -> Option<u64> {
        (!self.or_more).then_some(self.jobs.value)
    }
}

/// How many jobs match of those that can be looked at in a moment, and whether there may be more.
async fn seen(viewer: &Viewer, body: BulkBody) -> Result<(u64, bool), Failure> {
    let mut step =
        BulkBody { dry_run: true, limit: Some(STEP), within_ms: Some(READ_FOR_MS), ..body };
    let begun = Instant::now();
    let mut matched = 0;
    loop {
        let answer = viewer.call(Method::POST, "/v1/jobs/bulk", &step).await?;
        let report: BulkReportBody = answer.read()?;
        matched += report.matched;
        (step.cursor, step.since) = (report.cursor, report.since);
        let left = READ_FOR_MS.saturating_sub(millis(begun.elapsed()));
        if step.cursor.is_none() || left == 0 {
            return Ok((matched, step.cursor.is_some()));
        }
        step.within_ms = Some(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_stopped_early_is_told_as_at_least() {
        for (jobs, or_more, told, to_type) in [
            (0, false, "0 jobs", None),
            (1, false, "1 job", None),
            (1000, false, "1,000 jobs", None),
            (1001, false, "1,001 jobs", Some("1001")),
            (0, true, "all jobs that match", Some("delete")),
            (1, true, "at least 1 job", Some("delete")),
            (10_000, true, "at least 10,000 jobs", Some("delete")),
        ] {
            let matched = Matched { jobs: Count::exact(jobs), or_more };
            assert_eq!(matched.told(), told);
            assert_eq!(matched.to_type("delete").as_deref(), to_type, "{told}");
            assert_eq!(matched.is_none(), told == "0 jobs");
            assert_eq!(matched.expected().is_none(), or_more, "{told}");
        }
    }
}

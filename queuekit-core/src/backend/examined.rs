//! What a page of a listing has looked at (contract R8.8).

use std::time::Instant;

use super::JobFilter;
use crate::job::JobId;

/// The jobs that a page has looked at, whether they match or not. A store counts each
/// [look](Self::look), and ends the page once it has looked [enough](Self::is_full). Before it
/// reads more from a disk or over a network, it also asks whether [the time](Self::is_late) is up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Examined {
    /// Waiting jobs are met once for each status that they can have.
    looks: usize,
    most: usize,
    jobs: usize,
    up_to: Option<JobId>,
    least: usize,
    until: Option<Instant>,
}

impl Examined {
    /// Nothing yet, of a page of this filter that begins now.
    pub fn of(filter: &JobFilter) -> Self {
        Self {
            most: filter.most_examined(),
            least: filter.limit.get(),
            until: filter.reads_until(),
            ..Self::default()
        }
    }

    /// Counts a look at a job.
    pub fn look(&mut self) {
        self.looks += 1;
    }

    /// The job that it looked at has the status that is listed there.
    pub fn saw(&mut self, id: JobId) {
        self.jobs += 1;
        self.up_to = Some(id);
    }

    /// Whether the page must end.
    pub fn is_full(&self) -> bool {
        self.looks >= self.most
    }

    /// Whether the page must begin no further read. It first looks at as many jobs as it may have,
    /// so that the time cuts only pages that look for what is rare.
    pub fn is_late(&self) -> bool {
        self.looks >= self.least && self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// How often the page may look at a job yet.
    pub fn left(&self) -> usize {
        self.most.saturating_sub(self.looks)
    }

    /// How many jobs.
    pub fn jobs(&self) -> usize {
        self.jobs
    }

    /// The last of them.
    pub fn up_to(&self) -> Option<JobId> {
        self.up_to
    }

    /// Counts what another page of the same listing has looked at.
    pub(super) fn add(&mut self, other: &Self) {
        self.looks += other.looks;
        self.jobs += other.jobs;
        self.up_to = other.up_to.or(self.up_to);
    }
}

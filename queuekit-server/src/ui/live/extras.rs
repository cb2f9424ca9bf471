//! What else the overview warns of, besides figures of queues and workers.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use queuekit::error_groups::ErrorGroup;
use queuekit::events::Subscription;
use queuekit::jobs::PageSize;
use queuekit::queues::Queue;
use queuekit::schedules::ScheduleName;
use queuekit::store::capability::{Finding, ScheduleQuery};
use queuekit::store::{BackendExt, Kind};
use queuekit::{QueueName, Timestamp};
use tokio::time::Instant;

use super::runs::RunsTrend;
use super::trend::Trend;
use crate::api::{App, Figures};

/// The most queues whose error groups are read: those with the most dead and failed jobs.
const QUEUES: usize = 100;
/// The most error groups.
const GROUPS: usize = 200;
/// The most schedules that are late.
const SCHEDULES: usize = 100;
/// The time between two looks at what the store finds wrong: it reads more than figures.
const FINDINGS: Duration = Duration::from_secs(60);

/// Each part is read in its turn, one in a second, so that the store gets one call for it.
#[derive(Clone, Default)]
pub(in crate::ui) struct Extras {
    turn: u8,
    /// Whether a part was read last, and not what a page needs.
    was_part: bool,
    /// The latest error groups.
    pub(in crate::ui) groups: Arc<[ErrorGroup]>,
    /// Schedules whose time has come, and when they were read by the store's clock.
    pub(in crate::ui) due: Arc<[DueSchedule]>,
    pub(in crate::ui) due_as_of: Timestamp,
    /// Whether one of them was read last.
    was_definition: bool,
    /// None until they were read.
    pub(in crate::ui) consumers: Option<Arc<[Subscription]>>,
    /// What the store finds wrong, and when it was last asked.
    pub(in crate::ui) findings: Arc<[Finding]>,
    findings_read: Option<Instant>,
    pub(in crate::ui) trend: Trend,
    pub(in crate::ui) runs: RunsTrend,
}

/// A schedule whose time has come.
#[derive(Clone)]
pub(in crate::ui) struct DueSchedule {
    pub(in crate::ui) name: ScheduleName,
    pub(in crate::ui) at: Timestamp,
    /// Queue and kind of its job, once it was read.
    pub(in crate::ui) target: Option<(QueueName, Kind)>,
}

impl Extras {
    /// Whether it is the turn of a page that is open.
    pub(super) fn is_page_next(&mut self) -> bool {
        self.was_part = !self.was_part;
        !self.was_part
    }

    /// Reads the next part. If that fails, the part stays as it is.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) async fn read_next(&mut self, app: &App, figures: &Figures) -> queuekit::Result<()> {
        let turn = self.turn;
        self.turn = (turn + 1) % 7;
        let now = figures.queues.first().map(|queue| queue.as_of);
        match (turn, now) {
            (0, _) => self.read_groups(app, figures).await,
            (2, _) => self.read_due(app).await,
            (4, _) => self.read_consumers(app).await,
            (6, _) => self.read_findings(app).await,
            (5, Some(now)) => self.runs.read_next(app, now).await,
            (_, Some(now)) => self.trend.read_next(app, now).await,
            _ => Ok(()),
        }
    }

    async fn read_groups(&mut self, app: &App, figures: &Figures) -> queuekit::Result<()> {
        let Some(errors) = app.store().capabilities().errors else { return Ok(()) };
        let failures = |queue: &&Queue| Reverse(queue.totals.dead + queue.totals.failed);
        let mut queues: Vec<&Queue> = figures.queues.iter().collect();
        queues.retain(|queue| queue.totals.dead + queue.totals.failed > 0);
        queues.sort_by_key(failures);
        let names: Vec<QueueName> =
            queues.into_iter().take(QUEUES).map(|queue| queue.name.clone()).collect();
        self.groups = match names.is_empty() {
            true => Arc::default(),
            false => errors.list_error_groups(&names, PageSize::new(GROUPS)?).await?.into(),
        };
        Ok(())
    }

    /// Reads which schedules are due, or what one of them enqueues: a row does not say it, and
    /// restricted keys see only what is for them.
    async fn read_due(&mut self, app: &App) -> queuekit::Result<()> {
        let unknown = self.due.iter().position(|due| due.target.is_none());
        self.was_definition = !self.was_definition && unknown.is_some();
        if let Some(at) = unknown.filter(|_| self.was_definition) {
            return self.read_definition(app, at).await;
        }
        let Some(schedules) = app.store().capabilities().schedules else { return Ok(()) };
        let found = schedules.find_schedules(&ScheduleQuery::Due(None, SCHEDULES)).await?;
        let known = |name: &ScheduleName| {
            self.due.iter().find(|due| due.name == *name).and_then(|due| due.target.clone())
        };
        let due = found.rows.into_iter().filter_map(|row| {
            Some(DueSchedule { target: known(&row.name), at: row.next_at?, name: row.name })
        });
        (self.due, self.due_as_of) = (due.collect(), found.now);
        Ok(())
    }

    async fn read_definition(&mut self, app: &App, at: usize) -> queuekit::Result<()> {
        let mut due = self.due.to_vec();
        if let Some(of) = due.get_mut(at)
            && let Some(schedule) = app.client().schedules().get(&of.name).await?
        {
            let job = schedule.definition.job();
            of.target = Some((job.queue().clone(), job.kind().clone()));
        }
        self.due = due.into();
        Ok(())
    }

    async fn read_findings(&mut self, app: &App) -> queuekit::Result<()> {
        if self.findings_read.is_some_and(|read| read.elapsed() < FINDINGS) {
            return Ok(());
        }
        // A store that cannot tell is not asked more often.
        self.findings_read = Some(Instant::now());
        self.findings = app.store().all_findings().await?.into();
        Ok(())
    }

    async fn read_consumers(&mut self, app: &App) -> queuekit::Result<()> {
        if app.store().capabilities().outbox.is_some() {
            self.consumers = Some(app.client().consumers().list().await?.into());
        }
        Ok(())
    }
}

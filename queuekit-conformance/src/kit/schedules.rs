//! Schedules.

use std::time::Duration;

use queuekit_core::capability::{
    ScheduleChange, ScheduleChanged, ScheduleQuery, ScheduleRow, ScheduleRows,
};
use queuekit_core::schedule::{Definition, Ticked};
use queuekit_core::{
    Declared, Job, JobFilter, QueueName, Schedule, ScheduleDraft, ScheduleName, Scheduler,
    Timestamp,
};

use super::HOUR;
use crate::World;

/// A schedule's name.
pub fn schedule_name(name: &str) -> ScheduleName {
    ScheduleName::new(name).expect("a schedule's name")
}

/// The schedule of a draft that obeys every limit.
pub fn defined(draft: ScheduleDraft) -> Definition {
    draft.build().expect("a schedule that obeys every limit")
}

impl<'w> dyn World + 'w {
    /// The store's schedules.
    pub fn scheduler(&self) -> Scheduler<'_> {
        Scheduler::of(&**self.backend())
    }

    /// Declares a schedule.
    pub async fn declare(&self, draft: ScheduleDraft) -> Declared {
        self.scheduler().declare(&defined(draft)).await.expect("declare")
    }

    /// One tick that serves every schedule.
    pub async fn tick(&self) -> Ticked {
        let ticked = self.scheduler().tick().await.expect("tick");
        assert!(ticked.failed.is_empty(), "{:?}", ticked.failed);
        ticked
    }

    /// The schedule of this name, which is there.
    pub async fn schedule(&self, name: &str) -> Schedule {
        self.scheduler().get(&schedule_name(name)).await.expect("get").expect("the schedule")
    }

    /// Rows as they are stored.
    pub async fn schedule_rows(&self, query: ScheduleQuery) -> ScheduleRows {
        self.schedules().find_schedules(&query).await.expect("find_schedules")
    }

    /// The row of this name, which is there.
    pub async fn schedule_row(&self, name: &str) -> ScheduleRow {
        let query = ScheduleQuery::Named(schedule_name(name));
        self.schedule_rows(query).await.rows.pop().expect("the row")
    }

    /// Changes a row.
    pub async fn change_schedule(&self, change: &ScheduleChange) -> ScheduleChanged {
        self.schedules().change_schedule(change).await.expect("change_schedule")
    }

    /// Moves the clock to the next full hour, or just after it; answers that hour.
    pub async fn to_the_hour(&self) -> Timestamp {
        let now = self.schedule_rows(ScheduleQuery::Due(None, 0)).await.now;
        let into = Duration::from_millis(now.as_millis().rem_euclid(3_600_000).unsigned_abs());
        self.advance(HOUR - into).await;
        now.minus(into) + HOUR
    }

    /// All jobs of a queue.
    pub async fn jobs_of(&self, queue: &QueueName) -> Vec<Job> {
        self.list(JobFilter::default().queue(queue.clone())).await
    }
}

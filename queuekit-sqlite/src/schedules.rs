//! Schedules.

use async_trait::async_trait;
use queuekit_core::Result;
use queuekit_core::capability::{
    ScheduleChange, ScheduleChanged, ScheduleQuery, ScheduleRows, Schedules,
};

use crate::SqliteStore;

#[async_trait]
impl Schedules for SqliteStore {
    async fn find_schedules(&self, query: &ScheduleQuery) -> Result<ScheduleRows> {
        let query = query.clone();
        self.read("find_schedules", move |step| step.find_schedules(&query)).await
    }

    async fn change_schedule(&self, change: &ScheduleChange) -> Result<ScheduleChanged> {
        let change = change.clone();
        self.write("change_schedule", move |step| step.change_schedule(&change)).await
    }
}

//! Schedules.

use async_trait::async_trait;
use queuekit_core::capability::{
    ScheduleChange, ScheduleChanged, ScheduleQuery, ScheduleRows, Schedules,
};
use queuekit_core::{NewJob, Result};

use crate::PostgresStore;
use crate::call::Call;
use crate::step::{self, ROUNDS, gone};

#[async_trait]
impl Schedules for PostgresStore {
    async fn find_schedules(&self, query: &ScheduleQuery) -> Result<ScheduleRows> {
        let found = self.call("find_schedules", Call::Repeatable, query, |query, session| {
            Box::pin(step::find_schedules(session, query))
        });
        found.await
    }

    async fn change_schedule(&self, change: &ScheduleChange) -> Result<ScheduleChanged> {
        for _ in 0..ROUNDS {
            let asked = self.ask(&change.jobs).await;
            let asked = asked.map_err(|error| error.during("change_schedule"))?;
            let input = (&self.shared.limits, change, &asked);
            let changed = self.call("change_schedule", Call::Once, input, |input, session| {
                let (limits, change, asked) = *input;
                Box::pin(step::change_schedule(session, limits, change, asked))
            });
            match changed.await? {
                Some(changed) => {
                    if matches!(changed, ScheduleChanged::Changed) {
                        self.stir(change.jobs.iter().map(NewJob::queue));
                        self.count_delta();
                    }
                    return Ok(changed);
                }
                None => asked.forget_queues(&self.shared.known),
            }
        }
        Err(gone().during("change_schedule"))
    }
}

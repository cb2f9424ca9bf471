//! Extending leases, reports, presence of workers.

use async_trait::async_trait;
use queuekit_core::capability::{Beat, ExtendOutcome, Leases, Report, ReportOutcome, WorkerInfo};
use queuekit_core::{LeaseToken, LeaseTtl, Result};

use crate::PostgresStore;
use crate::call::Call;
use crate::params::params;
use crate::read;
use crate::row::millis;
use crate::statements::Sql;
use crate::step;

#[async_trait]
impl Leases for PostgresStore {
    async fn extend(&self, leases: &[LeaseToken], ttl: LeaseTtl) -> Result<Vec<ExtendOutcome>> {
        if leases.is_empty() {
            return Ok(Vec::new());
        }
        let input = (leases, ttl);
        let extended = self.call("extend", Call::Heartbeat, input, |input, session| {
            let (leases, ttl) = *input;
            Box::pin(step::extend(session, leases, ttl))
        });
        extended.await
    }

    async fn report(&self, reports: &[Report]) -> Result<Vec<ReportOutcome>> {
        if reports.is_empty() {
            return Ok(Vec::new());
        }
        let reported = self.call("report", Call::Once, reports, |reports, session| {
            Box::pin(step::report(session, reports))
        });
        reported.await
    }

    async fn beat(&self, beat: &Beat) -> Result<()> {
        let recorded = self.call("beat", Call::Heartbeat, beat, |beat, session| {
            Box::pin(async move {
                let (queues, kinds) = (beat.queues.to_text(), beat.kinds.to_text());
                let (id, ttl_ms) = (beat.id.as_str(), millis(beat.ttl.get()));
                let (slots, running) = (beat.slots.cast_signed(), beat.running.cast_signed());
                // NUL has no place in a text of Postgres.
                let name = beat.name.replace('\0', "\u{fffd}");
                let params = params![id, name, queues, kinds, slots, running, ttl_ms];
                session.settle(Sql::Beat, params).await.map(drop)
            })
        });
        recorded.await
    }

    async fn list_workers(&self) -> Result<Vec<WorkerInfo>> {
        let workers = self.call("list_workers", Call::Repeatable, (), |(), session| {
            Box::pin(read::workers(session))
        });
        workers.await
    }
}

//! The audit log.

use async_trait::async_trait;
use queuekit_core::capability::{Act, AuditEntry, AuditLog};
use queuekit_core::{PageSize, Result};

use crate::PostgresStore;
use crate::call::Call;
use crate::step;

#[async_trait]
impl AuditLog for PostgresStore {
    async fn record_act(&self, act: &Act) -> Result<()> {
        let input = (act, self.shared.limits.audit_entries());
        let recorded = self.call("record_act", Call::Once, input, |(act, kept), session| {
            Box::pin(step::record_act(session, act, *kept))
        });
        recorded.await
    }

    async fn list_acts(&self, before: Option<u64>, limit: PageSize) -> Result<Vec<AuditEntry>> {
        let input = (before, limit);
        let listed = self.call("list_acts", Call::Repeatable, input, |input, session| {
            let (before, limit) = *input;
            Box::pin(step::list_acts(session, before, limit))
        });
        listed.await
    }
}

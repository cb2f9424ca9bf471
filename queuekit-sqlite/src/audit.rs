//! The audit log.

use async_trait::async_trait;
use queuekit_core::capability::{Act, AuditEntry, AuditLog};
use queuekit_core::{PageSize, Result};

use crate::SqliteStore;

#[async_trait]
impl AuditLog for SqliteStore {
    async fn record_act(&self, act: &Act) -> Result<()> {
        let act = act.clone();
        self.write("record_act", move |step| step.record_act(&act)).await
    }

    async fn list_acts(&self, before: Option<u64>, limit: PageSize) -> Result<Vec<AuditEntry>> {
        self.read("list_acts", move |step| step.list_acts(before, limit)).await
    }
}

//! The audit log (contract R8.6).

use async_trait::async_trait;

use super::{MemoryStore, Operation};
use crate::backend::PageSize;
use crate::capability::{Act, AuditEntry, AuditLog};
use crate::error::Result;

#[async_trait]
impl AuditLog for MemoryStore {
    async fn record_act(&self, act: &Act) -> Result<()> {
        let kept = self.shared.limits.audit_entries();
        self.step(Operation::RecordAct, |tables| {
            let seq = tables.acts.front().map_or(0, |latest| latest.seq) + 1;
            tables.acts.push_front(AuditEntry { seq, at: tables.now, act: act.clone() });
            tables.acts.truncate(kept);
            Ok(())
        })
    }

    async fn list_acts(&self, before: Option<u64>, limit: PageSize) -> Result<Vec<AuditEntry>> {
        self.step(Operation::ListActs, |tables| {
            let is_before = |entry: &&AuditEntry| before.is_none_or(|before| entry.seq < before);
            Ok(tables.acts.iter().filter(is_before).take(limit.get()).cloned().collect())
        })
    }
}

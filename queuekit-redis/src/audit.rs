//! The audit log. It is one list, in one slot.

use std::str;

use async_trait::async_trait;
use queuekit_core::capability::{Act, AuditEntry, AuditLog};
use queuekit_core::{PageSize, Result, Timestamp};

use crate::RedisStore;
use crate::call::Request;
use crate::codec::{array_of, bytes_of};
use crate::error::unreadable;
use crate::repeat::Call;
use crate::scripts::Lua;

#[async_trait]
impl AuditLog for RedisStore {
    async fn record_act(&self, act: &Act) -> Result<()> {
        let kept = self.shared.limits.audit_entries().to_string();
        let args = vec![act.to_text().into_bytes(), kept.into_bytes()];
        let keys = vec![self.shared.keyspace.audit()];
        let request = Request::Script { script: Lua::AuditAdd, keys, args };
        self.call("record_act", Call::Once, request).await.map(drop)
    }

    async fn list_acts(&self, before: Option<u64>, limit: PageSize) -> Result<Vec<AuditEntry>> {
        let before = before.map(|before| before.to_string()).unwrap_or_default();
        let args = vec![before.into_bytes(), limit.get().to_string().into_bytes()];
        let keys = vec![self.shared.keyspace.audit()];
        let request = Request::Script { script: Lua::Audit, keys, args };
        let answer = self.call("list_acts", Call::Read, request).await?;
        let entries = array_of(answer).ok_or_else(|| unreadable("the audit log"))?;
        Ok(entries.into_iter().filter_map(bytes_of).filter_map(|entry| read(&entry)).collect())
    }
}

/// None if the entry cannot be read.
fn read(entry: &[u8]) -> Option<AuditEntry> {
    let mut parts = str::from_utf8(entry).ok()?.splitn(3, ' ');
    let seq = parts.next()?.parse().ok()?;
    let at = Timestamp::from_millis(parts.next()?.parse().ok()?);
    Some(AuditEntry { seq, at, act: Act::from_text(parts.next()?)? })
}

//! Rows of the audit log (contract R8.6).

use queuekit_core::capability::{Act, AuditEntry};
use queuekit_core::{PageSize, Result, Timestamp};
use rusqlite::{Row, params};

use super::Step;
use crate::column_names::columns;
use crate::statements::{AUDIT_BEFORE, AUDIT_INSERT, AUDIT_TRIM};

impl Step<'_> {
    pub(crate) fn record_act(&self, act: &Act) -> Result<()> {
        self.execute(AUDIT_INSERT, params![self.now.as_millis(), act.to_text()])?;
        // Guard: only the latest entries are kept.
        self.execute(AUDIT_TRIM, [self.limits.audit_entries()])?;
        Ok(())
    }

    pub(crate) fn list_acts(
        &self,
        before: Option<u64>,
        limit: PageSize,
    ) -> Result<Vec<AuditEntry>> {
        let before = before.map(|before| i64::try_from(before).unwrap_or(i64::MAX));
        let rows = self.rows(AUDIT_BEFORE, params![before, limit.get()], read)?;
        Ok(rows.into_iter().flatten().collect())
    }
}

columns! {
    struct ActColumns { seq, at, act }
}

/// Reads a row; none if its act cannot be read.
fn read(row: &Row<'_>, at: &ActColumns) -> rusqlite::Result<Option<AuditEntry>> {
    let act = Act::from_text(row.get_ref(at.act)?.as_str()?);
    let (seq, at) = (row.get(at.seq)?, Timestamp::from_millis(row.get(at.at)?));
    Ok(act.map(|act| AuditEntry { seq, at, act }))
}

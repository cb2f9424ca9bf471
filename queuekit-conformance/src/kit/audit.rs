//! The audit log.

use queuekit_core::capability::AuditLog;

use crate::World;

impl<'w> dyn World + 'w {
    /// The capability.
    pub fn audit(&self) -> &dyn AuditLog {
        self.backend().capabilities().audit.expect("an audit log")
    }
}

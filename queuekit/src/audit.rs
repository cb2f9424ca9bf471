//! The audit log: what [`Client::audit`](crate::Client::audit) takes and answers.

#[doc(inline)]
pub use queuekit_core::capability::{Act, AuditEntry};
#[doc(inline)]
pub use queuekit_core::client::Audit;

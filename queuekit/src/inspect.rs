//! The store itself: what [`Client::inspect`](crate::Client::inspect) and
//! [`Client::schema`](crate::Client::schema) answer.
//!
//! ```
//! use queuekit::inspect::Finding;
//! use queuekit::{Client, memory::MemoryStore};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> queuekit::Result<()> {
//! # let client = Client::new(MemoryStore::new());
//! for Finding { message, remedy, .. } in client.inspect().findings().await? {
//!     println!("{message}: {remedy}");
//! }
//! # Ok(())
//! # }
//! ```

#[doc(inline)]
pub use queuekit_core::capability::{
    Cause, Durability, Fact, Finding, Migration, PoolUse, SchemaStatus, Severity,
};
#[doc(inline)]
pub use queuekit_core::client::{Inspection, Schema};

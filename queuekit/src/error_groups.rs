//! Groups of errors that look alike: what fails, and how often, which
//! [`Client::error_groups`](crate::Client::error_groups) answers.
//!
//! ```
//! use queuekit::error_groups::ErrorGroup;
//! use queuekit::{Client, memory::MemoryStore};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> queuekit::Result<()> {
//! # let client = Client::new(MemoryStore::new());
//! let groups: Vec<ErrorGroup> = client.error_groups().list(20).await?;
//! for ErrorGroup { queue, key, deaths, .. } in &groups {
//!     println!("{queue}: {deaths} died of {}", key.signature.as_str());
//! }
//! # Ok(())
//! # }
//! ```

#[doc(inline)]
pub use queuekit_core::client::ErrorGroups;
#[doc(inline)]
pub use queuekit_core::{ErrorGroup, GroupId, GroupKey, GroupNote, RecentErrors, Signature};

//! Events and their consumers: what [`Client::emit`](crate::Client::emit),
//! [`Client::subscribe`](crate::Client::subscribe), [`Client::events`](crate::Client::events) and
//! [`Client::consumers`](crate::Client::consumers) take and answer.
//!
//! ```
//! use queuekit::events::{EventDraft, SubscriptionDraft};
//! use queuekit::{Client, memory::MemoryStore};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> queuekit::Result<()> {
//! let client = Client::new(MemoryStore::new());
//! client.subscribe(SubscriptionDraft::new("shipping", "order.*").ordered()).await?;
//! client.emit(EventDraft::new("order.placed", "7").partition_key("7")).await?;
//! assert_eq!(client.consumers().stats("shipping").await?.depth, 1);
//! # Ok(())
//! # }
//! ```

#[doc(inline)]
pub use queuekit_core::ConsumerName;
#[doc(inline)]
pub use queuekit_core::capability::{EmitOutcome, EventFilter, EventPage};
#[doc(inline)]
pub use queuekit_core::client::{EmitAll, EmitRequest, Emitted, Events};
#[doc(inline)]
pub use queuekit_core::event::{
    ConsumerStats, Consumers, Event, EventDraft, EventId, EventPattern, EventRetention, Fate,
    NewEvent, Replay, ReplayFrom, ReplayReport, Subscription, SubscriptionDraft,
};

//! Events: a log, and a delivery for each consumer that subscribes to the event type (contract
//! R14).
//!
//! An emit finds the subscriptions that match the event (`emitter.rs`). Then the store keeps the
//! event and its deliveries in one step, if the subscriptions have not changed since they were
//! read. A delivery is an ordinary job in the queue `event.<consumer>`, with the retries, dead
//! letters, order and fairness of any job. No consumer reads the log by position, so none can miss
//! an event that is stored.

mod cloud_event;
mod consumers;
mod draft;
mod emitter;
mod id;
mod json;
mod pattern;
mod record;
mod replay;
mod settings;
mod subscription;

pub use consumers::{ConsumerStats, Consumers};
pub use draft::{EventDraft, NewEvent};
pub(crate) use emitter::Emitter;
pub use id::EventId;
pub use pattern::EventPattern;
pub use record::Event;
pub use replay::{Replay, ReplayFrom, ReplayReport};
pub use settings::{EVENT, EventRetention, EventSettings, Fate, RETRY, retry_of_delivery};
pub use subscription::{Subscription, SubscriptionDraft};

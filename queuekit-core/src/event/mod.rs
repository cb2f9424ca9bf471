//! Events: a log, and a delivery for each consumer that wants one (contract R14).
//!
//! Who emits finds out which subscriptions want the event (`emitter.rs`), and asks the store to
//! keep event and deliveries in one step, if the subscriptions are still those it has read. A
//! delivery is an ordinary job in the queue `event.<consumer>`: retries, dead letters, order and
//! fairness are those of every job. So nobody reads the log by position, and no event that was
//! stored can be passed over by a reader.

mod cloud_event;
mod consumers;
mod draft;
mod emitter;
mod id;
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

//! What travels: the contract's types as JSON.

mod bounded;
mod bytes;
mod given;
mod job;
mod metadata;
mod new_job;
mod one_of;
mod queue;
mod time;

pub(crate) use bounded::{BATCH, bounded, entries, items};
pub(crate) use bytes::{Given, Shown};
pub(crate) use given::given;
pub(crate) use job::{JobBody, LeasedBody};
pub(crate) use metadata::metadata;
pub(crate) use new_job::{EnqueueBody, NewJobBody};
pub(crate) use one_of::one_of;
pub(crate) use queue::{PatchBody, QueueBody, SettingsBody, TotalsBody, countable};
pub(crate) use time::{Time, millis};

//! What travels: the contract's types as JSON.

mod bounded;
mod bytes;
mod given;
mod job;
mod metadata;
mod new_job;
mod one_of;
mod queue;
mod settings;
mod time;
mod words;

pub(crate) use bounded::{BATCH, bounded, entries, items};
pub(crate) use bytes::{Given, Shown};
pub(crate) use given::given;
pub(crate) use job::{JobBody, LeasedBody};
pub(crate) use metadata::metadata;
pub(crate) use new_job::{EnqueueBody, NewJobBody};
pub(crate) use one_of::one_of;
pub(crate) use queue::{QueueBody, TotalsBody};
pub(crate) use settings::{PatchBody, SettingsBody};
pub(crate) use time::{Time, millis};
pub(crate) use words::words;

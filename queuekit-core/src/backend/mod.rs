//! What stores implement, the trait [`Backend`], and what its operations take and answer.

mod answer_bytes;
mod capabilities;
mod content;
mod enqueue;
mod examined;
mod ext;
mod filter;
mod lease;
mod operations;
mod page;
mod pagination;
mod recent;
mod reserve;
mod search;
mod settle;
mod shared;
mod time_range;
mod weighted;

pub use answer_bytes::AnswerBytes;
pub use capabilities::Capabilities;
pub(crate) use capabilities::needed;
pub use content::{IdPrefix, MetadataTerm, PayloadTerm};
pub use enqueue::EnqueueOutcome;
pub use examined::Examined;
pub use ext::BackendExt;
pub(crate) use ext::{enqueued, only};
pub use filter::{JobErrors, JobFilter, Listed};
pub use lease::{Lease, LeaseToken, LeaseTtl, Nonce};
pub use operations::Backend;
pub use page::{Page, QueuePage};
pub use pagination::{Cursor, PageSize};
pub use recent::{End, Ended, EndedJobs, EndsBefore, recent};
pub use reserve::{Division, Queues, Reserve, Reserved, Taken};
pub use search::search;
pub use settle::{
    Ack, AckOutcome, DeadLetter, DeadLetterOutcome, DeadLetterTarget, Nack, NackKind, NackOutcome,
};
pub use time_range::TimeRange;
pub use weighted::WeightedQueues;

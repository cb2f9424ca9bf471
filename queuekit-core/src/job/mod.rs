//! Jobs: what is enqueued, what is stored, what is read.

mod checkpoint;
mod draft;
mod error_text;
mod id;
mod json;
mod mark;
mod metadata;
mod new_job;
mod payload;
mod priority;
mod read_json;
mod record;
mod state;
mod undecodable;

pub use checkpoint::{Checkpoint, CheckpointInfo, Checkpoints};
pub use draft::JobDraft;
pub use error_text::ErrorText;
pub(crate) use error_text::storable;
pub use id::JobId;
pub use metadata::Metadata;
pub use new_job::{NewJob, Start};
pub use payload::{IntoJob, PAYLOAD_VERSION, Payload, UpgradeError};
pub use priority::Priority;
pub use record::{Failure, Job, LogLine, Progress, Release, ReleaseCause};
pub use state::{State, Status, StatusSet};
pub use undecodable::Undecodable;

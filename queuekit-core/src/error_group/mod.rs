//! Groups of errors that look alike (contract R8.4), and what operators write about them (R8.10).

mod group;
mod note;
mod signature;

pub use group::{ErrorGroup, GroupDelta, GroupId, GroupKey};
pub use note::GroupNote;
pub(crate) use note::{GroupNotes, NewNote};
pub use signature::{SIGNATURE_VERSION, Signature};

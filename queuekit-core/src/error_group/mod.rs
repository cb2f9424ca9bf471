//! Groups of errors that look alike (contract R8.4), when they occurred lately (R8.11), and what
//! operators write about them (R8.10).

mod group;
mod note;
mod recent;
mod signature;

pub use group::{ErrorGroup, GroupDelta, GroupId, GroupKey};
pub use note::GroupNote;
pub(crate) use note::{GroupNotes, NewNote};
pub use recent::RecentErrors;
pub use signature::{SIGNATURE_VERSION, Signature};

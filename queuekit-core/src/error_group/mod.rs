//! Groups of errors that look alike (contract R8.4).

mod group;
mod signature;

pub use group::{ErrorGroup, GroupDelta, GroupId, GroupKey};
pub use signature::{SIGNATURE_VERSION, Signature};

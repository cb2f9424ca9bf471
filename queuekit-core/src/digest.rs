//! Digests as text.

use sha2::{Digest, Sha256};

/// The first 16 bytes of the SHA-256 of this, in hexadecimal: to tell one text from another.
pub(crate) fn short(bytes: impl AsRef<[u8]>) -> String {
    hex(&Sha256::digest(bytes)[..16])
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

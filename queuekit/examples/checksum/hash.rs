//! The job and its handler.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use queuekit::Bytes;
use queuekit::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

const BUFFER_BYTES: usize = 64 * 1024;

/// Computes the SHA-256 of one file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Checksum {
    pub(crate) path: PathBuf,
}

/// The payload is the path byte for byte: a path need not be UTF-8, so not all fit into JSON.
impl Payload for Checksum {
    const KIND: &'static str = "checksum";

    fn encode(&self) -> queuekit::Result<Bytes> {
        Ok(Bytes::copy_from_slice(self.path.as_os_str().as_encoded_bytes()))
    }

    fn decode(bytes: &[u8]) -> queuekit::Result<Self> {
        #[cfg(unix)]
        let path = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes);
        #[cfg(not(unix))]
        let path = &*String::from_utf8_lossy(bytes);
        Ok(Self { path: path.into() })
    }
}

/// Handles [`Checksum`] jobs; clones share the count of bytes.
#[derive(Clone, Default)]
pub(crate) struct Hasher {
    hashed: Arc<AtomicU64>,
}

impl Hasher {
    /// Bytes hashed so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.hashed.load(Ordering::Relaxed)
    }
}

impl Handler<Checksum> for Hasher {
    /// The digest in hex.
    type Output = String;

    async fn call(&self, job: Checksum, ctx: Ctx) -> JobResult<String> {
        let hashed = Arc::clone(&self.hashed);
        // Reading and hashing block: done here they would hold up the runtime, and with it every
        // other job and the progress bar.
        tokio::task::spawn_blocking(move || hash_file(&job.path, &ctx, &hashed)).await?
    }
}

fn hash_file(path: &Path, ctx: &Ctx, hashed: &AtomicU64) -> JobResult<String> {
    let mut file = File::open(path).map_err(job_error)?;
    let mut digest = Sha256::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        if ctx.is_cancelled() {
            return Err(io::Error::other("stopped: called off, too slow, or its lease lost").into());
        }
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hex(&digest.finalize())),
            Ok(read) => {
                digest.update(&buffer[..read]);
                hashed.fetch_add(read as u64, Ordering::Relaxed);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(job_error(error)),
        }
    }
}

/// What another attempt will not cure is a dead letter at once.
fn job_error(error: io::Error) -> JobError {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::PermissionDenied => JobError::fatal(error.to_string()),
        _ => error.into(),
    }
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn any_path_survives_its_way_through_the_store() {
        use std::os::unix::ffi::OsStrExt;
        for bytes in [&b"plain"[..], b"new\nline", b"not utf-8 \xff\xfe", b"back\\slash"] {
            let path = PathBuf::from(std::ffi::OsStr::from_bytes(bytes));
            let payload = Checksum { path: path.clone() }.encode().unwrap();
            assert_eq!(payload, bytes);
            assert_eq!(Checksum::decode(&payload).unwrap(), Checksum { path });
        }
    }
}

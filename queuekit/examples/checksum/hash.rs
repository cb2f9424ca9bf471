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

/// Attempts to read a file that cannot be read.
const TRIES: u32 = 3;

/// Each kill costs an attempt of the files that were being hashed, although nothing is wrong with
/// them.
const ATTEMPTS_MAX: u32 = 1000;

/// Computes the SHA-256 of one file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Checksum {
    pub(crate) path: PathBuf,
}

/// The payload is the path byte for byte: a path need not be UTF-8, so not all fit into JSON.
impl Payload for Checksum {
    const KIND: &'static str = "checksum";

    fn defaults(draft: JobDraft) -> JobDraft {
        draft.max_attempts(ATTEMPTS_MAX)
    }

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

/// What is stored as the result of a job.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Hashed {
    /// In hex.
    pub(crate) digest: String,
    pub(crate) bytes: u64,
}

/// Handles [`Checksum`] jobs; clones share the count of bytes.
#[derive(Clone, Default)]
pub(crate) struct Hasher {
    hashed: Arc<AtomicU64>,
}

impl Hasher {
    /// Bytes hashed so far, by this process.
    pub(crate) fn bytes(&self) -> u64 {
        self.hashed.load(Ordering::Relaxed)
    }
}

impl Handler<Checksum> for Hasher {
    type Output = Hashed;

    async fn call(&self, job: Checksum, ctx: Ctx) -> JobResult<Hashed> {
        let counter = Arc::clone(&self.hashed);
        // Reading and hashing block. On the runtime's threads they would delay every other job and
        // the progress bar.
        let hash = move || {
            hash_file(&job.path, &ctx, &counter).map_err(|error| job_error(error, ctx.attempt()))
        };
        tokio::task::spawn_blocking(hash).await?
    }
}

fn hash_file(path: &Path, ctx: &Ctx, counter: &AtomicU64) -> io::Result<Hashed> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut bytes = 0;
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        if ctx.is_cancelled() {
            return Err(io::Error::other("stopped: called off, too slow, or its lease lost"));
        }
        match file.read(&mut buffer) {
            Ok(0) => return Ok(Hashed { digest: hex(&hash.finalize()), bytes }),
            Ok(read) => {
                hash.update(&buffer[..read]);
                bytes += read as u64;
                counter.fetch_add(read as u64, Ordering::Relaxed);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// If no retry can help, the job is dead-lettered at once.
fn job_error(error: io::Error, attempt: u32) -> JobError {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::PermissionDenied => JobError::fatal(error.to_string()),
        _ if attempt >= TRIES => JobError::fatal(error.to_string()),
        _ => error.into(),
    }
}

/// In hex.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
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

    #[test]
    fn a_file_that_cannot_be_read_is_given_up_and_a_kill_is_not_counted_against_it() {
        let is_fatal = |kind, attempt| job_error(io::Error::from(kind), attempt).is_fatal();
        assert!(is_fatal(ErrorKind::NotFound, 1));
        assert!(!is_fatal(ErrorKind::Other, 1));
        assert!(is_fatal(ErrorKind::Other, TRIES));
        let draft = JobDraft::of(&Checksum { path: "a".into() });
        assert_eq!(draft.build().unwrap().max_attempts(), ATTEMPTS_MAX);
    }
}

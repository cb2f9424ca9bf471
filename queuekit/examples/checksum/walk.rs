//! Finding the files.

use std::io;
use std::path::{Path, PathBuf};

use tokio::sync::mpsc;
use walkdir::{DirEntry, WalkDir};

use super::hash::sha256;
use super::report::Failure;

/// Files per enqueue call: the most the contract allows in one.
const CHUNK: usize = 1000;

/// A file to be hashed.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    /// The same for one file until it changes, and with it its digest.
    pub(crate) key: String,
}

/// Sends the regular files below a directory in chunks, and returns what it could not read. Blocks.
/// Ends early if the receiver is dropped. Does not follow symbolic links.
pub(crate) fn send_files(
    root: &Path,
    leave_out: &[PathBuf],
    chunks: &mpsc::Sender<Vec<Found>>,
) -> Vec<Failure> {
    let mut unreadable = Vec::new();
    let mut chunk = Vec::with_capacity(CHUNK);
    for entry in WalkDir::new(root) {
        match entry.and_then(found) {
            Ok(Some(found)) if !leave_out.contains(&found.path) => chunk.push(found),
            Ok(_) => {}
            Err(error) => unreadable.push(failure(root, &error)),
        }
        if chunk.len() == CHUNK && chunks.blocking_send(std::mem::take(&mut chunk)).is_err() {
            return unreadable;
        }
    }
    if !chunk.is_empty() {
        // The receiver was dropped; its side reports why.
        let _ = chunks.blocking_send(chunk);
    }
    unreadable
}

fn found(entry: DirEntry) -> walkdir::Result<Option<Found>> {
    if !entry.file_type().is_file() {
        return Ok(None);
    }
    let metadata = entry.metadata()?;
    let version = format!("{} {:?} ", metadata.len(), metadata.modified().ok());
    let path = entry.into_path();
    let key = sha256(&[version.as_bytes(), path.as_os_str().as_encoded_bytes()].concat());
    Ok(Some(Found { path, key }))
}

fn failure(root: &Path, error: &walkdir::Error) -> Failure {
    let reason = error.io_error().map_or_else(|| error.to_string(), io::Error::to_string);
    Failure { path: error.path().unwrap_or(root).to_owned(), reason }
}

//! Finding the files.

use std::path::{Path, PathBuf};

use tokio::sync::mpsc;
use walkdir::WalkDir;

use crate::report::Failure;

/// Files per enqueue call: the most the contract allows in one.
const CHUNK: usize = 1000;

/// Sends the regular files below a directory in chunks, and answers what could not be looked at.
/// Blocks; ends early when nobody receives any more. Symbolic links are not followed.
pub(crate) fn send_files(directory: &Path, chunks: &mpsc::Sender<Vec<PathBuf>>) -> Vec<Failure> {
    let mut unreadable = Vec::new();
    let mut chunk = Vec::with_capacity(CHUNK);
    for entry in WalkDir::new(directory) {
        match entry {
            Ok(entry) if entry.file_type().is_file() => chunk.push(entry.into_path()),
            Ok(_) => {}
            Err(error) => unreadable.push(failure(directory, &error)),
        }
        if chunk.len() == CHUNK && chunks.blocking_send(std::mem::take(&mut chunk)).is_err() {
            return unreadable;
        }
    }
    if !chunk.is_empty() {
        // Nobody there any more: whoever went away says why.
        let _ = chunks.blocking_send(chunk);
    }
    unreadable
}

fn failure(directory: &Path, error: &walkdir::Error) -> Failure {
    let reason = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
    Failure { path: error.path().unwrap_or(directory).to_owned(), reason }
}

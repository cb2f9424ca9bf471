//! The place of stores that are files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;

use crate::harness::{Place, Result};

/// A new directory, removed with all that is in it when it is no longer needed.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Place for Directory {
    /// It is to be on the disk that is measured, and is left as it was.
    const OPTION: &'static str = "--dir";

    const SERVES_MANY: bool = true;

    const MEASURED: &'static [(&'static str, usize)] =
        &[("drain", 50_000), ("enqueue64", 20_000), ("enqueue1", 2000), ("bulk", 50_000)];

    fn prepare(given: &str, name: &str) -> Result<Self> {
        let path = Path::new(given).join(format!("{name}-{}", process::id()));
        fs::create_dir_all(given)?;
        fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // What cannot be removed is in the way of nobody: every process has a name of its own.
        let _ = fs::remove_dir_all(&self.0);
    }
}

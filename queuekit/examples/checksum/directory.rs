//! The directory whose files are hashed.

use std::fs;
use std::path::{Path, PathBuf};

/// A directory: the path that the user gave, and the absolute path.
///
/// Jobs name their file by its absolute path, because the process that runs them, for example after
/// a kill, may have another current directory.
#[derive(Debug)]
pub(crate) struct Directory {
    named: PathBuf,
    pub(crate) root: PathBuf,
}

impl Directory {
    /// Checks the directory before anything is enqueued.
    pub(crate) fn find(named: &Path) -> Result<Self, String> {
        match fs::canonicalize(named) {
            Ok(root) if root.is_dir() => Ok(Self { named: named.to_owned(), root }),
            Ok(_) => Err(format!("DIR {named:?} is not a directory")),
            Err(error) => Err(format!("DIR {named:?}: {error}")),
        }
    }

    /// A path below the directory, as the user would write it.
    pub(crate) fn shown(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.root) {
            Ok(below) if below.as_os_str().is_empty() => self.named.clone(),
            Ok(below) => self.named.join(below),
            Err(_) => path.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_shown_below_the_directory_as_it_was_named() {
        let named = Path::new("src/..");
        let directory = Directory::find(named).unwrap();
        assert!(directory.root.is_absolute() && !directory.root.ends_with(".."));
        assert_eq!(directory.shown(&directory.root.join("a/b")), Path::new("src/../a/b"));
        assert_eq!(directory.shown(&directory.root), named);
    }

    #[test]
    fn what_is_no_directory_is_named() {
        for (path, wrong) in [("Cargo.toml", "not a directory"), ("no/such", "DIR \"no/such\": ")] {
            let error = Directory::find(Path::new(path)).unwrap_err();
            assert!(error.contains(wrong), "{error}");
        }
    }
}

//! Whether the file is still where it was opened.

use std::path::{Path, PathBuf};

use queuekit_core::{Error, ErrorKind, Result};

const GONE: &str = "the database file was moved, deleted or replaced while it was open; put it \
                    back, or open the store again";

/// A file that was moved or deleted still accepts writes, but no program will find them, so they
/// must not be confirmed. So the path is checked before each transaction and again after its
/// commit. That costs two system calls, beside those that write and sync.
#[derive(Debug)]
pub(crate) struct FileIdentity {
    path: PathBuf,
    identity: Option<DeviceAndInode>,
}

/// Device and inode. Systems without them do not allow an open file to be moved.
type DeviceAndInode = (u64, u64);

impl FileIdentity {
    pub(crate) fn of(path: &Path) -> Self {
        Self { path: path.to_owned(), identity: identity(path) }
    }

    /// Checks before a transaction: nothing of it was written yet.
    pub(crate) fn check(&self) -> Result<()> {
        self.holds().then_some(()).ok_or_else(|| self.gone(ErrorKind::Unavailable))
    }

    /// Checks after a commit: its writes exist again if the file comes back.
    pub(crate) fn check_committed(&self) -> Result<()> {
        self.holds().then_some(()).ok_or_else(|| self.gone(ErrorKind::Indeterminate))
    }

    fn holds(&self) -> bool {
        identity(&self.path) == self.identity
    }

    fn gone(&self, kind: ErrorKind) -> Error {
        Error::new(kind, GONE).on(self.path.display())
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<DeviceAndInode> {
    use std::os::unix::fs::MetadataExt;

    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_path: &Path) -> Option<DeviceAndInode> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use queuekit_core::Backend;

    use super::*;

    #[test]
    fn a_file_that_was_moved_is_noticed_and_one_put_back_is_fine() {
        let directory = tempfile::tempdir().unwrap();
        let (path, elsewhere) = (directory.path().join("a.db"), directory.path().join("b.db"));
        std::fs::write(&path, "").unwrap();
        let file = FileIdentity::of(&path);
        assert!(file.check().is_ok());
        std::fs::rename(&path, &elsewhere).unwrap();
        assert!(file.check().unwrap_err().to_string().contains("moved, deleted or replaced"));
        assert_eq!(*file.check_committed().unwrap_err().kind(), ErrorKind::Indeterminate);
        std::fs::write(&path, "another").unwrap();
        assert!(file.check().is_err(), "another file now has this name");
        std::fs::rename(&elsewhere, &path).unwrap();
        assert!(file.check().is_ok());
    }

    #[tokio::test]
    async fn what_was_committed_into_a_file_that_is_gone_by_then_is_not_acknowledged() {
        let directory = tempfile::tempdir().unwrap();
        let (path, elsewhere) = (directory.path().join("a.db"), directory.path().join("b.db"));
        let store = crate::SqliteStore::open(&path).await.unwrap();
        let takes_away = move |_: &mut crate::Step<'_>| {
            std::fs::rename(&path, &elsewhere).unwrap();
            Ok(())
        };
        let error = store.write("test", takes_away).await.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Indeterminate, "{error}");
        store.close().await.unwrap();
    }
}

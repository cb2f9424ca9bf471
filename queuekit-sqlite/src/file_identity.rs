//! Whether the file, and its log, are still where they were opened.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use queuekit_core::{Error, ErrorKind, Result};

const GONE: &str = "the database file was moved, deleted or replaced while it was open; put it \
                    back, or open the store again";

const LOG_GONE: &str = "the log of the database (-wal) was moved, deleted or replaced while it was \
                        open; stop this process in order (SIGTERM), which saves what the log has";

/// A file that was moved or deleted still accepts writes, but no program will find them, so they
/// must not be confirmed. The same holds for its log, from which the writes reach the file later.
/// So the paths are checked before each transaction and again after its commit. That costs four
/// system calls, beside those that write and sync.
#[derive(Debug)]
pub(crate) struct FileIdentity {
    path: PathBuf,
    identity: Option<DeviceAndInode>,
    log: PathBuf,
    /// Known from the first look that finds the log: it exists as long as the file is open.
    log_identity: OnceLock<DeviceAndInode>,
}

/// Device and inode. Systems without them do not allow an open file to be moved.
type DeviceAndInode = (u64, u64);

impl FileIdentity {
    pub(crate) fn of(path: &Path) -> Self {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let log_identity = OnceLock::new();
        Self { path: path.to_owned(), identity: identity(path), log: log.into(), log_identity }
    }

    /// Checks before a transaction: nothing of it was written yet.
    pub(crate) fn check(&self) -> Result<()> {
        self.look().map_err(|gone| self.error(ErrorKind::Unavailable, gone))
    }

    /// Checks after a commit: its writes exist again if the file comes back.
    pub(crate) fn check_committed(&self) -> Result<()> {
        self.look().map_err(|gone| self.error(ErrorKind::Indeterminate, gone))
    }

    fn look(&self) -> Result<(), &'static str> {
        if identity(&self.path) != self.identity {
            return Err(GONE);
        }
        match (identity(&self.log), self.log_identity.get()) {
            (found, Some(known)) if found != Some(*known) => Err(LOG_GONE),
            (Some(found), None) => {
                self.log_identity.get_or_init(|| found);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn error(&self, kind: ErrorKind, gone: &'static str) -> Error {
        Error::new(kind, gone).on(self.path.display())
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
    use queuekit_core::{Backend, Client, JobDraft, JobFilter};

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
    async fn without_its_log_no_write_is_confirmed_and_a_stop_in_order_saves_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let store = crate::SqliteStore::open(&path).await.unwrap();
        let client = Client::new(store);
        let id = client.enqueue(JobDraft::new("t", "1")).await.unwrap();
        std::fs::remove_file(directory.path().join("a.db-wal")).unwrap();
        let error = client.enqueue(JobDraft::new("t", "2")).await.unwrap_err();
        assert!(error.to_string().contains("the log of the database"), "{error}");
        client.close().await.unwrap();

        let client = Client::new(crate::SqliteStore::open(&path).await.unwrap());
        let page = client.jobs().list(&JobFilter::default()).await.unwrap();
        assert_eq!(page.items.iter().map(|job| job.id).collect::<Vec<_>>(), [id]);
        client.close().await.unwrap();
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

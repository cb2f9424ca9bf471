//! Whether the file is still where it was opened.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use queuekit_core::{Error, ErrorKind, Result};

/// How often the directory is asked.
const LOOK: Duration = Duration::from_secs(1);

/// A file that was moved or deleted goes on taking writes, which nobody will ever find: what it
/// takes must not be acknowledged.
#[derive(Debug)]
pub(crate) struct Place {
    path: PathBuf,
    identity: Option<Identity>,
    looked: Instant,
}

/// Device and inode; systems without them do not let an open file be moved.
type Identity = (u64, u64);

impl Place {
    pub(crate) fn of(path: &Path) -> Self {
        Self { path: path.to_owned(), identity: identity(path), looked: Instant::now() }
    }

    /// Looks once a second.
    pub(crate) fn check(&mut self) -> Result<()> {
        if self.looked.elapsed() < LOOK {
            return Ok(());
        }
        if identity(&self.path) == self.identity {
            self.looked = Instant::now();
            return Ok(());
        }
        let message = "the database file was moved, deleted or replaced while it was open; put \
                       it back, or open the store again";
        Err(Error::new(ErrorKind::Unavailable, message).on(self.path.display()))
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;

    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_path: &Path) -> Option<Identity> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_moved_is_noticed_and_one_put_back_is_fine() {
        let directory = tempfile::tempdir().unwrap();
        let (path, elsewhere) = (directory.path().join("a.db"), directory.path().join("b.db"));
        std::fs::write(&path, "").unwrap();
        let mut place = Place::of(&path);
        let mut check_later = || {
            place.looked -= 2 * LOOK;
            place.check()
        };
        assert!(check_later().is_ok());
        std::fs::rename(&path, &elsewhere).unwrap();
        assert!(check_later().unwrap_err().to_string().contains("moved, deleted or replaced"));
        std::fs::write(&path, "another").unwrap();
        assert!(check_later().is_err(), "a file of that name is not that file");
        std::fs::rename(&elsewhere, &path).unwrap();
        assert!(check_later().is_ok());
    }
}

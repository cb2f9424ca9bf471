//! Sets what effectum's writing connection runs at, from outside.
//!
//! effectum 0.7.0 means to choose WAL, but asks for it by a pragma that SQLite does not know
//! (`journal`), so it gets the journal mode that the file has; and it sets synchronous to NORMAL on
//! a connection that it keeps to itself.

use std::ffi::{c_char, c_int};
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use rusqlite::{Connection, ffi};

use crate::harness::Result;

/// The connection that was opened first since [`Opened::watch`].
static FIRST: AtomicPtr<ffi::sqlite3> = AtomicPtr::new(ptr::null_mut());

/// Creates the file in this journal mode. Only WAL stays with a file.
pub(crate) fn create(path: &Path, journal: &str) -> Result<()> {
    let file = Connection::open(path)?;
    Ok(file.pragma_update_and_check(None, "journal_mode", journal, |_| Ok(()))?)
}

pub(crate) struct Opened;

impl Opened {
    /// From now on, the first connection opened is remembered; effectum's first is the writing one.
    pub(crate) fn watch() -> Self {
        FIRST.store(ptr::null_mut(), Ordering::SeqCst);
        // SAFETY: `remember` has the signature that SQLite wants, and is there for ever.
        unsafe { ffi::sqlite3_auto_extension(Some(remember)) };
        Self
    }

    /// To be called while the queue is idle: the connection is not for two threads at once.
    pub(crate) fn set_synchronous(self, level: &str) -> Result<String> {
        let first = FIRST.load(Ordering::SeqCst);
        if first.is_null() {
            return Err("effectum opened no connection".into());
        }
        // SAFETY: the queue has the connection open and waits for its first operation; what is made
        // of the handle does not close it.
        let writer = unsafe { Connection::from_handle(first) }?;
        writer.pragma_update(None, "synchronous", level)?;
        let ask = |sql| writer.query_row(sql, [], |row| row.get::<_, String>(0));
        let journal = ask("PRAGMA journal_mode")?;
        let synchronous = ask("SELECT CAST(synchronous AS TEXT) FROM pragma_synchronous")?;
        let version = rusqlite::version();
        Ok(format!("SQLite {version} journal_mode={journal} synchronous={synchronous}"))
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: the same function as was registered.
        unsafe { ffi::sqlite3_cancel_auto_extension(Some(remember)) };
    }
}

unsafe extern "C" fn remember(
    connection: *mut ffi::sqlite3,
    _error: *mut *const c_char,
    _api: *const ffi::sqlite3_api_routines,
) -> c_int {
    let nobody = ptr::null_mut();
    // Those that come later are effectum's readers.
    let _ = FIRST.compare_exchange(nobody, connection, Ordering::SeqCst, Ordering::SeqCst);
    ffi::SQLITE_OK
}

//! The errors of SQLite in the terms of the contract (R10).

use queuekit_core::{Error, ErrorKind};
use rusqlite::ffi::{ErrorCode, SQLITE_BUSY_SNAPSHOT};

/// The error of a statement that failed inside a step. The step is rolled back, so nothing of it is
/// applied.
pub(crate) fn failed(error: rusqlite::Error) -> Error {
    let extended = error.sqlite_error().map(|error| error.extended_code);
    let (kind, message) = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => (
            ErrorKind::StorageFull,
            "no room is left for the database file or its write-ahead log; free some space: the \
             store then continues by itself"
                .to_owned(),
        ),
        Some(ErrorCode::DatabaseBusy) if extended == Some(SQLITE_BUSY_SNAPSHOT) => (
            ErrorKind::Unavailable,
            "the transaction has read, and another connection has written since, so it cannot \
             write any more; roll it back, and begin it as Immediate"
                .to_owned(),
        ),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
            ErrorKind::Unavailable,
            "another process or transaction holds the file's only write lock; end the long \
             transaction, and never call the client while one of your own is open"
                .to_owned(),
        ),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => (
            ErrorKind::Unavailable,
            "the database cannot be written; give this user write permission for the file and \
             for its directory, and check that the disk is not mounted read-only"
                .to_owned(),
        ),
        Some(ErrorCode::CannotOpen) => (
            ErrorKind::Unavailable,
            "the database file cannot be opened; check that its directory exists and that this \
             user may read and write there"
                .to_owned(),
        ),
        Some(ErrorCode::NotADatabase) => (
            ErrorKind::Corrupt,
            "this file is not an SQLite database, or it is encrypted; name another file (this one \
             was not changed)"
                .to_owned(),
        ),
        Some(ErrorCode::DatabaseCorrupt) => (
            ErrorKind::Corrupt,
            "the database file is damaged; stop its users, keep a copy, and restore a backup or \
             rebuild it with the `.recover` command of the sqlite3 shell"
                .to_owned(),
        ),
        Some(ErrorCode::SystemIoFailure) => {
            (ErrorKind::Unavailable, format!("the disk failed: {error}; read the system's log"))
        }
        _ => (ErrorKind::Unavailable, format!("SQLite refused a statement: {error}")),
    };
    Error::new(kind, message).caused_by(error)
}

/// The error of a failed commit. It is in doubt unless SQLite says that nothing was written: a log
/// that was written and not synced may still be found after a crash.
pub(crate) fn failed_to_commit(error: rusqlite::Error) -> Error {
    let certain = [ErrorCode::DiskFull, ErrorCode::DatabaseBusy, ErrorCode::ReadOnly];
    if error.sqlite_error_code().is_some_and(|code| certain.contains(&code)) {
        return failed(error);
    }
    let message = format!("the commit failed: {error}; repeat the call, which is safe");
    Error::new(ErrorKind::Indeterminate, message).caused_by(error)
}

/// The error of a step whose call has taken effect in part, in earlier steps.
pub(crate) fn in_part(error: Error) -> Error {
    let message = format!("a part of the call took effect, the rest failed: {error}; repeat it");
    Error::new(ErrorKind::Indeterminate, message).caused_by(error)
}

/// Whether trying again soon may succeed.
pub(crate) fn is_busy(error: &rusqlite::Error) -> bool {
    let busy = [ErrorCode::DatabaseBusy, ErrorCode::DatabaseLocked];
    error.sqlite_error_code().is_some_and(|code| busy.contains(&code))
}

/// Whether something failed, as opposed to a call that a rule refuses.
pub(crate) fn is_fault(error: &Error) -> bool {
    use ErrorKind::{Corrupt, Indeterminate, StorageFull, Unavailable};
    matches!(error.kind(), Corrupt | Indeterminate | StorageFull | Unavailable)
}

pub(crate) fn panicked() -> Error {
    let message = "the call panicked and was undone; its message is on standard error, please \
                   report it if the panic is not your clock's";
    Error::new(ErrorKind::Unavailable, message)
}

/// The error of a read whose answer nobody waits for any more.
pub(crate) fn abandoned() -> Error {
    Error::new(ErrorKind::Unavailable, "the caller of the read has gone; repeat the call")
}

pub(crate) fn closed() -> Error {
    Error::new(ErrorKind::Closed, "this handle was closed; open a new one")
}

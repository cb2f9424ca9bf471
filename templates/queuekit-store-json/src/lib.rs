//! A store in one JSON file: naive, correct, and the template for stores of your own.
//!
//! All jobs are in memory behind a mutex. A call that changes something writes a whole new file
//! next to the old one, syncs it, and replaces the old one. `docs/writing-a-store.md` explains each
//! part, in the order in which you would write them.

mod admin;
mod backend;
mod data;
mod leases;
mod partition;
mod read;
mod recent;
mod reserve;
mod settle;

use std::fmt;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use queuekit_core::{Clock, Error, ErrorKind, Limits, Result, SystemClock};

use crate::data::Data;

/// A store in one JSON file, for one process.
pub struct JsonStore {
    path: PathBuf,
    clock: Box<dyn Clock>,
    limits: Limits,
    /// None once the store was closed.
    open: Mutex<Option<Open>>,
}

struct Open {
    data: Data,
    /// Keeps other processes out; released when it is dropped.
    _lock: File,
}

impl JsonStore {
    /// Opens the file, or creates it.
    ///
    /// # Errors
    /// `Unavailable` if it cannot be opened or another process has it open, `Corrupt` if it cannot
    /// be read.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        Self::with(path, SystemClock::default(), Limits::default())
    }

    /// The same with another clock and lower limits.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn with(path: impl Into<PathBuf>, clock: impl Clock, limits: Limits) -> Result<Self> {
        let path = path.into();
        let lock = File::create(path.with_extension("lock")).map_err(|error| io(&path, error))?;
        lock.try_lock().map_err(|error| {
            let message = format!("{}: another process has it open: {error}", path.display());
            Error::new(ErrorKind::Unavailable, message)
        })?;
        let open = Mutex::new(Some(Open { data: read(&path)?, _lock: lock }));
        Ok(Self { path, clock: Box::new(clock), limits, open })
    }

    /// Runs one call: it takes effect at one instant, as a whole or not at all.
    fn step<T>(
        &self,
        operation: &'static str,
        step: impl FnOnce(&mut Data) -> Result<T>,
    ) -> Result<T> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Open { data, .. }) = open.as_mut() else {
            let message = "this handle was closed; open a new one";
            return Err(Error::new(ErrorKind::Closed, message).during(operation));
        };
        data.now = self.clock.now();
        let answer = step(data).map_err(|error| error.during(operation))?;
        if std::mem::take(&mut data.changed)
            && let Err(error) = write(&self.path, data)
        {
            // The file decides what is stored. If it cannot be read again, the handle is closed.
            match read(&self.path) {
                Ok(stored) => *data = stored,
                Err(_) => *open = None,
            }
            return Err(error.during(operation));
        }
        Ok(answer)
    }

    fn end(&self) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Without the data, because it contains the nonces of leases (R3.1).
impl fmt::Debug for JsonStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonStore").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The content of the file; none if it does not exist yet.
fn read(path: &Path) -> Result<Data> {
    if !path.exists() {
        return Ok(Data::default());
    }
    let text = fs::read(path).map_err(|error| io(path, error))?;
    serde_json::from_slice(&text).map_err(|error| {
        let message = format!("{}: it is not a file of this store", path.display());
        Error::new(ErrorKind::Corrupt, message).caused_by(error)
    })
}

/// Writes a new file and replaces the old one: after a crash, one of the two is there.
fn write(path: &Path, data: &Data) -> Result<()> {
    let new = path.with_extension("new");
    let text = serde_json::to_vec(data).map_err(|error| {
        Error::new(ErrorKind::Unavailable, "the data cannot be written").caused_by(error)
    })?;
    let written = File::create(&new)
        .and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&new, path));
    written.map_err(|error| io(path, error))
}

fn io(path: &Path, error: std::io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, format!("{}: {error}", path.display())).caused_by(error)
}

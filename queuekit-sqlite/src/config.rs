//! The settings of a store.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use queuekit_core::{Clock, Error, Limits, Result, SystemClock};

/// A longer time does not fit SQLite's units, nor can it be added to every instant.
const OP_TIMEOUT_MAX: Duration = Duration::from_secs(24 * 3600);

/// How to open a store: a file and its settings.
#[derive(Clone, Debug)]
#[must_use]
pub struct SqliteConfig {
    pub(crate) path: PathBuf,
    pub(crate) synchronous: Synchronous,
    pub(crate) create: Create,
    pub(crate) migrate: bool,
    pub(crate) own_journal: bool,
    pub(crate) op_timeout: Duration,
    pub(crate) limits: Limits,
    pub(crate) clock: Arc<dyn Clock>,
}

/// When a commit is on disk (contract R11.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Synchronous {
    /// Before the call returns: a successful call survives power loss.
    #[default]
    Full,
    /// Some time later: a successful call survives the end of the process, but not power loss.
    Normal,
}

/// What opening may create.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Create {
    /// The file, and the tables in an empty file. Refuses a database of another application.
    #[default]
    File,
    /// The tables, in a database of another application too.
    Tables,
    /// Nothing.
    Nothing,
}

impl SqliteConfig {
    /// A store in this file, with the default settings, which create the file if it does not exist.
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            synchronous: Synchronous::default(),
            create: Create::default(),
            migrate: true,
            own_journal: false,
            op_timeout: Duration::from_secs(10),
            limits: Limits::default(),
            clock: Arc::new(SystemClock::default()),
        }
    }

    /// When a commit is on disk (default [`Synchronous::Full`]).
    pub fn synchronous(mut self, synchronous: Synchronous) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// What opening may create (default [`Create::File`]).
    pub fn create(mut self, create: Create) -> Self {
        self.create = create;
        self
    }

    /// Whether opening brings an older schema up to date (default true).
    pub fn migrate(mut self, migrate: bool) -> Self {
        self.migrate = migrate;
        self
    }

    /// Lets opening switch an application's database to the write-ahead log (default false). A
    /// file of the store's own always uses it.
    pub fn switch_to_wal(mut self, switch: bool) -> Self {
        self.own_journal = switch;
        self
    }

    /// How long a call waits for the file's write lock (default 10 s, at most a day).
    pub fn op_timeout(mut self, timeout: Duration) -> Self {
        self.op_timeout = timeout.min(OP_TIMEOUT_MAX);
        self
    }

    /// The limits the store applies.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The clock of the store (default the machine's).
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }
}

impl Synchronous {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        match text {
            "full" => Ok(Self::Full),
            "normal" => Ok(Self::Normal),
            _ => Err(Error::invalid("synchronous", "full or normal", format!("{text:?}"))),
        }
    }
}

impl Create {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        match text {
            "file" => Ok(Self::File),
            "tables" => Ok(Self::Tables),
            "nothing" => Ok(Self::Nothing),
            _ => Err(Error::invalid("create", "file, tables or nothing", format!("{text:?}"))),
        }
    }
}

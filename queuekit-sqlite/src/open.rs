//! Opening the file: its owner, its access rights, and its durability.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use queuekit_core::{Error, ErrorKind, Result, retry};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, MAIN_DB, OpenFlags};
use tokio::sync::oneshot;

use crate::column_names::only;
use crate::config::{Create, SqliteConfig, Synchronous};
use crate::error::{failed, is_busy};
use crate::schema::{self, Tables};
use crate::statements::{BEGIN, COMMIT, ROLLBACK};

/// The number of reading connections, beside the one that writes.
const READERS: usize = 2;
/// Prepared statements kept per connection: more than the store has.
const STATEMENTS: usize = 128;
/// After this many pages of log a commit moves them into the database: 16 MiB, so that pages that
/// change with every job are moved once for many commits.
const CHECKPOINT_PAGES: i64 = 4000;
/// The size to which the log is cut after a reader has kept it from shrinking.
const LOG_BYTES: i64 = 64 * 1024 * 1024;
/// Memory for pages, per connection, in KiB.
const CACHE_KIB: i64 = 16 * 1024;

#[derive(Debug)]
pub(crate) struct Opened {
    /// The path as SQLite names it.
    pub(crate) path: PathBuf,
    pub(crate) writer: Connection,
    pub(crate) readers: Vec<Connection>,
}

/// Opens a file. With `checked`, it brings the schema up to date or refuses it.
pub(crate) async fn connections(config: SqliteConfig, checked: bool) -> Result<Opened> {
    on_a_thread(config, move |config| open(config, checked)).await
}

/// Brings the schema up to date, or refuses the file as opening it does.
pub(crate) async fn bring_up_to_date(config: SqliteConfig) -> Result<()> {
    on_a_thread(config.migrate(true), |config| prepared(config, true).map(drop)).await
}

/// Runs an opening on a thread, because another process may hold the file for a while.
async fn on_a_thread<T: Send + 'static>(
    config: SqliteConfig,
    open: impl FnOnce(&SqliteConfig) -> Result<T> + Send + 'static,
) -> Result<T> {
    let (reply, opened) = oneshot::channel();
    let on = config.path.display().to_string();
    let open = move || {
        // The caller may have gone away.
        let _ = reply.send(open(&config));
    };
    let thread = thread::Builder::new().name("queuekit-sqlite-open".to_owned()).spawn(open);
    let unavailable = |message: &str| Error::new(ErrorKind::Unavailable, message);
    thread.map_err(|error| unavailable("cannot start a thread").caused_by(error))?;
    let opened =
        opened.await.map_err(|_| unavailable("the thread that opens the file has ended"))?;
    opened.map_err(|error| error.on(on))
}

fn open(config: &SqliteConfig, checked: bool) -> Result<Opened> {
    let writer = prepared(config, checked)?;
    let path = PathBuf::from(writer.path().ok_or_else(unreadable_path)?);
    let reader = |_| {
        let conn = connection(config)?;
        set_pragmas(&conn, config)?;
        // A reader must never take the write lock.
        conn.pragma_update(None, "query_only", true).map_err(failed)?;
        Ok(conn)
    };
    let readers = (0..READERS).map(reader).collect::<Result<_>>()?;
    // From now on the writer itself waits for the lock, call by call.
    writer.busy_timeout(Duration::ZERO).map_err(failed)?;
    Ok(Opened { path, writer, readers })
}

/// The connection that writes. Without `checked` it changes nothing in the file.
fn prepared(config: &SqliteConfig, checked: bool) -> Result<Connection> {
    let writer = connection(config)?;
    if writer.is_readonly(MAIN_DB).map_err(failed)? {
        let message = "the file is read-only; give this user write permission for it and for \
                       its directory";
        return Err(Error::new(ErrorKind::Unavailable, message));
    }
    if checked {
        let tables = Tables::of(&writer).map_err(failed)?;
        admit(config, tables)?;
        if tables.own && !config.migrate {
            schema::status(&writer)?.check()?;
        }
        set_journal(&writer, config, tables)?;
        set_pragmas(&writer, config)?;
        bring_up(&writer, config)?;
    } else {
        set_pragmas(&writer, config)?;
    }
    Ok(writer)
}

fn unreadable_path() -> Error {
    let limit = "valid UTF-8, the directories before it included";
    Error::invalid("path", limit, "bytes that are not")
}

fn connection(config: &SqliteConfig) -> Result<Connection> {
    // Each connection is used by one thread, so SQLite needs no mutex.
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    match config.create {
        Create::Nothing if !config.path.exists() => {
            let message = "no queuekit here: there is no such file; name the file of a store, or \
                           enqueue a first job";
            return Err(Error::new(ErrorKind::NotFound, message));
        }
        Create::Nothing => {}
        Create::File | Create::Tables => {
            flags |= OpenFlags::SQLITE_OPEN_CREATE;
            make_private(&config.path);
        }
    }
    let conn = Connection::open_with_flags(&config.path, flags).map_err(failed)?;
    conn.busy_timeout(config.op_timeout).map_err(failed)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    // Otherwise SQLite looks at bound values and prepares statements again when they change, which
    // takes a third of the time of a reserve.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(failed)?;
    Ok(conn)
}

/// Creates the file for this user only, because of the payloads. SQLite gives the files beside it
/// the same mode.
#[cfg(unix)]
fn make_private(path: &Path) {
    use std::fs::OpenOptions;
    use std::os::unix::fs::OpenOptionsExt;

    // If it cannot be created or exists already, opening it reports the right error.
    let _ = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
}

#[cfg(not(unix))]
fn make_private(_path: &Path) {}

/// Refuses another application's database, unless the settings let queuekit add its tables.
pub(crate) fn refuse_foreign(config: &SqliteConfig, conn: &Connection) -> Result<()> {
    let tables = Tables::of(conn).map_err(failed)?;
    if tables.foreign { admit(config, tables) } else { Ok(()) }
}

/// Refuses to create anything that the settings do not allow.
fn admit(config: &SqliteConfig, tables: Tables) -> Result<()> {
    if tables.own {
        return Ok(());
    }
    let message = match config.create {
        Create::Tables => return Ok(()),
        Create::File if !tables.foreign => return Ok(()),
        Create::File => {
            "it is another application's database; add create=tables to the URL to let queuekit \
             add its tables (queuekit_*), or name another file"
        }
        Create::Nothing if tables.foreign => {
            "no queuekit here: it is another application's database; name another file, or let a \
             program that opens it with create=tables add queuekit's tables (queuekit_*)"
        }
        Create::Nothing => {
            "no queuekit here: the file is empty; name another one, or create the store: `queuekit \
             migrate up`"
        }
    };
    Err(Error::new(ErrorKind::Conflict, message))
}

/// Switches to the write-ahead log and checks the result: SQLite silently keeps the old mode if it
/// cannot change it. An application's own file is switched only if the settings say so.
fn set_journal(conn: &Connection, config: &SqliteConfig, tables: Tables) -> Result<()> {
    if !tables.own && !tables.foreign {
        // It takes effect only before the first table.
        conn.pragma_update(None, "auto_vacuum", "INCREMENTAL").map_err(failed)?;
    }
    let found: String = conn.pragma_query_value(None, "journal_mode", only).map_err(failed)?;
    if found == "wal" {
        return Ok(());
    }
    if tables.foreign && !config.own_journal {
        let message = format!(
            "its journal mode is {found}, queuekit needs the write-ahead log; add journal=wal \
             to the URL to let it switch the file (once, for all its users)"
        );
        return Err(Error::new(ErrorKind::Conflict, message));
    }
    let switch = || conn.pragma_update_and_check(None, "journal_mode", "WAL", only::<String>);
    let now = patiently(config.op_timeout, switch)?;
    if now == "wal" {
        return Ok(());
    }
    let message = format!(
        "SQLite keeps journal mode {now} here; the write-ahead log needs a local file system \
         with shared memory, not one over a network"
    );
    Err(Error::new(ErrorKind::Unsupported, message))
}

/// Tries again while others have the file. SQLite itself does not wait while it holds a lock,
/// because several that open a new file at once would wait for each other.
fn patiently<T>(most: Duration, run: impl Fn() -> rusqlite::Result<T>) -> Result<T> {
    let begun = Instant::now();
    let mut tries = 0;
    loop {
        match run() {
            Err(error) if is_busy(&error) && begun.elapsed() < most => {
                thread::sleep(retry::lock_delay(tries, retry::chance()));
                tries += 1;
            }
            done => return done.map_err(failed),
        }
    }
}

/// Sets pragmas of the connection; none of them changes the file.
fn set_pragmas(conn: &Connection, config: &SqliteConfig) -> Result<()> {
    let (name, wanted) = match config.synchronous {
        Synchronous::Full => ("FULL", 2),
        Synchronous::Normal => ("NORMAL", 1),
    };
    conn.pragma_update(None, "synchronous", name).map_err(failed)?;
    let found = conn.pragma_query_value(None, "synchronous", only::<i64>);
    if found.map_err(failed)? != wanted {
        let message = format!(
            "SQLite did not apply synchronous={name}, so it is unknown what a successful call \
             survives; build with the SQLite that queuekit bundles"
        );
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    let pragmas = [
        ("wal_autocheckpoint", CHECKPOINT_PAGES),
        ("journal_size_limit", LOG_BYTES),
        ("cache_size", -CACHE_KIB),
    ];
    for (pragma, value) in pragmas {
        // Some pragmas answer their new value.
        conn.pragma_update_and_check(None, pragma, value, |_| Ok(()))
            .or_else(|error| match error {
                rusqlite::Error::QueryReturnedNoRows => Ok(()),
                error => Err(error),
            })
            .map_err(failed)?;
    }
    Ok(())
}

/// Creates the tables as far as `create` allows, or migrates older ones if `migrate` allows.
fn bring_up(conn: &Connection, config: &SqliteConfig) -> Result<()> {
    // Most openings change nothing, and so need not wait for the write lock.
    if schema::status(conn)?.fits() {
        return Ok(());
    }
    conn.execute(BEGIN, []).map_err(failed)?;
    let now_ms = config.clock.now().as_millis();
    let done = schema::up(conn, now_ms).and_then(|status| status.check());
    conn.execute(if done.is_ok() { COMMIT } else { ROLLBACK }, []).map_err(failed)?;
    done
}

//! The checks of `doctor`.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use queuekit_core::capability::{Cause, Durability, Fact, Finding, Inspect, Severity};
use queuekit_core::{Error, ErrorKind, Result};
use rusqlite::Connection;

use crate::column_names::only;
use crate::error::failed;
use crate::schema;
use crate::statements::{
    PROBE_DELETE, PROBE_INSERT, PROBE_ROOM, SAVEPOINT, SAVEPOINT_RELEASE, SAVEPOINT_ROLLBACK,
};
use crate::{Create, SqliteStore, Synchronous};

/// A log this large means that a reader has kept it from shrinking for long.
const LARGE_LOG_BYTES: u64 = 1 << 30;

#[async_trait]
impl Inspect for SqliteStore {
    /// Writes to the log as much as a call needs, undoes that, and then commits a row that it has
    /// inserted and removed: only a write shows that there is room. If the store was opened with
    /// `create=nothing`, as `doctor` opens it, no byte of the file changes.
    async fn check_writes(&self) -> Result<()> {
        if self.shared.config.create == Create::Nothing {
            return self.check_undone_write().await;
        }
        let probe = |step: &mut crate::Step<'_>| {
            let execute = |sql| {
                let probe = step.conn.prepare_cached(sql);
                probe.and_then(|mut probe| probe.execute([])).map_err(failed)
            };
            execute(SAVEPOINT)?;
            execute(PROBE_ROOM)?;
            step.conn.cache_flush().map_err(failed)?;
            for sql in [SAVEPOINT_ROLLBACK, SAVEPOINT_RELEASE, PROBE_INSERT, PROBE_DELETE] {
                execute(sql)?;
            }
            Ok(())
        };
        self.write("check_writes", probe).await
    }

    async fn durability(&self) -> Result<Durability> {
        self.check_open().map_err(|error| error.during("inspect"))?;
        Ok(match self.shared.config.synchronous {
            Synchronous::Full => Durability::PowerLoss,
            Synchronous::Normal => Durability::ProcessKill,
        })
    }

    async fn facts(&self) -> Result<Vec<Fact>> {
        let path = self.path().to_owned();
        let synchronous = match self.shared.config.synchronous {
            Synchronous::Full => "full",
            Synchronous::Normal => "normal",
        };
        self.read("inspect", move |step| {
            let schema = schema::status(step.conn)?;
            let mut facts = vec![
                ("sqlite version", rusqlite::version().to_owned()),
                ("file", path.display().to_string()),
                ("file bytes", bytes_of(&path, "").to_string()),
                ("log bytes", bytes_of(&path, "-wal").to_string()),
                ("synchronous", synchronous.to_owned()),
                ("schema version", schema.stored.to_string()),
            ];
            for pragma in ["journal_mode", "page_size", "page_count", "freelist_count"] {
                facts.push((pragma, pragma_text(step.conn, pragma)?));
            }
            let fact = |(name, value)| Fact { name, value };
            Ok(facts.into_iter().map(fact).collect())
        })
        .await
    }

    async fn findings(&self) -> Result<Vec<Finding>> {
        let path = self.path().to_owned();
        let synchronous = self.shared.config.synchronous;
        self.read("inspect", move |step| {
            let mut findings = Vec::new();
            let mut find = |severity, cause, message: &str, remedy: &str| {
                let (message, remedy) = (message.to_owned(), remedy.to_owned());
                findings.push(Finding { severity, cause, message, remedy });
            };
            if synchronous == Synchronous::Normal {
                find(
                    Severity::Warning,
                    Cause::Setup,
                    "synchronous is normal: a successful call survives the end of the process, but \
                     not power loss; after power loss, a lease_seq may repeat",
                    "open the store with synchronous=full",
                );
            }
            let is_made = schema::status(step.conn)?.stored > 0;
            if is_made && pragma_text(step.conn, "auto_vacuum")? != "2" {
                find(
                    Severity::Note,
                    Cause::Setup,
                    "the file never shrinks: it was created without auto_vacuum=INCREMENTAL",
                    "stop all programs that use the file, set PRAGMA auto_vacuum=INCREMENTAL and \
                     run VACUUM",
                );
            }
            if bytes_of(&path, "-wal") > LARGE_LOG_BYTES {
                find(
                    Severity::Warning,
                    Cause::Operation,
                    "the write-ahead log is larger than 1 GiB: a long read transaction prevents a \
                     checkpoint",
                    "end the long read transaction of the other program",
                );
            }
            Ok(findings)
        })
        .await
    }
}

impl SqliteStore {
    /// Writes a row to the log, and rolls it back.
    async fn check_undone_write(&self) -> Result<()> {
        let was_written = Arc::new(AtomicBool::new(false));
        let written = Arc::clone(&was_written);
        let probe = move |step: &mut crate::Step<'_>| -> Result<()> {
            written.store(false, Ordering::Relaxed);
            step.conn
                .prepare_cached(PROBE_INSERT)
                .and_then(|mut p| p.execute([]))
                .map_err(failed)?;
            step.conn.cache_flush().map_err(failed)?;
            written.store(true, Ordering::Relaxed);
            // An error is what undoes a step.
            Err(Error::new(ErrorKind::Unavailable, "the probe is undone"))
        };
        let probed = self.write("check_writes", probe).await;
        if was_written.load(Ordering::Relaxed) { Ok(()) } else { probed }
    }
}

fn bytes_of(path: &Path, suffix: &str) -> u64 {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    std::fs::metadata(name).map_or(0, |metadata| metadata.len())
}

fn pragma_text(conn: &Connection, pragma: &str) -> Result<String> {
    let text = |value: rusqlite::types::Value| match value {
        rusqlite::types::Value::Integer(number) => number.to_string(),
        rusqlite::types::Value::Text(text) => text,
        other => format!("{other:?}"),
    };
    conn.pragma_query_value(None, pragma, only).map(text).map_err(failed)
}

//! The checks of `doctor`.

use async_trait::async_trait;
use deadpool_postgres::Status;
use queuekit_core::capability::{Cause, Durability, Fact, Finding, Inspect, PoolUse, Severity};
use queuekit_core::{Error, ErrorKind, Result};

use crate::call::Call;
use crate::error::{Outcome, unreadable};
use crate::params::params;
use crate::session::Session;
use crate::statements::Sql;
use crate::{PostgresStore, SettleDurability, migrate};

/// A transaction open for longer than this keeps vacuum from removing much.
const LONG_TRANSACTION_S: i64 = 300;

/// How full the queue of notifications may be before `doctor` warns; at 100 every commit that
/// notifies fails.
const NOTICES_PERCENT: i64 = 25;

/// The state of the store's tables: see `health.sql`.
struct State {
    bytes: i64,
    dead_rows: i64,
    oldest_s: Option<i64>,
    days: i64,
    deltas: i64,
    prepared_s: i64,
    idle_slots: i64,
    notices_percent: i64,
    missing_days: i64,
}

/// What the server says of itself.
struct Server {
    version: i32,
    recovers: bool,
    fsync: bool,
    synchronous_commit: String,
    full_page_writes: bool,
    reads_only: bool,
    superuser: bool,
}

#[async_trait]
impl Inspect for PostgresStore {
    async fn check_writes(&self) -> Result<()> {
        let read = self.call("check_writes", Call::Repeatable, (), |(), session| {
            Box::pin(async move {
                let rows = session.query(Sql::ReadOnly, params![]).await?;
                let row = rows.first().ok_or_else(|| unreadable("the server's state"))?;
                Ok(row.try_get::<_, bool>("is_read_only")?)
            })
        });
        if !read.await? {
            return Ok(());
        }
        let message = "the server accepts no writes: it is a standby, or \
                       default_transaction_read_only is on, which some services set when the disk \
                       is full; connect to the primary, free disk space, or turn the setting off";
        Err(Error::new(ErrorKind::Unavailable, message).during("check_writes"))
    }

    async fn durability(&self) -> Result<Durability> {
        let server =
            self.call("inspect", Call::Repeatable, (), |(), session| Box::pin(server(session)));
        let server = server.await?;
        Ok(match (server.fsync, server.synchronous_commit.as_str()) {
            // Data that is not written yet is lost with the server, whatever is synced later.
            (_, "off") => Durability::Nothing,
            (false, _) => Durability::ProcessKill,
            (true, _) => Durability::PowerLoss,
        })
    }

    async fn facts(&self) -> Result<Vec<Fact>> {
        let settle = match self.shared.settle {
            SettleDurability::Database => "database",
            SettleDurability::Relaxed => "relaxed",
        };
        let schema = self.schema().to_owned();
        let read = self.call("inspect", Call::Repeatable, (), |(), session| {
            Box::pin(async move {
                let server = server(session).await?;
                let state = state(session).await?;
                let mut facts = vec![
                    ("postgres version", server.version.to_string()),
                    ("fsync", on_off(server.fsync).to_owned()),
                    ("synchronous_commit", server.synchronous_commit),
                    ("full_page_writes", on_off(server.full_page_writes).to_owned()),
                    ("superuser", on_off(server.superuser).to_owned()),
                ];
                facts.extend(state.iter().flat_map(State::facts));
                Ok(facts)
            })
        });
        let mut facts = read.await?;
        facts.push(("schema", schema));
        facts.push(("settle", settle.to_owned()));
        Ok(facts.into_iter().map(|(name, value)| Fact { name, value }).collect())
    }

    async fn findings(&self) -> Result<Vec<Finding>> {
        let read = self.call("inspect", Call::Repeatable, (), |(), session| {
            Box::pin(async move { Ok((server(session).await?, state(session).await?)) })
        });
        let (server, state) = read.await?;
        let mut findings = server.findings();
        if self.shared.settle == SettleDurability::Relaxed {
            let message = "settle is relaxed: if the server crashes, jobs of the last second may \
                           run again, and a lease_seq may repeat";
            let remedy = "open the store with settle=database";
            findings.push(found(Severity::Note, Cause::Setup, message, remedy));
        }
        findings.extend(state.iter().flat_map(State::findings));
        Ok(findings)
    }

    fn pool(&self) -> Option<PoolUse> {
        let Status { max_size: most, size, available: idle, waiting, .. } =
            self.shared.pool.status();
        Some(PoolUse { most, used: size.saturating_sub(idle), idle, waiting })
    }
}

fn found(severity: Severity, cause: Cause, message: impl Into<String>, remedy: &str) -> Finding {
    Finding { severity, cause, message: message.into(), remedy: remedy.to_owned() }
}

impl Server {
    fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.recovers {
            let message = "the server is a standby or is still recovering: it takes no writes";
            findings.push(found(
                Severity::Error,
                Cause::Operation,
                message,
                "connect to the primary",
            ));
        }
        if !self.fsync {
            let message = "fsync is off: a crash of its machine may damage the database";
            findings.push(found(Severity::Error, Cause::Setup, message, "set fsync = on"));
        }
        if self.reads_only {
            let message = "default_transaction_read_only is on: nothing can be stored or reserved";
            let remedy = "find out where it is set (some services set it when a disk is full), and \
                          set it to off";
            findings.push(found(Severity::Error, Cause::Operation, message, remedy));
        }
        if self.synchronous_commit == "off" {
            let message = "synchronous_commit is off: if the server crashes, calls of the last \
                           second may be lost";
            let remedy = "set synchronous_commit = on";
            findings.push(found(Severity::Warning, Cause::Setup, message, remedy));
        }
        if !self.full_page_writes {
            let message = "full_page_writes is off: power loss may damage pages";
            let remedy = "set full_page_writes = on";
            findings.push(found(Severity::Warning, Cause::Setup, message, remedy));
        }
        findings
    }
}

impl State {
    fn facts(&self) -> [(&'static str, String); 5] {
        [
            ("bytes", self.bytes.to_string()),
            ("dead rows", self.dead_rows.to_string()),
            ("oldest transaction, s", text(self.oldest_s)),
            ("days of events", self.days.to_string()),
            ("deltas to fold", self.deltas.to_string()),
        ]
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut find = |severity, message: String, remedy| {
            findings.push(found(severity, Cause::Operation, message, remedy));
        };
        match self.oldest_s {
            Some(seconds) if seconds > LONG_TRANSACTION_S => find(
                Severity::Warning,
                format!("a transaction is open for {seconds} s: dead rows pile up behind it"),
                "find it in pg_stat_activity by its xact_start, the oldest that has a \
                 backend_xmin or a backend_xid; let its program end it, or pg_terminate_backend",
            ),
            Some(_) => {}
            None => find(
                Severity::Note,
                "the age of open transactions cannot be seen".to_owned(),
                "grant pg_read_all_stats to this role",
            ),
        }
        if self.prepared_s > LONG_TRANSACTION_S {
            let seconds = self.prepared_s;
            let message =
                format!("a prepared transaction is open for {seconds} s: dead rows pile up");
            find(
                Severity::Warning,
                message,
                "find it in pg_prepared_xacts; commit or roll it back",
            );
        }
        if self.idle_slots > 0 {
            let slots = self.idle_slots;
            let message = format!(
                "no program reads the replication slots {slots}; they keep dead rows, and fill the \
                 disk with WAL"
            );
            let remedy = "find them in pg_replication_slots by active = false; start their \
                          readers, or drop them";
            find(Severity::Warning, message, remedy);
        }
        if self.notices_percent > NOTICES_PERCENT {
            let percent = self.notices_percent;
            let message = format!(
                "the queue of notifications is {percent} % full: a session listens and is idle in \
                 a transaction; when the queue is full, enqueues fail"
            );
            let remedy = "find it in pg_stat_activity by state = 'idle in transaction', and end it";
            find(Severity::Error, message, remedy);
        }
        if self.missing_days > 0 {
            let message = "partitions of today or tomorrow are missing: no process runs upkeep, \
                           and the first call of a day has to create them";
            let remedy = "run `queuekit serve` or a worker whose role owns the schema";
            find(Severity::Warning, message.to_owned(), remedy);
        }
        findings
    }
}

/// None if the schema is not this build's: then its state cannot be read.
async fn state(session: &Session<'_>) -> Outcome<Option<State>> {
    let schema = migrate::status(session).await?;
    if schema.stored != schema.wanted {
        return Ok(None);
    }
    let rows = session.query(Sql::Health, params![]).await?;
    let row = rows.first().ok_or_else(|| unreadable("the store's state"))?;
    Ok(Some(State {
        bytes: row.try_get("bytes")?,
        dead_rows: row.try_get("dead_rows")?,
        oldest_s: row.try_get("oldest_s")?,
        days: row.try_get("days")?,
        deltas: row.try_get("deltas")?,
        prepared_s: row.try_get("prepared_s")?,
        idle_slots: row.try_get("idle_slots")?,
        notices_percent: row.try_get("notices_percent")?,
        missing_days: row.try_get("missing_days")?,
    }))
}

async fn server(session: &Session<'_>) -> Outcome<Server> {
    let rows = session.query(Sql::Server, params![]).await?;
    let row = rows.first().ok_or_else(|| unreadable("the server's state"))?;
    let is_on = |setting| Ok::<_, tokio_postgres::Error>(row.try_get::<_, &str>(setting)? == "on");
    Ok(Server {
        version: row.try_get("version")?,
        recovers: row.try_get("in_recovery")?,
        fsync: is_on("fsync")?,
        synchronous_commit: row.try_get("synchronous_commit")?,
        full_page_writes: is_on("full_page_writes")?,
        reads_only: is_on("reads_only")?,
        superuser: is_on("superuser")?,
    })
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn text(number: Option<i64>) -> String {
    number.map_or("unknown".to_owned(), |number| number.to_string())
}

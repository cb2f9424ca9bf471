//! What `doctor` asks.

use async_trait::async_trait;
use queuekit_core::Result;
use queuekit_core::capability::{Durability, Fact, Finding, Inspect, Severity};

use crate::call::Call;
use crate::error::{Outcome, unreadable};
use crate::params::params;
use crate::session::Session;
use crate::statements::Sql;
use crate::{PostgresStore, SettleDurability};

/// A transaction open for longer than this keeps vacuum from removing much.
const LONG_TRANSACTION_S: i64 = 300;

/// What the server says of itself.
struct Server {
    version: i32,
    fsync: bool,
    synchronous_commit: String,
    full_page_writes: bool,
}

#[async_trait]
impl Inspect for PostgresStore {
    async fn durability(&self) -> Result<Durability> {
        let server =
            self.call("inspect", Call::Repeatable, (), |(), session| Box::pin(server(session)));
        let server = server.await?;
        Ok(match (server.fsync, server.synchronous_commit.as_str()) {
            (false, _) => Durability::ProcessKill,
            (true, "off") => Durability::Nothing,
            _ => Durability::PowerLoss,
        })
    }

    async fn facts(&self) -> Result<Vec<Fact>> {
        let settle = match self.shared.settle {
            SettleDurability::Database => "database",
            SettleDurability::Relaxed => "relaxed",
        };
        let schema = self.shared.schema.as_str().to_owned();
        let read = self.call("inspect", Call::Repeatable, (), |(), session| {
            Box::pin(async move {
                let server = server(session).await?;
                let state = session.query(Sql::Health, params![]).await?;
                let state = state.first().ok_or_else(|| unreadable("the store's state"))?;
                Ok(vec![
                    ("postgres version", server.version.to_string()),
                    ("fsync", on_off(server.fsync).to_owned()),
                    ("synchronous_commit", server.synchronous_commit),
                    ("full_page_writes", on_off(server.full_page_writes).to_owned()),
                    ("bytes", state.try_get::<_, i64>(0)?.to_string()),
                    ("dead rows", state.try_get::<_, i64>(1)?.to_string()),
                    ("oldest transaction, s", text(state.try_get::<_, Option<i64>>(2)?)),
                    ("days of history", state.try_get::<_, i64>(3)?.to_string()),
                    ("deltas to fold", state.try_get::<_, i64>(4)?.to_string()),
                ])
            })
        });
        let mut facts = read.await?;
        facts.push(("schema", schema));
        facts.push(("settle", settle.to_owned()));
        Ok(facts.into_iter().map(|(name, value)| Fact { name, value }).collect())
    }

    async fn findings(&self) -> Result<Vec<Finding>> {
        let relaxed = self.shared.settle == SettleDurability::Relaxed;
        let read = self.call("inspect", Call::Repeatable, (), |(), session| {
            Box::pin(async move {
                let state = session.query(Sql::Health, params![]).await?;
                let state = state.first().ok_or_else(|| unreadable("the store's state"))?;
                let oldest: Option<i64> = state.try_get(2)?;
                Ok((server(session).await?, oldest))
            })
        });
        let (server, oldest) = read.await?;
        let mut findings = Vec::new();
        let mut find = |severity, message: String, remedy: &str| {
            findings.push(Finding { severity, message, remedy: remedy.to_owned() });
        };
        if !server.fsync {
            let message = "fsync is off: a crash of the server may damage the database";
            find(Severity::Error, message.to_owned(), "set fsync = on");
        }
        if server.synchronous_commit == "off" {
            let message = "synchronous_commit is off: up to the last second of Oks may vanish if \
                           the server dies";
            find(Severity::Warning, message.to_owned(), "set synchronous_commit = on");
        }
        if !server.full_page_writes {
            let message = "full_page_writes is off: loss of power may damage pages";
            find(Severity::Warning, message.to_owned(), "set full_page_writes = on");
        }
        if relaxed {
            let message = "settle is relaxed: if the server dies, jobs of the last second may run \
                           again, and a lease_seq given to another system may repeat";
            find(Severity::Note, message.to_owned(), "open the store with settle=database");
        }
        match oldest {
            Some(seconds) if seconds > LONG_TRANSACTION_S => find(
                Severity::Warning,
                format!("a transaction is open for {seconds} s: dead rows pile up behind it"),
                "find it in pg_stat_activity by backend_xmin, and end it",
            ),
            Some(_) => {}
            None => find(
                Severity::Note,
                "the age of open transactions cannot be seen".to_owned(),
                "grant pg_read_all_stats to this role",
            ),
        }
        Ok(findings)
    }
}

async fn server(session: &Session<'_>) -> Outcome<Server> {
    let rows = session.query(Sql::Server, params![]).await?;
    let row = rows.first().ok_or_else(|| unreadable("the server's state"))?;
    let is_on = |at| Ok::<_, tokio_postgres::Error>(row.try_get::<_, &str>(at)? == "on");
    Ok(Server {
        version: row.try_get(0)?,
        fsync: is_on(2)?,
        synchronous_commit: row.try_get(3)?,
        full_page_writes: is_on(4)?,
    })
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn text(number: Option<i64>) -> String {
    number.map_or("unknown".to_owned(), |number| number.to_string())
}

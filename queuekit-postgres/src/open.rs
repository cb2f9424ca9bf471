//! Opening a store: checks the server and its durability, and brings up the schema.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use queuekit_core::capability::WakeupHub;
use queuekit_core::{Error, ErrorKind, Result};
use tokio::sync::watch;

use crate::call::Call;
use crate::config::{Listen, PostgresConfig, Prepared, SettleDurability};
use crate::io::Io;
use crate::notifications::Notices;
use crate::params::params;
use crate::session::Begins;
use crate::statements::{Sql, Statements};
use crate::step::Hints;
use crate::upkeep::{Cursor, Folding};
use crate::{PostgresStore, Shared, migrate, pool, tls};

/// The oldest version that is tested.
const VERSION: i32 = 150_000;

pub(crate) async fn open(mut config: PostgresConfig, checked: bool) -> Result<PostgresStore> {
    config.server.ssl_mode(tls::mode(config.tls));
    if config.server.get_application_name().is_none() {
        config.server.application_name("queuekit");
    }
    let store = start(&config)?;
    if checked {
        check_server(&store, &config).await?;
        migrate::bring_up(&store, config.migrate).await?;
        store.add_partitions().await?;
    } else {
        let answers = store.call("connect", Call::Repeatable, (), |(), session| {
            Box::pin(async move { session.execute("").await })
        });
        answers.await?;
    }
    store.shared.notices.start(&store.shared);
    Ok(store)
}

fn start(config: &PostgresConfig) -> Result<PostgresStore> {
    let io = Io::start()?;
    let connector = tls::connector(config)?;
    let main = pool::pool(config, &connector, io.handle(), config.pool_size)?;
    let heartbeats = pool::pool(config, &connector, io.handle(), 1)?;
    let listen_at = match &config.listen {
        Listen::Off => None,
        Listen::Auto if config.prepared == Prepared::Off => None,
        Listen::Auto => Some(config.server.clone()),
        Listen::At(server) => {
            let mut server = (**server).clone();
            server.ssl_mode(tls::mode(config.tls));
            if let Some(name) = config.server.get_application_name() {
                server.application_name(name);
            }
            Some(server)
        }
    };
    let wakeups = Arc::new(WakeupHub::default());
    let notices = Notices::new(listen_at, connector, &config.schema, Arc::clone(&wakeups));
    let statements = Statements::new(&config.schema);
    let shared = Shared {
        io,
        pool: main,
        heartbeats,
        begins: begins(config, &statements),
        statements,
        prepared: config.prepared,
        settle: config.settle,
        op_timeout: config.op_timeout,
        replan_after: config.replan_after,
        limits: config.limits,
        known: crate::queues::Known::default(),
        gates: crate::gates::Gates::default(),
        hints: Hints::default(),
        wakeups,
        notices,
        folding: Folding::default(),
        prune: Cursor::default(),
        repair: Cursor::default(),
        closed: AtomicBool::new(false),
        calls: AtomicUsize::new(0),
        cut: watch::Sender::new(false),
    };
    Ok(PostgresStore { shared: Arc::new(shared) })
}

fn begins(config: &PostgresConfig, statements: &Statements) -> Begins {
    let mut plain = statements.text(Sql::Begin).trim_end().to_owned();
    if config.prepared == Prepared::Off {
        plain = format!("{plain}; {}; SET LOCAL jit = off", pool::guards(config, "LOCAL"));
    }
    let relaxed = config.settle == SettleDurability::Relaxed;
    let settling = match relaxed {
        true => format!("{plain}; SET LOCAL synchronous_commit = off"),
        false => plain.clone(),
    };
    let wraps = config.prepared == Prepared::Off;
    Begins { plain, settling, wraps, wraps_settling: wraps || relaxed }
}

/// Refuses a server that may lose stored data (contract R11.2).
async fn check_server(store: &PostgresStore, config: &PostgresConfig) -> Result<()> {
    let read = store.call("connect", Call::Repeatable, (), |(), session| {
        Box::pin(async move {
            let rows = session.query(Sql::Server, params![]).await?;
            let row = rows.first().ok_or_else(|| crate::error::unreadable("the server's state"))?;
            let (version, recovers): (i32, bool) =
                (row.try_get("version")?, row.try_get("in_recovery")?);
            let (fsync, reads_only): (&str, &str) =
                (row.try_get("fsync")?, row.try_get("reads_only")?);
            Ok((version, recovers, fsync == "on", reads_only == "on"))
        })
    });
    let (version, recovers, syncs, reads_only) = read.await?;
    let refuse = |kind, message: &str| Err(Error::new(kind, message));
    if version < VERSION {
        let message =
            format!("the server is version {}; 15 and later are supported", version / 10_000);
        return refuse(ErrorKind::Unsupported, &message);
    }
    if recovers && !config.allow_volatile {
        let message = "the server is a standby or is still recovering; connect to the primary";
        return refuse(ErrorKind::Unavailable, message);
    }
    if reads_only && !config.allow_volatile {
        let message = "the database accepts no writes: default_transaction_read_only is on; find \
                       out where it is set (some services set it when a disk is full), or accept \
                       it with allow_volatile=on to read only";
        return refuse(ErrorKind::Unavailable, message);
    }
    if !syncs && !config.allow_volatile {
        let message = "the server runs with fsync off: a crash may damage the database and lose \
                       jobs; turn fsync on, or accept it with allow_volatile=on";
        return refuse(ErrorKind::Unavailable, message);
    }
    Ok(())
}

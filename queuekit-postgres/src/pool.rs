//! Connections.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use deadpool_postgres::{
    Connect, Manager, ManagerConfig, Object, Pool, QueueMode, RecyclingMethod,
};
use queuekit_core::{Error, ErrorKind, Result};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::config::{PostgresConfig, Prepared};
use crate::statements::without_header;

/// How long one attempt to connect may take, unless the URL says otherwise.
const CONNECT: Duration = Duration::from_secs(3);

/// A pool of at most `size` connections, which live on the given runtime.
pub(crate) fn pool(
    config: &PostgresConfig,
    tls: &MakeRustlsConnect,
    io: &Handle,
    size: usize,
) -> Result<Pool> {
    let dial = Dial { tls: tls.clone(), io: io.clone(), settings: settings(config) };
    // A check of each connection before its use would cost every call a round trip. A call that
    // meets a lost connection reports it.
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = Manager::from_connect(config.server.clone(), dial, recycling);
    // Prefers the connection that was used last: it has its plans and pages at hand.
    let builder = Pool::builder(manager).max_size(size).queue_mode(QueueMode::Lifo);
    builder.build().map_err(|error| {
        Error::new(ErrorKind::Unavailable, "the connection pool cannot be created").caused_by(error)
    })
}

/// A connection that returns to the pool only if nothing is under way on it.
#[derive(Debug)]
pub(crate) struct Borrowed {
    object: Option<Object>,
    clean: bool,
}

impl Borrowed {
    pub(crate) fn new(object: Object) -> Self {
        Self { object: Some(object), clean: false }
    }

    pub(crate) fn client(&self) -> Option<&deadpool_postgres::ClientWrapper> {
        self.object.as_deref()
    }

    /// Returns the connection to the pool: nothing is under way on it.
    pub(crate) fn give_back(mut self) {
        self.clean = true;
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        if let Some(object) = self.object.take().filter(|_| !self.clean) {
            // The next user would wait for the statement under way, or be in its transaction.
            drop(Object::take(object));
        }
    }
}

struct Dial {
    tls: MakeRustlsConnect,
    io: Handle,
    settings: Option<String>,
}

type Connected = std::result::Result<(Client, JoinHandle<()>), tokio_postgres::Error>;

impl Connect for Dial {
    fn connect(&self, config: &Config) -> Pin<Box<dyn Future<Output = Connected> + Send + '_>> {
        let connected = connect(config.clone(), self.tls.clone(), self.io.clone());
        Box::pin(async move {
            let (client, task) = connected.await?;
            if let Some(settings) = &self.settings {
                client.batch_execute(settings).await?;
            }
            Ok((client, task))
        })
    }
}

/// Connects on the given runtime, whichever one the caller is on.
pub(crate) async fn connect(config: Config, tls: MakeRustlsConnect, io: Handle) -> Connected {
    let (mut ready, readied) = tokio::sync::oneshot::channel();
    let limit = config.get_connect_timeout().copied().unwrap_or(CONNECT);
    let task = io.spawn(async move {
        let connected = tokio::select! {
            connected = config.connect(tls) => connected,
            () = tokio::time::sleep(limit) => Err(tokio_postgres::Error::__private_api_timeout()),
            // The caller has stopped waiting.
            () = ready.closed() => return,
        };
        match connected {
            Err(error) => drop(ready.send(Err(error))),
            Ok((client, connection)) => {
                if ready.send(Ok(client)).is_ok()
                    && let Err(error) = connection.await
                {
                    tracing::debug!(%error, "a connection to Postgres ended");
                }
            }
        }
    });
    match readied.await {
        Ok(client) => client.map(|client| (client, task)),
        // The runtime has ended: so has the store.
        Err(_) => Err(tokio_postgres::Error::__private_api_timeout()),
    }
}

/// The settings of each connection of the store's own.
fn settings(config: &PostgresConfig) -> Option<String> {
    let (guards, plans) = (guards(config, ""), without_header(include_str!("../sql/plans.sql")));
    (config.prepared == Prepared::Auto).then(|| format!("{guards}; {plans}"))
}

/// The settings that guard all other statements, for a session or, with `LOCAL`, for a transaction:
/// no statement runs functions or operators of other schemas, and none runs for ever.
pub(crate) fn guards(config: &PostgresConfig, scope: &str) -> String {
    let (statement, lock) = (config.statement_timeout.as_millis(), config.lock_timeout.as_millis());
    format!(
        "SET {scope} search_path = pg_catalog, pg_temp; \
         SET {scope} statement_timeout = {statement}; SET {scope} lock_timeout = {lock}; \
         SET {scope} idle_in_transaction_session_timeout = {statement}"
    )
}

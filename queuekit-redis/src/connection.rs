//! A connection that is made when it is needed, and made again after it was lost.

use std::fmt;
use std::sync::Arc;

use redis::aio::{MultiplexedConnection, PubSub};
use redis::{Client, ConnectionInfo};
use tokio::runtime::Handle;
use tokio::sync::Mutex;

use crate::connect::connect;
use crate::error::{Failure, Outcome};
use crate::sentinel::Sentinels;

pub(crate) struct Link {
    server: Server,
    io: Handle,
    state: Mutex<State>,
}

/// The target of a link.
#[derive(Clone)]
pub(crate) enum Server {
    Here(Box<ConnectionInfo>),
    /// The server that is the master when a connection is made.
    Master(Arc<Sentinels>),
}

#[derive(Default)]
struct State {
    /// How many connections the link has made.
    generation: u64,
    connection: Option<MultiplexedConnection>,
}

impl Link {
    pub(crate) fn new(server: Server, io: &Handle) -> Self {
        Self { server, io: io.clone(), state: Mutex::default() }
    }

    /// The connection and its generation.
    pub(crate) async fn get(&self) -> Outcome<(u64, MultiplexedConnection)> {
        // Held while it connects, so that all callers share one new connection.
        let mut state = self.state.lock().await;
        if let Some(connection) = &state.connection {
            return Ok((state.generation, connection.clone()));
        }
        let connection = self.connect().await?;
        state.generation += 1;
        state.connection = Some(connection.clone());
        Ok((state.generation, connection))
    }

    /// Drops the connection of this generation, which failed.
    pub(crate) async fn lost(&self, generation: u64) {
        let mut state = self.state.lock().await;
        if state.generation == generation {
            state.connection = None;
        }
    }

    /// Drops the present connection.
    pub(crate) fn reset(&self) {
        // A connection that is being made is a new one.
        if let Ok(mut state) = self.state.try_lock() {
            state.connection = None;
        }
    }

    /// A connection for this caller only, read and written by the store's own thread.
    pub(crate) async fn connect(&self) -> Outcome<MultiplexedConnection> {
        match &self.server {
            Server::Here(server) => connect(&self.io, server).await,
            Server::Master(sentinels) => sentinels.connect(&self.io).await,
        }
    }

    /// A connection for this caller only, for messages; read by the runtime that this runs on.
    pub(crate) async fn listen(&self) -> Outcome<PubSub> {
        let server = match &self.server {
            Server::Here(server) => (**server).clone(),
            Server::Master(sentinels) => sentinels.server(&self.io).await?,
        };
        let client = Client::open(server).map_err(Failure::to_connect)?;
        client.get_async_pubsub().await.map_err(Failure::to_connect)
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = match &self.server {
            Server::Here(server) => server.addr().to_string(),
            Server::Master(sentinels) => sentinels.master().to_owned(),
        };
        f.debug_struct("Link").field("server", &server).finish()
    }
}

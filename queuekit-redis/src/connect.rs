//! One attempt to connect to a server.

use std::time::Duration;

use queuekit_core::Error;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, ConnectionInfo};
use tokio::runtime::Handle;

use crate::error::{Failure, Outcome, closed};
use crate::tls;

/// How long it may take.
const CONNECT: Duration = Duration::from_secs(3);

pub(crate) async fn connect(
    io: &Handle,
    server: &ConnectionInfo,
) -> Outcome<MultiplexedConnection> {
    let client = Client::open(server.clone()).map_err(Failure::to_connect)?;
    // Calls have time limits of their own, and blocking ones wait longer than any of these.
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT))
        .set_response_timeout(None);
    let connecting =
        io.spawn(async move { client.get_multiplexed_async_connection_with_config(&config).await });
    match connecting.await {
        Ok(connected) => connected.map_err(|error| match tls::refusal(&error) {
            Some(refusal) => refusal.into(),
            None => Failure::to_connect(error),
        }),
        // The thread has ended.
        Err(_) => Err(Error::into(closed())),
    }
}

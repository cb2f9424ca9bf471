//! Waits for the markers that scripts set when a queue gained work, on a connection of its own.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use queuekit_core::{QueueName, retry};
use redis::aio::MultiplexedConnection;
use redis::{Value, cmd};
use tokio::sync::watch;

use crate::Shared;
use crate::codec::bytes_of;
use crate::error::{Failure, Outcome};

/// How long one look waits. A look that ends finds out whether the connection still lives.
const LOOK_S: u64 = 5;

/// The queues whose markers are waited for.
#[derive(Debug)]
pub(crate) struct Marker(watch::Sender<BTreeSet<QueueName>>);

impl Marker {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(BTreeSet::new()))
    }

    /// Waits for these queues too. The first call begins it.
    pub(crate) fn watch(&self, shared: &Arc<Shared>, queues: &[QueueName]) {
        let mut begins = false;
        self.0.send_if_modified(|watched| {
            begins = watched.is_empty();
            let before = watched.len();
            watched.extend(queues.iter().cloned());
            watched.len() > before
        });
        if begins && !queues.is_empty() {
            let watched = self.0.subscribe();
            shared.io.spawn(wait(Arc::downgrade(shared), watched));
        }
    }
}

/// Until the store is gone.
async fn wait(shared: Weak<Shared>, mut watched: watch::Receiver<BTreeSet<QueueName>>) {
    let mut failures = 0;
    loop {
        let connected = match shared.upgrade() {
            Some(shared) => shared.link.connect().await,
            None => return,
        };
        let ended = match connected {
            Ok(connection) => {
                failures = 0;
                if let Some(shared) = shared.upgrade() {
                    // Markers may have been set while nobody looked.
                    shared.wakeups.ring_all();
                }
                look(&shared, connection, &mut watched).await
            }
            Err(failure) => Err(failure),
        };
        if let Err(failure) = ended {
            tracing::debug!(error = %failure.error, "no markers are heard of; workers poll");
            tokio::time::sleep(retry::reconnect_delay(failures, retry::chance())).await;
            failures += 1;
        }
    }
}

/// Looks for markers until the connection fails, or other queues are to be watched: a look that
/// waits cannot be taken back, so its connection goes with it.
async fn look(
    shared: &Weak<Shared>,
    mut connection: MultiplexedConnection,
    watched: &mut watch::Receiver<BTreeSet<QueueName>>,
) -> Outcome<()> {
    let queues: Vec<QueueName> = watched.borrow_and_update().iter().cloned().collect();
    let Some(keys) = shared
        .upgrade()
        .map(|shared| queues.iter().map(|queue| shared.keyspace.marker(queue)).collect::<Vec<_>>())
    else {
        return Ok(());
    };
    let mut command = cmd("BLPOP");
    command.arg(&keys).arg(LOOK_S);
    loop {
        let limit = Duration::from_secs(LOOK_S * 2);
        let asked = connection.send_packed_command(&command);
        let answer = tokio::select! {
            answer = tokio::time::timeout(limit, asked) => answer,
            changed = watched.changed() => {
                drop(changed);
                return Ok(());
            }
        };
        let Ok(answer) = answer else {
            let message = "the connection that waits for markers says nothing";
            let kind = queuekit_core::ErrorKind::Unavailable;
            return Err(queuekit_core::Error::new(kind, message).into());
        };
        let answer = answer.and_then(Value::extract_error).map_err(Failure::from)?;
        let Some(shared) = shared.upgrade() else {
            return Ok(());
        };
        if let Value::Array(mut parts) = answer
            && let Some(key) = parts.drain(..).next().and_then(bytes_of)
            && let Some(at) = keys.iter().position(|name| name.as_bytes() == key)
        {
            shared.wakeups.ring(&queues[at]);
        }
    }
}

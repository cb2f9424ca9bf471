//! Tells the workers of a queue, by a published message, that one of its running jobs was asked to
//! stop. A worker that misses it finds out when it extends the lease.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::StreamExt;
use queuekit_core::{ErrorKind, QueueName, retry};
use redis::aio::PubSub;
use redis::{Msg, cmd};
use tokio::time::timeout;

use crate::call::Request;
use crate::error::{Failure, Outcome};
use crate::repeat::Call;
use crate::{RedisStore, Shared};

/// How often a silent connection is checked, and how long the check may take.
const CHECK: Duration = Duration::from_secs(5);

/// Whether this process listens.
#[derive(Debug, Default)]
pub(crate) struct Cancels(AtomicBool);

impl Cancels {
    /// Listens from the first call on.
    pub(crate) fn listen(&self, shared: &Arc<Shared>) {
        if !self.0.swap(true, Ordering::AcqRel) {
            shared.io.spawn(listen(Arc::downgrade(shared)));
        }
    }
}

impl RedisStore {
    /// Announces that a running job of this queue was asked to stop. The caller does not wait for
    /// it.
    pub(crate) fn tell_cancel(&self, queue: &QueueName) {
        self.shared.wakeups.ring_cancel(queue);
        let keyspace = &self.shared.keyspace;
        let command = cmd("PUBLISH").arg(keyspace.cancels()).arg(queue.as_str()).to_owned();
        let request = Request::Command { key: keyspace.marker(queue), command };
        let store = self.clone();
        self.shared.io.spawn(async move {
            if let Err(error) = store.call("cancel", Call::Glance, request).await {
                tracing::debug!(%error, "a cancel was not published; workers notice it at their \
                                         next heartbeat");
            }
        });
    }
}

/// Runs until the store is dropped.
async fn listen(shared: Weak<Shared>) {
    let mut failures = 0;
    while let Some(strong) = shared.upgrade() {
        let channel = strong.keyspace.cancels();
        let connected = connect(&strong, failures, &channel).await;
        drop(strong);
        let ended = match connected {
            Ok(connection) => {
                failures = 0;
                hear(&shared, connection).await
            }
            Err(failure) => Err(failure),
        };
        let Err(failure) = ended else { return };
        tracing::debug!(error = %failure.error, "cancels are not received; workers notice them at \
                                                 their next heartbeat");
        tokio::time::sleep(retry::reconnect_delay(failures, retry::chance())).await;
        failures = failures.saturating_add(1);
    }
}

/// Connects to any server, because nodes of a Cluster forward messages; after a failure, to another
/// one.
async fn connect(shared: &Shared, failures: u32, channel: &str) -> Outcome<PubSub> {
    let nodes = shared.topology.masters().await?;
    let at = usize::try_from(failures).unwrap_or_default() % nodes.len().max(1);
    let node = nodes.get(at).ok_or_else(|| silent("a Cluster without servers"))?;
    let connecting = async {
        let mut connection = node.link(Call::Read).listen().await?;
        connection.subscribe(channel).await.map_err(Failure::from)?;
        Outcome::Ok(connection)
    };
    let connected = timeout(CHECK, connecting).await;
    let connection = connected.map_err(|_| silent("a server does not answer"))??;
    // Cancels may have been requested while nobody listened.
    shared.wakeups.ring_all_cancels();
    Ok(connection)
}

/// Listens until the connection fails. Returns `Ok` if the store was dropped.
async fn hear(shared: &Weak<Shared>, connection: PubSub) -> Outcome<()> {
    let (mut asks, mut messages) = connection.split();
    loop {
        match timeout(CHECK, messages.next()).await {
            Ok(Some(message)) => {
                let Some(shared) = shared.upgrade() else { return Ok(()) };
                if let Some(queue) = queue_of(&message) {
                    shared.wakeups.ring_cancel(&queue);
                }
            }
            Ok(None) => return Err(silent("the connection that listens was closed")),
            Err(_) if shared.strong_count() == 0 => return Ok(()),
            Err(_) if shared.upgrade().is_some_and(|shared| shared.resting.any()) => {}
            Err(_) => {
                let answer = timeout(CHECK, asks.ping::<redis::Value>()).await;
                answer.map_err(|_| silent("the listening connection does not answer"))??;
            }
        }
    }
}

fn queue_of(message: &Msg) -> Option<QueueName> {
    let payload: String = message.get_payload().ok()?;
    QueueName::new(&payload).ok()
}

fn silent(message: &str) -> Failure {
    queuekit_core::Error::new(ErrorKind::Unavailable, message).into()
}

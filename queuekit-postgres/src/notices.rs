//! Notifications between processes: LISTEN on a connection of its own, and NOTIFY, merged.
//!
//! A notification is a hint: workers poll as well. It is sent after the commit it tells of, by a
//! task, at most once per queue in a few milliseconds; NOTIFY inside the transaction that stores
//! jobs would make all such commits wait for each other.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::poll_fn;
use queuekit_core::capability::WakeupHub;
use queuekit_core::{QueueName, retry};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_postgres::{AsyncMessage, Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::Shared;
use crate::config::Schema;

/// The least time between two notifications.
const GAP: Duration = Duration::from_millis(5);
/// By how much a worker of this process is ahead of others: it has been rung already, and telling
/// others takes time that its reserve needs.
const HEAD_START: Duration = Duration::from_millis(1);
/// How often a silent connection is asked whether it still is one, and how long it may take.
const CHECK: Duration = Duration::from_secs(5);

pub(crate) struct Notices {
    listen_at: Option<Config>,
    tls: MakeRustlsConnect,
    channel: String,
    wakeups: Arc<WakeupHub>,
    /// Queues of which others are to be told.
    untold: Arc<Untold>,
}

#[derive(Default)]
struct Untold {
    queues: Mutex<BTreeSet<QueueName>>,
    arrived: Notify,
    /// Nobody here waits for one of them.
    is_urgent: AtomicBool,
}

impl Notices {
    pub(crate) fn new(
        listen_at: Option<Config>,
        tls: MakeRustlsConnect,
        schema: &Schema,
        wakeups: Arc<WakeupHub>,
    ) -> Self {
        let channel = schema.as_str().to_owned();
        Self { listen_at, tls, channel, wakeups, untold: Arc::default() }
    }

    /// Begins to listen and to tell, on the store's own runtime.
    pub(crate) fn start(&self, shared: &Shared) {
        let Some(config) = self.listen_at.clone() else {
            // Nobody listens past a pooler either, unless told where: workers poll.
            return;
        };
        let (tls, channel) = (self.tls.clone(), self.channel.clone());
        let (wakeups, untold) = (Arc::clone(&self.wakeups), Arc::clone(&self.untold));
        shared.io.spawn(async move {
            let mut failures = 0;
            loop {
                if let Err(error) = serve(&config, &tls, &channel, &wakeups, &untold).await {
                    tracing::debug!(%error, "notifications from Postgres were interrupted");
                }
                sleep(retry::reconnect_delay(failures, retry::chance())).await;
                failures = (failures + 1).min(8);
            }
        });
    }

    /// Others are told soon that the queue gained work; a little later if somebody here waits for
    /// it.
    pub(crate) fn tell(&self, queue: &QueueName) {
        if self.listen_at.is_none() {
            return;
        }
        self.untold.is_urgent.fetch_or(!self.wakeups.is_awaited(queue), Ordering::AcqRel);
        let mut queues = self.untold.queues.lock().unwrap_or_else(PoisonError::into_inner);
        if !queues.contains(queue) {
            queues.insert(queue.clone());
            self.untold.arrived.notify_one();
        }
    }
}

/// Serves one connection until it fails.
async fn serve(
    config: &Config,
    tls: &MakeRustlsConnect,
    channel: &str,
    wakeups: &WakeupHub,
    untold: &Untold,
) -> Result<(), tokio_postgres::Error> {
    let (client, mut connection) = in_time(config.connect(tls.clone())).await?;
    let (heard, mut hearing) = mpsc::unbounded_channel();
    let reading = tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
            if let AsyncMessage::Notification(notification) = message
                && heard.send(notification).is_err()
            {
                break;
            }
        }
    });
    // The notices themselves need not be on disk, and cost no wait for it.
    let listen = format!("SET synchronous_commit = off; LISTEN \"{channel}\"");
    let told = async {
        in_time(client.batch_execute(&listen)).await?;
        let own = in_time(own_pid(&client)).await?;
        // What was stored before it listened was told to nobody here.
        wakeups.ring_all();
        let mut free_at = Instant::now();
        // What a connection that failed has left untold goes first.
        let mut tell_at = Some(free_at);
        loop {
            let next = tell_at.unwrap_or_else(|| Instant::now() + CHECK);
            tokio::select! {
                biased;
                heard = hearing.recv() => match heard {
                    None => return Ok(()),
                    Some(notice) if notice.process_id() == own => {}
                    Some(notice) => {
                        if let Ok(queue) = QueueName::new(notice.payload()) {
                            wakeups.ring(&queue);
                        }
                    }
                },
                () = untold.arrived.notified(), if tell_at.is_none() => {
                    let is_urgent = untold.is_urgent.swap(false, Ordering::AcqRel);
                    let wait = if is_urgent { Duration::ZERO } else { HEAD_START };
                    tell_at = Some(free_at.max(Instant::now() + wait));
                }
                () = sleep_until(next) => match tell_at.take() {
                    Some(_) => {
                        tell(&client, channel, untold).await?;
                        free_at = Instant::now() + GAP;
                    }
                    // A connection behind a network that swallows all is silent without an error.
                    None => in_time(client.check_connection()).await?,
                },
            }
        }
    };
    let result = told.await;
    reading.abort();
    result
}

async fn own_pid(client: &Client) -> Result<i32, tokio_postgres::Error> {
    let rows = client.query_typed(BACKEND_PID, &[]).await?;
    rows.first().map_or(Ok(0), |row| row.try_get(0))
}

async fn tell(
    client: &Client,
    channel: &str,
    untold: &Untold,
) -> Result<(), tokio_postgres::Error> {
    let queues = std::mem::take(&mut *untold.queues.lock().unwrap_or_else(PoisonError::into_inner));
    if queues.is_empty() {
        return Ok(());
    }
    let queues: Vec<&str> = queues.iter().map(QueueName::as_str).collect();
    let params = crate::params::params![channel, queues];
    in_time(client.query_typed(NOTIFY, params)).await.map(drop)
}

/// Whatever the network swallows, it is not waited for without end.
async fn in_time<T>(
    step: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, tokio_postgres::Error> {
    let step = timeout(CHECK, step).await;
    step.map_err(|_| tokio_postgres::Error::__private_api_timeout())?
}

const BACKEND_PID: &str = include_str!("../sql/backend_pid.sql");
const NOTIFY: &str = include_str!("../sql/notify.sql");

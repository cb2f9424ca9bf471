//! Notifications between processes: LISTEN on a connection of its own, and NOTIFY, merged.
//!
//! A notification is a hint: workers poll and extend their leases as well. A task sends it after
//! the commit, at most once per queue in a few milliseconds: NOTIFY inside the transaction that
//! stores jobs would make all such commits wait for each other.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::poll_fn;
use queuekit_core::capability::{RestGuard, Resting, WakeupHub};
use queuekit_core::{QueueName, retry};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_postgres::{AsyncMessage, Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::Shared;
use crate::config::Schema;

/// The least time between two notifications.
const GAP: Duration = Duration::from_millis(5);
/// The head start of a waiting worker in this process: it has been rung already, and a notification
/// would slow down its reserve.
const HEAD_START: Duration = Duration::from_millis(1);
/// How often a silent connection is checked, and how long the check may take.
const CHECK: Duration = Duration::from_secs(5);
/// While a worker rests no check is made (contract R13.12): then the system finds out this soon
/// that the network drops every packet.
const KEEPALIVE: Duration = Duration::from_secs(60);

pub(crate) struct Notices {
    listen_at: Option<Config>,
    tls: MakeRustlsConnect,
    channel: String,
    wakeups: Arc<WakeupHub>,
    /// Notices that are not sent yet.
    untold: Arc<Untold>,
    heard: Heard,
}

/// Whether notices of other processes are heard, and whether a worker rests meanwhile.
#[derive(Clone, Default)]
struct Heard {
    is_listening: Arc<AtomicBool>,
    resting: Resting,
}

/// A notice to other processes about a queue.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Notice {
    /// It gained work.
    Work(QueueName),
    /// A cancel of a running job was requested.
    Cancel(QueueName),
}

/// The prefix of a cancel. No queue name has a space, so a program that does not know the prefix
/// ignores the notice.
const CANCEL: &str = "cancel ";

impl Notice {
    fn read(payload: &str) -> Option<Self> {
        match payload.strip_prefix(CANCEL) {
            Some(queue) => QueueName::new(queue).ok().map(Self::Cancel),
            None => QueueName::new(payload).ok().map(Self::Work),
        }
    }

    fn payload(&self) -> String {
        match self {
            Self::Work(queue) => queue.as_str().to_owned(),
            Self::Cancel(queue) => format!("{CANCEL}{queue}"),
        }
    }

    fn ring(&self, wakeups: &WakeupHub) {
        match self {
            Self::Work(queue) => wakeups.ring(queue),
            Self::Cancel(queue) => wakeups.ring_cancel(queue),
        }
    }

    /// Whether no waiting worker of this process, which is rung already, would take the work
    /// anyway.
    fn is_urgent(&self, wakeups: &WakeupHub) -> bool {
        match self {
            Self::Work(queue) => !wakeups.is_awaited(queue),
            Self::Cancel(_) => true,
        }
    }
}

#[derive(Default)]
struct Untold {
    notices: Mutex<BTreeSet<Notice>>,
    arrived: Notify,
    /// One of them must not wait for workers of this process.
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
        let (untold, heard) = (Arc::default(), Heard::default());
        Self { listen_at, tls, channel, wakeups, untold, heard }
    }

    /// Begins to listen and to send, on the store's own runtime.
    pub(crate) fn start(&self, shared: &Shared) {
        let Some(mut config) = self.listen_at.clone() else {
            // Behind a pooler without `listen` there is no connection to listen on: workers poll.
            return;
        };
        config.keepalives_idle(KEEPALIVE);
        let (tls, channel, heard) = (self.tls.clone(), self.channel.clone(), self.heard.clone());
        let (wakeups, untold) = (Arc::clone(&self.wakeups), Arc::clone(&self.untold));
        shared.io.spawn(async move {
            let mut failures = 0;
            loop {
                let parts = (&*wakeups, &*untold, &heard);
                if let Err(error) = serve(&config, &tls, &channel, parts).await {
                    tracing::debug!(%error, "notifications from Postgres were interrupted");
                }
                if heard.is_listening.swap(false, Ordering::AcqRel) {
                    // A resting worker is not woken any more: from now on it has to look by itself.
                    wakeups.ring_all();
                }
                sleep(retry::reconnect_delay(failures, retry::chance())).await;
                // More doublings would not make the delay longer.
                failures = (failures + 1).min(8);
            }
        });
    }

    /// Whether notices of other processes are heard.
    pub(crate) fn are_heard(&self) -> bool {
        self.heard.is_listening.load(Ordering::Acquire)
    }

    /// A worker rests: a silent connection is not checked meanwhile.
    pub(crate) fn rest(&self) -> RestGuard {
        self.heard.resting.begin()
    }

    /// Notifies other processes soon, or after a head start if a worker of this process waits for
    /// the work.
    pub(crate) fn tell(&self, notice: Notice) {
        if self.listen_at.is_none() {
            return;
        }
        self.untold.is_urgent.fetch_or(notice.is_urgent(&self.wakeups), Ordering::AcqRel);
        let mut notices = self.untold.notices.lock().unwrap_or_else(PoisonError::into_inner);
        if notices.insert(notice) {
            self.untold.arrived.notify_one();
        }
    }
}

/// Serves one connection until it fails.
async fn serve(
    config: &Config,
    tls: &MakeRustlsConnect,
    channel: &str,
    (wakeups, untold, listening): (&WakeupHub, &Untold, &Heard),
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
    // Names are those of the system. Notices need not be on disk, so their commits need not wait
    // for it.
    let listen = format!(
        "SET search_path = pg_catalog, pg_temp; SET synchronous_commit = off; LISTEN \"{channel}\""
    );
    let told = async {
        in_time(client.batch_execute(&listen)).await?;
        let own = in_time(own_pid(&client)).await?;
        // Nobody in this process was notified of jobs stored before it listened.
        wakeups.ring_all();
        wakeups.ring_all_cancels();
        listening.is_listening.store(true, Ordering::Release);
        let mut free_at = Instant::now();
        // Notices that a failed connection left unsent go first.
        let mut tell_at = Some(free_at);
        loop {
            let next = tell_at.unwrap_or_else(|| Instant::now() + CHECK);
            tokio::select! {
                biased;
                heard = hearing.recv() => match heard {
                    None => return Ok(()),
                    // The workers of this process were woken directly.
                    Some(notice) if notice.process_id() == own => {}
                    Some(notice) => {
                        if let Some(notice) = Notice::read(notice.payload()) {
                            notice.ring(wakeups);
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
                    None if listening.resting.any() => {}
                    // If the network drops every packet, the connection is silent and reports no
                    // error.
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
    rows.first().map_or(Ok(0), |row| row.try_get("pid"))
}

async fn tell(
    client: &Client,
    channel: &str,
    untold: &Untold,
) -> Result<(), tokio_postgres::Error> {
    let notices =
        std::mem::take(&mut *untold.notices.lock().unwrap_or_else(PoisonError::into_inner));
    if notices.is_empty() {
        return Ok(());
    }
    let payloads: Vec<String> = notices.iter().map(Notice::payload).collect();
    let params = crate::params::params![channel, payloads];
    in_time(client.query_typed(NOTIFY, params)).await.map(drop)
}

/// Bounds the wait for an answer that the network may have dropped.
async fn in_time<T>(
    step: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, tokio_postgres::Error> {
    let step = timeout(CHECK, step).await;
    step.map_err(|_| tokio_postgres::Error::__private_api_timeout())?
}

const BACKEND_PID: &str = include_str!("../sql/backend_pid.sql");
const NOTIFY: &str = include_str!("../sql/notify.sql");

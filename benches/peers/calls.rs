//! Counts the calls of a handler, for the benchmark.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, mpsc};
use tokio::time::{sleep, timeout};

use crate::harness::{Peer, Result};

/// After which a worker has recorded its job and sleeps; everybody's batches are written by then.
const IDLE_AFTER: Duration = Duration::from_millis(50);

/// A job that is not picked up by then is lost.
const PICKUP_MAX: Duration = Duration::from_secs(10);

/// Jobs before those that count: the first finds statements unprepared and connections unopened.
const WARM_UP: usize = 10;

/// Calls of the handler: how many, and when.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    pub(crate) count: AtomicUsize,
    expected: AtomicUsize,
    last: Notify,
    /// Set while the waits of jobs are measured.
    starts: OnceLock<mpsc::UnboundedSender<Instant>>,
}

impl Calls {
    /// All that the handler does.
    pub(crate) fn call(&self) {
        if let Some(starts) = self.starts.get() {
            // Nobody listens any more once all samples are taken.
            let _ = starts.send(Instant::now());
        }
        if self.count.fetch_add(1, Ordering::SeqCst) + 1 == self.expected.load(Ordering::SeqCst) {
            self.last.notify_one();
        }
    }

    /// To be asked for before the worker starts.
    pub(crate) fn expect(&self, calls: usize) {
        self.expected.store(calls, Ordering::SeqCst);
    }

    /// Waits for the last of the expected calls.
    pub(crate) async fn wait(&self) {
        self.last.notified().await;
    }

    /// Enqueues one job after the other. Returns how long each waited for the worker that runs.
    pub(crate) async fn waits<P: Peer>(&self, peer: &P, jobs: usize) -> Result<Vec<Duration>> {
        let (send, mut starts) = mpsc::unbounded_channel();
        self.starts.set(send).map_err(|_| "waits are measured once per process")?;
        let mut waits = Vec::new();
        for number in 0..WARM_UP + jobs {
            // Of different lengths: never in step with an interval at which a worker polls.
            sleep(IDLE_AFTER + Duration::from_millis(number as u64 * 7 % 20)).await;
            let before = Instant::now();
            peer.enqueue(number).await?;
            let start = timeout(PICKUP_MAX, starts.recv()).await?.ok_or("the handler is gone")?;
            waits.push(start - before);
        }
        Ok(waits.split_off(WARM_UP))
    }
}

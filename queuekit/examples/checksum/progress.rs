//! How far the work is.

use std::io::{IsTerminal, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressStyle};
use queuekit::{Client, QueueName, State};

use super::Result;
use super::hash::Hasher;

/// The shortest time between two reads of the store.
const TICK: Duration = Duration::from_millis(20);

/// The time between two plain lines.
const LINE_INTERVAL: Duration = Duration::from_secs(1);

/// A bar on a terminal, or else a plain line now and then.
pub(crate) struct Progress {
    pub(crate) client: Client,
    pub(crate) queue: QueueName,
    found: Arc<AtomicU64>,
    hasher: Hasher,
    bar: Option<ProgressBar>,
    last_line: Instant,
    pause: Duration,
}

/// Jobs of the queue, as the store counts them.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) ended: u64,
    /// Waiting or running.
    pub(crate) open: u64,
}

impl Progress {
    pub(crate) fn new(
        client: Client,
        queue: QueueName,
        found: Arc<AtomicU64>,
        hasher: Hasher,
    ) -> Result<Self> {
        let style = "{elapsed} {wide_bar} {human_pos} of {human_len} files, {msg}";
        let style = ProgressStyle::with_template(style)?;
        let bar = stderr().is_terminal().then(|| ProgressBar::new(0).with_style(style));
        let last_line = Instant::now();
        Ok(Self { client, queue, found, hasher, bar, last_line, pause: TICK })
    }

    /// Waits a moment, reads the store's counts, and shows them.
    pub(crate) async fn tick(&mut self) -> queuekit::Result<Counts> {
        tokio::time::sleep(self.pause).await;
        let asked = Instant::now();
        let counts = self.count().await?;
        // If counting is slow, it takes at most a tenth of the store's time.
        self.pause = TICK.max(asked.elapsed() * 9);
        // Includes what an earlier process of the run has found.
        let found = self.found.load(Ordering::Relaxed).max(counts.ended);
        let bytes = HumanBytes(self.hasher.bytes());
        if let Some(bar) = &self.bar {
            bar.set_length(found);
            bar.set_message(bytes.to_string());
            bar.set_position(counts.ended);
        } else if self.last_line.elapsed() >= LINE_INTERVAL {
            let (ended, found) = (HumanCount(counts.ended), HumanCount(found));
            eprintln!("checksum: {ended} of {found} files, {bytes}");
            self.last_line = Instant::now();
        }
        Ok(counts)
    }

    async fn count(&self) -> queuekit::Result<Counts> {
        let queue = self.client.queues().get(self.queue.clone()).await?;
        let mut counts = Counts::default();
        if let Some(queue) = queue {
            for state in State::ALL {
                let jobs = queue.counts.of_state(state).value;
                if state.is_terminal() { counts.ended += jobs } else { counts.open += jobs }
            }
        }
        Ok(counts)
    }
}

/// Removes the bar: the summary comes next.
impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

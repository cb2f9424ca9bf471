//! The queue of a run, by which an unfinished run is found again.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::path::Path;
use std::time::Duration;

use indicatif::HumanCount;
use queuekit::queue::{Keep, Queue, Retention};
use queuekit::{Client, ErrorKind, QueueName, QueuePatch, State};

use super::Result;
use super::hash::sha256;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// How long after its interruption a run knows which files it has enqueued.
const RESUMABLE: Duration = Duration::from_secs(366 * 24 * 3600);

/// The queue of one run over one directory; no other run's files are in it.
///
/// The queue itself says whether its run is over: until then it keeps all results, after that for
/// a day. It is a setting of the store's, changed in one step, so no kill falls in between.
#[derive(Debug)]
pub(crate) struct RunQueue {
    pub(crate) name: QueueName,
    /// If an earlier process began the run: how many of its jobs have ended.
    pub(crate) resumed: Option<u64>,
}

impl RunQueue {
    /// Takes up the run of this directory that did not end, or begins one.
    pub(crate) async fn open(client: &Client, root: &Path) -> Result<Self> {
        let directory = &sha256(root.as_os_str().as_encoded_bytes())[..16];
        let prefix = format!("checksum-{directory}-");
        let queues = client.queues().list().await?;
        let runs = queues.iter().filter(|queue| queue.name.as_str().starts_with(&prefix));
        let (unfinished, finished): (Vec<&Queue>, Vec<_>) = runs.partition(|run| keeps_all(run));
        if let Some(run) = unfinished.first() {
            return Ok(Self { name: run.name.clone(), resumed: Some(ended(run)) });
        }
        for run in finished {
            let results = HumanCount(ended(run));
            eprintln!("checksum: removing the {results} results of the run before");
            remove(client, &run.name).await?;
        }
        let name = format!("{prefix}{:016x}", RandomState::new().hash_one(0));
        let name = QueueName::new(name)?;
        let keep_all = Retention::default().done(Keep::ALL);
        let settings = QueuePatch::default().retention(keep_all).dedup_window(RESUMABLE);
        client.queues().configure(&name, &settings).await?;
        Ok(Self { name, resumed: None })
    }

    /// Says that the run is over: the next one of this directory starts afresh.
    pub(crate) async fn close(self, client: &Client) -> Result<()> {
        let done = Keep::ALL.max_age(DAY);
        let for_a_day = Retention::default().done(done);
        let settings = QueuePatch::default().retention(for_a_day);
        client.queues().configure(self.name, &settings).await?;
        Ok(())
    }
}

fn keeps_all(run: &Queue) -> bool {
    run.settings.retention.done == Keep::ALL
}

fn ended(run: &Queue) -> u64 {
    let ended = State::ALL.into_iter().filter(|state| state.is_terminal());
    ended.map(|state| run.counts.of_state(state).value).sum()
}

/// Removes what a finished run has left, unless another process is still at it.
async fn remove(client: &Client, queue: &QueueName) -> Result<()> {
    match client.queues().remove_with_jobs(queue).await {
        Err(error) if *error.kind() != ErrorKind::Conflict => Err(error.into()),
        _ => Ok(()),
    }
}

//! The queue of a run. The program finds an unfinished run by its queue.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::path::Path;
use std::time::Duration;

use indicatif::HumanCount;
use queuekit::queues::{Keep, Queue, QueuePatch, Retention};
use queuekit::{Client, ErrorKind, QueueName, State};

use super::Result;
use super::hash::sha256;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// How long after an interruption a run still knows which files it has enqueued.
const RESUMABLE: Duration = Duration::from_secs(366 * 24 * 3600);

/// The queue of one run over one directory. It holds the files of no other run.
///
/// The queue's retention says whether its run is over: until then the queue keeps all results, and
/// afterwards for a day. The store changes this setting in one step, so a kill cannot leave it half
/// changed.
#[derive(Debug)]
pub(crate) struct RunQueue {
    pub(crate) name: QueueName,
    /// How many jobs have ended, if an earlier process began the run.
    pub(crate) resumed: Option<u64>,
}

impl RunQueue {
    /// Continues the unfinished run of this directory, or begins one.
    pub(crate) async fn open(client: &Client, root: &Path) -> Result<Self> {
        let directory = &sha256(root.as_os_str().as_encoded_bytes())[..16];
        let prefix = format!("checksum-{directory}-");
        let page = client.queues().list(Some(&QueueName::new(&prefix)?), 100).await?;
        let runs = page.queues.iter().filter(|queue| queue.name.as_str().starts_with(&prefix));
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

    /// Marks the run as over: the next run of this directory begins anew.
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

/// Removes the queue of a finished run, unless another process still uses it.
async fn remove(client: &Client, queue: &QueueName) -> Result<()> {
    match client.queues().remove_with_jobs(queue).await {
        Err(error) if *error.kind() != ErrorKind::Conflict => Err(error.into()),
        _ => Ok(()),
    }
}

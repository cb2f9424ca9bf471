//! What the worker says of itself in its beats.

use std::cmp::Reverse;
use std::sync::Arc;

use queuekit_core::Clock;
use queuekit_core::capability::{About, Running};
use queuekit_core::limits::BEAT_JOBS;

use crate::run::run::Run;
use crate::state::shared::Shared;

/// Where Linux has the name of the machine.
const HOST_FILE: &str = "/proc/sys/kernel/hostname";

/// Its process, which stays the same.
pub(super) fn process(shared: &Shared) -> About {
    let about = About::default().with_host(&host()).with_pid(std::process::id());
    about.with_version(env!("CARGO_PKG_VERSION")).with_started_at(shared.started_at)
}

/// With the jobs that have run the longest, and the kinds that it could not read lately.
pub(super) fn now(about: &About, shared: &Shared) -> About {
    let runs = shared.registry.lock();
    let live = runs.iter().filter(|entry| !entry.returned).map(|entry| Arc::clone(&entry.run));
    let mut live: Vec<Arc<Run>> = live.collect();
    // The pump waits for this lock, so the sort is done without it.
    drop(runs);
    // So that a worker of very many slots sorts few.
    if live.len() > BEAT_JOBS {
        live.select_nth_unstable_by_key(BEAT_JOBS, |run| Reverse(run.running_for()));
        live.truncate(BEAT_JOBS);
    }
    live.sort_by_key(|run| Reverse(run.running_for()));
    let now = shared.clock.now();
    let running = |run: Arc<Run>| {
        // It may be rounded to a millisecond before.
        let since = now.minus(run.running_for()).max(shared.started_at);
        Running::new(run.lease.id(), run.lease.kind.clone(), since)
    };
    let about = about.clone().with_undecodable(shared.undecodable.lately(now));
    about.with_jobs(live.into_iter().map(running))
}

/// The name of the machine, where the system tells it.
fn host() -> String {
    let told = std::env::var("HOSTNAME").ok().filter(|host| !host.is_empty());
    let read = || std::fs::read_to_string(HOST_FILE).unwrap_or_default();
    told.unwrap_or_else(read).trim().to_owned()
}

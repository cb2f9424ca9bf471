//! The server of a store is killed and comes back, and nobody has to be started again.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use queuekit_conformance::time_limit::Stopwatch;
use queuekit_core::{Clock, SystemClock, Timestamp};

use super::kill::Stage;
use super::process::until;
use super::{Event, Journal, Process, Role, Scratch, Site, Verdict, runtime};

/// Workers carry on within this time after the server answers again.
const CARRIES_ON: Duration = Duration::from_secs(5);

/// A server that a store needs.
#[async_trait]
pub trait Server: Send {
    /// SIGKILL to all of it.
    fn kill(&mut self);

    /// Starts it again on what it stored; it answers when this returns.
    async fn restart(&mut self);
}

/// The result.
#[derive(Debug)]
struct Outages {
    verdict: Verdict,
    /// For each kill, how long it took from the server's first answer until every worker had
    /// completed a job.
    resumed: Vec<Duration>,
}

/// Kills the server under load, again and again, while processes enqueue and work; then lets
/// these finish, and judges. `test` is as for [`kill`](super::kill()); `server` is none in the
/// processes that it starts.
///
/// The long tier (`QUEUEKIT_TEST_LONG=1`) kills 20 times, the short one 3 times.
///
/// # Panics
/// If an accepted job is lost or another promise is broken, or if a worker does not carry on.
#[expect(clippy::print_stdout, reason = "figures are for reading")]
pub fn kill_server(site: &dyn Site, server: Option<&mut dyn Server>, test: &str) {
    if let Some(role) = Role::of_this_process() {
        return runtime().block_on(super::process_role::play(site, role));
    }
    let server = server.expect("the first process has the server");
    let scratch = Scratch::new();
    let runtime = runtime();
    let place = runtime.block_on(site.create(scratch.path()));
    let stage = Stage { site, test, journal: scratch.path().join("journal"), place };
    let kills = if super::is_long() { 20 } else { 3 };
    let outages = runtime.block_on(run(&stage, server, kills));
    runtime.block_on(site.dispose(&stage.place));
    println!("{test}:\n{outages}");
    outages.verdict.assert_faultless();
    assert_eq!(outages.resumed.len(), kills, "{outages}: the machine stood still too often");
}

async fn run(stage: &Stage<'_>, server: &mut dyn Server, kills: usize) -> Outages {
    let (store, processes) = stage.begin().await;
    let mut resumed = Vec::new();
    // One more for each that a machine that stood still has spoiled.
    for _ in 0..2 * kills {
        if resumed.len() == kills {
            break;
        }
        // Real processes in real time: the server dies at any moment of theirs.
        tokio::time::sleep(Duration::from_millis(fastrand::u64(300..1500))).await;
        server.kill();
        tokio::time::sleep(Duration::from_millis(fastrand::u64(..500))).await;
        server.restart().await;
        let watch = Stopwatch::start();
        let carried_on = until_they_work(stage, &processes);
        if watch.shows_time("every worker carries on", carried_on, CARRIES_ON) {
            resumed.push(carried_on);
        }
        stage.site.check(&stage.place).await;
    }
    let verdict = stage.end(store, processes, 0).await;
    Outages { verdict, resumed }
}

/// How long it takes until each worker has completed a job again.
fn until_they_work(stage: &Stage<'_>, processes: &[Process]) -> Duration {
    let workers = processes.iter().filter(|process| process.role().worker.is_some());
    let mut idle: BTreeSet<u32> = workers.map(Process::pid).collect();
    let begun = SystemClock::default().now();
    let read = std::fs::metadata(&stage.journal).map_or(0, |of| of.len());
    let read = usize::try_from(read).expect("a journal that can be read");
    let mut last = begun;
    until("every worker carries on", 4 * CARRIES_ON, || {
        for entry in Journal::read_after(&stage.journal, read).0 {
            let completed =
                matches!(&entry.event, Event::Settled(_, outcome) if outcome == "completed");
            if completed && entry.at >= begun && idle.remove(&entry.pid) {
                last = Timestamp::max(last, entry.at);
            }
        }
        idle.is_empty().then_some(())
    });
    last.since(begun)
}

impl fmt::Display for Outages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let worst = self.resumed.iter().max().copied().unwrap_or_default();
        let kills = self.resumed.len();
        writeln!(f, "{kills} kills of the server; workers carried on within {worst:?}")?;
        write!(f, "{}", self.verdict)
    }
}

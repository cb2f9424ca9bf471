//! The kill test: processes are killed and started again, and nothing is lost.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use queuekit_conformance::time_limit::measured;
use queuekit_core::limits::{FAILURES_KEPT, PAGE_JOBS};
use queuekit_core::{Backend, Job, JobFilter, JobId, PageSize, QueuePatch, State, StatusSet};

use super::call::queue;
use super::process::until;
use super::{
    Entry, Event, Journal, Process, Role, Run, RunId, Scratch, Site, TTL, Verdict, runtime,
};

/// Jobs that wait at most: enough to keep the workers busy, and few enough to be run in the end.
const PENDING: u64 = 200;
/// How long what has to happen may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// A job of a worker that was killed is leased again within this time and its ttl.
const RECOVERY: Duration = Duration::from_secs(2);

/// Kills processes that enqueue and processes that work, at random, and starts them again; then
/// lets them finish, and judges. `test` is the name of the test that calls this and does nothing
/// else, for the processes are started to run it.
///
/// The long tier (`QUEUEKIT_TEST_LONG=1`) kills 100 times, the short one 10 times.
///
/// # Panics
/// If a promise is broken.
#[expect(clippy::print_stdout, reason = "figures are for reading")]
pub fn kill(site: &dyn Site, test: &str) {
    if let Some(role) = Role::of_this_process() {
        return runtime().block_on(super::process_role::play(site, role));
    }
    measured("the recovery from a kill", TTL + RECOVERY, || {
        let scratch = Scratch::new();
        let runtime = runtime();
        let place = runtime.block_on(site.create(scratch.path()));
        let stage = Stage { site, test, journal: scratch.path().join("journal"), place };
        let kills = if super::is_long() { 100 } else { 10 };
        let verdict = runtime.block_on(stage.run(kills));
        runtime.block_on(site.dispose(&stage.place));
        println!("{test}:\n{verdict}");
        verdict.assert_faultless();
        assert_eq!((verdict.kills, verdict.early), (kills, 0), "{verdict}");
        verdict.worst_recovery()
    });
}

/// Processes open a new store at the same time, one of them is killed meanwhile, and the others
/// open it nevertheless; 5 times over, or 200 in the long tier. `test` as for [`kill`].
///
/// # Panics
/// If one does not open it, or it is damaged.
pub fn open_at_once(site: &dyn Site, test: &str) {
    if let Some(role) = Role::of_this_process() {
        return runtime().block_on(super::process_role::play(site, role));
    }
    let runtime = runtime();
    for _ in 0..if super::is_long() { 200 } else { 5 } {
        let scratch = Scratch::new();
        let place = runtime.block_on(site.create(scratch.path()));
        let stage = Stage { site, test, journal: scratch.path().join("journal"), place };
        let only_opens = |role: Role| Role { callers: 0, worker: None, ..role };
        let roles = stage.roles().into_iter().map(only_opens);
        let mut processes: Vec<Process> = roles.map(|role| stage.start(&role)).collect();
        std::thread::sleep(Duration::from_millis(fastrand::u64(..30)));
        let process = processes.swap_remove(fastrand::usize(..processes.len()));
        process.kill(&Journal::open(&stage.journal));
        finish(processes);
        runtime.block_on(site.check(&stage.place));
        runtime.block_on(site.dispose(&stage.place));
    }
}

pub(super) struct Stage<'a> {
    pub(super) site: &'a dyn Site,
    pub(super) test: &'a str,
    pub(super) journal: std::path::PathBuf,
    pub(super) place: String,
}

impl Stage<'_> {
    async fn run(&self, kills: usize) -> Verdict {
        let (store, mut processes) = self.begin().await;
        let journal = Journal::open(&self.journal);
        for _ in 0..kills {
            // Real processes in real time: the next one dies at any moment, its start included.
            std::thread::sleep(Duration::from_millis(fastrand::u64(20..600)));
            let process = processes.swap_remove(fastrand::usize(..processes.len()));
            let role = process.role().clone();
            process.kill(&journal);
            self.site.check(&self.place).await;
            processes.push(self.start(&role));
        }
        self.end(store, processes, kills).await
    }

    /// Opens the store and starts the processes; returns once one of them has begun to work.
    pub(super) async fn begin(&self) -> (Arc<dyn Backend>, Vec<Process>) {
        let store = self.site.open(&self.place).await;
        let patch = QueuePatch::default().max_pending(PENDING);
        let admin = store.capabilities().admin.expect("the store has Admin");
        admin.configure(&queue(), &patch).await.expect("configure");
        let processes = self.roles().iter().map(|role| self.start(role)).collect();
        self.until_they_work();
        (store, processes)
    }

    /// Lets all stored jobs run, and judges.
    pub(super) async fn end(
        &self,
        store: Arc<dyn Backend>,
        processes: Vec<Process>,
        kills: usize,
    ) -> Verdict {
        let (workers, producers) =
            processes.into_iter().partition::<Vec<_>, _>(|process| process.role().worker.is_some());
        finish(producers);
        drain(&*store, workers).await;
        self.site.check(&self.place).await;
        let (entries, torn) = Journal::read(&self.journal);
        assert!(torn <= kills, "{torn} torn lines by {kills} kills");
        let stored = stored(&*store, &entries).await;
        assert_errors_are_counted(&*store, &stored).await;
        let verdict = Verdict::of(&entries, &stored);
        store.close().await.expect("close");
        verdict
    }

    /// Two that enqueue and four that work, three of them under one name.
    fn roles(&self) -> Vec<Role> {
        let role = |name: &str, callers, worker: Option<&str>| Role {
            name: name.to_owned(),
            callers,
            worker: worker.map(str::to_owned),
            slots: 16,
            runs_for: None,
            place: self.place.clone(),
            journal: self.journal.clone(),
        };
        vec![
            role("producer-a", 4, None),
            role("producer-b", 4, None),
            role("worker-a", 0, Some("twin")),
            role("worker-b", 0, Some("twin")),
            role("worker-c", 0, Some("twin")),
            role("worker-d", 0, Some("single")),
        ]
    }

    pub(super) fn start(&self, role: &Role) -> Process {
        Process::start(self.test, role, &[])
    }

    fn until_they_work(&self) {
        until("a job runs", PATIENCE, || {
            let text = std::fs::read_to_string(&self.journal).unwrap_or_default();
            text.contains("Started").then_some(())
        });
    }
}

/// Lets processes end, all at once.
pub(super) fn finish(processes: Vec<Process>) {
    let ends = processes.into_iter().map(|process| std::thread::spawn(|| process.finish()));
    for end in ends.collect::<Vec<_>>() {
        let status = end.join().expect("a process ends");
        assert!(status.success(), "a process that was not killed failed: {status}");
    }
}

/// Lets workers run all stored jobs, then end.
pub(super) async fn drain(store: &dyn Backend, workers: Vec<Process>) {
    let unfinished = StatusSet::from(State::Pending).union(State::Running.into());
    let filter = JobFilter::default().queue(queue()).status(unfinished).limit(1);
    let look = async {
        while !store.list_jobs(&filter).await.expect("list_jobs").items.is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, look).await.expect("in the end every job has ended");
    finish(workers);
}

/// Each failure was counted by the step that recorded it (R8.4, R8.5), whatever was killed
/// meanwhile.
pub(super) async fn assert_errors_are_counted(store: &dyn Backend, jobs: &BTreeMap<JobId, Job>) {
    let Some(errors) = store.capabilities().errors else { return };
    // Of a job with more, some were forgotten.
    if jobs.values().any(|job| job.errors.len() == FAILURES_KEPT) {
        return;
    }
    let all = PageSize::new(PAGE_JOBS).expect("a size");
    let groups = errors.list_error_groups(&[queue()], all).await.expect("list_error_groups");
    let counted: u64 = groups.iter().map(|group| group.failures).sum();
    let recorded: usize = jobs.values().map(|job| job.errors.len()).sum();
    assert_eq!(counted, recorded as u64, "failures of {} jobs: {groups:?}", jobs.len());
    let found = store.find_queues(&[queue()]).await.expect("find_queues");
    let total = found.first().map(|found| found.totals.failed);
    assert_eq!(total, Some(recorded as u64), "failures of {} jobs in the totals", jobs.len());
}

/// The stored records of the jobs in the journal.
pub(super) async fn stored(store: &dyn Backend, entries: &[Entry]) -> BTreeMap<JobId, Job> {
    let mut jobs = BTreeMap::new();
    for entry in entries {
        let (Event::Accepted(_, id) | Event::Started(Run { id: RunId { job: id, .. }, .. })) =
            &entry.event
        else {
            continue;
        };
        if !jobs.contains_key(id)
            && let Some(job) = store.get_job(*id).await.expect("get_job")
        {
            jobs.insert(*id, job);
        }
    }
    jobs
}

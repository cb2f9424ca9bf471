//! The pause test: a worker's process is stopped for longer than its leases last, and continued.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use queuekit_conformance::time_limit::measured;
use queuekit_core::{Client, Job, JobId};

use super::history::{History, Moment, RunTold};
use super::kill::{Stage, drain, stored};
use super::process::until;
use super::{Call, Entry, Event, Journal, Process, Role, Scratch, Site, TTL, Verdict, runtime};

/// Long enough to be stopped in the middle of, and less than a ttl.
const RUN: Duration = Duration::from_millis(900);
/// Jobs that the worker holds when it stops. They are all it has slots for, so that it asks the
/// store for nothing meanwhile: a process that stops inside of a transaction of SQLite keeps the
/// file to itself.
const HELD: usize = 4;
/// Enqueue calls before the stop; one in four is a batch, one has an idempotency key, one a
/// partition key.
const CALLS: u64 = 4;
/// The jobs of a stopped worker are leased again within this time and their ttl.
const RECOVERY: Duration = Duration::from_secs(2);
/// How long what has to happen may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Stops a worker (SIGSTOP) that runs jobs, lets another one take them over, and lets the first
/// continue (SIGCONT): what it ran is fenced, it knows, and it works on. `test` is the name of the
/// test that calls this and does nothing else, for the processes are started to run it.
///
/// The long tier (`QUEUEKIT_TEST_LONG=1`) stops 20 workers, the short one a single one.
///
/// # Panics
/// If a promise is broken.
#[expect(clippy::print_stdout, reason = "figures are for reading")]
pub fn pause(site: &dyn Site, test: &str) {
    if let Some(role) = Role::of_this_process() {
        return runtime().block_on(super::process_role::play(site, role));
    }
    measured("the takeover from a stopped worker", TTL + RECOVERY, || {
        let scratch = Scratch::new();
        let runtime = runtime();
        let place = runtime.block_on(site.create(scratch.path()));
        let stage = Stage { site, test, journal: scratch.path().join("journal"), place };
        let rounds = if super::is_long() { 20 } else { 1 };
        let figures = runtime.block_on(run(&stage, rounds));
        runtime.block_on(site.dispose(&stage.place));
        println!("{test}:\n{figures}");
        figures.verdict.assert_faultless();
        assert!(figures.faults.is_empty(), "{figures}\n{:#?}", figures.faults);
        assert_eq!((figures.stops, figures.verdict.early), (rounds, 0), "{figures}");
        assert!(figures.taken_over.len() >= rounds, "{figures}");
        figures.worst()
    });
}

async fn run(stage: &Stage<'_>, rounds: usize) -> Figures {
    let store = stage.site.open(&stage.place).await;
    let journal = Journal::open(&stage.journal);
    let client = Client::shared(Arc::clone(&store));
    let mut calls = 0;
    for _ in 0..rounds {
        let jobs = enqueue(&client, &journal, &mut calls).await;
        let stopped = stage.start(&role(stage, "stopped", HELD));
        until_it_runs(stage, &stopped, HELD);
        // Real processes in real time: they stop at any moment of their runs.
        tokio::time::sleep(Duration::from_millis(fastrand::u64(..200))).await;
        stopped.stop(&journal);
        let other = stage.start(&role(stage, "other", 16));
        // This includes the jobs that the first process held: it resumes while these run.
        // On a busy machine the stop may come after the end of a run.
        until_it_runs(stage, &other, jobs - ended(stage, &stopped));
        stage.site.check(&stage.place).await;
        stopped.go_on(&journal);
        drain(&*store, vec![other]).await;
        // Nobody else is left: it works on.
        enqueue(&client, &journal, &mut calls).await;
        drain(&*store, vec![stopped]).await;
    }
    stage.site.check(&stage.place).await;
    let (entries, torn) = Journal::read(&stage.journal);
    assert_eq!(torn, 0, "no process was killed, so no journal entry should be torn");
    let stored = stored(&*store, &entries).await;
    store.close().await.expect("close");
    let mut figures = Figures { verdict: Verdict::of(&entries, &stored), ..Figures::default() };
    figures.judge(&entries, &stored);
    figures
}

fn role(stage: &Stage<'_>, name: &str, slots: usize) -> Role {
    Role {
        name: name.to_owned(),
        callers: 0,
        worker: Some(name.to_owned()),
        slots,
        runs_for: Some(RUN),
        place: stage.place.clone(),
        journal: stage.journal.clone(),
    }
}

/// How many jobs were stored.
async fn enqueue(client: &Client, journal: &Journal, calls: &mut u64) -> usize {
    let mut stored = 0;
    for _ in 0..CALLS {
        let call = Call { caller: "test".to_owned(), number: *calls };
        *calls += 1;
        let jobs = call.enqueue(client).await.expect("enqueue");
        stored += jobs.len();
        let accepted = jobs.into_iter().map(|job| Event::Accepted(call.clone(), job));
        journal.tell_of(std::process::id(), accepted);
    }
    stored
}

fn until_it_runs(stage: &Stage<'_>, process: &Process, jobs: usize) {
    until("the expected number of jobs runs", PATIENCE, || {
        let runs = told(stage, process, |event| matches!(event, Event::Started(_)));
        (runs >= jobs).then_some(())
    });
}

/// How many runs of a process have ended.
fn ended(stage: &Stage<'_>, process: &Process) -> usize {
    told(stage, process, |event| matches!(event, Event::Ended(_)))
}

/// How many such events a process has told.
fn told(stage: &Stage<'_>, process: &Process, is_one: impl Fn(&Event) -> bool) -> usize {
    let (entries, _) = Journal::read(&stage.journal);
    entries.iter().filter(|entry| entry.pid == process.pid() && is_one(&entry.event)).count()
}

/// The result.
#[derive(Debug, Default)]
struct Figures {
    verdict: Verdict,
    stops: usize,
    /// For each run that a stop held and that was run again, the time from the stop to that.
    taken_over: Vec<Duration>,
    /// Runs whose ack was on its way when their process stopped, and took effect.
    acked: usize,
    /// Leases lost, as the workers count them, too.
    lost: usize,
    /// Jobs that a worker completed after it continued.
    after: usize,
    faults: Vec<String>,
}

impl Figures {
    /// The longest time until a run that a stop held was run again.
    fn worst(&self) -> Duration {
        self.taken_over.iter().max().copied().unwrap_or_default()
    }

    fn judge(&mut self, entries: &[Entry], stored: &BTreeMap<JobId, Job>) {
        let history = History::of(entries);
        for (line, entry) in entries.iter().enumerate() {
            if entry.event == Event::Stopped {
                let stop = Moment { line, at: entry.at };
                self.judge_stop(entry.pid, stop, entries, &history, stored);
            }
        }
    }

    fn judge_stop(
        &mut self,
        pid: u32,
        stop: Moment,
        entries: &[Entry],
        history: &History,
        stored: &BTreeMap<JobId, Job>,
    ) {
        self.stops += 1;
        let went_on = entries.iter().position(|e| e.pid == pid && e.event == Event::Continued);
        let went_on = went_on.expect("the stopped process should continue");
        let completed_after = |run: &&RunTold| {
            run.pid == pid && run.started.line > went_on && run.completed().is_some()
        };
        let after = history.runs().filter(completed_after).count();
        if after == 0 {
            self.faults.push(format!("{pid} ran nothing after it went on"));
        }
        self.after += after;
        // A lease that could not be extended in time counts as lost to its handler, and holds if
        // its ack arrives before anybody reclaims it.
        let is_lost =
            |run: &&RunTold| run.pid == pid && run.lease_lost && run.completed().is_none();
        let lost = history.runs().filter(is_lost).count();
        let counted = entries.iter().filter(|entry| entry.pid == pid).find_map(|entry| {
            if let Event::LeasesLost(count) = entry.event { Some(count) } else { None }
        });
        if counted != u64::try_from(lost).ok() {
            self.faults.push(format!("{pid} lost {lost} leases and counted {counted:?}"));
        }
        self.lost += lost;
        for told in history.jobs.values() {
            for (at, run) in told.runs.iter().enumerate().filter(|(_, run)| run.pid == pid) {
                let open = run.settled.is_none_or(|(line, _)| line > stop.line);
                if run.started.line < stop.line && open {
                    let later = &told.runs[at + 1..];
                    self.judge_run(run, later, stop, went_on, &stored[&run.job()]);
                }
            }
        }
    }

    /// Either its ack had arrived, and it is the only run; or another worker has run the job
    /// meanwhile, and the job's record has a run under a later lease.
    fn judge_run(
        &mut self,
        run: &RunTold,
        later: &[RunTold],
        stop: Moment,
        went_on: usize,
        job: &Job,
    ) {
        let what = || format!("{run:?}, then {later:?}; {job:?}");
        let (Some(next), Some(last)) = (later.first(), later.last()) else {
            let its_own = run.completed().is_some() && job.lease_seq == run.lease_seq();
            self.acked += usize::from(its_own);
            if !its_own {
                self.faults.push(format!("nobody took it over: {}", what()));
            }
            return;
        };
        self.taken_over.push(next.started.at.since(stop.at));
        let meanwhile = next.pid != run.pid && (stop.line..went_on).contains(&next.started.line);
        let expired = job.errors.iter().any(|failure| {
            failure.lease_seq == run.lease_seq() && failure.error.as_str() == "lease expired"
        });
        let fenced = run.lease_lost && run.completed().is_none();
        let once = last.completed().is_some() && job.lease_seq == last.lease_seq();
        if !(meanwhile && expired && fenced && once) {
            let why = format!("meanwhile {meanwhile}, expired {expired}, fenced {fenced}");
            self.faults.push(format!("{why}, ended once {once}: {}", what()));
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let worst = self.worst();
        writeln!(
            f,
            "stops: {}, runs taken over: {} within {worst:?}, acked before: {}, leases lost: {}, \
             completed after it went on: {}",
            self.stops,
            self.taken_over.len(),
            self.acked,
            self.lost,
            self.after
        )?;
        write!(f, "{}", self.verdict)
    }
}

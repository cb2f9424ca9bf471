//! The judge sees what it is there to see.

use queuekit_core::{Failure, Kind, QueueName, Timestamp, WorkerId};

use super::*;
use crate::crash::{Call, Event, Run, RunId};

const PID: u32 = 7;

/// A journal and a store, written by hand.
#[derive(Default)]
struct Story {
    entries: Vec<Entry>,
    stored: BTreeMap<JobId, Job>,
}

impl Story {
    /// A call of this number that is accepted, and whose job is stored as completed by its
    /// `leases`-th lease, each one before it having expired.
    fn job(&mut self, number: u64, leases: u64) -> JobId {
        let queue = QueueName::default();
        let id = JobId::generate(&queue, Timestamp::default());
        let mut job = Job::pending(id, queue, Kind::new("crash").unwrap(), Timestamp::default());
        job.state = State::Completed;
        job.lease_seq = leases;
        job.result = Some(leases.to_string().into());
        job.attempts = u32::try_from(leases).unwrap();
        job.errors = (1..leases).map(failure).collect();
        self.stored.insert(id, job);
        self.tell(Event::Accepted(call(number), id));
        id
    }

    fn tell(&mut self, event: Event) {
        self.tell_of(PID, event);
    }

    fn tell_of(&mut self, pid: u32, event: Event) {
        let at = Timestamp::from_millis(i64::try_from(self.entries.len()).unwrap() * 100);
        self.entries.push(Entry { at, pid, event });
    }

    fn start(&mut self, job: JobId, lease_seq: u64, number: u64) -> RunId {
        self.start_in(PID, job, lease_seq, number)
    }

    fn start_in(&mut self, pid: u32, job: JobId, lease_seq: u64, number: u64) -> RunId {
        let id = RunId { job, lease_seq };
        let worker = WorkerId::new(format!("worker-{pid}")).unwrap();
        let run = Run { id, attempt: 1, worker, call: call(number) };
        self.tell_of(pid, Event::Started(run));
        id
    }

    fn end(&mut self, id: RunId) {
        self.tell(Event::Ended(id));
        self.tell(Event::Settled(id, "completed".to_owned()));
    }

    fn verdict(&self) -> Verdict {
        Verdict::of(&self.entries, &self.stored)
    }

    fn faults(&self) -> Vec<Fault> {
        self.verdict().faults.into_iter().map(|(fault, _)| fault).collect()
    }
}

fn call(number: u64) -> Call {
    Call { caller: "caller".to_owned(), number }
}

fn failure(lease_seq: u64) -> Failure {
    let (at, error) = (Timestamp::from_millis(60_000), "lease expired".into());
    Failure { attempt: 1, lease_seq, at, started_at: None, worker: None, error }
}

#[test]
fn a_job_that_runs_once_is_no_fault() {
    let mut story = Story::default();
    let job = story.job(0, 1);
    let run = story.start(job, 1, 0);
    story.end(run);
    story.verdict().assert_faultless();
}

#[test]
fn a_job_that_is_gone_or_did_not_complete_is_lost() {
    let mut story = Story::default();
    let (gone, waits) = (story.job(0, 1), story.job(4, 0));
    story.stored.remove(&gone);
    story.stored.get_mut(&waits).unwrap().state = State::Pending;
    assert_eq!(story.faults(), [Fault::Lost, Fault::Lost]);
}

#[test]
fn a_run_after_a_kill_is_explained_and_measured() {
    let mut story = Story::default();
    let job = story.job(0, 2);
    story.start_in(8, job, 1, 0);
    story.tell_of(8, Event::Killed);
    let run = story.start(job, 2, 0);
    story.end(run);
    let verdict = story.verdict();
    verdict.assert_faultless();
    assert_eq!((verdict.kills, verdict.repeats_after_kill), (1, 1));
    assert_eq!(verdict.recoveries, [Duration::from_millis(100)]);
}

#[test]
fn a_run_whose_predecessor_did_not_fail_is_unexplained() {
    let mut story = Story::default();
    let job = story.job(0, 2);
    story.stored.get_mut(&job).unwrap().errors.clear();
    story.start(job, 1, 0);
    let run = story.start(job, 2, 0);
    story.end(run);
    assert_eq!(story.faults(), [Fault::Unexplained]);
    // A release explains it, and is no attempt.
    story.stored.get_mut(&job).unwrap().releases = 1;
    assert_eq!(story.faults(), [Fault::Record]);
    story.stored.get_mut(&job).unwrap().attempts = 1;
    story.verdict().assert_faultless();
}

#[test]
fn a_lease_that_is_taken_back_early_is_counted() {
    let mut story = Story::default();
    let job = story.job(0, 2);
    let first = story.start(job, 1, 0);
    let began = story.entries[1].at;
    story.stored.get_mut(&job).unwrap().errors[0].at = began + TTL / 3;
    story.tell(Event::Ended(first));
    let run = story.start(job, 2, 0);
    story.end(run);
    assert_eq!(story.verdict().early, 1);
}

#[test]
fn two_runs_under_one_lease_are_unexplained() {
    let mut story = Story::default();
    let job = story.job(0, 1);
    story.start_in(8, job, 1, 0);
    story.tell_of(8, Event::Killed);
    let run = story.start(job, 1, 0);
    story.end(run);
    assert_eq!(story.faults(), [Fault::Unexplained]);
}

#[test]
fn a_run_after_completion_is_unexplained_and_one_before_it_overlaps() {
    for (late, fault) in [(false, Fault::Unexplained), (true, Fault::Overlap)] {
        let mut story = Story::default();
        let job = story.job(0, 2);
        let first = story.start(job, 1, 0);
        if !late {
            story.end(first);
        }
        let second = story.start(job, 2, 0);
        if late {
            story.end(first);
        }
        story.end(second);
        assert_eq!(story.faults(), [fault]);
    }
}

#[test]
fn runs_of_one_key_must_not_overlap_and_keep_their_order() {
    let mut story = Story::default();
    let (first, second) = (story.job(2, 1), story.job(6, 1));
    let later = story.start(second, 1, 6);
    let sooner = story.start(first, 1, 2);
    story.end(sooner);
    story.end(later);
    assert_eq!(story.faults(), [Fault::Overlap, Fault::Order]);
}

#[test]
fn a_run_that_outlives_its_lease_is_no_overlap() {
    let mut story = Story::default();
    let (first, second) = (story.job(2, 2), story.job(6, 1));
    let stuck = story.start(first, 1, 2);
    let again = story.start_in(8, first, 2, 2);
    story.tell_of(8, Event::Ended(again));
    story.start(second, 1, 6);
    story.tell(Event::Ended(stuck));
    let verdict = story.verdict();
    verdict.assert_faultless();
    assert_eq!((verdict.repeats_otherwise, verdict.outlived_leases), (1, 1));
}

#[test]
fn two_jobs_of_one_key_are_one_too_many() {
    let mut story = Story::default();
    for _ in 0..2 {
        let job = story.job(1, 1);
        let run = story.start(job, 1, 1);
        story.end(run);
    }
    assert_eq!(story.faults(), [Fault::Doubled]);
}

#[test]
fn a_record_must_fit_its_runs() {
    let mut story = Story::default();
    let (miscounted, unseen) = (story.job(0, 1), story.job(4, 1));
    let run = story.start(miscounted, 1, 0);
    story.end(run);
    story.stored.get_mut(&miscounted).unwrap().attempts = 2;
    assert!(story.stored.contains_key(&unseen));
    assert_eq!(story.faults(), [Fault::Record, Fault::Record]);
}

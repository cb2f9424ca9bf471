//! Runs the conformance suite on this store.
#![allow(clippy::expect_used, reason = "a test that fails panics")]

use std::sync::Arc;
use std::time::Duration;

use queuekit_conformance::{Capability, Expect, Harness, World, conformance, worker_suite};
use queuekit_core::capability::{Leases, Report};
use queuekit_core::{
    Ack, AckOutcome, Backend, BackendExt, Clock, JobDraft, LeaseTtl, Limits, ManualClock, Nack,
    NackKind, OffsetClock, Progress, QueueName, Reserve, WorkerId, async_trait,
};
use queuekit_store_json::JsonStore;
use tempfile::TempDir;

/// Opens stores whose clock stands still.
struct JsonHarness;

/// Opens stores whose clock runs: a worker extends its leases in real time.
struct LiveJsonHarness;

type Advance = Box<dyn Fn(Duration) + Send + Sync>;

struct JsonWorld {
    store: Arc<dyn Backend>,
    advance: Advance,
    clock_stands: bool,
    directory: TempDir,
}

impl JsonWorld {
    fn open(clock: impl Clock, clock_stands: bool, advance: Advance) -> Arc<dyn World> {
        let directory = tempfile::tempdir().expect("a directory");
        // Every call writes the whole file, so cases that reach a limit take a while.
        let limits = Limits::default().with_queues(100).with_workers(30);
        let store = JsonStore::with(directory.path().join("jobs.json"), clock, limits);
        let store = Arc::new(store.expect("it opens"));
        Arc::new(Self { store, advance, clock_stands, directory })
    }
}

#[async_trait]
impl Harness for JsonHarness {
    async fn open(&self) -> Arc<dyn World> {
        let clock = ManualClock::default();
        JsonWorld::open(clock.clone(), true, Box::new(move |by| clock.advance(by)))
    }
}

#[async_trait]
impl Harness for LiveJsonHarness {
    async fn open(&self) -> Arc<dyn World> {
        let clock = OffsetClock::default();
        JsonWorld::open(clock.clone(), false, Box::new(move |by| clock.advance(by)))
    }
}

#[async_trait]
impl World for JsonWorld {
    fn expect(&self) -> Expect {
        Expect {
            capabilities: &[Capability::Leases, Capability::Admin],
            clock_stands: self.clock_stands,
            raw_dump: true,
            atomic_across_queues: true,
            ..Expect::TEN_OPERATIONS
        }
    }

    fn backend(&self) -> &Arc<dyn Backend> {
        &self.store
    }

    async fn advance(&self, by: Duration) {
        (self.advance)(by);
    }

    async fn raw_dump(&self) -> Option<Vec<String>> {
        let file = self.directory.path().join("jobs.json");
        Some(vec![std::fs::read_to_string(file).unwrap_or_default()])
    }
}

conformance!(conformance, JsonHarness);
worker_suite!(worker, LiveJsonHarness);

/// The suite opens each store once, so this test checks that jobs outlive the handle.
#[tokio::test]
async fn a_file_that_is_opened_again_has_its_jobs() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("jobs.json");
    let open = || JsonStore::with(&file, ManualClock::default(), Limits::default());
    let first = open().expect("it opens");
    let id = first.enqueue_one(JobDraft::new("work", &b"\xff\0"[..]).build().expect("a job"));
    let id = id.await.expect("enqueue");
    let worker = WorkerId::new("w").expect("a name");
    let request = Reserve::new(QueueName::default(), 1, LeaseTtl::default(), worker);
    let request = request.expect("a nonce");
    let lease = first.reserve(&request).await.expect("reserve").leases.remove(0);
    let (progress, lines) = (Some(Progress::new(0.5, "half")), vec!["a line".to_owned()]);
    let report = Report::new(lease.token.clone(), progress, lines);
    let _ = first.report(&[report]).await.expect("report");
    let failed = Nack::new(lease.token, NackKind::Retry, "it went wrong", Duration::ZERO);
    let _ = first.nack(&[failed]).await.expect("nack");
    let lease = first.reserve(&request).await.expect("reserve").leases.remove(0);
    let stored = first.get_job(id).await.expect("get_job");
    assert!(stored.as_ref().is_some_and(|job| job.errors.len() == 1 && job.logs.len() == 1));

    open().expect_err("another handle has it open");
    drop(first);
    let again = open().expect("it opens again");
    assert_eq!(again.get_job(id).await.expect("get_job"), stored);
    let acked = again.ack(&[Ack::new(lease.token).with_result(&b"\xfe"[..])]).await.expect("ack");
    assert_eq!(acked, [AckOutcome::Acked], "the lease outlives the handle, too");
}

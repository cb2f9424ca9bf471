//! The suite through shared stores and through wrappers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use queuekit_conformance::{
    CASES, Capability, CaseInfo, Expect, Layer, Layered, MemoryHarness, OPERATIONS, Verdict,
    Wrapped, conformance, run_all, run_case,
};
use queuekit_core::capability::Durability;
use queuekit_core::memory::MemoryStore;
use queuekit_core::{Backend, Capabilities, Limits};

/// A shared store, shared again.
fn twice_shared() -> Layered {
    Layered::new(MemoryHarness, |store| Arc::new(store) as Arc<dyn Backend>)
}

type Counts = Arc<Mutex<BTreeMap<&'static str, usize>>>;

/// Counts the calls of each operation.
#[derive(Debug)]
struct Counting {
    inner: Arc<dyn Backend>,
    counts: Counts,
}

impl Layer for Counting {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.inner
    }

    fn called(&self, operation: &'static str) {
        *self.counts.lock().expect("the lock").entry(operation).or_default() += 1;
    }
}

/// Shows the ten operations and these capabilities.
#[derive(Debug)]
struct Only {
    inner: Arc<dyn Backend>,
    shown: Vec<Capability>,
}

impl Layer for Only {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.inner
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let mut shown = self.inner.capabilities();
        for hidden in Capability::ALL.iter().filter(|capability| !self.shown.contains(capability)) {
            match hidden {
                Capability::Leases => shown.leases = None,
                Capability::Checkpoints => shown.checkpoints = None,
                Capability::Wakeups => shown.wakeups = None,
                Capability::Upkeep => shown.upkeep = None,
                Capability::Exchange => shown.exchange = None,
                Capability::Admin => shown.admin = None,
                Capability::Inspect => shown.inspect = None,
                Capability::Migrations => shown.migrations = None,
                Capability::Schedules => shown.schedules = None,
                Capability::Outbox => shown.outbox = None,
                Capability::Audit => shown.audit = None,
                Capability::Errors => shown.errors = None,
                Capability::History => shown.history = None,
                Capability::Control => shown.control = None,
            }
        }
        shown
    }
}

/// A store with these capabilities and no other.
fn only(capabilities: &'static [Capability]) -> Layered {
    stating(capabilities, capabilities.to_vec())
}

/// One whose harness states these capabilities, and that shows those.
fn stating(capabilities: &'static [Capability], shown: Vec<Capability>) -> Layered {
    let expect = Expect {
        capabilities,
        can_corrupt: true,
        can_rewind: true,
        clock_stands: true,
        atomic_across_queues: true,
        durability: Some(Durability::Nothing),
        ..Expect::TEN_OPERATIONS
    };
    Layered::new(MemoryHarness, move |inner| {
        Arc::new(Wrapped(Only { inner, shown: shown.clone() })) as Arc<dyn Backend>
    })
    .expecting(expect)
}

conformance!(shared, twice_shared());
conformance!(ten_operations, only(&[]));
conformance!(for_a_worker, only(&[Capability::Leases]));

/// Every case passes through the wrapper, and every operation came through it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_operation_passes_through_a_wrapper() {
    let counts = Counts::default();
    let counted = Arc::clone(&counts);
    let harness = Layered::new(MemoryHarness, move |inner| {
        let counts = Arc::clone(&counted);
        Arc::new(Wrapped(Counting { inner, counts })) as Arc<dyn Backend>
    });
    let report = run_all(&harness).await;
    assert_eq!(report.failures().collect::<Vec<_>>(), []);
    assert_eq!(report.passed() + report.skipped(), CASES.len());
    let counts = counts.lock().expect("the lock");
    for operation in OPERATIONS {
        assert!(counts.get(operation).is_some_and(|calls| *calls > 0), "{operation}: no call");
    }
}

/// Two calls at once and low limits, which only a remote store has otherwise.
#[derive(Debug)]
struct Remote(Arc<dyn Backend>);

impl Layer for Remote {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.0
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let mut shown = self.0.capabilities();
        shown.calls_at_once = 2;
        shown.limits = Limits::default().with_enqueue_jobs(7).with_queues(3);
        shown.atomic_across_queues = false;
        shown
    }
}

/// A wrapper shows what is no operation as the store does: a worker behind it must have as many
/// calls under way, and clients must make batches that the store takes.
#[test]
fn a_wrapper_tells_what_the_store_says_of_itself() {
    let store = Arc::new(MemoryStore::default()) as Arc<dyn Backend>;
    let plain = Wrapped(Remote(Arc::clone(&store)));
    let wrapped =
        Wrapped(Counting { inner: Arc::new(Wrapped(Remote(store))), counts: Counts::default() });
    for shown in [plain.capabilities(), wrapped.capabilities()] {
        assert_eq!((shown.calls_at_once, shown.atomic_across_queues), (2, false));
        assert_eq!((shown.limits.enqueue_jobs(), shown.limits.queues()), (7, 3));
    }
}

/// A case whose capability a store lacks is skipped, counted as that, and says what it needs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_says_what_skipped_cases_need() {
    let report = run_all(&only(&[Capability::Leases])).await;
    assert_eq!(report.failures().collect::<Vec<_>>(), []);
    let others = |case: &&CaseInfo| case.capabilities.iter().any(|it| *it != Capability::Leases);
    let lacking = CASES.iter().filter(others).count();
    assert!(report.skipped() >= lacking && report.passed() > 0);
    assert_eq!(report.passed() + report.skipped(), CASES.len());
    let name = "r6_4_a_waiting_job_is_rescheduled";
    let (_, verdict) = report.verdicts.iter().find(|(each, _)| *each == name).expect("the case");
    let why = "needs Admin, not among the harness's `Expect::capabilities`";
    assert_eq!(*verdict, Verdict::Skipped(why.to_owned()));
}

/// A case states the capabilities that it needs: it passes with these, and calls each.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_case_needs_the_capabilities_it_states_and_no_other() {
    let mut wrong = Vec::new();
    for case in CASES {
        if let Verdict::Failed(why) = run_case(&only(case.capabilities), case).await {
            wrong.push(format!("{} needs more: {why}", case.name));
        }
        for left in case.capabilities {
            let fewer = case.capabilities.iter().copied().filter(|it| it != left).collect();
            if run_case(&stating(case.capabilities, fewer), case).await == Verdict::Passed {
                wrong.push(format!("{} passes without {left:?}", case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

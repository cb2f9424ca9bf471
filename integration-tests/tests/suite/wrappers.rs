//! The suite through shared stores and through wrappers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use queuekit_core::{Backend, Capabilities};
use queuekit_integration_tests::{
    CASE_TIMEOUT, CASES, Expect, Layer, Layered, Level, MemoryHarness, OPERATIONS, Wrapped,
    conformance, run_all,
};

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

/// Shows the ten operations and nothing else.
#[derive(Debug)]
struct Core(Arc<dyn Backend>);

impl Layer for Core {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.0
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities::default()
    }
}

fn core_only() -> Layered {
    let expect = Expect { can_corrupt: true, can_rewind: true, clock_stands: true, ..Expect::CORE };
    let wrap = |inner| Arc::new(Wrapped(Core(inner))) as Arc<dyn Backend>;
    Layered::new(MemoryHarness, wrap).expecting(expect)
}

conformance!(shared, twice_shared(), full);
conformance!(core, core_only(), core);

/// Every case passes through the wrapper, and every operation came through it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_operation_passes_through_a_wrapper() {
    let counts = Counts::default();
    let counted = Arc::clone(&counts);
    let harness = Layered::new(MemoryHarness, move |inner| {
        let counts = Arc::clone(&counted);
        Arc::new(Wrapped(Counting { inner, counts })) as Arc<dyn Backend>
    });
    let report = run_all(&harness, CASE_TIMEOUT).await;
    assert_eq!(report.failures().collect::<Vec<_>>(), []);
    assert_eq!(report.passed() + report.skipped(), CASES.len());
    let counts = counts.lock().expect("the lock");
    for operation in OPERATIONS {
        assert!(counts.get(operation).is_some_and(|calls| *calls > 0), "{operation}: no call");
    }
}

/// At level core the cases of the capabilities are skipped, and counted as that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_counts_what_was_skipped() {
    let report = run_all(&core_only(), CASE_TIMEOUT).await;
    assert_eq!(report.failures().collect::<Vec<_>>(), []);
    let full = CASES.iter().filter(|case| case.level == Level::Full).count();
    assert!(report.skipped() >= full && report.passed() > 0);
    assert_eq!(report.passed() + report.skipped(), CASES.len());
}

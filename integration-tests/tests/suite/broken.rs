//! The test of the tests: every store that breaks a rule fails the suite.

#![expect(clippy::print_stdout, reason = "which cases caught what is worth reading")]

use std::time::Duration;

use queuekit_conformance::broken::{BROKEN, BrokenStore};
use queuekit_conformance::{CASES, Layered, MemoryHarness, Verdict, run_case};

/// A case that hangs in a broken store has caught it.
const LIMIT: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_broken_store_fails() {
    let mut survivors = Vec::new();
    for broken in BROKEN {
        if !is_caught(broken).await {
            survivors.push(broken.name);
        }
    }
    assert_eq!(survivors, Vec::<&str>::new(), "no case of the rule failed");
    println!("broken stores: {0}, caught: {0}", BROKEN.len());
}

/// Beside its assertion, a failure says what was promised, what keeps it and where the rule is.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_failure_says_what_was_promised() {
    let broken = BROKEN.iter().find(|broken| broken.rule == "R3.5").expect("the broken store");
    let case = CASES.iter().find(|case| case.name == "r3_5_an_unknown_job_leaves_no_trace");
    let case = case.expect("the case");
    let verdict = run_case(&Layered::new(MemoryHarness, broken.wrap), case).await;
    let Verdict::Failed(told) = verdict else { panic!("{verdict:?}") };
    println!("{told}");
    for part in ["R3.5: ", "What keeps it in a store: ", "docs/semantics.md#r3-ack-and-the-fence"] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

/// Whether a case of the rule that it breaks fails; prints which.
async fn is_caught(broken: &BrokenStore) -> bool {
    let store = Layered::new(MemoryHarness, broken.wrap).case_timeout(LIMIT);
    let mut caught_by = Vec::new();
    for case in CASES.iter().filter(|case| case.rule() == broken.rule) {
        if let Verdict::Failed(_) = run_case(&store, case).await {
            caught_by.push(case.name);
        }
    }
    println!("{} ({}): caught by {}", broken.name, broken.rule, caught_by.join(", "));
    !caught_by.is_empty()
}

//! Limits that the suite's store does not have, and calls that need no file.

use std::time::Duration;

use crate::common::files::{File, Open, add, lease};
use queuekit_conformance::kit::{
    assert_answers_empty_batches, assert_keeps_the_largest_payload, build, draft, kind_of,
};
use queuekit_core::capability::{Report, ReportOutcome};
use queuekit_core::limits::PAYLOAD_BYTES_HARD;
use queuekit_core::{Backend, ErrorKind, Lease, Limits};

#[tokio::test]
async fn r12_a_payload_of_16_mib_is_stored_whole() {
    let file = File::new();
    let limits = Limits::default().with_payload_bytes(PAYLOAD_BYTES_HARD);
    let store = file.config().limits(limits).open().await;
    assert_keeps_the_largest_payload(&store).await;
    store.close().await.unwrap();
}

/// Another connection has the file's write lock, so that no call that writes could be answered.
#[tokio::test]
async fn r2_2_an_empty_batch_does_not_contact_the_store() {
    let file = File::new();
    let store = file.config().op_timeout(Duration::from_millis(100)).open().await;
    let locked = file.connection();
    locked.execute_batch("BEGIN EXCLUSIVE").unwrap();
    assert_eq!(kind_of(store.enqueue(&[build(draft())]).await), ErrorKind::Unavailable);
    assert_answers_empty_batches(&store).await;
    drop(locked);
    store.close().await.unwrap();
}

/// Guard: 1,000 reports of 100 lines each were one step, and other writers waited for 3.4 s.
#[tokio::test]
async fn s6_reports_of_many_jobs_are_stored_in_parts() {
    const RUNNING: usize = 120;
    let file = File::new();
    let store = file.store().await;
    add(&store, RUNNING).await;
    let leases = lease(&store, RUNNING).await;
    let conn = file.connection();
    conn.execute_batch(include_str!("../../sql/sqlite_refuse_line.sql")).unwrap();
    let report = |line: &str, at: usize| {
        let line = if at + 1 == RUNNING { line } else { "fine" };
        Report::new(leases[at].token.clone(), None, vec![line.to_owned(); 1000])
    };
    let reports = |line| (0..RUNNING).map(|at| report(line, at)).collect::<Vec<_>>();
    let leases_of = store.capabilities().leases.unwrap();
    let failed = leases_of.report(&reports("poison")).await;
    assert_eq!(kind_of(failed), ErrorKind::Indeterminate, "the parts before are stored");
    let most = |job: &Lease| {
        let read = include_str!("../../sql/sqlite_last_line.sql");
        let id = job.token.id.as_bytes().to_vec();
        conn.query_row(read, [id], |row| row.get::<_, Option<i64>>("last")).unwrap()
    };
    // Of each report 100 lines are kept, and no more are written.
    assert_eq!((most(&leases[0]), most(&leases[RUNNING - 1])), (Some(100), None));
    let stored = leases_of.report(&reports("fine")).await.unwrap();
    assert_eq!(stored, vec![ReportOutcome::Reported; RUNNING]);
    store.close().await.unwrap();
}

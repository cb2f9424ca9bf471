//! The limits of the suite's stores, and checks of stores that are opened with others.

use queuekit_core::limits::PAYLOAD_BYTES_HARD;
use queuekit_core::{Ack, AckOutcome, Backend, JobDraft, JobFilter, Limits};

use super::{build, default_queue, request};

/// The limits of the suite's own stores. They are lower than the defaults, because beats come one
/// by one, and a case that reaches the default would take too long. Cases ask the store for its
/// limits. The long tier (`QUEUEKIT_TEST_LONG=1`) makes as many queues as stores allow.
pub fn limits() -> Limits {
    let limits = Limits::default().with_workers(30).with_schedules(1_200);
    let limits = limits.with_audit_entries(50).with_error_groups(30).with_history_pairs(20);
    if std::env::var_os("QUEUEKIT_TEST_LONG").is_some() { limits } else { limits.with_queues(100) }
}

/// Asserts that a store which was opened `with_payload_bytes` of 16 MiB keeps a payload of that
/// size byte for byte, for the worker and for the reader, answers it alone (R8.9), and completes
/// the job.
pub async fn assert_keeps_the_largest_payload(store: &dyn Backend) {
    let payload: Vec<u8> = (0..PAYLOAD_BYTES_HARD).map(|at| (at % 251) as u8).collect();
    let job = build(JobDraft::new("large", payload.clone()));
    let outcomes = store.enqueue(std::slice::from_ref(&job)).await.expect("enqueue");
    assert!(outcomes[0].is_created(), "{outcomes:?}");
    let small = build(super::draft().priority(queuekit_core::Priority::LOW));
    let outcomes = store.enqueue(std::slice::from_ref(&small)).await.expect("enqueue");
    assert!(outcomes[0].is_created(), "{outcomes:?}");
    let page = store.list_jobs(&JobFilter::default()).await.expect("list_jobs");
    assert!(page.items.len() == 1 && page.next.is_some(), "it is larger than a page, and first");
    let mut reserved = store.reserve(&request(default_queue(), 2)).await.expect("reserve");
    assert!(reserved.leases.len() == 1 && reserved.more, "it is larger than an answer, and first");
    let lease = reserved.leases.pop().expect("a lease");
    assert!(lease.payload == payload, "the worker got another payload");
    let read = store.get_job(job.id()).await.expect("get_job").expect("the job");
    assert!(read.payload == payload, "the reader got another payload");
    let outcomes = store.ack(&[Ack::new(lease.token)]).await.expect("ack");
    assert_eq!(outcomes, [AckOutcome::Acked]);
}

/// Asserts that empty batches are answered by a store that answers nothing else.
pub async fn assert_answers_empty_batches(store: &dyn Backend) {
    assert_eq!(store.enqueue(&[]).await.expect("enqueue"), []);
    assert_eq!(store.ack(&[]).await.expect("ack"), []);
    assert_eq!(store.nack(&[]).await.expect("nack"), []);
    assert_eq!(store.dead_letter(&[]).await.expect("dead_letter"), []);
}

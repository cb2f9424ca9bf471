//! Calls that name one large job or event a thousand times: a key that may enqueue can make them.

use queuekit_conformance::kit::build;
use queuekit_core::capability::EmitOutcome;
use queuekit_core::{Backend, Client, EnqueueOutcome, EventDraft, EventId, JobDraft, Timestamp};
use queuekit_integration_tests::servers::Proxy;

const LARGE: usize = 256 * 1024;
const ITEMS: usize = 1000;
/// The call itself, its answer, and the large item once.
const BYTES: u64 = 2 * LARGE as u64;

/// The store is reached by way of the proxy.
pub(crate) async fn assert_jobs_are_compared_at_once(store: &dyn Backend, proxy: &Proxy) {
    let large = build(JobDraft::new("work", vec![b'x'; LARGE]));
    let existing = large.id();
    let stored = store.enqueue(std::slice::from_ref(&large)).await.expect("it is stored");
    assert_eq!(stored, [EnqueueOutcome::Created { id: existing }]);
    let other = |number: usize| build(JobDraft::new("work", format!("{number}")).id(existing));
    let mut jobs: Vec<_> = (1..ITEMS).map(other).collect();
    jobs.push(large);
    let before = proxy.counts();
    let outcomes = store.enqueue(&jobs).await.expect("an answer");
    let after = proxy.counts();
    let (last, others) = outcomes.split_last().expect("an outcome for each");
    assert_eq!(*last, EnqueueOutcome::Duplicate { existing }, "it is the same job");
    assert!(others.iter().all(|it| *it == EnqueueOutcome::Conflict { existing }));
    let (sent, answered) = (after.to_server - before.to_server, after.to_client - before.to_client);
    assert!(sent < 2 * BYTES && answered < BYTES, "{sent} bytes sent, {answered} answered");
}

/// The same for events.
pub(crate) async fn assert_events_are_compared_at_once(client: &Client, proxy: &Proxy) {
    let id = EventId::generate(Timestamp::from_millis(1));
    let large = || EventDraft::new("order.paid", vec![b'x'; LARGE]).id(id);
    client.emit(large()).await.expect("it is stored");
    let other = |number: usize| EventDraft::new("order.paid", format!("{number}")).id(id);
    let events = (1..ITEMS).map(other).chain([large()]);
    let before = proxy.counts();
    let emitted = client.emit_all(events).await.expect("an answer");
    let after = proxy.counts();
    let (last, others) = emitted.as_slice().split_last().expect("an outcome for each");
    assert_eq!(*last, EmitOutcome::Duplicate { existing: id }, "it is the same event");
    assert!(others.iter().all(|it| *it == EmitOutcome::Conflict { existing: id }));
    let answered = after.to_client - before.to_client;
    assert!(answered < BYTES, "{answered} bytes answered");
}

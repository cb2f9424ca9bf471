//! Limits that the suite's store does not have, and calls that need no file.

use std::time::Duration;

use crate::common::files::{File, Open};
use queuekit_conformance::kit::{
    assert_answers_empty_batches, assert_keeps_the_largest_payload, build, draft, kind_of,
};
use queuekit_core::limits::PAYLOAD_BYTES_HARD;
use queuekit_core::{Backend, ErrorKind, Limits};

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

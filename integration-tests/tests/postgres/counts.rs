//! The counts of queues with more waiting jobs than are counted one by one.

use crate::common::postgres::of_schema;
use crate::common::store_fixture::Stage;
use queuekit_conformance::this_test;
use queuekit_core::Status::{Failed, Ready, Scheduled};
use queuekit_core::limits::EXACT_COUNT;
use queuekit_core::queue::Count;
use queuekit_core::{BackendExt, Status};

#[tokio::test]
async fn r8_3_counts_up_to_the_bound_are_exact_beside_others_above_it() {
    let Some(stage) = Stage::open(this_test!()).await else { return };
    let fill = include_str!("../../sql/postgres_many_waiting.sql");
    let fill = of_schema(fill, stage.store.schema());
    stage.client().await.batch_execute(&fill).await.expect("the jobs");
    let queues = stage.store.all_queues().await.expect("the queues");
    let of = |name: &str, status: Status| -> Count {
        let queue = queues.iter().find(|queue| queue.name.as_str() == name);
        queue.expect(name).counts.get(status)
    };
    for (queue, status, value) in [
        ("due", Ready, 20_000),
        ("due", Scheduled, 2),
        ("due", Failed, 1),
        ("later", Ready, 3),
        ("later", Scheduled, 10_001),
        ("later", Failed, 2),
        ("failed", Ready, 4),
    ] {
        assert_eq!(of(queue, status), Count::exact(value), "{status} of {queue}");
    }
    let [failed, scheduled] = [Failed, Scheduled].map(|status| of("failed", status));
    assert!(!failed.exact && failed.value > EXACT_COUNT, "{failed:?}");
    assert_eq!(failed.value + scheduled.value, 15_005);
    stage.end().await;
}

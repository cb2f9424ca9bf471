//! The findings of `doctor` that only Postgres has.

use crate::common::postgres::{PostgresWorld, of_schema};
use crate::common::store_fixture::Stage;
use queuekit_conformance::World;
use queuekit_conformance::{skip, this_test};
use queuekit_core::capability::{Inspect, Severity};
use queuekit_core::event::EventSettings;
use queuekit_core::{Backend, ErrorKind, EventDraft, SubscriptionDraft};
use queuekit_integration_tests::servers;

/// The warning about this, if there is one.
async fn warned(world: &PostgresWorld, about: &str) -> Option<String> {
    let world: &dyn World = world;
    let inspect: &dyn Inspect = world.backend().capabilities().inspect.expect("Inspect");
    let findings = inspect.findings().await.expect("findings");
    let found = findings.into_iter().find(|finding| finding.message.contains(about));
    found.filter(|finding| finding.severity == Severity::Warning).map(|finding| finding.remedy)
}

#[tokio::test]
async fn partitions_that_nobody_made_are_found() {
    if servers::postgres().is_none() {
        skip(this_test!(), "there is no Postgres server");
        return;
    }
    let world = PostgresWorld::stopped().await;
    let own: &dyn World = &world;
    let upkeep = own.backend().capabilities().upkeep.expect("Upkeep");
    upkeep.prune().await.expect("prune");
    assert_eq!(warned(&world, "partitions").await, None);
    let drop_tomorrow = "DO $$ BEGIN EXECUTE format('DROP TABLE queuekit.events_%s',
        to_char(to_timestamp(queuekit.now_ms() / 1000) AT TIME ZONE 'UTC' + interval '1 day',
                'YYYYMMDD')); END $$";
    world.client.batch_execute(&of_schema(drop_tomorrow, world.schema)).await.unwrap();
    let remedy = warned(&world, "partitions of today or tomorrow are missing").await;
    assert!(remedy.expect("a warning").contains("queuekit serve"));
}

/// As services set it when a disk is full: for each session, from outside.
#[tokio::test]
async fn r10_2_a_server_that_takes_no_writes_says_so() {
    let Some(stage) = Stage::open(this_test!()).await else { return };
    stage.store.check_writes().await.expect("it takes them");
    let reads = stage.handle("options=-c%20default_transaction_read_only%3Don").await;
    let error = reads.check_writes().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("default_transaction_read_only"), "{error}");
    reads.close().await.unwrap();
    stage.end().await;
}

/// The statements of an emit are sent together. If one fails, the server refuses the other, and the
/// error of the first says what to do.
#[tokio::test]
async fn an_emit_under_old_settings_makes_the_partition_that_it_lacks() {
    if servers::postgres().is_none() {
        skip(this_test!(), "there is no Postgres server");
        return;
    }
    let world = PostgresWorld::stopped().await;
    let own: &dyn World = &world;
    let outbox = own.backend().capabilities().outbox.expect("Outbox");
    for round in 0..10 {
        own.subscribe(SubscriptionDraft::new(format!("old{round}"), "*")).await;
        let old = outbox.event_settings().await.expect("event_settings");
        own.subscribe(SubscriptionDraft::new(format!("new{round}"), "*")).await;
        let drop_today = "DO $$ BEGIN EXECUTE format('DROP TABLE IF EXISTS queuekit.events_%s',
            to_char(to_timestamp(queuekit.now_ms() / 1000) AT TIME ZONE 'UTC',
                    'YYYYMMDD')); END $$";
        world.client.batch_execute(&of_schema(drop_today, world.schema)).await.unwrap();
        let events = [EventDraft::new("e", "1").build().expect("an event")];
        let settings = EventSettings::read(&old.body).expect("settings");
        let emission = settings.emission(old.version, &events).expect("an emission");
        let stored = outbox.store_events(&emission).await.expect("store_events");
        assert!(stored.instead.is_some());
    }
}

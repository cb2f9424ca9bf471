//! Changes of schedules whose process stops between their steps: noted, jobs stored, row moved on
//! (contract R15.2).

use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::redis_store_fixture::RedisStage;
use crate::common::store_fixture::all_jobs;
use futures_util::poll;
use queuekit_conformance::kit::{build, draft, schedule_name};
use queuekit_conformance::this_test;
use queuekit_core::capability::{
    Admin, ScheduleChange, ScheduleChanged, ScheduleQuery, ScheduleRow, Schedules,
};
use queuekit_core::queue::QueuePatch;
use queuekit_core::{Backend, Bytes, ErrorKind, JobId, NewJob, QueueName, Result};
use redis::cmd;

type Change<'a> = Pin<Box<dyn Future<Output = Result<ScheduleChanged>> + 'a>>;

/// No two schedules of a test share a name.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// How far a change has come that is not looked after any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Noted,
    Stored,
}

impl RedisStage {
    /// The row of a new schedule.
    async fn row(&self, name: &str) -> ScheduleRow {
        let made = ScheduleChange {
            name: schedule_name(name),
            seen: None,
            to: Some((None, Bytes::from_static(b"made"))),
            jobs: Vec::new(),
        };
        assert_eq!(self.store.change_schedule(&made).await.unwrap(), ScheduleChanged::Changed);
        self.look(name).await.expect("the row")
    }

    async fn look(&self, name: &str) -> Option<ScheduleRow> {
        let query = ScheduleQuery::Named(schedule_name(name));
        self.store.find_schedules(&query).await.unwrap().rows.pop()
    }

    async fn is_noted(&self, name: &str) -> bool {
        let key = format!("{}:{{schedules}}:due", self.prefix);
        let due: Option<i64> = self.ask(cmd("ZSCORE").arg(key).arg(name)).await;
        due == Some(0)
    }

    async fn is_stored(&self, id: JobId) -> bool {
        self.store.get_job(id).await.unwrap().is_some()
    }

    /// A change that has come so far and no further, and the row before it. A process continues
    /// only when its future is polled, and here it is not.
    async fn held<'a>(
        &self,
        handle: &'a queuekit_redis::RedisStore,
        step: Step,
        change: &'a dyn Fn(&ScheduleRow) -> ScheduleChange,
    ) -> (Change<'a>, ScheduleRow, ScheduleChange) {
        for _ in 0..1000 {
            let name = format!("s{}", COUNT.fetch_add(1, Ordering::Relaxed));
            let row = self.row(&name).await;
            let change = change(&row);
            let id = change.jobs[0].id();
            let made = change.clone();
            let mut future: Change<'_> =
                Box::pin(async move { handle.change_schedule(&made).await });
            while poll!(&mut future).is_pending() {
                let noted = self.is_noted(&name).await;
                let stored = self.is_stored(id).await;
                if noted && stored == (step == Step::Stored) {
                    return (future, row, change);
                }
                tokio::task::yield_now().await;
            }
            // It was quicker than the look at it.
            self.store.delete_job(id, true).await.unwrap();
        }
        panic!("no change was caught at {step:?}");
    }
}

fn moved(row: &ScheduleRow) -> ScheduleChange {
    change_of(row, b"moved", vec![build(draft())])
}

fn change_of(row: &ScheduleRow, body: &'static [u8], jobs: Vec<NewJob>) -> ScheduleChange {
    ScheduleChange {
        name: row.name.clone(),
        seen: Some(row.revision),
        to: Some((None, Bytes::from_static(body))),
        jobs,
    }
}

#[tokio::test]
async fn r15_2_a_change_whose_process_dies_between_its_steps_is_finished_once() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    let handle = stage.handle("").await;
    for step in [Step::Noted, Step::Stored] {
        let (future, row, change) = stage.held(&handle, step, &moved).await;
        drop(future);
        let found = stage.look(row.name.as_str()).await.expect("the row");
        assert_eq!(found.body, "moved", "{step:?}: whoever looks next has finished it");
        assert!(found.revision > row.revision);
        let id = change.jobs[0].id();
        assert!(stage.is_stored(id).await, "{step:?}");
        // What was stored may run and go: nobody stores it a second time.
        assert!(stage.store.delete_job(id, false).await.unwrap());
        for _ in 0..3 {
            assert_eq!(stage.look(row.name.as_str()).await, Some(found.clone()));
            let again = stage.store.change_schedule(&change).await.unwrap();
            assert_eq!(again, ScheduleChanged::Stale);
        }
        assert!(all_jobs(&stage.store).await.is_empty(), "{step:?}");
    }
    handle.close().await.unwrap();
    stage.end().await;
}

#[tokio::test]
async fn r15_2_a_change_that_was_held_up_after_its_note_stores_nothing_later() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    let handle = stage.handle("").await;
    for another in [false, true] {
        let (future, row, change) = stage.held(&handle, Step::Noted, &moved).await;
        let found = stage.look(row.name.as_str()).await.expect("the row");
        assert!(stage.store.delete_job(change.jobs[0].id(), false).await.unwrap());
        if another {
            let next = change_of(&found, b"next", vec![build(draft())]);
            let changed = stage.store.change_schedule(&next).await.unwrap();
            assert_eq!(changed, ScheduleChanged::Changed);
            assert!(stage.store.delete_job(next.jobs[0].id(), false).await.unwrap());
        }
        let before = stage.look(row.name.as_str()).await;
        match future.await {
            Ok(changed) => assert_eq!((changed, another), (ScheduleChanged::Changed, false)),
            Err(error) => assert_eq!((error.kind(), another), (&ErrorKind::Indeterminate, true)),
        }
        assert_eq!(stage.look(row.name.as_str()).await, before);
        assert!(all_jobs(&stage.store).await.is_empty(), "it was enqueued once");
    }
    handle.close().await.unwrap();
    stage.end().await;
}

#[tokio::test]
async fn r15_7_a_full_queue_puts_the_row_back_whoever_finds_the_note() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    let handle = stage.handle("").await;
    let patch = QueuePatch::default().max_pending(0);
    stage.store.configure(&QueueName::default(), &patch).await.unwrap();
    let (future, row, _) = stage.held(&handle, Step::Noted, &moved).await;
    assert_eq!(stage.look(row.name.as_str()).await.as_ref(), Some(&row), "it is as before");
    let roomy = QueuePatch::default().max_pending(None);
    stage.store.configure(&QueueName::default(), &roomy).await.unwrap();
    let changed = future.await.unwrap();
    assert!(matches!(changed, ScheduleChanged::QueueFull { .. }), "{changed:?}");
    assert_eq!(stage.look(row.name.as_str()).await.as_ref(), Some(&row));
    assert!(all_jobs(&stage.store).await.is_empty(), "decided is decided");
    let changed = stage.store.change_schedule(&moved(&row)).await.unwrap();
    assert_eq!((changed, all_jobs(&stage.store).await.len()), (ScheduleChanged::Changed, 1));
    handle.close().await.unwrap();
    stage.end().await;
}

/// The master of the rows has lost its last writes, that of a queue has not.
#[tokio::test]
async fn r15_7_a_schedule_goes_on_whose_last_numbers_were_lost() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    let row = stage.row("s").await;
    let fences = format!("{}:{{default}}:default:fences", stage.prefix);
    let _: i64 = stage.ask(cmd("HSET").arg(&fences).arg("s").arg("5000:1")).await;
    let changed = stage.store.change_schedule(&moved(&row)).await.unwrap();
    assert_eq!(changed, ScheduleChanged::Stale);
    let found = stage.look("s").await.expect("the row");
    assert_eq!(found.body, row.body);
    let changed = stage.store.change_schedule(&moved(&found)).await.unwrap();
    assert_eq!((changed, all_jobs(&stage.store).await.len()), (ScheduleChanged::Changed, 1));
    stage.end().await;
}

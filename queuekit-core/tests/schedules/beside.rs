//! R15: schedules that cannot be served, and those beside them.

use std::time::Duration;

use queuekit_core::capability::{Admin, ScheduleQuery, Schedules};
use queuekit_core::memory::{MemoryStore, Operation, When};
use queuekit_core::{
    Backend, ErrorKind, JobDraft, JobFilter, ManualClock, Metadata, QueueName, QueuePatch,
    ScheduleDraft, ScheduleName, Scheduler,
};

const HOUR: Duration = Duration::from_secs(3600);

fn hourly(name: &str, job: JobDraft) -> ScheduleDraft {
    ScheduleDraft::every(name, HOUR, job)
}

fn job(queue: &str) -> JobDraft {
    JobDraft::new("work", "{}").queue(queue)
}

struct Stage {
    clock: ManualClock,
    store: MemoryStore,
}

impl Stage {
    fn new() -> Self {
        let clock = ManualClock::default();
        Self { store: MemoryStore::with_clock(clock.clone()), clock }
    }

    fn scheduler(&self) -> Scheduler<'_> {
        Scheduler::of(&self.store)
    }

    async fn put(&self, draft: ScheduleDraft) {
        assert!(self.scheduler().put(&draft.build().unwrap()).await.unwrap());
    }

    async fn jobs_of(&self, queue: &str) -> usize {
        let filter = JobFilter::default().queue(QueueName::new(queue).unwrap());
        self.store.list_jobs(&filter).await.unwrap().items.len()
    }
}

#[tokio::test]
async fn r15_7_a_queue_that_is_away_stops_no_other() {
    let stage = Stage::new();
    for (name, queue) in [("a", "away"), ("b", "away"), ("c", "there")] {
        stage.put(hourly(name, job(queue))).await;
    }
    stage.clock.advance(HOUR);
    stage.store.faults().fail(Operation::ChangeSchedule, 1, When::Before);
    let ticked = stage.scheduler().tick().await.unwrap();
    let kinds: Vec<_> = ticked.failed.iter().map(|(_, error)| error.kind()).collect();
    assert_eq!(kinds, [&ErrorKind::Unavailable; 2], "the second is not waited for");
    assert_eq!((ticked.enqueued, stage.jobs_of("there").await), (1, 1));
    assert!(ticked.next_in.unwrap() <= Duration::from_secs(1), "{ticked:?}");
    assert_eq!(stage.scheduler().tick().await.unwrap().enqueued, 2);
}

#[tokio::test]
async fn a_store_that_is_away_ends_the_tick() {
    let stage = Stage::new();
    stage.put(hourly("a", job("q"))).await;
    stage.clock.advance(HOUR);
    stage.store.faults().fail(Operation::ChangeSchedule, 1, When::Before);
    stage.store.faults().fail(Operation::FindSchedules, 2, When::Before);
    let error = stage.scheduler().tick().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn r15_7_a_thousand_that_find_their_queue_full_hide_no_other() {
    let stage = Stage::new();
    let patch = QueuePatch::default().max_pending(1);
    stage.store.configure(&QueueName::new("full").unwrap(), &patch).await.unwrap();
    for n in 0..1001 {
        stage.put(hourly(&format!("full-{n}"), job("full"))).await;
    }
    stage.put(ScheduleDraft::every("later", HOUR + HOUR / 2, job("free"))).await;
    stage.clock.advance(3 * HOUR);
    let mut rounds = 0;
    while stage.scheduler().tick().await.unwrap().more {
        rounds += 1;
        assert!(rounds < 5, "there is nothing more to do");
    }
    assert_eq!((stage.jobs_of("full").await, stage.jobs_of("free").await), (1, 1));
    let due = stage.store.find_schedules(&ScheduleQuery::Due(None, 2000)).await.unwrap().rows;
    assert_eq!(due.len(), 1000, "they stay due");
}

#[tokio::test]
async fn r15_1_a_job_whose_occurrences_would_be_too_large_is_refused() {
    let stage = Stage::new();
    for bytes in 4060..4096 {
        let metadata: Metadata = [("m", "x".repeat(bytes - 1))].into_iter().collect();
        let draft = hourly("s", job("q").metadata(metadata)).build().unwrap();
        if stage.scheduler().put(&draft).await.is_err() {
            continue;
        }
        stage.clock.advance(HOUR);
        let ticked = stage.scheduler().tick().await.unwrap();
        assert!(ticked.failed.is_empty(), "{bytes}: {:?}", ticked.failed);
        let name = ScheduleName::new("s").unwrap();
        assert!(stage.scheduler().delete(&name).await.unwrap());
    }
}

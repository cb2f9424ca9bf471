//! What the front doors of the client take and answer has a name in the facade, outside of `store`.

use std::time::Duration;

use queuekit::audit::{Act, AuditEntry};
use queuekit::error_groups::{ErrorGroup, GroupId, GroupKey, Signature};
use queuekit::events::{
    ConsumerName, ConsumerStats, EmitOutcome, EventDraft, EventFilter, EventId, EventPage,
    EventRetention, NewEvent, Replay, ReplayFrom, ReplayReport, Subscription, SubscriptionDraft,
};
use queuekit::history::{HistoryQuery, Resolution, RunsRow, TotalsRow};
use queuekit::inspect::{Durability, Fact, Finding, Migration, PoolUse, SchemaStatus};
use queuekit::jobs::{
    BulkAction, BulkReport, BulkRequest, BulkTotals, CancelOutcome, IdempotencyKey, JobFilter,
    Kind, Page, PartitionKey, Why,
};
use queuekit::memory::MemoryStore;
use queuekit::queues::{Queue, QueuePatch, QueueSettings};
use queuekit::schedules::{
    Definition, Schedule, ScheduleDraft, ScheduleEntry, ScheduleName, SchedulePage,
};
use queuekit::workers::{WorkerId, WorkerInfo};
use queuekit::{
    Client, Declared, EnqueueOutcome, ErrorKind, Job, JobDraft, JobId, QueueName, Result, State,
    Timestamp,
};

type Done = Result<()>;

async fn enqueued() -> Result<(Client, JobId)> {
    let client = Client::new(MemoryStore::new());
    let id = client.enqueue(JobDraft::new("work", "{}")).await?;
    Ok((client, id))
}

#[tokio::test]
async fn a_function_of_the_application_names_what_jobs_answers() -> Done {
    let (client, id) = enqueued().await?;
    let outcome: EnqueueOutcome = client
        .enqueue(JobDraft::new(Kind::new("work")?, "{}"))
        .idempotency_key(IdempotencyKey::new("i")?)
        .partition_key(PartitionKey::new("p")?)
        .outcome()
        .await?;
    assert!(outcome.is_created());
    let filter = JobFilter::default().limit(1);
    let page: Page<Job> = client.jobs().list(&filter).await?;
    assert!(page.items.len() == 1 && page.next.is_some());
    let why: Option<Why> = client.jobs().why(id).await?;
    assert!(why.is_some());
    let request = BulkRequest::new(BulkAction::DeadLetter("broken".into()), filter.clone());
    let report: BulkReport = client.jobs().bulk_page(&request).await?;
    assert_eq!(report.changed, 1);
    let totals: BulkTotals =
        client.jobs().bulk(filter.status(State::Dead), BulkAction::Retry).await?;
    assert_eq!(totals.changed, 1);
    let cancelled: CancelOutcome = client.jobs().cancel(id).await?;
    assert_eq!(cancelled, CancelOutcome::Cancelled);
    Ok(())
}

#[tokio::test]
async fn a_function_of_the_application_names_what_queues_answers() -> Done {
    let (client, _) = enqueued().await?;
    let patch = QueuePatch::default().max_pending(7);
    let settings: QueueSettings = client.queues().configure(QueueName::default(), &patch).await?;
    let queue: Option<Queue> = client.queues().get("default").await?;
    assert_eq!(queue.map(|queue| (queue.settings, queue.name.to_string())), {
        Some((settings, "default".to_owned()))
    });
    assert!(client.queues().get("another").await?.is_none());
    let error = client.queues().get("a b").await.expect_err("no name of a queue");
    assert!(matches!(error.kind(), ErrorKind::Invalid { .. }), "{error}");
    Ok(())
}

#[tokio::test]
async fn a_function_of_the_application_names_what_schedules_answers() -> Done {
    let (client, _) = enqueued().await?;
    let draft = || ScheduleDraft::every("tick", Duration::from_secs(60), JobDraft::new("work", ""));
    let definition: Definition = draft().build()?;
    let declared: Declared = client.schedules().declare(&definition).await?;
    assert_eq!(declared, Declared::Created);
    let name = ScheduleName::new("tick")?;
    let schedule: Option<Schedule> = client.schedules().get(&name).await?;
    assert!(schedule.is_some());
    let page: SchedulePage = client.schedules().list(None, 10).await?;
    let entries: Vec<ScheduleEntry> = page.schedules;
    let next: Vec<Timestamp> = client.schedules().upcoming(&name, 2).await?;
    assert_eq!((entries.len(), next.len()), (1, 2));
    Ok(())
}

#[tokio::test]
async fn a_function_of_the_application_names_what_events_and_consumers_answer() -> Done {
    let (client, _) = enqueued().await?;
    let subscription: Subscription = SubscriptionDraft::new("c", "a.*").build()?;
    client.consumers().declare(&subscription).await?;
    let event: NewEvent = EventDraft::new("a.b", "1").build()?;
    let id: EventId = client.emit(event.clone()).await?;
    let again: EmitOutcome = client.emit(event).outcome().await?;
    assert_eq!(again, EmitOutcome::Duplicate { existing: id });
    let page: EventPage = client.events().list(&EventFilter::default()).await?;
    assert_eq!(page.events.len(), 1);
    let retention: EventRetention = client.events().retention().await?;
    client.events().set_retention(retention).await?;
    let stats: ConsumerStats = client.consumers().stats("c").await?;
    assert_eq!(stats.depth, 1);
    let replay = Replay::new(ConsumerName::new("c")?, "again", ReplayFrom::Beginning);
    let report: ReplayReport = client.consumers().replay(&replay).await?;
    assert_eq!(report.matched, 1);
    Ok(())
}

#[tokio::test]
async fn a_function_of_the_application_names_what_workers_answers() -> Done {
    let (client, _) = enqueued().await?;
    let workers: Vec<WorkerInfo> = client.workers().list(None, 100).await?.workers;
    let worker: Option<WorkerInfo> = client.workers().get(WorkerId::new("w")?).await?;
    assert!(workers.is_empty() && worker.is_none());
    let removed: bool = client.workers().remove("w").await?;
    let ordered: bool = client.workers().stop("w").await?;
    assert!(!removed && !ordered);
    Ok(())
}

#[tokio::test]
async fn a_function_of_the_application_names_what_error_groups_answers() -> Done {
    let (client, id) = enqueued().await?;
    client.jobs().dead_letter(id, "order 42 is gone").await?;
    let groups: Vec<ErrorGroup> = client.error_groups().list(10).await?;
    assert_eq!(groups, client.error_groups().list_of("default", 10).await?);
    let GroupKey { signature, .. } = &groups[0].key;
    let signature: &Signature = signature;
    assert_eq!(signature.as_str(), "order <n> is gone");
    let group: GroupId = groups[0].key.id();
    assert_eq!(client.error_groups().get(group).await?, groups);
    let totals: BulkTotals = client.error_groups().purge(group).await?;
    assert_eq!(totals.changed, 1);
    Ok(())
}

#[tokio::test]
async fn a_function_of_the_application_names_what_history_answers() -> Done {
    let (client, _) = enqueued().await?;
    let (from, to) = (Timestamp::from_millis(0), Timestamp::from_millis(i64::MAX));
    let query: HistoryQuery = HistoryQuery::new(Resolution::Minute, from, to);
    let totals: Vec<TotalsRow> = client.history().totals(&query).await?;
    let runs: Vec<RunsRow> = client.history().runs(&query).await?;
    assert!(totals.is_empty() && runs.is_empty(), "no worker has recorded anything");
    Ok(())
}

#[tokio::test]
async fn a_function_of_the_application_names_what_the_audit_log_answers() -> Done {
    let (client, _) = enqueued().await?;
    client.audit().record(&Act::new("ada", "pause", "queue emails")).await?;
    let entries: Vec<AuditEntry> = client.audit().list(None, 10).await?;
    assert_eq!((entries.len(), entries[0].act.who.as_str()), (1, "ada"));
    assert!(client.audit().list(Some(entries[0].seq), 10).await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_function_of_the_application_names_what_a_store_says_of_itself() -> Done {
    let (client, _) = enqueued().await?;
    client.inspect().check_writes().await?;
    let durability: Durability = client.inspect().durability().await?;
    let facts: Vec<Fact> = client.inspect().facts().await?;
    let findings: Vec<Finding> = client.inspect().findings().await?;
    let pool: Option<PoolUse> = client.inspect().pool();
    assert!(durability == Durability::Nothing && !facts.is_empty());
    assert!(findings.iter().all(|finding| !finding.remedy.is_empty()) && pool.is_none());
    let status: SchemaStatus = client.schema().migrate().await?;
    assert_eq!(status, client.schema().status().await?);
    let pending: Vec<Migration> = client.schema().pending(status.stored)?;
    assert!(pending.is_empty());
    Ok(())
}

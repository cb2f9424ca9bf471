//! The SQL. Each statement is in a file of its own, which is valid SQL.

use crate::config::Schema;

macro_rules! statements {
    ($($name:ident $file:literal)*) => {
        /// A statement, by the name of its file.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Sql {
            $($name),*
        }

        /// Every statement with its header, by the name of its file.
        pub(crate) const ALL: &[(Sql, &str, &str)] =
            &[$((Sql::$name, $file, include_str!(concat!("../sql/", $file, ".sql")))),*];
    };
}

/// The statements of one schema.
#[derive(Debug)]
pub(crate) struct Statements {
    texts: Vec<String>,
    pub(crate) schema: Schema,
    lock_class: i32,
}

impl Statements {
    pub(crate) fn new(schema: &Schema) -> Self {
        let texts = ALL.iter().map(|(_, _, text)| schema.apply(without_header(text))).collect();
        Self { texts, schema: schema.clone(), lock_class: schema.lock_class() }
    }

    /// The number that separates the advisory locks of this schema from those of others.
    pub(crate) fn lock_class(&self) -> i32 {
        self.lock_class
    }

    pub(crate) fn text(&self, sql: Sql) -> &str {
        &self.texts[sql as usize]
    }
}

/// Removes the header. Prepared statements are looked up by their text, and a short text is found
/// sooner.
pub(crate) fn without_header(sql: &str) -> &str {
    let header: usize =
        sql.lines().take_while(|line| line.starts_with("--")).map(|line| line.len() + 1).sum();
    sql.get(header..).unwrap_or_default()
}

statements! {
    Enqueue "enqueue"
    EnqueueAny "enqueue_any"
    KeysExpire "keys_expire"
    Reserve "reserve"
    ReserveFair "reserve_fair"
    AgendaPut "agenda_put"
    Place "place"
    PlaceHeads "place_heads"
    PlaceDue "place_due"
    LockQueue "lock_queue"
    Ack "ack"
    LockLeases "lock_leases"
    LockEnded "lock_ended"
    Records "records"
    TakeReady "take_ready"
    Unplace "unplace"
    ToPending "to_pending"
    ToEnded "to_ended"
    ToNothing "to_nothing"
    ToWaiting "to_waiting"
    Reschedule "reschedule"
    RequestCancel "request_cancel"
    KeyHolders "key_holders"
    KeysTake "keys_take"
    KeysSettle "keys_settle"
    Expired "expired"
    IsHead "is_head"
    NextDue "next_due"
    Extend "extend"
    Report "report"
    CheckpointPut "checkpoint_put"
    Checkpoints "checkpoints"
    CheckpointsList "checkpoints_list"
    CheckpointsForget "checkpoints_forget"
    Beat "beat"
    BeatFirst "beat_first"
    WorkerForget "worker_forget"
    Workers "workers"
    Worker "worker"
    WorkersOrder "workers_order"
    Schedule "schedule"
    SchedulesAfter "schedules_after"
    SchedulesDue "schedules_due"
    ScheduleCount "schedule_count"
    ScheduleInsert "schedule_insert"
    ScheduleUpdate "schedule_update"
    ScheduleDelete "schedule_delete"
    AuditInsert "audit_insert"
    AuditBefore "audit_before"
    ErrorDeltasAdd "error_deltas_add"
    ErrorDeltasFold "error_deltas_fold"
    ErrorRecentPut "error_recent_put"
    ErrorGroupsTrim "error_groups_trim"
    ErrorGroups "error_groups"
    HistoryIsRecorded "history_is_recorded"
    HistoryRecord "history_record"
    HistoryTotals "history_totals"
    HistoryTotalsOfQueue "history_totals_of_queue"
    HistoryTotalsForget "history_totals_forget"
    HistoryPairs "history_pairs"
    HistoryPairsAdd "history_pairs_add"
    HistoryPairsRenew "history_pairs_renew"
    HistoryPairsForget "history_pairs_forget"
    HistoryRuns "history_runs"
    HistoryRunsAdd "history_runs_add"
    HistoryRunsOfQueue "history_runs_of_queue"
    HistoryRunsForget "history_runs_forget"
    Emit "emit"
    EventHolders "event_holders"
    EventIdsFree "event_ids_free"
    EventIdsForget "event_ids_forget"
    EventSettings "event_settings"
    EventSettingsHold "event_settings_hold"
    EventSettingsLock "event_settings_lock"
    EventSettingsPut "event_settings_put"
    EventPlace "event_place"
    EventsHold "events_hold"
    EventsAfter "events_after"
    EventsLast "events_last"
    Events "events"
    EventData "event_data"
    EventCopies "event_copies"
    EventsOldest "events_oldest"
    EventsLock "events_lock"
    EventsCopy "events_copy"
    EventsRemove "events_remove"
    EventsClose "events_close"
    EventsCount "events_count"
    EventsNeeded "events_needed"
    CancelledLacking "cancelled_lacking"
    Now "now"
    Queues "queues"
    QueuesAfter "queues_after"
    QueuesBeyond "queues_beyond"
    QueuesNamed "queues_named"
    QueuesNumbered "queues_numbered"
    Available "available"
    QueueConfigure "queue_configure"
    QueueDue "queue_due"
    QueueUnplace "queue_unplace"
    QueueJobs "queue_jobs"
    QueueRemove "queue_remove"
    Figures "figures"
    FoldTake "fold_take"
    FoldEnds "fold_ends"
    FoldPut "fold_put"
    TryLock "try_lock"
    OldestEnded "oldest_ended"
    OldestFinished "oldest_finished"
    OldestDead "oldest_dead"
    KeysForget "keys_forget"
    QueuesRemoved "queues_removed"
    QueuesForget "queues_forget"
    QueueHold "queue_hold"
    Prune "prune"
    EventDays "event_days"
    RepairQueue "repair_queue"
    RepairCounts "repair_counts"
    Frontiers "frontiers"
    Views "views"
    LastErrors "last_errors"
    ViewBytes "view_bytes"
    ListFirst "list_first"
    RecentEnds "recent_ends"
    ListLeased "list_leased"
    ListDead "list_dead"
    ListEnded "list_ended"
    ListLanes "list_lanes"
    ListWaiting "list_waiting"
    Waiting "waiting"
    WaitingKeyed "waiting_keyed"
    WaitingSample "waiting_sample"
    Placed "placed"
    Blocker "blocker"
    CountBefore "count_before"
    Health "health"
    Notify "notify"
    DiscardPlans "discard_plans"
    Begin "begin"
    Commit "commit"
    Rollback "rollback"
    Savepoint "savepoint"
    SavepointRollback "savepoint_rollback"
    SavepointRelease "savepoint_release"
    PathPin "path_pin"
    PathRestore "path_restore"
    BackendPid "backend_pid"
    DayDrop "day_drop"
    QueueOpen "queue_open"
    QueueKeyed "queue_keyed"
    Content "content"
    EventDaysAdd "event_days_add"
    Server "server"
    ReadOnly "read_only"
    MigrationTable "migration_table"
    MigrationVersion "migration_version"
    MigrationInsert "migration_insert"
}

//! The SQL. Each statement is in a file of its own, which is valid SQL.

macro_rules! statements {
    ($($name:ident $file:literal)*) => {
        $(pub(crate) const $name: &str =
            without_header(include_str!(concat!("../sql/", $file, ".sql")));)*

        /// Every statement with its header, by the name of its file.
        #[cfg(test)]
        pub(crate) const ALL: &[(&str, &str)] =
            &[$(($file, include_str!(concat!("../sql/", $file, ".sql")))),*];
    };
}

/// Removes the header. Prepared statements are looked up by their text, and a short text is found
/// sooner.
pub(crate) const fn without_header(mut sql: &str) -> &str {
    while let [b'-', b'-', ..] = sql.as_bytes() {
        let mut end = 0;
        while end < sql.len() && sql.as_bytes()[end] != b'\n' {
            end += 1;
        }
        // The newline goes too, if the text does not end here.
        let next = if end < sql.len() { end + 1 } else { end };
        sql = sql.split_at(next).1;
    }
    sql
}

statements! {
    BEGIN "begin"
    BEGIN_READ "begin_read"
    DATA_VERSION "data_version"
    COMMIT "commit"
    ROLLBACK "rollback"
    SAVEPOINT "savepoint"
    SAVEPOINT_RELEASE "savepoint_release"
    SAVEPOINT_ROLLBACK "savepoint_rollback"
    TABLES "tables"
    MIGRATION_TABLE "migration_table"
    MIGRATION_VERSION "migration_version"
    MIGRATION_INSERT "migration_insert"
    PROBE_INSERT "probe_insert"
    PROBE_DELETE "probe_delete"
    QUEUE "queue"
    QUEUES "queues"
    QUEUE_AFTER "queue_after"
    QUEUE_COUNT "queue_count"
    QUEUE_INSERT "queue_insert"
    QUEUE_CONFIGURE "queue_configure"
    QUEUE_COUNT_UP "queue_count_up"
    QUEUE_DELETE "queue_delete"
    JOB "job"
    JOB_INSERT "job_insert"
    JOB_UPDATE "job_update"
    JOB_OPEN "job_open"
    JOB_DELETE "job_delete"
    PAYLOAD_INSERT "payload_insert"
    PAYLOAD_DELETE "payload_delete"
    CONTENT "content"
    CANDIDATE "candidate"
    CANCELS "cancels"
    PAYLOAD "payload"
    VIEW "view"
    FAILURE_INSERT "failure_insert"
    FAILURES_TRIM "failures_trim"
    FAILURES "failures"
    FAILURES_DELETE "failures_delete"
    LOG_INSERT "log_insert"
    LOGS_TRIM "logs_trim"
    LOGS "logs"
    LOGS_DELETE "logs_delete"
    PROGRESS "progress"
    NEXT_RANK "next_rank"
    DUE_OF_RANK "due_of_rank"
    FIRST_OF_RANK "first_of_rank"
    EXPIRED "expired"
    FIRST_EXPIRY "first_expiry"
    LANE "lane"
    LANE_PUT "lane_put"
    LANE_DELETE "lane_delete"
    LANES "lanes"
    LANE_AFTER "lane_after"
    OPEN_WRONG "open_wrong"
    OPEN_MEND "open_mend"
    LANE_FIRST "lane_first"
    LANE_IS_BEFORE "lane_is_before"
    LANE_PROMOTE "lane_promote"
    LANE_DEMOTE "lane_demote"
    LANE_FIRST_DUE "lane_first_due"
    LANE_FIRST_LATER "lane_first_later"
    LANES_SKIP "lanes_skip"
    LANES_FAIR "lanes_fair"
    LANES_STRICT "lanes_strict"
    PLAIN_COUNT "plain_count"
    TURN_FIRST "turn_first"
    LANES_DUE "lanes_due"
    LANES_LATER "lanes_later"
    KEY_HOLDER "key_holder"
    KEY_TAKE "key_take"
    KEY_FREE_AT "key_free_at"
    KEY_FREE "key_free"
    KEYS_FORGET "keys_forget"
    WORKERS_FORGET "workers_forget"
    WORKER_COUNT "worker_count"
    WORKER_FORGET "worker_forget"
    WORKER_INSERT "worker_insert"
    WORKER_UPDATE "worker_update"
    WORKERS "workers"
    WORKER "worker"
    PAYLOAD_GONE "payload_gone"
    EVENT_SETTINGS "event_settings"
    EVENT_SETTINGS_PUT "event_settings_put"
    EVENT_INSERT "event_insert"
    EVENT "event"
    EVENT_PLACE "event_place"
    EVENT_OF_KEY "event_of_key"
    EVENTS_AFTER "events_after"
    EVENT_AGES "event_ages"
    EVENT_LAST "event_last"
    EVENT_COUNT "event_count"
    EVENT_DELETE "event_delete"
    NUMBER "number"
    SCHEDULE "schedule"
    SCHEDULES_AFTER "schedules_after"
    SCHEDULES_DUE "schedules_due"
    SCHEDULE_NEXT "schedule_next"
    SCHEDULE_COUNT "schedule_count"
    SCHEDULE_PUT "schedule_put"
    SCHEDULE_DELETE "schedule_delete"
    AUDIT_INSERT "audit_insert"
    AUDIT_TRIM "audit_trim"
    AUDIT_BEFORE "audit_before"
    ERROR_GROUP_ADD "error_group_add"
    ERROR_GROUP_INSERT "error_group_insert"
    ERROR_GROUPS "error_groups"
    ERROR_GROUPS_TRIM "error_groups_trim"
    ERROR_GROUPS_DELETE "error_groups_delete"
    JOBS_OF_QUEUE "jobs_of_queue"
    LANES_OF_QUEUE_DELETE "lanes_of_queue_delete"
    FIRST_ENDED "first_ended"
    VACUUM "vacuum"
    LANE_COUNT "lane_count"
    LANE_WAITING "lane_waiting"
    LANE_FRONTIER "lane_frontier"
    LANE_BLOCKER "lane_blocker"
    COUNT_BEFORE "count_before"
    FUTURE_KEYS "future_keys"
    CLOSED_KEYS "closed_keys"
    COUNT_EXPIRED "count_expired"
    LIST_LEASED "list_leased"
    LIST_ENDED "list_ended"
    LIST_WAITING "list_waiting"
    LIST_LANE "list_lane"
    LIST_LANES "list_lanes"
    LAST_FAILURE "last_failure"
    WAITING_KEYS "waiting_keys"
    ACTUAL_COUNTS "actual_counts"
}

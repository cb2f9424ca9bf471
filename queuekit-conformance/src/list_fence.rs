//! The cases of the fence, of releases, of error groups, and of history.

/// Adds them to the others.
#[doc(hidden)]
#[macro_export]
macro_rules! __with_fence {
    ($then:path, [$($args:tt)*] $($others:tt)*) => {
        $crate::__with_bounds! {
            $then, [$($args)*]

            $($others)*

            error_groups {
                [Errors] r8_4_errors_that_look_alike_are_one_group
                [Errors] r8_4_failures_and_deaths_are_counted
                [Errors Admin] r8_4_a_cancelled_job_is_no_death
                [Errors] (Corrupt) r8_4_an_unreadable_job_counts_by_its_kind
                [Errors Upkeep] r8_4_a_group_tells_first_last_and_sample
                [Errors] r8_4_the_most_recent_group_is_listed_first
                [Errors Admin Upkeep] r8_4_retry_delete_and_retention_leave_the_counts
                [Errors Upkeep] r8_4_the_least_recent_group_goes
                [Errors] r8_4_a_call_of_many_counts_each
                [Errors Exchange] r8_4_an_exchange_counts_too
                [Errors] r8_4_what_records_no_error_counts_nothing
                [Errors Admin Upkeep] r8_4_groups_end_with_their_queue
                r8_4_the_dead_of_a_group_are_listed
                [Errors] (SecondHandle) r8_4_two_handles_count_together
            }

            recent_errors {
                [Errors Upkeep] r8_11_an_error_is_recent_until_its_hours_and_days_are_over
                [Errors Upkeep] r8_11_an_error_is_counted_in_its_own_hour
                [Errors Upkeep] r8_11_errors_of_an_hour_and_of_a_day_are_added_up
                [Errors Upkeep] r8_11_at_most_24_hours_and_7_days_are_kept
                [Errors Admin Upkeep] r8_11_a_failure_that_ends_its_job_is_one_error
            }

            fence {
                r3_1_every_reserve_has_a_nonce_of_its_own
                r3_1_a_guessed_nonce_settles_nothing
                r3_1_another_lease_seq_settles_nothing
                r3_1_another_queue_settles_nothing
                r3_1_a_lease_dies_with_its_job
                r3_1_a_nonce_is_shown_by_nothing
                r3_2_an_ack_completes_the_job
                r3_2_an_expired_lease_settles_until_it_is_reclaimed
                r3_3_stale_ack_changes_nothing
                r3_3_a_reclaimed_lease_is_lost_though_nobody_holds_the_job
                r3_3_a_repeated_ack_is_already_done
                r3_4_only_the_first_settlement_takes_effect
                r3_5_an_unknown_job_leaves_no_trace
                [Admin Leases] r3_5_an_unknown_job_leaves_no_trace_in_capabilities
            }

            fence_matrix {
                r3_3_no_stale_token_acks
                [Exchange] r3_3_no_stale_token_acks_in_an_exchange
                [Leases] r3_7_no_stale_token_extends
                [Leases] r3_8_no_stale_token_reports
                r4_1_no_stale_token_retries
                r4_1_no_stale_token_releases
                r4_1_no_stale_token_fails_for_good
                r4_1_no_stale_token_calls_off
                [Exchange] r4_1_no_stale_token_nacks_in_an_exchange
                r6_1_no_stale_token_dead_letters
                [Checkpoints] r13_10_no_stale_token_stores_a_checkpoint
            }

            job_history {
                [History] r8_5_a_minute_is_recorded_once
                [History] (SecondHandle) r8_5_one_of_two_handles_records_a_minute
                [History] r8_5_totals_are_those_of_their_time
                [History Upkeep] r8_5_a_quiet_minute_has_no_row
                [History Admin Upkeep] r8_5_what_is_gone_was_enqueued
                [History Upkeep] r8_5_failed_attempts_are_counted
                [History Admin] r8_5_a_new_queue_counts_from_zero
                [History Upkeep] r8_5_rows_are_kept_as_long_as_their_resolution
            }

            run_history {
                [History] r8_5_runs_add_up
                [History Upkeep] r8_5_pairs_beyond_the_limit_are_other
                [History] (SecondHandle) r8_5_adds_at_once_all_count
                [History Upkeep] r8_5_no_run_writes_history
                [History] r8_5_history_is_listed_in_pages
                [History] r8_5_an_add_is_bounded
            }

            releases {
                r4_8_a_failure_tells_when_its_run_started
                r4_8_releases_are_kept_apart_from_failures
                r4_8_the_last_releases_are_kept
                [Admin] r4_8_a_release_that_cancels_is_none
                [Admin] r4_8_releases_outlast_the_end_and_a_retry
            }

            checkpoints {
                [Checkpoints] r13_10_later_runs_read_what_earlier_ones_stored
                [Checkpoints Admin] r13_10_checkpoints_outlast_the_end_and_a_retry
                [Checkpoints] r13_10_a_name_keeps_its_first_result
                [Checkpoints] r13_10_a_job_has_64_checkpoints
                [Checkpoints] r13_10_the_results_of_a_job_have_1_mib
                [Checkpoints] r13_10_only_the_holder_of_the_lease_reads
                [Checkpoints] r13_10_no_job_inherits_checkpoints
                [Checkpoints Admin Upkeep] r13_10_what_removes_a_job_removes_its_checkpoints
                [Checkpoints] r13_10_an_operator_forgets_them_unless_the_job_runs
                [Checkpoints] r13_10_an_operator_lists_them_in_every_state
                [Checkpoints Admin] r13_10_a_fresh_retry_runs_all_steps_again
                [Checkpoints] (SecondHandle) r13_10_another_handle_reads_them
            }

            undecodable {
                r13_8_a_payload_that_is_not_read_takes_no_attempt
                r13_8_the_text_of_a_mark_is_bounded
                r13_8_it_waits_1_s_doubling_to_60_s_and_then_1_h
                r13_8_it_is_dead_if_it_is_met_7_days_after_the_first
                [Admin] r13_8_a_retry_begins_anew
                r13_8_the_mark_lasts_until_the_payload_is_read
                [Admin Leases] r13_8_why_and_lists_show_the_mark
                [Admin] r13_8_its_key_waits_or_is_passed
            }
        }
    };
}

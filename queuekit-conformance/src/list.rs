//! The cases by subject, each with the capabilities of the store that it needs in brackets, and
//! what it needs of the harness in parentheses; those of queues and keys are in `list_keys.rs`,
//! those of the fence, of releases, of error groups and of history in `list_fence.rs`, those of
//! limits and bounds of time in `list_bounds.rs`, and those of events and schedules in
//! `list_sources.rs`.

#[doc(hidden)]
#[macro_export]
macro_rules! __for_each_case {
    ($then:path, $($args:tt)*) => {
        $crate::__with_keys! {
            $then, [$($args)*]

            batches {
                r3_6_items_of_a_batch_are_independent
                r3_6_batches_over_several_queues_answer_in_order
                r3_6_parts_of_a_reserve_are_acked_in_any_order
                r3_6_empty_batches_do_nothing
                [Admin] r3_6_admin_batches_answer_per_item
            }

            bulk {
                r6_8_a_dry_run_only_counts
                [Admin] r6_8_a_bulk_reschedule_ends
                r6_8_a_purge_deletes_all_that_matches
                r6_8_what_runs_is_skipped
                [Admin] r6_8_the_dead_are_brought_back
                [Admin] r6_8_a_retry_is_spread_over_a_time
                [Admin] r6_8_waiting_jobs_are_rescheduled_and_called_off
            }

            dead_letter {
                r6_1_the_holder_dead_letters
                r6_1_a_waiting_job_is_dead_lettered_by_id
                r6_1_a_running_job_is_dead_lettered_by_force_only
                r6_1_an_expired_job_counts_as_running
                r6_1_an_ended_job_is_not_dead_lettered_again
                r6_1_dead_jobs_are_listed
                r6_2_what_nobody_runs_is_deleted
                r6_2_a_running_job_is_deleted_by_force_only
            }

            enqueue {
                r2_1_defaults
                r2_1_every_field_reaches_reader_and_worker
                r2_1_payloads_are_stored_byte_for_byte
                r2_1_every_priority_is_stored
                r2_2_an_empty_batch_changes_nothing
                r2_3_outcomes_are_in_input_order
                r2_3_a_call_is_stored_in_one_step
                (AtomicAcrossQueues) r2_3_a_call_over_several_queues_is_stored_in_one_step
                r2_4_an_id_ends_in_its_queues_tag
                r2_4_an_id_of_another_queue_is_refused
                r2_4_a_repeated_call_is_a_duplicate
                r2_4_a_repeated_call_finds_dead_and_cancelled_jobs
                r2_4_an_id_with_other_content_is_a_conflict
                r2_4_a_job_of_another_queue_is_no_duplicate
                r2_4_a_repeat_of_a_large_job_is_a_duplicate
                (Corrupt) r2_4_a_repeat_of_an_unreadable_job_is_a_duplicate
                r2_4_an_id_of_no_queue_is_not_found
                r2_4_an_id_survives_its_text_and_its_bytes
                r6_5_a_move_is_safe_to_repeat
                r2_4_one_id_at_once_is_created_once
            }

            errors {
                r10_1_the_store_can_what_its_harness_states
                r10_1_an_error_says_what_to_do
                r10_3_dropped_calls_leak_nothing
                r10_4_after_close_every_call_is_closed
                [Wakeups] r10_4_after_close_nobody_subscribes
                r10_4_calls_in_flight_finish_or_get_closed
                (SecondHandle) r10_4_other_handles_stay_open
                [Inspect] r11_1_the_store_says_what_an_ok_survives
                [Migrations] r11_2_the_schema_is_current
            }

            audit {
                [Audit] r8_6_acts_are_listed_newest_first
                [Audit] r8_6_acts_at_once_are_all_recorded
                [Audit] r8_6_the_latest_acts_are_kept
            }

            figures {
                r8_3_every_queue_ever_used_is_listed
                r8_3_queues_are_found_by_name
                r8_3_queues_are_listed_page_by_page
                r8_3_counts_follow_every_transition
                r8_3_the_oldest_age_counts_from_when_it_was_due
                r8_3_the_oldest_is_not_the_next
                [Admin Upkeep] r8_3_totals_outlive_the_jobs
                [Admin] r8_3_under_skip_each_job_counts_once
                r8_3_a_retry_that_is_due_is_ready
                r8_3_health_says_why
                r8_3_health_remembers_the_last_thousand_ends
                r8_3_health_forgets_deaths_of_long_ago
                [Leases] r8_3_live_workers_are_counted
                r8_3_figures_say_of_when_they_are
            }

            flush {
                r2_10_items_of_a_call_act_in_order
                r2_10_equal_leases_in_one_nack_take_effect_once
                r2_10_a_refused_caller_hurts_no_other
                r2_10_a_refused_delete_hurts_no_other
                (AtomicAcrossQueues) r2_10_a_caller_refused_halfway_hurts_no_other
                r2_10_callers_at_once_get_their_own_outcomes
                r2_10_a_caller_that_goes_away_harms_none
            }

            never_happens {
                r0_1_of_settlers_at_once_one_takes_effect
                [Exchange] r0_1_exchange_settles_before_it_reserves
                r0_2_an_accepted_job_is_never_lost
                r0_3_never_more_leases_than_max_attempts
                r0_3_a_leased_job_is_leased_to_nobody_else
                r0_4_now_is_the_stores_clock
            }

            history {
                r5_5_leases_of_a_job_never_overlap
                r5_4_a_job_is_deleted_or_leased_never_both
                r5_4_a_late_ack_or_a_reclaim_wins_never_both
            }

            leases_of_one_reserve {
                r1_5_retried_and_new_jobs_of_one_reserve
                r1_5_a_retried_job_behind_new_ones_of_one_reserve
                r2_5_a_key_behind_jobs_without_one_holds_for_its_window
                r5_7_a_missed_deadline_behind_other_jobs_dead_letters
                (Corrupt) r5_8_an_unreadable_record_behind_other_jobs_dead_letters
                r9_3_a_reserve_ends_before_the_first_job_that_is_not_due
                r3_3_a_stale_token_beside_a_valid_lease_of_its_successor
                [Leases] r3_7_an_extend_of_some_of_a_reserve_spares_the_others
                [Admin Leases] r6_6_a_cancel_of_one_of_a_reserve_is_told_to_it_alone
            }

            leases {
                [Leases] r3_7_extend_counts_from_now
                [Leases] r3_7_an_expired_lease_can_be_extended
                [Leases] r3_7_a_lost_lease_is_not_extended
                [Admin Leases] r3_7_extend_tells_of_a_requested_cancel
                [Leases] r3_7_a_batch_of_leases_is_answered_per_item
                [Leases] r3_8_progress_and_lines_are_stored
                [Leases] r3_8_the_last_lines_are_kept_and_cut
                [Leases] r3_8_a_lost_lease_reports_nothing
                [Leases] r3_8_reports_of_one_call_are_stored_in_their_order
                [Leases] r3_9_a_worker_is_listed_until_three_ttl
                [Leases] r3_9_a_worker_is_found_by_its_id
                [Leases] r3_9_a_beat_forgets_nobody_too_early
                [Leases] r3_9_two_workers_may_share_a_name
                [Leases] r3_9_workers_are_listed_page_by_page
                [Leases] r3_9_leases_do_not_depend_on_presence
                [Leases] r3_9_a_worker_that_is_forgotten_is_gone_at_once
                [Admin Leases] r3_9_a_worker_that_serves_more_than_it_names_may_serve_any
            }

            orders {
                [Leases] r3_9_a_beat_tells_what_runs
                [Leases] r3_9_at_most_100_running_are_told
                [Leases Control] r3_9_an_order_is_shown_until_obeyed
                [Leases Control] r3_9_the_last_order_counts
                [Leases Control] r3_9_who_is_not_listed_gets_no_order
                [Leases Control] r3_9_orders_are_gone_with_the_worker
                [Leases Control] r3_9_a_worker_that_comes_back_gets_new_orders
                [Leases Control] r3_9_a_beat_obeys_no_order_that_was_not_given
                [Leases Control] r3_9_no_lease_depends_on_an_order
                [Leases] r3_9_a_quiet_worker_is_listed_longer
                [Leases Control] r3_9_a_quiet_worker_is_given_orders
                [Leases Control] r12_workers_of_one_order
            }

            listing {
                r8_1_a_handle_sees_its_own_writes
                r8_1_reads_change_nothing
                r8_1_states_of_many_jobs_are_told_in_order
                r8_2_jobs_are_listed_in_the_documented_order
                r8_2_blocked_jobs_are_listed_by_key
                [Admin] r8_2_a_fair_queue_is_listed_by_key
                [Admin] r8_2_a_job_that_ran_while_the_order_changed_is_listed
                [Admin] r8_2_ready_jobs_of_keys_are_listed_once
                r8_2_every_part_of_a_filter_filters
                r8_2_failed_jobs_are_found_by_their_last_error
                r8_2_an_error_is_found_in_dead_and_failed_jobs_only
            }

            nack {
                r4_1_a_stale_nack_changes_nothing
                r4_1_a_repeated_nack_changes_nothing
                r4_2_a_failed_run_waits_for_its_delay
                r4_2_without_a_delay_it_runs_at_once
                r4_3_the_final_attempt_dead_letters
                r4_4_a_release_spends_nothing
                r4_4_a_release_keeps_earlier_failures
                r4_5_each_failure_is_remembered
                r4_5_the_last_failures_are_kept
                r4_6_any_text_is_accepted
                r4_7_the_delay_is_clamped_and_answered
                r1_3_fatal_dead_letters_and_cancelled_cancels
                r10_1_single_calls_turn_outcomes_into_errors
            }

            operate {
                [Admin] r6_3_retry_starts_anew_and_keeps_the_history
                [Admin] r6_3_only_dead_and_cancelled_jobs_come_back
                [Admin] r6_3_retry_takes_its_idempotency_key_again
                [Admin] r6_3_a_taken_key_keeps_no_other_from_coming_back
                [Admin] r6_3_retry_ignores_max_pending
                [Admin] r6_3_a_retry_may_be_delayed
                [Admin] r6_3_a_retry_is_delayed_by_366_days_at_most
                [Admin] r6_3_retry_under_hold_keeps_the_place_in_the_key
                [Admin] r6_4_a_waiting_job_is_rescheduled
                [Admin] r6_4_only_pending_jobs_are_rescheduled
                [Admin] r6_6_cancel_answers_by_state
                [Admin] r6_6_a_cancelled_job_never_runs
            }

            order {
                r7_1_priority_then_time_then_sequence
                r7_1_jobs_of_one_instant_are_first_come_first_served
                r7_1_a_failed_run_goes_by_its_new_time
                r7_1_a_delayed_job_goes_by_when_it_was_due
                r7_1_the_most_urgent_is_next
                r7_2_reservers_at_once_take_a_prefix
                [Admin] r7_4_no_key_starves_behind_a_long_backlog
                [Admin] r7_4_jobs_without_a_key_share_one_turn
                [Admin] r7_4_within_a_key_the_order_holds
                [Admin] r7_4_a_late_key_gets_its_turn
                [Admin] r7_4_a_key_that_was_idle_is_owed_nothing
                [Admin] r7_4_new_keys_take_no_turn_from_an_old_one
                r7_1_nothing_else_has_a_place_in_the_order
            }

            pagination {
                r8_2_what_stays_comes_exactly_once
                r8_2_finished_jobs_come_exactly_once
                r8_2_what_happened_at_once_comes_exactly_once
                r8_2_a_cursor_is_bound_to_its_filter
                r8_2_a_forged_position_is_refused_or_harmless
                r8_2_a_cursor_with_a_digit_changed_is_refused_or_harmless
                r8_2_a_rare_job_is_found_behind_many
            }

            reclaim {
                r5_6_the_next_reserve_reclaims_and_grants
                r5_6_any_worker_reclaims
                r5_6_reclaim_is_bounded_and_in_order_of_expiry
                r5_6_live_leases_hide_no_expired_one
                r5_6_every_eligible_job_is_served_at_last
                r5_7_expiry_on_the_final_attempt_dead_letters
                r5_7_a_missed_deadline_dead_letters_and_the_call_goes_on
                r5_7_a_deadline_is_for_the_start
                r5_7_a_retry_after_the_deadline_is_dead_lettered
                r5_7_dead_letters_are_bounded_and_say_more
                r5_7_leases_that_may_be_taken_back_are_dead_lettered_within_the_bound
                r5_7_a_call_that_only_dead_lettered_one_says_more
                r5_7_the_bound_of_dead_letters_is_of_the_whole_call
                (Corrupt) r5_8_an_unreadable_record_stops_nobody
                (Corrupt) r5_8_a_running_record_that_became_unreadable_is_dead_lettered
                (Corrupt) r5_8_reads_show_an_unreadable_record
            }

            after_expiry {
                r4_5_an_expiry_is_remembered
                [Leases] r6_2_a_deleted_job_leaves_nothing_to_the_next
                [Admin] r6_3_retry_counts_releases_and_deadline_anew
                [Admin] r6_7_a_queue_takes_its_ended_jobs_along
            }

            reserve {
                r5_1_no_work_is_an_empty_answer
                r5_1_the_hint_is_the_next_due_time
                [Admin] r5_1_the_hint_sees_partition_keys
                [Admin] r5_1_a_call_that_left_due_jobs_of_a_key_says_more
                r5_1_a_full_batch_says_more
                r5_2_one_step_sets_everything
                r5_3_only_the_eligible_is_leased
                [Admin] r5_3_a_paused_queue_leases_nothing
                r5_10_a_lost_reply_costs_one_ttl_and_one_attempt
                r5_10_a_repeat_under_one_nonce_is_safe
                r7_5_strict_queues_are_served_in_their_order
                r7_5_weighted_queues_get_their_share
                r7_5_what_a_queue_leaves_goes_to_the_others
                r7_5_shares_hold_across_calls_of_any_size
                r7_5_an_idle_queue_is_owed_nothing
            }

            retention {
                [Upkeep] r12_retention_by_default
                [Admin Upkeep] r12_retention_by_age_counts_from_the_end
                [Admin Upkeep] r12_retention_by_age_spares_a_long_run
                [Admin Upkeep] r12_retention_by_number_counts_both_ends
                [Admin Upkeep] r12_retention_by_number_keeps_the_newest
                [Admin Upkeep] r12_retention_by_bytes_keeps_the_newest
                [Admin Upkeep] r12_retention_by_bytes_counts_results
                [Admin Upkeep] r5_4_a_job_is_brought_back_or_pruned_never_both
                [Admin Upkeep] r5_4_what_ends_again_while_retention_runs_is_kept
                [Upkeep] r13_7_any_number_may_run_upkeep
                [Admin Upkeep] r13_7_a_step_is_bounded_and_says_more
                [Upkeep] r13_7_repair_finds_nothing_to_mend
            }

            states {
                r1_1_every_job_shows_one_status_everywhere
                r1_1_blocked_goes_before_scheduled
                [Admin] r1_1_blocked_is_told_alike_however_keys_are_served
                r1_1_counts_follow_the_clock
                r1_2_an_ended_job_never_runs_by_itself
                r1_3_a_reclaimed_job_keeps_its_place
                r1_4_time_alone_changes_nothing_stored
                r1_5_attempts_are_counted_at_reserve
                [Admin] r1_5_attempts_are_counted_in_a_fair_queue
                r1_5_a_release_is_no_attempt
                r1_5_lease_seq_rises_with_every_lease
                [Admin] r1_5_retry_never_resets_lease_seq
                [Admin] r1_6_an_ack_wins_over_a_requested_cancel
                [Admin] r1_6_retry_and_release_end_cancelled
                [Admin] r1_6_expiry_ends_cancelled
                [Admin] r1_6_fatal_and_dead_letter_stay_dead
                [Admin] r1_6_retry_clears_the_request
            }

            time {
                r9_1_every_instant_is_of_the_stores_clock
                r9_2_durations_count_from_the_stores_now
                r9_2_run_at_is_of_the_stores_clock
                r9_3_schedules_resolve_to_a_millisecond
                r9_4_a_jump_forward_loses_no_job
                (Rewind) r9_4_a_jump_back_loses_no_job
                [Admin] (Rewind) r9_4_after_a_jump_back_a_waiting_head_is_passed
                [Admin] (Rewind) r9_4_after_a_jump_back_nothing_runs_early
                [Admin] (Rewind) r9_4_after_a_jump_back_what_has_a_turn_waits
                [Admin] (Rewind) r9_4_after_a_jump_back_what_stands_behind_its_key_waits
            }

            transitions {
                [Admin Leases] r1_3_only_the_listed_transitions
            }

            wakeups {
                [Wakeups] r13_6_an_enqueue_rings
                [Wakeups] r13_6_a_release_rings
                [Admin Wakeups] r13_6_the_end_of_a_pause_rings
                [Wakeups] (SecondHandle) r13_6_work_rings_on_other_handles
            }

            why {
                [Admin Leases] r6_9_why_a_waiting_job_waits
                [Admin Leases] r6_9_why_a_released_job_waits
                [Admin] r6_9_why_names_the_dead_head_that_holds
                [Admin] r6_9_why_names_who_runs
                [Admin] r6_9_why_names_who_runs_before_who_waits
                [Admin Leases] r6_9_why_counts_who_is_served_before
                [Admin] r6_9_why_a_job_does_not_wait
            }
        }
    };
}

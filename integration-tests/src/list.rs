//! The cases by subject, each with its level and what else it needs; those of the fence stand in
//! `list_fence.rs`, those of limits and of bounds of time in `list_bounds.rs`, those of what makes
//! jobs by itself in `list_sources.rs`.

#[doc(hidden)]
#[macro_export]
macro_rules! __for_each_case {
    ($then:path, $($args:tt)*) => {
        $crate::__with_fence! {
            $then, [$($args)*]

            batches {
                core r3_6_items_of_a_batch_are_independent
                core r3_6_batches_over_several_queues_answer_in_order
                core r3_6_empty_batches_do_nothing
                full r3_6_admin_batches_answer_per_item
            }

            bulk {
                core r6_8_a_dry_run_only_counts
                full r6_8_a_bulk_reschedule_ends
                core r6_8_a_purge_deletes_all_that_matches
                core r6_8_what_runs_is_skipped
                full r6_8_the_dead_are_brought_back
                full r6_8_waiting_jobs_are_rescheduled_and_called_off
            }

            dlq {
                core r6_1_the_holder_buries
                core r6_1_a_waiting_job_is_buried_by_id
                core r6_1_a_running_job_is_buried_by_force_only
                core r6_1_an_expired_job_counts_as_running
                core r6_1_an_ended_job_is_not_buried_again
                core r6_1_dead_jobs_are_listed
                core r6_2_what_nobody_runs_is_deleted
                core r6_2_a_running_job_is_deleted_by_force_only
            }

            enqueue {
                core r2_1_defaults
                core r2_1_every_field_reaches_reader_and_worker
                core r2_1_payloads_are_stored_byte_for_byte
                core r2_1_every_priority_is_stored
                core r2_2_an_empty_batch_changes_nothing
                core r2_3_outcomes_are_in_input_order
                core r2_3_a_call_is_stored_in_one_step
                core(AtomicAcrossQueues) r2_3_a_call_over_several_queues_is_stored_in_one_step
                core r2_4_an_id_ends_in_its_queues_tag
                core r2_4_an_id_of_another_queue_is_refused
                core r2_4_a_repeated_call_is_a_duplicate
                core r2_4_a_repeated_call_finds_dead_and_cancelled_jobs
                core r2_4_an_id_with_other_content_is_a_conflict
                core r2_4_a_repeat_of_a_large_job_is_a_duplicate
                core r2_4_an_id_of_no_queue_is_not_found
                core r2_4_an_id_survives_its_text_and_its_bytes
                core r6_5_a_move_is_safe_to_repeat
                core r2_4_one_id_at_once_is_created_once
            }

            errors {
                core r10_1_the_store_can_what_its_harness_states
                core r10_1_an_error_says_what_to_do
                core r10_3_dropped_calls_leak_nothing
                core r10_4_after_close_every_call_is_closed
                full r10_4_after_close_every_capability_is_closed
                core r10_4_calls_in_flight_finish_or_get_closed
                core(SecondHandle) r10_4_other_handles_stay_open
                full r11_1_the_store_says_what_an_ok_survives
                full(Migrations) r11_2_the_schema_is_current
            }

            figures {
                core r8_3_every_queue_ever_used_is_listed
                core r8_3_queues_are_found_by_name
                core r8_3_counts_follow_every_transition
                core r8_3_the_oldest_age_counts_from_when_it_was_due
                core r8_3_the_oldest_is_not_the_next
                full r8_3_totals_outlive_the_jobs
                full r8_3_under_skip_each_job_counts_once
                core r8_3_a_retry_that_is_due_is_ready
                core r8_3_health_says_why
                core r8_3_health_remembers_the_last_thousand_ends
                core r8_3_health_forgets_deaths_of_long_ago
                full r8_3_live_workers_are_counted
                core r8_3_figures_say_of_when_they_are
            }

            flush {
                core r2_10_items_of_a_call_act_in_order
                core r2_10_equal_leases_in_one_nack_take_effect_once
                core r2_10_a_refused_caller_hurts_no_other
                core r2_10_a_refused_delete_hurts_no_other
                core r2_10_callers_at_once_get_their_own_outcomes
                core r2_10_a_caller_that_goes_away_harms_none
            }

            guarantees {
                core r0_1_of_settlers_at_once_one_takes_effect
                full r0_1_exchange_settles_before_it_reserves
                core r0_2_an_accepted_job_is_never_lost
                core r0_3_never_more_leases_than_max_attempts
                core r0_3_a_leased_job_is_leased_to_nobody_else
                core r0_4_now_is_the_stores_clock
            }

            history {
                core r5_5_leases_of_a_job_never_overlap
                core r5_4_a_job_is_deleted_or_leased_never_both
                core r5_4_a_late_ack_or_a_reclaim_wins_never_both
            }

            idempotency {
                core r2_5_a_duplicate_changes_nothing
                core r2_5_a_key_is_of_its_queue_and_exact
                core r2_5_the_longest_key_is_compared_whole
                core r2_5_a_key_holds_in_every_state
                core r2_5_a_key_holds_through_retries
                full r2_5_a_job_that_was_brought_back_holds_its_key
                full r2_5_a_key_outlives_its_pruned_job
                full r2_5_a_key_that_outlived_its_job_outlives_its_queue
                core r2_5_unique_until_done_ends_with_the_job
                core r2_5_deleting_the_job_frees_its_key
                core r2_5_keys_hold_within_one_call
                core r2_6_of_enqueues_at_once_one_creates
                core r2_6_a_refused_job_holds_no_key
                full r2_6_a_job_that_found_its_queue_full_holds_no_key
            }

            leases {
                full r3_7_extend_counts_from_now
                full r3_7_an_expired_lease_can_be_extended
                full r3_7_a_lost_lease_is_not_extended
                full r3_7_extend_tells_of_a_requested_cancel
                full r3_7_a_batch_of_leases_is_answered_per_item
                full r3_8_progress_and_lines_are_stored
                full r3_8_the_last_lines_are_kept_and_cut
                full r3_8_a_lost_lease_reports_nothing
                full r3_9_a_worker_is_listed_until_three_ttl
                full r3_9_a_beat_forgets_nobody_too_early
                full r3_9_two_workers_may_share_a_name
                full r3_9_leases_do_not_depend_on_presence
                full r3_9_a_worker_that_is_forgotten_is_gone_at_once
                full r3_9_a_worker_that_serves_more_than_it_names_may_serve_any
            }

            listing {
                core r8_1_a_handle_sees_its_own_writes
                core r8_1_reads_change_nothing
                core r8_2_jobs_are_listed_in_the_documented_order
                core r8_2_blocked_jobs_are_listed_by_key
                full r8_2_a_fair_queue_is_listed_by_key
                full r8_2_a_job_that_ran_while_the_order_changed_is_listed
                full r8_2_ready_jobs_of_keys_are_listed_once
                core r8_2_every_part_of_a_filter_filters
                core r8_2_failed_jobs_are_found_by_their_last_error
                core r8_2_an_error_is_found_in_dead_and_failed_jobs_only
            }

            nack {
                core r4_1_a_stale_nack_changes_nothing
                core r4_1_a_repeated_nack_changes_nothing
                core r4_2_a_failed_run_waits_for_its_delay
                core r4_2_without_a_delay_it_runs_at_once
                core r4_3_the_final_attempt_buries
                core r4_4_a_release_spends_nothing
                core r4_4_a_release_keeps_earlier_failures
                core r4_5_each_failure_is_remembered
                core r4_5_the_last_failures_are_kept
                core r4_6_any_text_is_accepted
                core r4_7_the_delay_is_clamped_and_answered
                core r1_3_fatal_buries_and_cancelled_cancels
                core r10_1_single_calls_turn_outcomes_into_errors
            }

            neighbours {
                core r2_5_deleting_an_old_job_frees_no_key_of_another
                core r5_6_a_full_batch_reclaims_in_the_other_queues_too
                core r5_6_leases_of_other_queues_are_left_alone
                core r5_6_the_bound_of_reclaims_is_of_the_whole_call
            }

            operate {
                full r6_3_retry_starts_anew_and_keeps_the_history
                full r6_3_only_dead_and_cancelled_jobs_come_back
                full r6_3_retry_takes_its_idempotency_key_again
                full r6_3_a_taken_key_keeps_no_other_from_coming_back
                full r6_3_retry_ignores_max_pending
                full r6_3_retry_under_hold_keeps_the_place_in_the_key
                full r6_4_a_waiting_job_is_rescheduled
                full r6_4_only_pending_jobs_are_rescheduled
                full r6_6_cancel_answers_by_state
                full r6_6_a_cancelled_job_never_runs
            }

            order {
                core r7_1_priority_then_time_then_sequence
                core r7_1_jobs_of_one_instant_are_first_come_first_served
                core r7_1_a_failed_run_goes_by_its_new_time
                core r7_1_a_delayed_job_goes_by_when_it_was_due
                core r7_1_the_most_urgent_is_next
                core r7_2_reservers_at_once_take_a_prefix
                full r7_4_no_key_starves_behind_a_long_backlog
                full r7_4_jobs_without_a_key_share_one_turn
                full r7_4_within_a_key_the_order_holds
                full r7_4_a_late_key_gets_its_turn
                full r7_4_a_key_that_was_idle_is_owed_nothing
                full r7_4_new_keys_take_no_turn_from_an_old_one
                core r7_1_nothing_else_has_a_place_in_the_order
            }

            paging {
                core r8_2_what_stays_comes_exactly_once
                core r8_2_finished_jobs_come_exactly_once
                core r8_2_what_happened_at_once_comes_exactly_once
                core r8_2_a_cursor_is_bound_to_its_filter
                core r8_2_a_forged_position_is_refused_or_harmless
                core r8_2_a_cursor_with_a_digit_changed_is_refused_or_harmless
                core r8_2_a_rare_job_is_found_behind_many
            }

            partition_keys {
                core r7_3_a_key_is_fifo_whatever_the_priority
                core r7_3_other_keys_and_queues_run_on
                core r7_3_a_waiting_head_blocks
                full r7_3_under_skip_a_waiting_head_is_passed
                full r7_3_under_skip_each_job_counts_from_its_time
                full r7_3_a_dead_head_continues_or_holds
                full r7_3_a_hold_that_is_lifted_frees_the_key
                full r7_3_per_key_run_at_once_in_order
                full r7_3_a_changed_per_key_binds_as_leases_end
                core r7_3_an_expired_head_runs_again_first
                core r7_3_a_stale_end_frees_no_second_slot
                core r7_3_an_enqueue_that_races_the_keys_end_is_served
                core r7_3_exclusion_holds_among_many_reservers
            }

            queue_full {
                full r2_8_a_full_queue_stores_nothing_more
                full r2_8_the_limit_is_exact_for_one_caller
                full r2_8_a_limit_set_elsewhere_is_in_force
                full r2_8_each_queue_of_a_call_has_its_own_room
                full r2_8_only_pending_jobs_count
                full r2_8_a_full_queue_still_knows_its_jobs
                full r2_8_a_full_queue_knows_a_job_by_its_id
            }

            queues {
                full r6_7_a_paused_queue_does_all_but_reserve
                full r6_7_a_paused_queue_is_left_alone_beside_others
                full r6_7_settings_come_before_the_first_job
                full r6_7_a_patch_changes_only_what_it_names
                full r6_7_a_queue_is_removed_when_nobody_needs_it
                full r6_7_a_long_queue_goes_with_every_job
                full r6_7_an_empty_queue_goes_with_its_settings
                full r6_7_a_queue_that_is_made_while_it_is_removed_is_listed
                full r12_a_change_of_order_loses_and_doubles_no_job
                full r12_a_change_of_order_reaches_the_keys_that_wait
                full r12_a_change_of_settings_reaches_every_key
                full(SecondHandle) r12_settings_are_in_force_on_other_handles
                full r6_9_why_a_waiting_job_waits
                full r6_9_why_names_the_dead_head_that_holds
                full r6_9_why_names_who_runs
                full r6_9_why_names_who_runs_before_who_waits
                full r6_9_why_counts_who_is_served_before
                full r6_9_why_a_job_does_not_wait
            }

            reclaim {
                core r5_6_the_next_reserve_reclaims_and_grants
                core r5_6_any_worker_reclaims
                core r5_6_reclaim_is_bounded_and_in_order_of_expiry
                core r5_6_live_leases_hide_no_expired_one
                core r5_6_every_eligible_job_is_served_at_last
                core r5_7_expiry_on_the_final_attempt_buries
                core r5_7_a_missed_deadline_buries_and_the_call_goes_on
                core r5_7_a_deadline_is_for_the_start
                core r5_7_a_retry_after_the_deadline_is_buried
                core r5_7_burials_are_bounded_and_say_more
                core r5_7_leases_that_may_be_taken_back_are_buried_within_the_bound
                core r5_7_a_call_that_only_buried_one_says_more
                core r5_7_the_bound_of_burials_is_of_the_whole_call
                core(Corrupt) r5_8_an_unreadable_record_stops_nobody
                core(Corrupt) r5_8_a_running_record_that_became_unreadable_is_buried
                core(Corrupt) r5_8_reads_show_an_unreadable_record
            }

            remains {
                core r4_5_an_expiry_is_remembered
                full r6_2_a_deleted_job_leaves_nothing_to_the_next
                full r6_3_retry_counts_releases_and_deadline_anew
                full r6_7_a_queue_takes_its_ended_jobs_along
            }

            reserve {
                core r5_1_no_work_is_an_empty_answer
                core r5_1_the_hint_is_the_next_due_time
                full r5_1_the_hint_sees_partition_keys
                core r5_1_a_full_batch_says_more
                core r5_2_one_step_sets_everything
                core r5_3_only_the_eligible_is_leased
                full r5_3_a_paused_queue_leases_nothing
                core r5_10_a_lost_reply_costs_one_ttl_and_one_attempt
                core r5_10_a_repeat_under_one_nonce_is_safe
                core r7_5_strict_queues_are_served_in_their_order
                core r7_5_weighted_queues_get_their_share
                core r7_5_what_a_queue_leaves_goes_to_the_others
                core r7_5_shares_hold_across_calls_of_any_size
                core r7_5_an_idle_queue_is_owed_nothing
            }

            retention {
                full r12_retention_by_default
                full r12_retention_by_age_counts_from_the_end
                full r12_retention_by_age_spares_a_long_run
                full r12_retention_by_number_counts_both_ends
                full r12_retention_by_number_keeps_the_newest
                full r12_retention_by_bytes_keeps_the_newest
                full r12_retention_by_bytes_counts_results
                full r5_4_a_job_is_brought_back_or_pruned_never_both
                full r5_4_what_ends_again_while_retention_runs_is_kept
                full r13_7_any_number_may_run_upkeep
                full r13_7_a_step_is_bounded_and_says_more
                full r13_7_repair_finds_nothing_to_mend
            }

            slots {
                core r6_5_every_end_frees_the_slot
                full r6_5_a_cancelled_job_frees_the_slot
                core(Corrupt) r6_5_an_unreadable_job_frees_the_slot
                full r6_5_a_held_key_is_freed_when_its_dead_head_goes
                full r6_5_under_hold_other_ends_free_the_slot
                full r6_5_a_job_that_died_behind_its_head_holds_nothing
            }

            states {
                core r1_1_every_job_shows_one_status_everywhere
                core r1_1_blocked_goes_before_scheduled
                full r1_1_blocked_is_told_alike_however_keys_are_served
                core r1_1_counts_follow_the_clock
                core r1_2_an_ended_job_never_runs_by_itself
                core r1_3_a_reclaimed_job_keeps_its_place
                core r1_4_time_alone_changes_nothing_stored
                core r1_5_attempts_are_counted_at_reserve
                full r1_5_attempts_are_counted_in_a_fair_queue
                core r1_5_a_release_is_no_attempt
                core r1_5_lease_seq_rises_with_every_lease
                full r1_5_retry_never_resets_lease_seq
                full r1_6_an_ack_wins_over_a_requested_cancel
                full r1_6_retry_and_release_end_cancelled
                full r1_6_expiry_ends_cancelled
                full r1_6_fatal_and_burial_stay_dead
                full r1_6_retry_clears_the_request
            }

            time {
                core r9_1_every_instant_is_of_the_stores_clock
                core r9_2_durations_count_from_the_stores_now
                core r9_2_run_at_is_of_the_stores_clock
                core r9_3_schedules_resolve_to_a_millisecond
                core r9_4_a_jump_forward_loses_no_job
                core(Rewind) r9_4_a_jump_back_loses_no_job
                full(Rewind) r9_4_after_a_jump_back_a_waiting_head_is_passed
                full(Rewind) r9_4_after_a_jump_back_nothing_runs_early
                full(Rewind) r9_4_after_a_jump_back_what_has_a_turn_waits
                full(Rewind) r9_4_after_a_jump_back_what_stands_behind_its_key_waits
            }

            transitions {
                full r1_3_only_the_listed_transitions
            }

            wakeups {
                full r13_6_an_enqueue_rings
                full r13_6_a_release_rings
                full r13_6_the_end_of_a_pause_rings
                full(SecondHandle) r13_6_work_rings_on_other_handles
            }
        }
    };
}

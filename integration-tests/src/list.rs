//! The cases by subject, each with its level and what else it needs.

#[doc(hidden)]
#[macro_export]
macro_rules! __for_each_case {
    ($then:path, $($args:tt)*) => {
        $then! {
            [$($args)*]

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
                core r2_4_an_id_of_no_queue_is_not_found
                core r2_4_an_id_survives_its_text_and_its_bytes
                core r6_5_a_move_is_safe_to_repeat
                core r2_4_one_id_at_once_is_created_once
            }

            fence {
                core r3_1_every_reserve_has_a_nonce_of_its_own
                core r3_1_a_guessed_nonce_settles_nothing
                core r3_1_another_lease_seq_settles_nothing
                core r3_1_another_queue_settles_nothing
                core r3_1_a_lease_dies_with_its_job
                core r3_1_a_nonce_is_shown_by_nothing
                core r3_2_an_ack_completes_the_job
                core r3_2_an_expired_lease_settles_until_it_is_reclaimed
                core r3_3_stale_ack_changes_nothing
                core r3_3_a_spent_lease_changes_nothing
                core r3_3_a_reclaimed_lease_is_lost_though_nobody_holds_the_job
                core r3_3_a_repeated_ack_is_already_done
                core r3_3_another_lease_of_a_completed_job_is_lost
                core r3_3_a_broken_lease_is_lost
                core r3_4_only_the_first_settlement_takes_effect
                core r3_5_an_unknown_job_leaves_no_trace
                full r3_5_an_unknown_job_leaves_no_trace_in_capabilities
                core r3_6_items_of_a_batch_are_independent
                core r3_6_batches_over_several_queues_answer_in_order
                core r3_6_empty_batches_do_nothing
            }

            flush {
                core r2_10_items_of_a_call_act_in_order
                core r2_10_equal_leases_in_one_nack_take_effect_once
                core r2_10_a_refused_caller_hurts_no_other
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

            idempotency {
                core r2_5_a_duplicate_changes_nothing
                core r2_5_a_key_is_of_its_queue_and_exact
                core r2_5_the_longest_key_is_compared_whole
                core r2_5_a_key_holds_in_every_state
                core r2_5_a_key_holds_through_retries
                core r2_5_a_key_is_free_after_the_window
                full r2_5_the_window_is_a_setting
                full r2_5_a_key_outlives_its_pruned_job
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
                full r3_9_two_workers_may_share_a_name
                full r3_9_leases_do_not_depend_on_presence
            }

            limits {
                core r2_7_an_oversized_item_refuses_the_whole_call
                core r2_7_nothing_is_cut_silently
                core r12_names
                core r12_reserved_queues_take_no_jobs
                core r12_keys
                core r12_payload
                core r12_metadata
                core r12_jobs_per_call
                core r12_bytes_per_call
                core r12_jobs_per_reserve
                core r12_ttl
                core r12_max_attempts
                core r12_delay_deadline_and_timeout
                full r12_reschedule
                core r12_priority
                core r12_result
                core r12_page
                full r12_settings
                core r12_nack_delay
                core r12_queues
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

            queue_full {
                full r2_8_a_full_queue_stores_nothing_more
                full r2_8_the_limit_is_exact_for_one_caller
                full r2_8_only_pending_jobs_count
                full r2_8_a_full_queue_still_knows_its_jobs
            }

            states {
                core r1_1_every_job_shows_one_status_everywhere
                core r1_1_blocked_goes_before_scheduled
                core r1_1_counts_follow_the_clock
                core r1_2_an_ended_job_never_runs_by_itself
                core r1_3_a_reclaimed_job_keeps_its_place
                core r1_4_time_alone_changes_nothing_stored
                core r1_5_attempts_are_counted_at_reserve
                core r1_5_a_release_is_no_attempt
                core r1_5_lease_seq_rises_with_every_lease
                full r1_5_retry_never_resets_lease_seq
                full r1_6_an_ack_wins_over_a_requested_cancel
                full r1_6_retry_and_release_end_cancelled
                full r1_6_expiry_ends_cancelled
                full r1_6_fatal_and_burial_stay_dead
                full r1_6_retry_clears_the_request
            }

            transitions {
                full r1_3_only_the_listed_transitions
            }
        }
    };
}

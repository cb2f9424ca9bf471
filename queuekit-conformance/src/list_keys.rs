//! The cases of queues, of partition keys, and of idempotency keys.

/// Adds them to the others.
#[doc(hidden)]
#[macro_export]
macro_rules! __with_keys {
    ($then:path, [$($args:tt)*] $($others:tt)*) => {
        $crate::__with_fence! {
            $then, [$($args)*]

            $($others)*

            idempotency {
                r2_5_a_duplicate_changes_nothing
                r2_5_a_key_is_of_its_queue_and_exact
                r2_5_the_longest_key_is_compared_whole
                r2_5_a_key_holds_in_every_state
                r2_5_a_key_holds_through_retries
                [Admin] r2_5_a_job_that_was_brought_back_holds_its_key
                [Admin Upkeep] r2_5_a_key_outlives_its_pruned_job
                [Admin Upkeep] r2_5_a_key_that_outlived_its_job_outlives_its_queue
                r2_5_unique_until_done_ends_with_the_job
                r2_5_deleting_the_job_frees_its_key
                r2_5_keys_hold_within_one_call
                r2_6_of_enqueues_at_once_one_creates
                r2_6_a_refused_job_holds_no_key
                [Admin] r2_6_a_job_that_found_its_queue_full_holds_no_key
            }

            partition_keys {
                r7_3_a_key_is_fifo_whatever_the_priority
                r7_3_other_keys_and_queues_run_on
                r7_3_a_waiting_head_blocks
                [Admin] r7_3_under_skip_a_waiting_head_is_passed
                [Admin] r7_3_under_skip_each_job_counts_from_its_time
                [Admin] r7_3_under_skip_due_jobs_run_by_sequence
                [Admin] r7_3_a_dead_head_continues_or_holds
                [Admin] r7_3_a_hold_that_is_lifted_frees_the_key
                [Admin] r7_3_per_key_run_at_once_in_order
                [Admin] r7_3_a_changed_per_key_binds_as_leases_end
                r7_3_an_expired_head_runs_again_first
                r7_3_a_stale_end_frees_no_second_slot
                r7_3_an_enqueue_that_races_the_keys_end_is_served
                r7_3_exclusion_holds_among_many_reservers
            }

            partition_key_slots {
                r6_5_every_end_frees_the_slot
                [Admin] r6_5_a_cancelled_job_frees_the_slot
                (Corrupt) r6_5_an_unreadable_job_frees_the_slot
                [Admin Upkeep] r6_5_a_held_key_is_freed_when_its_dead_head_goes
                [Admin] r6_5_under_hold_other_ends_free_the_slot
                [Admin] r6_5_a_job_that_died_behind_its_head_holds_nothing
            }

            queue_full {
                [Admin] r2_8_a_full_queue_stores_nothing_more
                [Admin] r2_8_the_limit_is_exact_for_one_caller
                [Admin] r2_8_a_limit_set_elsewhere_is_in_force
                [Admin] r2_8_each_queue_of_a_call_has_its_own_room
                [Admin] r2_8_only_pending_jobs_count
                [Admin] r2_8_a_full_queue_still_knows_its_jobs
                [Admin] r2_8_a_full_queue_knows_a_job_by_its_id
            }

            queues {
                [Admin Leases] r6_7_a_paused_queue_does_all_but_reserve
                [Admin] r6_7_a_paused_queue_is_left_alone_beside_others
                [Admin] r6_7_settings_come_before_the_first_job
                [Admin] r6_7_a_patch_changes_only_what_it_names
                [Admin] r6_7_a_queue_is_removed_when_nobody_needs_it
                [Admin] r6_7_a_long_queue_goes_with_every_job
                [Admin] r6_7_an_empty_queue_goes_with_its_settings
                [Admin] r6_7_a_queue_that_is_made_while_it_is_removed_is_listed
                [Admin] r12_a_change_of_order_loses_and_doubles_no_job
                [Admin] r12_a_change_of_order_reaches_jobs_without_a_key
                [Admin] r12_a_change_of_order_reaches_the_keys_that_wait
                [Admin] r12_a_change_of_settings_reaches_every_key
                [Admin] r12_a_change_to_skip_reaches_every_job
                [Admin] (SecondHandle) r12_settings_are_in_force_on_other_handles
            }

            pauses {
                [Admin] r16_10_a_pause_ends_by_itself
                [Admin] r16_10_shares_count_a_queue_from_the_end_of_its_pause
                [Admin] r16_10_leases_are_reclaimed_from_the_end_on
                [Admin] r16_10_the_hint_is_the_end_of_the_pause
                [Admin] r16_10_the_latest_pause_holds
            }

            notes {
                [Admin] r8_10_a_note_is_kept_beside_other_settings
                [Admin] r8_10_the_latest_notes_of_a_queue_are_kept
                [Admin] r8_10_a_note_that_is_refused_changes_nothing
                [Admin] (SecondHandle) r8_10_no_note_is_lost_to_another
            }

            queue_isolation {
                r2_5_deleting_an_old_job_frees_no_key_of_another
                r5_6_a_full_batch_reclaims_in_the_other_queues_too
                r5_6_leases_of_other_queues_are_left_alone
                r5_6_the_bound_of_reclaims_is_of_the_whole_call
            }
        }
    };
}

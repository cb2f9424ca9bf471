//! The cases of limits, and of bounds of time.

/// Adds them to the others.
#[doc(hidden)]
#[macro_export]
macro_rules! __with_bounds {
    ($then:path, [$($args:tt)*] $($others:tt)*) => {
        $crate::__with_sources! {
            $then, [$($args)*]

            $($others)*

            search {
                r8_8_an_id_is_found_by_its_first_digits
                r8_8_metadata_is_found_by_name_and_value
                r8_8_a_payload_is_found_by_a_scalar_in_it
                [Outbox] r8_8_a_delivery_is_found_by_the_data_of_its_event
                r8_8_each_match_comes_once
                r8_8_a_page_says_what_it_looked_at
                r8_8_a_time_of_the_end_is_found_without_a_look_at_others
                r8_8_ended_jobs_of_other_kinds_are_looked_at
                r8_8_a_page_without_time_looks_at_few_jobs
            }

            recent {
                r8_7_ended_jobs_are_listed_newest_first_over_queues
                r8_7_equal_times_have_one_order
                r8_7_what_ends_meanwhile_moves_nothing
                [Admin] r8_7_a_job_is_listed_by_its_last_end
                r8_7_every_part_of_a_filter_filters
                r8_7_only_ended_jobs_can_be_asked_for
                r8_7_a_page_ends_at_its_bytes
            }

            answer_bytes {
                r8_9_a_page_of_jobs_ends_at_its_bytes
                r8_9_the_failures_of_jobs_count
                r8_9_a_reserve_ends_at_its_bytes
                [Admin] r8_9_a_reserve_ends_at_the_bytes_its_caller_has_room_for
                [Admin] r8_9_a_strict_reserve_leases_nothing_that_does_not_fit
                r8_9_nothing_is_leased_past_a_job_that_does_not_fit
                [Admin] r7_4_a_key_whose_job_does_not_fit_keeps_its_turn
                r7_5_shares_hold_though_answers_are_full
                [Exchange] r8_9_an_exchange_ends_at_its_bytes
                [Outbox] r8_9_a_page_of_events_ends_at_its_bytes
                [Admin Outbox] r8_9_deliveries_count_with_the_data_of_their_events
                [Schedules] r8_9_rows_of_schedules_end_at_their_bytes
                [Leases] r8_9_a_page_of_workers_ends_at_its_bytes
            }

            time_bounds {
                r5_2_a_lease_lives_for_its_ttl
                [Admin] r5_2_a_lease_of_a_fair_queue_lives_for_its_ttl
                [Admin] r5_6_nothing_is_reclaimed_before_its_expiry
                r3_2_a_late_holder_settles_until_the_lease_is_reclaimed
                [Leases] r3_7_an_extended_lease_lives_for_its_new_ttl
                r9_3_nothing_runs_early
                [Admin] r9_3_nothing_runs_early_in_any_order
                [Admin] r9_3_the_next_of_a_key_waits_beside_less_urgent_jobs
                [Admin] r6_4_a_rescheduled_job_is_leased_at_its_time
                r5_7_a_job_runs_until_its_deadline
                [Admin] r6_3_a_deadline_counts_anew_from_the_retry
            }

            upkeep_bounds {
                [Admin Upkeep] r12_what_has_ended_is_kept_for_its_age
                [Admin Upkeep] r12_the_age_counts_from_the_end
                [Admin Upkeep] r5_4_what_died_again_is_kept_from_its_last_end
                [Admin Upkeep] r12_number_and_bytes_spare_the_last_minute
                r2_5_a_key_is_free_after_the_window
                [Admin] r2_5_the_window_is_a_setting
                [Admin Upkeep] r2_5_upkeep_forgets_no_key_within_its_window
                [Outbox Upkeep] r14_6_an_event_is_kept_for_its_age
                [Outbox Upkeep] r14_6_the_number_spares_the_last_minute
                [Schedules] r15_3_nothing_is_enqueued_early
                [Schedules] r15_4_ten_seconds_late_is_on_time
            }

            limits {
                r2_7_an_oversized_item_refuses_the_whole_call
                r2_7_nothing_is_cut_silently
                r12_names
                r12_reserved_queues_take_no_jobs
                r12_keys
                r12_payload
                r12_metadata
                r12_names_of_metadata
                r12_jobs_per_call
                r12_bytes_per_call
                r12_jobs_per_reserve
                r12_ttl
                [Leases] r12_a_beat_lasts_10_min_at_most
                [Leases] r12_a_beat_has_at_most_100_names
                r12_max_attempts
                r12_delay_deadline_and_timeout
                r12_start
                [Admin] r12_reschedule
                r12_priority
                r12_result
                r12_page
                [Admin] r12_settings
                [Admin] r12_a_description_is_kept_as_it_is
                r12_nack_delay
                r12_queues
            }

            workers {
                [Leases] r12_workers
            }
        }
    };
}

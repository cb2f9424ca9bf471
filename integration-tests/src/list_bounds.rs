//! The cases of limits, and of bounds of time.

/// Adds them to the others.
#[doc(hidden)]
#[macro_export]
macro_rules! __with_bounds {
    ($then:path, [$($args:tt)*] $($others:tt)*) => {
        $crate::__with_sources! {
            $then, [$($args)*]

            $($others)*

            bounds {
                core r5_2_a_lease_lives_for_its_ttl
                full r5_2_a_lease_of_a_fair_queue_lives_for_its_ttl
                full r5_6_nothing_is_reclaimed_before_its_expiry
                core r3_2_a_late_holder_settles_until_the_lease_is_reclaimed
                full r3_7_an_extended_lease_lives_for_its_new_ttl
                core r9_3_nothing_runs_early
                full r9_3_nothing_runs_early_in_any_order
                full r9_3_the_next_of_a_key_waits_beside_less_urgent_jobs
                full r6_4_a_rescheduled_job_is_leased_at_its_time
                core r5_7_a_job_runs_until_its_deadline
                full r6_3_a_deadline_counts_anew_from_the_retry
            }

            bounds_of_upkeep {
                full r12_what_has_ended_is_kept_for_its_age
                full r12_the_age_counts_from_the_end
                full r5_4_what_died_again_is_kept_from_its_last_end
                full r12_number_and_bytes_spare_the_last_minute
                core r2_5_a_key_is_free_after_the_window
                full r2_5_the_window_is_a_setting
                full r2_5_upkeep_forgets_no_key_within_its_window
                full(Outbox) r14_6_an_event_is_kept_for_its_age
                full(Outbox) r14_6_the_number_spares_the_last_minute
                full r15_3_nothing_is_enqueued_early
                full r15_4_ten_seconds_late_is_on_time
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
                full r12_a_beat_lasts_10_min_at_most
                full r12_a_beat_has_at_most_100_names
                core r12_max_attempts
                core r12_delay_deadline_and_timeout
                core r12_start
                full r12_reschedule
                core r12_priority
                core r12_result
                core r12_page
                full r12_settings
                full r12_a_description_is_kept_as_it_is
                core r12_nack_delay
                core r12_queues
                full r12_workers
            }
        }
    };
}

//! The cases of events and schedules.

/// Adds them to the others.
#[doc(hidden)]
#[macro_export]
macro_rules! __with_sources {
    ($then:path, [$($args:tt)*] $($others:tt)*) => {
        $then! {
            [$($args)*]

            $($others)*

            consumers {
                [Outbox] r14_4_a_change_is_in_force_everywhere_at_once
                [Outbox] r14_4_a_change_of_old_settings_takes_no_effect
                [Admin Outbox] r14_4_an_emit_under_old_settings_is_stored_under_the_present_ones
                [Outbox] r14_4_a_declaration_enables_nothing_an_operator_disabled
                [Admin Outbox] r14_4_a_declaration_of_old_leaves_the_queue_as_it_is
                [Outbox] r14_4_what_is_invalid_is_refused
                [Outbox] r14_7_a_failing_consumer_hurts_no_other
                [Admin Outbox] r14_7_a_full_queue_refuses_no_event
                [Outbox] r14_7_deliveries_can_be_delayed
            }

            event_clocks {
                [Outbox] (Rewind) r14_5_a_long_replay_ends_where_the_log_ended
                [Outbox Upkeep] (Rewind) r14_6_an_event_of_a_time_to_come_keeps_no_other
            }

            event_retention {
                [Outbox Upkeep] r14_6_events_that_are_held_make_no_newer_one_go
                [Admin Outbox Upkeep] r14_6_no_open_delivery_loses_its_event
                [Admin Outbox Upkeep] r14_6_a_retried_delivery_is_whole
                [Outbox Upkeep] r14_6_a_running_delivery_keeps_its_data
                [Outbox Upkeep] r14_6_nothing_is_left_of_an_event_that_has_gone
                [Outbox Schedules Upkeep] r14_6_the_log_is_bounded_by_number
            }

            events {
                [Outbox] r14_1_an_event_is_delivered_to_who_wants_it
                [Outbox] r14_1_emits_at_once_are_all_delivered
                [Outbox] r14_1_every_field_reaches_consumer_and_reader
                [Outbox] r14_1_large_events_reach_every_consumer
                [Outbox] r14_2_a_repeated_emit_is_a_duplicate
                [Outbox] r14_2_an_event_of_a_call_sees_those_before_it
                [Admin Outbox Upkeep]
                r14_2_no_delivery_is_made_again_under_the_id_of_an_event_that_has_gone
                [Outbox] r14_2_one_key_at_once_is_emitted_once
                [Admin Outbox] r14_3_a_key_with_many_deliveries_keeps_none_of_another_out
                [Admin Outbox] r14_3_order_is_kept_where_it_is_wanted
                [Outbox] r14_5_a_replay_delivers_what_is_in_the_log
            }

            occurrences {
                [Schedules] r15_2_a_change_that_others_finish_enqueues_once
                [Schedules] r15_2_a_job_that_is_stored_is_left_as_it_is
                [Schedules] r15_2_a_schedule_made_again_is_another
                [Schedules] r15_2_a_stale_change_enqueues_nothing
                [Schedules] r15_2_each_occurrence_is_enqueued_once
                [Schedules] r15_2_of_changes_at_once_one_takes_effect
            }

            schedules {
                [Schedules] r15_1_after_a_reset_the_code_applies_again
                [Schedules] r15_1_a_declaration_spares_what_an_operator_changed
                [Schedules] r15_1_a_schedule_is_stored_listed_and_removed
                [Schedules] r15_1_a_store_has_no_more_schedules_than_its_limit
                [Schedules] r15_1_what_never_occurs_is_refused
                [Schedules] r15_3_start_end_and_jitter
                [Schedules] r15_4_missed_occurrences_follow_the_policy
                [Schedules] r15_5_an_occurrence_waits_for_no_overlap
                [Schedules] r15_6_an_edit_keeps_what_is_due
                [Schedules] r15_6_pause_resume_and_run_now
                [Admin Schedules] r15_7_a_full_queue_keeps_it_due
                [Schedules] r15_7_an_unreadable_schedule_stops_no_other
            }
        }
    };
}

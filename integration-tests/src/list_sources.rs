//! The cases of what makes jobs by itself: events and schedules.

/// Adds them to the others.
#[doc(hidden)]
#[macro_export]
macro_rules! __with_sources {
    ($then:path, [$($args:tt)*] $($others:tt)*) => {
        $then! {
            [$($args)*]

            $($others)*

            consumers {
                full(Outbox) r14_4_a_change_is_in_force_everywhere_at_once
                full(Outbox) r14_4_a_change_of_old_settings_takes_no_effect
                full(Outbox) r14_4_a_declaration_enables_nothing_an_operator_disabled
                full(Outbox) r14_4_a_declaration_of_old_leaves_the_queue_as_it_is
                full(Outbox) r14_4_what_is_invalid_is_refused
                full(Outbox) r14_7_a_failing_consumer_hurts_no_other
                full(Outbox) r14_7_a_full_queue_refuses_no_event
                full(Outbox) r14_7_deliveries_can_be_delayed
            }

            event_clocks {
                full(Rewind) r14_5_a_long_replay_ends_where_the_log_ended
                full(Rewind) r14_6_an_event_of_a_time_to_come_keeps_no_other
            }

            event_retention {
                full(Outbox) r14_6_events_that_are_held_make_no_newer_one_go
                full(Outbox) r14_6_no_open_delivery_loses_its_event
                full(Outbox) r14_6_a_retried_delivery_is_whole
                full(Outbox) r14_6_a_running_delivery_keeps_its_data
                full(Outbox) r14_6_nothing_is_left_of_an_event_that_has_gone
                full(Outbox) r14_6_the_log_is_bounded_by_number
            }

            events {
                full(Outbox) r14_1_an_event_is_delivered_to_who_wants_it
                full(Outbox) r14_1_emits_at_once_are_all_delivered
                full(Outbox) r14_1_every_field_reaches_consumer_and_reader
                full(Outbox) r14_1_large_events_reach_every_consumer
                full(Outbox) r14_2_a_repeated_emit_is_a_duplicate
                full(Outbox) r14_2_an_event_of_a_call_sees_those_before_it
                full(Outbox) r14_2_no_delivery_is_made_again_under_the_id_of_an_event_that_has_gone
                full(Outbox) r14_2_one_key_at_once_is_emitted_once
                full(Outbox) r14_3_a_key_with_many_deliveries_keeps_none_of_another_out
                full(Outbox) r14_3_order_is_kept_where_it_is_wanted
                full(Outbox) r14_5_a_replay_delivers_what_is_in_the_log
            }

            occurrences {
                full r15_2_a_change_that_others_finish_enqueues_once
                full r15_2_a_job_that_is_stored_is_left_as_it_is
                full r15_2_a_schedule_made_again_is_another
                full r15_2_a_stale_change_enqueues_nothing
                full r15_2_each_occurrence_is_enqueued_once
                full r15_2_of_changes_at_once_one_takes_effect
            }

            schedules {
                full r15_1_a_declaration_spares_what_an_operator_changed
                full r15_1_a_schedule_is_stored_listed_and_removed
                full r15_1_a_store_has_at_most_10_000_schedules
                full r15_1_what_never_occurs_is_refused
                full r15_3_start_end_and_jitter
                full r15_4_missed_occurrences_follow_the_policy
                full r15_5_an_occurrence_waits_for_no_overlap
                full r15_6_an_edit_keeps_what_is_due
                full r15_6_pause_resume_and_run_now
                full r15_7_a_full_queue_keeps_it_due
                full r15_7_an_unreadable_schedule_stops_no_other
            }
        }
    };
}

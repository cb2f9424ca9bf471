//! The cases of the fence.

/// Adds them to the others.
#[doc(hidden)]
#[macro_export]
macro_rules! __with_fence {
    ($then:path, [$($args:tt)*] $($others:tt)*) => {
        $crate::__with_bounds! {
            $then, [$($args)*]

            $($others)*

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
                core r3_3_a_reclaimed_lease_is_lost_though_nobody_holds_the_job
                core r3_3_a_repeated_ack_is_already_done
                core r3_4_only_the_first_settlement_takes_effect
                core r3_5_an_unknown_job_leaves_no_trace
                full r3_5_an_unknown_job_leaves_no_trace_in_capabilities
            }

            fence_matrix {
                core r3_3_no_stale_token_acks
                full r3_3_no_stale_token_acks_in_an_exchange
                full r3_7_no_stale_token_extends
                full r3_8_no_stale_token_reports
                core r4_1_no_stale_token_retries
                core r4_1_no_stale_token_releases
                core r4_1_no_stale_token_fails_for_good
                core r4_1_no_stale_token_calls_off
                full r4_1_no_stale_token_nacks_in_an_exchange
                core r6_1_no_stale_token_buries
            }
        }
    };
}

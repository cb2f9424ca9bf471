//! The worker suite: R13 and the guarantees for handlers, over any store.
//!
//! Every case needs `Leases`. If a case needs another capability too, the list below says so, and
//! the case is skipped if the harness does not state it. The harness must open stores whose clock
//! runs, because a worker extends its leases in real time. Each case runs against a store behind
//! [`Flaky`], which breaks on command. Cases wait for events and never for a fixed time; they wait
//! at most [`PATIENCE`].

mod cases;
mod flaky;
mod kit;
mod live_memory;

use futures_util::future::BoxFuture;

pub use flaky::{Flaky, Switches};
pub use kit::{Live, PATIENCE};
pub use live_memory::LiveMemoryHarness;

use crate::{Capability, Harness};

/// Makes each case of the worker suite a named test of one store:
/// `worker_suite!(module, harness)`.
#[macro_export]
macro_rules! worker_suite {
    ($name:ident, $harness:expr) => {
        #[doc = "Each case of the worker suite as a test."]
        mod $name {
            #[allow(unused_imports, reason = "the harness may be named in full")]
            use super::*;

            $crate::__for_each_worker_case! { $crate::__worker_tests, $harness }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __worker_tests {
    ([$harness:expr] $($module:ident { $($([$($capability:ident)+])? $case:ident)+ })+) => {
        $($(
            #[test]
            fn $case() {
                $crate::worker::run(&$harness, stringify!($case));
            }
        )+)+
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __for_each_worker_case {
    ($then:path, $($args:tt)*) => {
        $then! {
            [$($args)*]

            leases {
                r13_1_a_handler_that_blocks_its_thread_keeps_its_lease
                r13_1_a_lost_lease_stops_its_handler
                [Admin] r13_1_a_requested_cancel_stops_the_handler
                [Admin Wakeups] r13_1_a_cancel_reaches_the_handler_within_100_ms
                r13_1_a_run_that_times_out_is_stopped_then_given_up
                r13_1_a_handler_that_never_yields_is_given_up_and_holds_its_slot
                r13_1_a_lease_that_cannot_be_extended_stops_its_handler
                r13_1_presence_is_told
                r13_1_a_worker_of_many_queues_says_that_it_serves_more
                r13_1_leases_and_presence_are_renewed_at_a_third
            }

            outcomes {
                r13_2_an_ack_whose_reply_was_lost_is_repeated
                r13_2_a_lease_is_extended_until_its_ack_is_answered
                r13_2_outcomes_are_recorded_while_the_worker_drains
                r13_3_a_panic_is_a_failed_attempt_with_its_text
                r13_3_an_error_is_a_failed_attempt_with_its_causes
                r13_3_a_lost_lease_is_counted_and_the_worker_goes_on
                r13_3_a_result_that_is_too_large_fails_the_attempt
                r13_3_errors_decide_what_becomes_of_the_job
                r13_3_results_progress_and_lines_are_stored
                [History] r8_5_a_worker_adds_what_it_ran
            }

            slots {
                r13_4_a_worker_reserves_only_what_it_has_slots_for
                [Exchange] r13_4_two_calls_at_once_ask_for_no_more_than_it_has_slots_for
                r13_4_a_queue_keeps_to_its_own_concurrency
                r13_4_a_kind_keeps_to_its_own_concurrency
                r13_4_a_bounded_queue_does_not_overtake
                r13_4_a_kind_without_handler_waits_and_spends_no_attempt
                [Outbox] r13_4_the_handler_for_any_type_runs_what_has_no_other
                r13_4_unanswered_acks_stop_the_fetching
                r13_4_a_batch_that_a_poison_item_fails_is_told_apart
            }

            ends {
                r13_5_a_drain_waits_for_what_runs
                r13_5_a_drain_releases_what_goes_on_too_long
                r13_5_a_worker_that_is_dropped_gives_its_jobs_back
                r13_5_a_worker_that_has_ended_is_listed_no_more
                r13_5_until_idle_leaves_what_is_due_later
                r13_5_until_idle_sees_what_late_outcomes_free
            }

            orders {
                r3_9_a_worker_says_what_it_runs
                [Control] r3_9_a_quiet_worker_keeps_its_run_and_takes_no_more
                [Control] r3_9_a_worker_that_is_stopped_drains
                [Control] r3_9_slots_go_down_and_up
                [Control] r3_9_an_order_whose_answer_is_lost_is_obeyed
                [Control] r3_9_a_quiet_worker_that_runs_until_idle_ends
            }

            quiet {
                [Wakeups] r13_12_an_idle_worker_makes_no_call_until_it_is_rung
                r13_12_without_wake_ups_it_polls
                [Wakeups Control] r13_12_an_order_is_met_at_the_next_call
            }

            batches {
                r13_9_jobs_of_a_kind_run_in_one_call
                r13_9_no_call_has_more_jobs_than_allowed
                r13_9_a_call_waits_for_more_jobs_for_its_time_at_most
                r13_9_a_drain_waits_for_no_further_jobs
                r13_9_a_call_that_failed_is_made_again_job_by_job
                r13_9_a_call_that_panicked_is_made_again_job_by_job
                r13_9_each_job_of_a_call_has_its_own_outcome
                r13_9_a_call_that_was_given_up_is_not_made_again
                r13_9_a_second_attempt_runs_in_a_call_of_its_own
                r13_9_a_job_that_was_asked_to_stop_is_not_run_again
                r13_9_a_job_with_a_short_timeout_does_not_wait
                r13_9_the_timeout_counts_from_the_call
            }

            checkpoints {
                [Checkpoints] r13_10_a_step_that_was_done_is_not_run_again
                [Checkpoints] r13_10_a_step_that_failed_or_was_dropped_runs_again
                [Checkpoints] r13_10_a_step_that_runs_is_not_begun_twice
                [Checkpoints] r13_10_a_step_is_stored_once_though_calls_fail
                [Checkpoints] r13_10_earlier_steps_are_read_though_calls_fail
                [Checkpoints] r13_10_a_run_that_lost_its_job_stores_nothing
                [Checkpoints] r13_10_what_is_too_large_or_too_many_fails_the_attempt
                [Checkpoints] r13_10_a_step_can_be_stored_by_the_handlers_own_transaction
                [Checkpoints] r13_10_a_sleep_gives_the_job_back_until_its_time
                [Checkpoints Admin] r13_10_a_job_that_is_woken_early_sleeps_on
            }

            undecodable {
                r13_8_a_payload_that_does_not_fit_parks_its_job
                r13_8_a_worker_that_reads_it_runs_it_at_its_first_attempt
                r13_8_a_job_that_no_worker_reads_for_7_days_is_dead
                r13_8_a_job_is_released_while_the_store_cannot_be_read
                r13_8_a_handler_can_say_that_it_cannot_read_its_payload
                r13_8_beats_and_findings_name_a_kind_that_is_not_read
                r13_8_a_job_of_a_batch_parks_alone
                r13_8_an_older_version_of_a_payload_is_upgraded
                r13_8_a_newer_version_of_a_payload_waits_for_a_newer_worker
            }

            waits {
                [Admin] r13_11_a_wait_answers_how_the_job_ended
                r13_11_a_wait_for_a_job_that_is_gone_fails
                r13_11_a_wait_ends_at_its_time
                r13_11_a_wait_outlasts_an_outage
                r13_11_waits_of_a_client_share_their_looks
            }

            hints {
                [Wakeups] r13_6_a_wakeup_starts_work_before_the_poll
                r13_6_without_wakeups_polling_finds_work
                r13_6_a_job_that_becomes_due_is_not_polled_for
                r13_6_an_outage_ends_without_a_restart
                r13_6_a_worker_of_a_store_without_exchange_works
                [Upkeep] r13_7_upkeep_runs_beside_the_work
            }

            schedules {
                [Schedules] r15_2_a_worker_enqueues_what_its_schedules_say
            }
        }
    };
}

struct WorkerCase {
    name: &'static str,
    /// The capabilities that it needs beside `Leases`.
    capabilities: &'static [Capability],
    run: fn(Live) -> BoxFuture<'static, ()>,
}

macro_rules! worker_table {
    ([] $($module:ident { $($([$($capability:ident)+])? $case:ident)+ })+) => {
        const CASES: &[WorkerCase] = &[$($(
            WorkerCase {
                name: stringify!($case),
                capabilities: &[$($(Capability::$capability),+)?],
                run: |live| Box::pin(cases::$module::$case(live)),
            },
        )+)+];
    };
}

crate::__for_each_worker_case! { worker_table, }

/// The names of all cases.
pub fn names() -> impl Iterator<Item = &'static str> {
    CASES.iter().map(|case| case.name)
}

/// Runs one case in a store of its own.
///
/// # Panics
/// If the case fails.
pub fn run(harness: &dyn Harness, name: &str) {
    let case = CASES.iter().find(|case| case.name == name).expect("a case of this name");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        if let Some(why) = harness.why_absent().await {
            return crate::skip(name, &why);
        }
        let world = harness.open().await;
        if let Some(why) = crate::runner::lacks(case.capabilities, &world.expect()) {
            world.dispose().await;
            return crate::skip(name, &why);
        }
        let live = Live::new(std::sync::Arc::clone(&world));
        let outcome = tokio::spawn((case.run)(live)).await;
        world.dispose().await;
        if let Err(error) = outcome {
            std::panic::resume_unwind(error.into_panic());
        }
    });
    // A handler that a case left blocked must not block its test.
    runtime.shutdown_background();
}

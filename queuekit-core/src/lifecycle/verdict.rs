//! Which transition an operation takes, as pure functions of the stored job.

use std::time::Duration;

use super::Transition;
use crate::backend::{NackKind, NackOutcome};
use crate::clock::Timestamp;
use crate::job::{State, Status};

/// What a nack by the holder of the lease does (contract R4.2 to R4.4, R1.6).
pub fn nack(kind: NackKind, attempts: u32, max: u32, cancel_requested: bool) -> Transition {
    match kind {
        NackKind::Fatal => Transition::Fatal,
        NackKind::Cancelled => Transition::CancelRunning,
        // The job would only run again to be cancelled.
        NackKind::Retry | NackKind::Release if cancel_requested => Transition::CancelRunning,
        NackKind::Release => Transition::Release,
        NackKind::Retry if attempts >= max => Transition::Exhaust,
        NackKind::Retry => Transition::RetryLater,
    }
}

/// The outcome of a nack that took this transition.
pub fn nack_outcome(transition: Transition, after: Duration) -> NackOutcome {
    match transition {
        Transition::RetryLater => NackOutcome::Retrying { after },
        Transition::Release => NackOutcome::Released { after },
        Transition::CancelRunning => NackOutcome::Cancelled,
        _ => NackOutcome::Dead,
    }
}

/// What reserve does with an expired lease (contract R1.3, R1.6).
pub fn expired(attempts: u32, max: u32, cancel_requested: bool) -> Transition {
    // Before the attempts are counted: a job that was cancelled is no dead letter.
    if cancel_requested {
        Transition::ExpireCancelled
    } else if attempts >= max {
        Transition::ExpireDead
    } else {
        Transition::Reclaim
    }
}

/// What `cancel` does (contract R6.6); none if the state forbids it or needs no change.
pub fn cancel(state: State) -> Option<Transition> {
    match state {
        State::Pending => Some(Transition::CancelPending),
        State::Running => Some(Transition::RequestCancel),
        State::Completed | State::Dead | State::Cancelled => None,
    }
}

/// What dead-letter by id does (contract R6.1); none if the state forbids it or needs no change.
pub fn dead_letter(state: State, force: bool) -> Option<Transition> {
    match state {
        State::Pending => Some(Transition::DeadLetterPending),
        State::Running if force => Some(Transition::DeadLetterForced),
        State::Running | State::Completed | State::Dead | State::Cancelled => None,
    }
}

/// What `delete_job` does (contract R6.2); none if the state forbids it.
pub fn delete(state: State, force: bool) -> Option<Transition> {
    match state {
        State::Running if force => Some(Transition::DeleteForced),
        State::Running => None,
        State::Pending | State::Completed | State::Dead | State::Cancelled => {
            Some(Transition::Delete)
        }
    }
}

/// What `retry` does (contract R6.3); none if the state forbids it.
pub fn retry(state: State) -> Option<Transition> {
    match state {
        State::Dead | State::Cancelled => Some(Transition::Retry),
        State::Pending | State::Running | State::Completed => None,
    }
}

/// The status of a pending job (contract R1.1); `blocked` is whether its partition key lets no
/// lease of it start now.
pub fn waiting_status(
    blocked: bool,
    scheduled_at: Timestamp,
    now: Timestamp,
    attempts: u32,
) -> Status {
    if blocked {
        Status::Blocked
    } else if scheduled_at <= now {
        Status::Ready
    } else if attempts > 0 {
        Status::Failed
    } else {
        Status::Scheduled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_starts_where_the_table_says() {
        for state in State::ALL {
            for force in [false, true] {
                let verdicts = [cancel(state), dead_letter(state, force), delete(state, force)];
                for transition in verdicts.into_iter().chain([retry(state)]).flatten() {
                    assert!(transition.from().contains(&state), "{transition:?} from {state}");
                }
            }
        }
    }

    #[test]
    fn r1_6_a_requested_cancel_goes_before_retry_and_expiry_but_not_before_fatal() {
        assert_eq!(nack(NackKind::Retry, 1, 3, true), Transition::CancelRunning);
        assert_eq!(nack(NackKind::Retry, 3, 3, true), Transition::CancelRunning);
        assert_eq!(nack(NackKind::Release, 1, 3, true), Transition::CancelRunning);
        assert_eq!(nack(NackKind::Fatal, 1, 3, true), Transition::Fatal);
        assert_eq!(expired(3, 3, true), Transition::ExpireCancelled);
    }
}

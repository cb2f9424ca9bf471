//! R1.3 as one table: every operation from every state.

use std::time::Duration;

use queuekit_core::{DeadLetter, JobId, Lease, LeaseToken, NackKind, State};

use crate::World;
use crate::kit::{HOUR, TTL, draft};

/// The operations on one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Ack,
    Nack(NackKind),
    DeadLetterLease,
    DeadLetter { force: bool },
    Delete { force: bool },
    Cancel,
    Retry,
    Reschedule,
    Extend,
}

const OPERATIONS: [Operation; 13] = [
    Operation::Ack,
    Operation::Nack(NackKind::Retry),
    Operation::Nack(NackKind::Release),
    Operation::Nack(NackKind::Fatal),
    Operation::Nack(NackKind::Cancelled),
    Operation::DeadLetterLease,
    Operation::DeadLetter { force: false },
    Operation::DeadLetter { force: true },
    Operation::Delete { force: false },
    Operation::Delete { force: true },
    Operation::Cancel,
    Operation::Retry,
    Operation::Reschedule,
];

/// R1.3: no operation moves a job in a way that the table of transitions does not list.
/// Guard: the state in the condition of each write.
pub async fn r1_3_only_the_listed_transitions(world: &dyn World) {
    for state in State::ALL {
        for operation in OPERATIONS.into_iter().chain([Operation::Extend]) {
            let (id, token) = job_in(world, state).await;
            apply(world, operation, &token).await;
            let after = world.find(id).await.map(|job| job.state);
            assert_eq!(after, expected(operation, state), "{operation:?} of a {state} job");
            world.delete(id, true).await.expect("delete_job");
        }
    }
}

/// The state after the operation, of a job that was in this state, with this lease if it ran.
fn expected(operation: Operation, state: State) -> Option<State> {
    use State::{Cancelled, Completed, Dead, Pending, Running};
    match (operation, state) {
        (Operation::Ack, Running) => Some(Completed),
        (Operation::Nack(NackKind::Retry | NackKind::Release), Running) => Some(Pending),
        (Operation::Nack(NackKind::Fatal), Running) => Some(Dead),
        (Operation::Nack(NackKind::Cancelled), Running) => Some(Cancelled),
        (Operation::DeadLetterLease, Running) => Some(Dead),
        (Operation::DeadLetter { .. }, Pending)
        | (Operation::DeadLetter { force: true }, Running) => Some(Dead),
        (Operation::Delete { force: false }, Running) => Some(Running),
        (Operation::Delete { .. }, _) => None,
        (Operation::Cancel, Pending) => Some(Cancelled),
        (Operation::Retry, Dead | Cancelled) => Some(Pending),
        (_, unchanged) => Some(unchanged),
    }
}

/// A job in this state, and its last lease: live if the job runs, else stale.
async fn job_in(world: &dyn World, state: State) -> (JobId, LeaseToken) {
    let lease: Lease = world.lease(draft().max_attempts(5)).await;
    match state {
        State::Running => {}
        State::Pending => world.fail(&lease, HOUR).await,
        State::Completed => world.complete(&lease).await,
        State::Dead => world.kill(&lease).await,
        State::Cancelled => world.call_off(&lease).await,
    }
    (lease.id(), lease.token)
}

async fn apply(world: &dyn World, operation: Operation, token: &LeaseToken) {
    let id = token.id;
    match operation {
        Operation::Ack => drop(world.ack(token).await),
        Operation::Nack(kind) => drop(world.nack(token, kind, HOUR).await),
        Operation::DeadLetterLease => {
            let _ = world.dead_letter(DeadLetter::of_lease(token.clone(), "dead_lettered")).await;
        }
        Operation::DeadLetter { force: false } => {
            let _ = world.dead_letter(DeadLetter::of_job(id, "dead_lettered")).await;
        }
        Operation::DeadLetter { force: true } => {
            let _ = world.dead_letter(DeadLetter::forced(id, "dead_lettered")).await;
        }
        // Conflict is one of the answers.
        Operation::Delete { force } => drop(world.delete(id, force).await),
        Operation::Cancel => drop(world.cancel(id).await),
        Operation::Retry => drop(world.retry(id).await),
        Operation::Reschedule => drop(world.reschedule(id, Duration::ZERO).await),
        Operation::Extend => drop(world.extend(token, TTL).await),
    }
}

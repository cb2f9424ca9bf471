//! R6.5: every way a job can end or leave frees its key's slot, wherever the job stood.

use std::time::Duration;

use queuekit_core::queue::{Keep, KeyOnDead, Retention};
use queuekit_core::{
    DeadLetter, DeadLetterOutcome, JobId, Lease, NackKind, NackOutcome, QueueName, QueuePatch,
    State,
};

use crate::World;
use crate::kit::{HOUR, MINUTE, keyed, queue};

/// The ways a job can end or leave its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Ack,
    FinalFailure,
    FatalFailure,
    CalledOff,
    DeadLetteredByLease,
    DeadLetteredById,
    DeadLetteredByForce,
    Cancelled,
    Deleted,
    DeletedByForce,
    LastExpiry,
    Deadline,
    Corrupt,
}

/// Where in its key the job stands when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    HeadPending,
    HeadRunning,
    Middle,
}

const PLACES: [Place; 3] = [Place::HeadPending, Place::HeadRunning, Place::Middle];

impl End {
    /// Whether a job at this place can end so.
    fn happens_at(self, place: Place) -> bool {
        match self {
            Self::Ack
            | Self::FinalFailure
            | Self::FatalFailure
            | Self::CalledOff
            | Self::DeadLetteredByLease
            | Self::DeadLetteredByForce
            | Self::DeletedByForce
            | Self::LastExpiry => place == Place::HeadRunning,
            Self::DeadLetteredById | Self::Deleted | Self::Deadline => place != Place::HeadRunning,
            Self::Cancelled | Self::Corrupt => true,
        }
    }
}

/// R6.5: the ways to end that need no capability free the slot.
/// Guard: each of them frees the slot in its own step.
pub async fn r6_5_every_end_frees_the_slot(world: &dyn World) {
    every_end_frees_the_slot(
        world,
        &[
            End::Ack,
            End::FinalFailure,
            End::FatalFailure,
            End::CalledOff,
            End::DeadLetteredByLease,
            End::DeadLetteredById,
            End::DeadLetteredByForce,
            End::Deleted,
            End::DeletedByForce,
            End::LastExpiry,
            End::Deadline,
        ],
    )
    .await;
}

/// R6.5: a cancelled job frees the slot, waiting or running.
/// Guard: cancel frees the slot in its own step.
pub async fn r6_5_a_cancelled_job_frees_the_slot(world: &dyn World) {
    for place in PLACES {
        check(world, End::Cancelled, place, |world, job| Box::pin(cancel(world, job))).await;
    }
}

/// R6.5: a job whose record became unreadable frees the slot.
/// Guard: dead-lettering an unreadable record frees the slot in its own step.
pub async fn r6_5_an_unreadable_job_frees_the_slot(world: &dyn World) {
    for place in PLACES {
        check(world, End::Corrupt, place, |world, job| Box::pin(corrupt(world, job))).await;
    }
}

/// R6.5: retention, deletion and retry of a dead head under `hold` free the key.
/// Guard: prune, delete and retry release the key of a dead head.
pub async fn r6_5_a_held_key_is_freed_when_its_dead_head_goes(world: &dyn World) {
    let age = Keep::ALL.max_age(10 * MINUTE);
    let retention = Retention::ALL.done(age).dead(age);
    for way in ["prune", "delete", "retry"] {
        let name = queue(way);
        let patch = QueuePatch::default().key_on_dead(KeyOnDead::Hold).retention(retention);
        world.configure(&name, patch).await;
        let [head, next] = keyed_jobs(world, &name).await;
        let lease = world.reserve_one_from(&name).await;
        world.kill(&lease).await;
        assert_eq!(world.reserve_from(&name, 5).await, [], "the dead head holds its key");
        world.advance(HOUR).await;
        let mut served = vec![next];
        match way {
            "prune" => assert_eq!(world.prune().await, 1),
            "delete" => assert!(world.delete(head, false).await.expect("delete_job")),
            _ => {
                world.bring_back(head).await;
                served.insert(0, head);
            }
        }
        assert_eq!(world.serve_all(&name).await, served, "{way}");
    }
}

/// R6.5: under `hold`, only a dead head holds its key: jobs that ended otherwise, and dead jobs
/// behind another, do not.
/// Guard: `hold` tests the state and the place of a job.
pub async fn r6_5_under_hold_other_ends_free_the_slot(world: &dyn World) {
    for end in ["ack", "call off", "delete", "cancel"] {
        let name = queue(&end.replace(' ', "-"));
        let patch = QueuePatch::default().key_on_dead(KeyOnDead::Hold);
        world.configure(&name, patch).await;
        let [head, next] = keyed_jobs(world, &name).await;
        match end {
            "ack" => world.complete(&world.reserve_one_from(&name).await).await,
            "call off" => world.call_off(&world.reserve_one_from(&name).await).await,
            "delete" => assert!(world.delete(head, false).await.expect("delete_job")),
            _ => drop(world.cancel(head).await),
        }
        assert_eq!(world.serve_all(&name).await, [next], "{end}");
    }
}

/// R6.5: under `hold`, a job that dies behind a waiting or running job of its key does not hold the
/// key.
/// Guard: the check for earlier waiting and running jobs when a job dies.
pub async fn r6_5_a_job_that_died_behind_its_head_holds_nothing(world: &dyn World) {
    for head_does in ["run", "wait", "wait for its time"] {
        let name = queue(&head_does.replace(' ', "-"));
        let patch = QueuePatch::default().key_on_dead(KeyOnDead::Hold);
        world.configure(&name, patch).await;
        let delay = if head_does == "wait for its time" { HOUR } else { Duration::ZERO };
        let head = world.enqueue(keyed("k").queue(&name).delay(delay)).await;
        let [second, third] = keyed_jobs(world, &name).await;
        let lease = match head_does {
            "run" => Some(world.reserve_one_from(&name).await),
            _ => None,
        };
        world.dead_letter_waiting(second).await;
        world.advance(delay).await;
        let lease = match lease {
            Some(lease) => lease,
            None => world.reserve_one_from(&name).await,
        };
        assert_eq!(lease.id(), head);
        world.complete(&lease).await;
        assert_eq!(world.serve_all(&name).await, [third], "the head does {head_does}");
    }
}

async fn keyed_jobs(world: &dyn World, name: &QueueName) -> [JobId; 2] {
    let first = world.enqueue(keyed("k").queue(name)).await;
    [first, world.enqueue(keyed("k").queue(name)).await]
}

async fn every_end_frees_the_slot(world: &dyn World, ends: &[End]) {
    for end in ends {
        for place in PLACES {
            let end = *end;
            check(world, end, place, move |world, job| Box::pin(bring_about(world, end, job)))
                .await;
        }
    }
}

/// The job that ends, and its lease if it runs.
struct Ending {
    id: JobId,
    lease: Option<Lease>,
}

type Ended<'a> = futures_util::future::BoxFuture<'a, ()>;

/// Stores three jobs of one key and ends one of them. The others are then served, in order.
async fn check<F>(world: &dyn World, end: End, place: Place, bring_about: F)
where
    F: for<'a> Fn(&'a dyn World, &'a Ending) -> Ended<'a>,
{
    if !end.happens_at(place) {
        return;
    }
    let name = queue(&format!("{end:?}-{place:?}"));
    let plain = || keyed("k").queue(&name);
    let doomed = || match end {
        End::Deadline => plain().deadline(MINUTE),
        End::LastExpiry | End::FinalFailure => plain().max_attempts(1),
        _ => plain(),
    };
    let at = usize::from(place == Place::Middle);
    let drafts = (0..3).map(|job| if job == at { doomed() } else { plain() });
    let ids = world.enqueue_all(drafts).await;
    let lease = match place {
        Place::HeadRunning => Some(world.reserve_one_from(&name).await),
        Place::HeadPending | Place::Middle => None,
    };
    let ending = Ending { id: ids[at], lease };
    bring_about(world, &ending).await;
    let others: Vec<JobId> = ids.into_iter().filter(|id| *id != ending.id).collect();
    assert_eq!(world.serve_all(&name).await, others, "after {end:?} of {place:?}");
    let left = world.find(ending.id).await;
    assert!(left.is_none_or(|job| job.state.is_terminal()), "{end:?} of {place:?} did not end it");
}

async fn bring_about(world: &dyn World, end: End, job: &Ending) {
    let lease = || job.lease.as_ref().expect("a job that runs");
    match end {
        End::Ack => world.complete(lease()).await,
        End::FinalFailure => {
            let kind = NackKind::Retry;
            let outcome = world.nack(&lease().token, kind, HOUR).await;
            assert_eq!(outcome, NackOutcome::Dead);
        }
        End::FatalFailure => world.kill(lease()).await,
        End::CalledOff => world.call_off(lease()).await,
        End::DeadLetteredByLease => {
            dead_letter(world, DeadLetter::of_lease(lease().token.clone(), "x")).await
        }
        End::DeadLetteredById => dead_letter(world, DeadLetter::of_job(job.id, "x")).await,
        End::DeadLetteredByForce => dead_letter(world, DeadLetter::forced(job.id, "x")).await,
        End::Deleted => assert!(world.delete(job.id, false).await.expect("delete_job")),
        End::DeletedByForce => assert!(world.delete(job.id, true).await.expect("delete_job")),
        End::LastExpiry => world.expire().await,
        End::Deadline => world.advance(2 * MINUTE).await,
        End::Cancelled | End::Corrupt => unreachable!("has a case of its own"),
    }
}

async fn dead_letter(world: &dyn World, dead_letter: DeadLetter) {
    assert_eq!(world.dead_letter(dead_letter).await, DeadLetterOutcome::DeadLettered);
}

async fn cancel(world: &dyn World, job: &Ending) {
    let _ = world.cancel(job.id).await;
    if let Some(lease) = &job.lease {
        // The request alone frees nothing; its holder gives up.
        assert_eq!(world.state(job.id).await, State::Running);
        world.call_off(lease).await;
    }
}

async fn corrupt(world: &dyn World, job: &Ending) {
    assert!(world.corrupt(job.id).await, "the harness said it can");
    if job.lease.is_some() {
        world.expire().await;
    }
}

//! R8.4: error groups.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use queuekit_core::capability::{CancelOutcome, Settlement};
use queuekit_core::{
    BackendExt, DeadLetter, DeadLetterOutcome, ErrorGroup, GroupId, GroupKey, JobDraft, JobFilter,
    JobId, Lease, Nack, NackKind, NackOutcome, PageSize, QueueName, State,
};

use crate::World;
use crate::kit::{HOUR, MINUTE, default_queue, draft, in_parallel, kind, queue, request};

/// R8.4: errors whose first lines differ in what is masked are one group; other kinds and other
/// queues have their own.
/// Guard: queue, kind and signature are the key of a group.
pub async fn r8_4_errors_that_look_alike_are_one_group(world: &dyn World) {
    let (work, other) = (default_queue(), queue("other"));
    for (of, kind, error) in [
        (&work, "a", "HTTP 503 after 3 s\nof pod 1"),
        (&work, "a", "HTTP 502 after 31.5 s"),
        (&work, "b", "HTTP 503 after 3 s"),
        (&work, "a", "HTTP 503 \u{e9} '\u{0}' after /x"),
        (&other, "a", "HTTP 503 after 3 s"),
    ] {
        world.enqueue(JobDraft::new(kind, "x").queue(of.clone())).await;
        let lease = world.reserve_one_from(of).await;
        fail(world, &lease, NackKind::Fatal, error).await;
    }
    let after = "HTTP <n> after <n> s";
    let expected = [
        (("a", after), (2, 2)),
        (("a", "HTTP <n> \u{e9} <text> after <path>"), (1, 1)),
        (("b", after), (1, 1)),
    ];
    assert_eq!(world.error_counts(&work).await, counts(&expected));
    assert_eq!(world.error_counts(&other).await, counts(&[(("a", after), (1, 1))]));
    let both = world.error_groups(&[other.clone(), work, queue("none"), other]).await;
    assert_eq!(both.len(), 4, "{both:?}");
    assert_eq!(world.error_groups(&[]).await, []);
}

/// R8.4: each way to fail counts as one failure, and each way to die as one death of its reason.
/// Guard: each step that adds a failure, or ends a job dead, counts it.
pub async fn r8_4_failures_and_deaths_are_counted(world: &dyn World) {
    let mut expected = BTreeMap::new();
    let mut expect = |error: &str, failures, deaths| {
        expected.insert(("work".to_owned(), error.to_owned()), (failures, deaths));
    };
    let lease = world.lease(draft().max_attempts(2)).await;
    fail(world, &lease, NackKind::Retry, "retried").await;
    let lease = world.reserve_one().await;
    fail(world, &lease, NackKind::Retry, "exhausted").await;
    let lease = world.lease(draft()).await;
    fail(world, &lease, NackKind::Fatal, "fatal").await;
    expect("retried", 1, 0);
    expect("exhausted", 1, 1);
    expect("fatal", 1, 1);

    world.lease(draft().max_attempts(2)).await;
    world.expire().await;
    world.reserve_one().await;
    world.expire().await;
    world.assert_nothing_to_lease().await;
    expect("lease expired", 2, 1);
    world.enqueue(draft().deadline(MINUTE)).await;
    world.advance(HOUR).await;
    world.assert_nothing_to_lease().await;
    expect("deadline", 0, 1);

    let waiting = world.enqueue(draft()).await;
    dead_letter(world, DeadLetter::of_job(waiting, "by id")).await;
    let lease = world.lease(draft()).await;
    dead_letter(world, DeadLetter::forced(lease.id(), "by force")).await;
    let lease = world.lease(draft()).await;
    dead_letter(world, DeadLetter::of_lease(lease.token, "by lease 7")).await;
    expect("by id", 0, 1);
    expect("by force", 0, 1);
    expect("by lease <n>", 0, 1);
    assert_eq!(world.error_counts(&default_queue()).await, expected);
}

/// R8.4: a job that is cancelled counts its last failure, if it has one, and no death.
/// Guard: the transition decides what is a death.
pub async fn r8_4_a_cancelled_job_is_no_death(world: &dyn World) {
    let lease = world.lease(draft()).await;
    world.request_cancel(lease.id()).await;
    assert_eq!(nack(world, &lease, NackKind::Retry, "failed").await, NackOutcome::Cancelled);
    let lease = world.lease(draft()).await;
    world.request_cancel(lease.id()).await;
    world.expire().await;
    world.assert_nothing_to_lease().await;
    let lease = world.lease(draft()).await;
    assert_eq!(nack(world, &lease, NackKind::Cancelled, "no").await, NackOutcome::Cancelled);
    let lease = world.lease(draft()).await;
    world.request_cancel(lease.id()).await;
    assert_eq!(nack(world, &lease, NackKind::Release, "no").await, NackOutcome::Cancelled);
    let waiting = world.enqueue(draft()).await;
    assert_eq!(world.cancel(waiting).await, CancelOutcome::Cancelled);
    let expected = counts(&[(("work", "failed"), (1, 0)), (("work", "lease expired"), (1, 0))]);
    assert_eq!(world.error_counts(&default_queue()).await, expected);
}

/// R8.4: an unreadable job counts where its kind can be read, and breaks nothing where it cannot.
/// Guard: burying a record does not depend on its parts.
pub async fn r8_4_an_unreadable_job_counts_by_its_kind(world: &dyn World) {
    let id = world.enqueue(draft()).await;
    assert!(world.corrupt(id).await);
    world.assert_nothing_to_lease().await;
    assert_eq!(world.state(id).await, State::Dead);
    let counted = world.error_counts(&default_queue()).await;
    let expected = counts(&[(("work", "corrupt"), (0, 1))]);
    assert!(counted.is_empty() || counted == expected, "{counted:?}");
}

/// R8.4: a group tells when it began, when it was last added to, and for which job.
/// Guard: a later error moves the last time and the sample, and not the first time; upkeep adds.
pub async fn r8_4_a_group_tells_first_last_and_sample(world: &dyn World) {
    let (mut ids, mut ends) = (Vec::new(), Vec::new());
    for number in 0..5 {
        let lease = world.lease(draft()).await;
        fail(world, &lease, NackKind::Fatal, &format!("error {number}")).await;
        ids.push(lease.id());
        ends.push(world.job(lease.id()).await.finished_at.expect("an end"));
        // The last ones are not added up yet when the group is listed.
        if number < 3 {
            world.prune().await;
        }
        world.advance(MINUTE).await;
    }
    let groups = world.error_groups(&[default_queue()]).await;
    let [group] = &groups[..] else { panic!("{groups:?}") };
    assert_eq!(group.queue, default_queue());
    assert_eq!(group.key, GroupKey::of(kind("work"), "error 5"));
    assert_eq!((group.failures, group.deaths, group.sample), (5, 5, ids[4]));
    assert_eq!((group.first, group.last), (ends[0], ends[4]));
}

/// R8.4: groups are listed by their last time, the most recent first, up to the limit.
/// Guard: the order of the list, and its limit over all queues.
pub async fn r8_4_the_most_recent_group_is_listed_first(world: &dyn World) {
    let names = ["b", "a", "c", "b"];
    for (at, name) in names.into_iter().enumerate() {
        let of = if at % 2 == 0 { default_queue() } else { queue("other") };
        let id = world.enqueue(draft().queue(of)).await;
        dead_letter(world, DeadLetter::of_job(id, name)).await;
        world.advance(MINUTE).await;
    }
    let queues = [default_queue(), queue("other")];
    let groups = world.error_groups(&queues).await;
    for most in 1..=4 {
        assert_eq!(world.latest_error_groups(&queues, most).await, groups[..most]);
    }
    let listed: Vec<_> = groups.iter().map(|group| group.key.signature.as_str()).collect();
    assert_eq!(listed, ["b", "c", "a", "b"]);
    assert!(groups.is_sorted_by_key(|group| std::cmp::Reverse(group.last)), "{groups:?}");
}

/// R8.4: counts only rise: a retry, a delete, and retention leave them.
/// Guard: no step takes from a group.
pub async fn r8_4_retry_delete_and_retention_leave_the_counts(world: &dyn World) {
    let ids = world.enqueue_n(3).await;
    for id in &ids {
        dead_letter(world, DeadLetter::of_job(*id, "boom")).await;
    }
    let before = world.error_counts(&default_queue()).await;
    world.bring_back(ids[0]).await;
    world.complete(&world.reserve_one().await).await;
    world.delete(ids[1], false).await.expect("delete_job");
    world.advance(10 * 365 * 24 * HOUR).await;
    world.prune().await;
    assert_eq!(world.error_counts(&default_queue()).await, before);
}

/// R8.4: a queue keeps its most recent groups; one that went begins anew when it comes back.
/// Guard: a new group beyond the limit removes the least recent.
pub async fn r8_4_the_least_recent_group_goes(world: &dyn World) {
    let most = world.limits().error_groups();
    let name = |number: usize| format!("e{}", letters(number));
    let die = async |of: &QueueName, error: &str| {
        let id = world.enqueue(draft().queue(of.clone())).await;
        dead_letter(world, DeadLetter::of_job(id, error)).await;
        world.advance(Duration::from_secs(1)).await;
    };
    let other = queue("other");
    die(&other, "stays").await;
    for number in 0..most {
        die(&default_queue(), &name(number)).await;
    }
    // The first is the most recent now, so that the second goes.
    die(&default_queue(), &name(0)).await;
    // A group of another queue, however recent, takes the place of none.
    die(&other, "stays").await;
    die(&default_queue(), "new").await;
    world.prune().await;
    let listed = world.error_counts(&default_queue()).await;
    assert_eq!(listed.len(), most, "{listed:?}");
    let count = |error: &str| listed.get(&("work".to_owned(), error.to_owned())).copied();
    assert_eq!(count(&name(0)), Some((0, 2)));
    assert_eq!(count(&name(1)), None);
    assert_eq!(count("new"), Some((0, 1)));
    die(&default_queue(), &name(1)).await;
    let groups = world.error_groups(&[default_queue()]).await;
    assert_eq!(groups.len(), most, "{groups:?}");
    let back = &groups[0];
    assert_eq!((back.key.signature.as_str(), back.deaths), (&*name(1), 1));
    assert_eq!(back.first, back.last);
    assert!(!groups.iter().any(|group| group.key.signature.as_str() == name(2)));
    assert_eq!(world.error_groups(&[other]).await.len(), 1, "of another queue");
}

/// R8.4: one call of many nacks counts each of them, whatever their errors.
/// Guard: what a step counts is collected by group, and added.
pub async fn r8_4_a_call_of_many_counts_each(world: &dyn World) {
    world.enqueue_all((0..40).map(|at| JobDraft::new(["a", "b"][at % 2], "x"))).await;
    let leases = world.reserve(40).await;
    let nack = |(at, lease): (usize, &Lease)| {
        let error = format!("{} {at}", ["slow", "gone"][at / 20]);
        let kind = if at % 4 == 0 { NackKind::Fatal } else { NackKind::Retry };
        Nack::new(lease.token.clone(), kind, error.as_str(), Duration::ZERO)
    };
    let nacks: Vec<_> = leases.iter().enumerate().map(nack).collect();
    world.backend().nack(&nacks).await.expect("nack");
    let ids = world.enqueue_n(3).await;
    let dead: Vec<_> = ids.iter().map(|id| DeadLetter::of_job(*id, "by hand 1")).collect();
    world.backend().dead_letter(&dead).await.expect("dead_letter");
    let mut expected = BTreeMap::from([(("work".to_owned(), "by hand <n>".to_owned()), (0, 3))]);
    for (at, lease) in leases.iter().enumerate() {
        let key = (lease.kind.to_string(), format!("{} <n>", ["slow", "gone"][at / 20]));
        let (failures, deaths) = expected.entry(key).or_default();
        *failures += 1;
        *deaths += u64::from(at % 4 == 0);
    }
    assert_eq!(world.error_counts(&default_queue()).await, expected);
}

/// R8.4: an exchange counts as the calls that it stands for.
/// Guard: the nacks of an exchange take the same step.
pub async fn r8_4_an_exchange_counts_too(world: &dyn World) {
    let lease = world.lease(draft()).await;
    let nack = Nack::new(lease.token, NackKind::Fatal, "boom 1", Duration::ZERO);
    let settlement = Settlement { acks: Vec::new(), nacks: vec![nack] };
    world.enqueue(draft().max_attempts(1)).await;
    let request = request(default_queue(), 1);
    let exchanged = world.exchange().exchange(&settlement, &request).await.expect("exchange");
    assert_eq!(exchanged.nacks, [NackOutcome::Dead]);
    world.expire().await;
    let none = Settlement { acks: Vec::new(), nacks: Vec::new() };
    world.exchange().exchange(&none, &request).await.expect("exchange");
    let expected = counts(&[(("work", "boom <n>"), (1, 1)), (("work", "lease expired"), (1, 1))]);
    assert_eq!(world.error_counts(&default_queue()).await, expected);
}

/// R8.4: a call that records no failure and no death counts nothing: an ack, a release, and what
/// a stale lease sends.
/// Guard: the fence comes before the count.
pub async fn r8_4_what_records_no_error_counts_nothing(world: &dyn World) {
    let stale = world.lease(draft()).await;
    world.complete(&stale).await;
    for kind in [NackKind::Retry, NackKind::Fatal, NackKind::Release] {
        assert_eq!(nack(world, &stale, kind, "stale").await, NackOutcome::LeaseLost);
    }
    let late = DeadLetter::of_lease(stale.token.clone(), "stale");
    assert_eq!(world.dead_letter(late).await, DeadLetterOutcome::LeaseLost);
    let conflict = DeadLetter::of_job(stale.id(), "stale");
    assert_eq!(world.dead_letter(conflict).await, DeadLetterOutcome::Conflict);
    let lease = world.lease(draft()).await;
    let released = NackOutcome::Released { after: Duration::ZERO };
    assert_eq!(nack(world, &lease, NackKind::Release, "released").await, released);
    assert_eq!(world.error_groups(&[default_queue()]).await, []);
    let id = lease.id();
    dead_letter(world, DeadLetter::of_job(id, "once")).await;
    let again = world.dead_letter(DeadLetter::of_job(id, "twice")).await;
    assert_eq!(again, DeadLetterOutcome::AlreadyDone);
    let expected = counts(&[(("work", "once"), (0, 1))]);
    assert_eq!(world.error_counts(&default_queue()).await, expected);
}

/// R8.4: the groups of a queue go with it; a new queue of that name has none.
/// Guard: removing a queue removes its groups.
pub async fn r8_4_groups_end_with_their_queue(world: &dyn World) {
    for of in [default_queue(), queue("other")] {
        let id = world.enqueue(draft().queue(of)).await;
        dead_letter(world, DeadLetter::of_job(id, "boom")).await;
    }
    world.prune().await;
    assert!(world.admin().remove_queue(&default_queue(), true).await.expect("remove_queue"));
    world.enqueue(draft()).await;
    assert_eq!(world.error_groups(&[default_queue()]).await, []);
    assert_eq!(world.error_groups(&[queue("other")]).await.len(), 1);
    for _ in 0..2 {
        let id = world.enqueue(draft().queue("brief")).await;
        dead_letter(world, DeadLetter::of_job(id, "boom")).await;
        let deaths = world.error_groups(&[queue("brief")]).await.into_iter().map(|it| it.deaths);
        assert_eq!(deaths.collect::<Vec<_>>(), [1], "a removed queue's are not counted");
        assert!(world.admin().remove_queue(&queue("brief"), true).await.expect("remove_queue"));
    }
}

/// R8.4: the dead jobs of a group can be listed: those whose reason has its signature.
/// Guard: the filter compares kind and signature of the reason.
pub async fn r8_4_the_dead_of_a_group_are_listed(world: &dyn World) {
    let die = async |kind: &str, error: &str| {
        let id = world.enqueue(JobDraft::new(kind, "x").max_attempts(2)).await;
        let lease = world.reserve_one().await;
        assert_eq!(lease.id(), id);
        fail(world, &lease, NackKind::Fatal, error).await;
        id
    };
    let wanted = [die("mail", "HTTP 503\nmore").await, die("mail", "HTTP 429\nless").await];
    die("mail", "no route").await;
    die("sms", "HTTP 503").await;
    let lease = world.lease(JobDraft::new("mail", "x").max_attempts(2)).await;
    fail(world, &lease, NackKind::Retry, "HTTP 503").await;
    let group = GroupKey::of(kind("mail"), "HTTP 500").id();
    assert_eq!(world.of_group(JobFilter::default(), group).await, wanted);
    let pending = JobFilter::default().status(State::Pending);
    assert_eq!(world.of_group(pending, group).await, [], "it failed, and is not dead");
    let mails = JobFilter::default().error_contains("less");
    assert_eq!(world.of_group(mails, group).await, wanted[1..]);
    let paged = JobFilter::default().limit(1);
    assert_eq!(world.of_group(paged, group).await, wanted);
    let none = GroupKey::of(kind("mail"), "another error").id();
    assert_eq!(world.of_group(JobFilter::default(), none).await, []);
}

/// R8.4: handles on one store count together.
/// Guard: the store adds, and no handle keeps a count.
pub async fn r8_4_two_handles_count_together(world: &dyn World) {
    let handles = world.handles().await;
    world.enqueue_n(60).await;
    let leases = world.reserve(60).await;
    let settled = in_parallel(leases.iter().enumerate().map(|(at, lease)| {
        let store = Arc::clone(&handles[at % 2]);
        let error = format!("{} {at}", ["slow", "gone", "full"][at % 3]);
        let nack = Nack::new(lease.token.clone(), NackKind::Fatal, error.as_str(), Duration::ZERO);
        async move { store.nack_one(nack).await.expect("nack") }
    }))
    .await;
    assert!(settled.iter().all(|outcome| *outcome == NackOutcome::Dead), "{settled:?}");
    let expected = ["slow <n>", "gone <n>", "full <n>"].map(|error| (("work", error), (20, 20)));
    assert_eq!(world.error_counts(&default_queue()).await, counts(&expected));
    let errors = handles[1].capabilities().errors.expect("error groups");
    let seen = errors.list_error_groups(&[default_queue()], PageSize::default()).await;
    assert_eq!(seen.expect("groups"), world.error_groups(&[default_queue()]).await);
}

type Counts = BTreeMap<(String, String), (u64, u64)>;

impl<'w> dyn World + 'w {
    /// Failures and deaths by kind and signature.
    async fn error_counts(&self, queue: &QueueName) -> Counts {
        let groups = self.error_groups(std::slice::from_ref(queue)).await;
        let count = |group: &ErrorGroup| {
            assert_eq!(group.queue, *queue);
            let key = (group.key.kind.to_string(), group.key.signature.to_string());
            (key, (group.failures, group.deaths))
        };
        groups.iter().map(count).collect()
    }

    /// The jobs of a group, the oldest first.
    async fn of_group(&self, filter: JobFilter, group: GroupId) -> Vec<JobId> {
        let jobs = self.list(filter.group(group)).await;
        let mut ids: Vec<_> = jobs.iter().map(|job| job.id).collect();
        ids.reverse();
        ids
    }
}

/// Kind and signature; failures and deaths.
type Expected<'a> = ((&'a str, &'a str), (u64, u64));

fn counts(expected: &[Expected<'_>]) -> Counts {
    let owned = |key: &(&str, &str)| (key.0.to_owned(), key.1.to_owned());
    expected.iter().map(|(key, counts)| (owned(key), *counts)).collect()
}

/// A number in letters, which no mask hides.
fn letters(number: usize) -> String {
    number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
}

async fn nack(world: &dyn World, lease: &Lease, kind: NackKind, error: &str) -> NackOutcome {
    let nack = Nack::new(lease.token.clone(), kind, error, Duration::ZERO);
    world.backend().nack(&[nack]).await.expect("nack").remove(0)
}

/// Fails a run that its lease holds.
async fn fail(world: &dyn World, lease: &Lease, kind: NackKind, error: &str) {
    let outcome = nack(world, lease, kind, error).await;
    let is_done = matches!(outcome, NackOutcome::Retrying { .. } | NackOutcome::Dead);
    assert!(is_done, "nack of a live lease answered {outcome:?}");
}

async fn dead_letter(world: &dyn World, dead_letter: DeadLetter) {
    assert_eq!(world.dead_letter(dead_letter).await, DeadLetterOutcome::DeadLettered);
}

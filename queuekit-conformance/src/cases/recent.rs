//! R8.7: what has ended is listed by the time of its end, over queues.

use queuekit_core::{
    ErrorKind, Job, JobDraft, JobFilter, JobId, Metadata, QueueName, State, Status, StatusSet,
    TimeRange,
};

use crate::World;
use crate::kit::{
    HOUR, MILLISECOND, MINUTE, assert_invalid, carrying, draft, kind, kind_of, queue,
};

/// The states in which a job has ended, in the order of listings.
const STATES: [State; 3] = [State::Dead, State::Cancelled, State::Completed];

fn recent() -> JobFilter {
    JobFilter::default().recent()
}

/// Ends a job of a queue.
async fn end(world: &dyn World, name: &QueueName, draft: JobDraft, state: State) -> JobId {
    world.enqueue(draft.queue(name)).await;
    let lease = world.reserve_one_from(name).await;
    match state {
        State::Dead => world.kill(&lease).await,
        State::Cancelled => world.call_off(&lease).await,
        _ => world.complete(&lease).await,
    }
    lease.id()
}

/// R8.7: jobs of all queues and of each way to end are in one order, the newest first, and only
/// those that have ended.
/// Guard: the ends of queues and states are merged by their time.
pub async fn r8_7_ended_jobs_are_listed_newest_first_over_queues(world: &dyn World) {
    let names = ["b", "a", "c", "a", "b", "b", "c"].map(queue);
    let mut ended = Vec::new();
    for (number, name) in names.iter().enumerate().cycle().take(21) {
        let state = STATES[(ended.len() + number) % 3];
        ended.insert(0, (name.clone(), end(world, name, draft(), state).await, state));
        world.advance(MINUTE).await;
    }
    world.enqueue(draft().queue(&names[0]).delay(HOUR)).await;
    world.lease(draft()).await;
    let ids = |keep: &dyn Fn(&QueueName, State) -> bool| -> Vec<JobId> {
        let kept = ended.iter().filter(|(name, _, state)| keep(name, *state));
        kept.map(|(_, id, _)| *id).collect()
    };
    for limit in [1, 2, 5, 21, 22, 1000] {
        let list = |filter: JobFilter| world.list_ids(filter.limit(limit));
        assert_eq!(list(recent()).await, ids(&|_, _| true), "pages of {limit}");
        let of_b = list(recent().queue("b")).await;
        assert_eq!(of_b, ids(&|name, _| name.as_str() == "b"), "pages of {limit}, of one queue");
        for state in STATES {
            let of_state = list(recent().status(state)).await;
            assert_eq!(of_state, ids(&|_, its| its == state), "pages of {limit}, {state}");
        }
    }
    assert_eq!(world.list_ids(recent().queue("none")).await, []);
}

/// R8.7: what ended in the same millisecond has one order: by queue, then as in other listings.
/// Guard: the place of a page has the queue, the state and the sequence beside the time.
pub async fn r8_7_equal_times_have_one_order(world: &dyn World) {
    let names = ["c", "a", "b"].map(queue);
    for _ in 0..3 {
        for name in &names {
            for state in [State::Completed, State::Dead, State::Cancelled] {
                end(world, name, draft(), state).await;
            }
        }
    }
    let all = world.list(recent().limit(1000)).await;
    let state_of = |state| STATES.iter().position(|each| *each == state);
    let mut in_order = all.clone();
    in_order.sort_by_key(|job| {
        (std::cmp::Reverse(job.finished_at), job.queue.clone(), state_of(job.state))
    });
    let ids = |jobs: &[Job]| jobs.iter().map(|job| job.id).collect::<Vec<_>>();
    assert_eq!(ids(&all), ids(&in_order), "by time, then by queue, then by state");
    // A stable order of those that are equal in all three is that of other listings.
    let listed = STATES.map(|state| world.list_ids(JobFilter::default().status(state)));
    for (state, listed) in STATES.into_iter().zip(listed) {
        let mut of_state = world.list(recent().status(state)).await;
        of_state.sort_by_key(|job| job.queue.clone());
        assert_eq!(ids(&of_state), listed.await, "{state}");
    }
    for limit in [1, 2, 4, 26] {
        let paged = world.list_ids(recent().limit(limit)).await;
        assert_eq!(paged, ids(&all), "pages of {limit}");
    }
}

/// R8.7: what had ended when a traversal began comes once, whatever ends meanwhile.
/// Guard: a page begins after the place where the last one ended.
pub async fn r8_7_what_ends_meanwhile_moves_nothing(world: &dyn World) {
    let names = ["a", "b"].map(queue);
    let mut ended = Vec::new();
    for number in 0..8 {
        ended.insert(0, end(world, &names[number % 2], draft(), STATES[number % 3]).await);
        if number % 3 == 0 {
            world.advance(MILLISECOND).await;
        }
    }
    let before: Vec<JobId> = world.list_ids(recent()).await;
    assert_eq!(before.len(), ended.len());
    world.advance(MINUTE).await;
    for limit in [1, 3] {
        let (mut filter, mut seen) = (recent().limit(limit), Vec::new());
        loop {
            let page = world.page(&filter).await;
            seen.extend(page.items.iter().map(|job| job.id));
            for (name, state) in names.iter().zip([State::Dead, State::Completed]) {
                end(world, name, draft(), state).await;
            }
            if page.next.is_none() {
                break;
            }
            filter = filter.after(page.next);
        }
        seen.retain(|id| before.contains(id));
        assert_eq!(seen, before, "pages of {limit}");
    }
}

/// R8.7: a job that is retried and ends again is listed by its last end, and not by an earlier one.
/// Guard: an end is compared with the job as it is when it is read.
pub async fn r8_7_a_job_is_listed_by_its_last_end(world: &dyn World) {
    let name = queue("q");
    let [first, second] = [
        end(world, &name, draft(), State::Dead).await,
        end(world, &name, draft(), State::Dead).await,
    ];
    world.advance(MINUTE).await;
    let third = end(world, &name, draft(), State::Completed).await;
    assert_eq!(world.list_ids(recent()).await, [third, second, first]);
    world.advance(MINUTE).await;
    world.bring_back(first).await;
    assert_eq!(world.list_ids(recent()).await, [third, second]);
    let lease = world.reserve_one_from(&name).await;
    world.complete(&lease).await;
    for limit in [1, 1000] {
        assert_eq!(world.list_ids(recent().limit(limit)).await, [first, third, second]);
    }
    assert!(world.delete(third, false).await.expect("delete_job"));
    assert_eq!(world.list_ids(recent().limit(1)).await, [first, second]);
}

/// R8.7, R8.8: every other part of a filter filters here as it does elsewhere, and a page says what
/// it looked at.
/// Guard: a job is compared with the whole filter.
pub async fn r8_7_every_part_of_a_filter_filters(world: &dyn World) {
    let of = |name: &str| {
        let kind = kind(if name == "a" { "odd" } else { "even" });
        let metadata = Metadata::from([("of", name)]);
        JobDraft::new(kind, format!(r#"{{"of":"{name}"}}"#)).metadata(metadata)
    };
    let mut ended = Vec::new();
    for number in 0..9 {
        let name = ["a", "b"][number % 2];
        let id = end(world, &queue(name), of(name), STATES[number % 3]).await;
        ended.push((id, world.job(id).await.finished_at.expect("an end")));
        world.advance(MINUTE).await;
    }
    let within = TimeRange::from(ended[2].1..ended[7].1);
    let newest_first = |numbers: &[usize]| -> Vec<JobId> {
        numbers.iter().rev().map(|number| ended[*number].0).collect()
    };
    for limit in [1, 2, 1000] {
        for (filter, wanted, looked_at) in [
            (recent().kind("odd"), &[0, 2, 4, 6, 8][..], 9),
            (recent().metadata("of:b"), &[1, 3, 5, 7], 9),
            (recent().payload("of:b").status(State::Dead), &[3], 3),
            (recent().finished(within), &[2, 3, 4, 5, 6], 5),
            (recent().finished(within).payload("of:a").queue("a"), &[2, 4, 6], 3),
            (recent().id(ended[4].0.to_string().as_str()), &[4], 9),
            (recent().error_contains("no such error"), &[], 9),
        ] {
            let (mut ids, mut examined) = (Vec::new(), 0);
            let mut asked = filter.clone().limit(limit);
            loop {
                let page = world.page(&asked).await;
                examined += page.examined.jobs();
                ids.extend(page.items.iter().map(|job| job.id));
                if page.next.is_none() {
                    break;
                }
                asked = asked.after(page.next);
            }
            assert_eq!(ids, newest_first(wanted), "{filter:?}, in pages of {limit}");
            assert_eq!(examined, looked_at, "{filter:?}, in pages of {limit}");
        }
    }
}

/// R8.7: only what has ended can be listed so, and a cursor is bound to its filter.
/// Guard: the filter is checked before anything is read.
pub async fn r8_7_only_ended_jobs_can_be_asked_for(world: &dyn World) {
    let list = async |filter: JobFilter| world.backend().list_jobs(&filter).await;
    for status in [Status::Running, Status::Ready] {
        for statuses in [status.into(), State::Dead.statuses().with(status)] {
            let statuses: StatusSet = statuses;
            assert_invalid(list(recent().status(statuses)).await, "recent");
        }
    }
    let name = queue("q");
    for _ in 0..2 {
        end(world, &name, draft(), State::Completed).await;
    }
    let next = world.page(&recent().limit(1)).await.next;
    assert_invalid(list(JobFilter::default().after(next.clone())).await, "cursor");
    assert_invalid(list(recent().queue("q").after(next.clone())).await, "cursor");
    let text = next.expect("a second page").to_string();
    for (at, digit) in text.char_indices() {
        let other = if digit == '7' { "8" } else { "7" };
        let altered = format!("{}{other}{}", &text[..at], &text[at + 1..]);
        let altered = recent().after(Some(altered.parse().expect("hexadecimal digits")));
        if list(altered.clone()).await.is_err() {
            let refused = kind_of(list(altered).await);
            assert!(matches!(refused, ErrorKind::Invalid { field: "cursor", .. }), "{refused:?}");
        }
    }
}

/// R8.7, R8.9: a page ends at its bytes, and each job comes once.
/// Guard: a page ends before a job for which it has no room, and the next begins with it.
pub async fn r8_7_a_page_ends_at_its_bytes(world: &dyn World) {
    let names = ["a", "b"].map(queue);
    let mut ended = Vec::new();
    for number in 0..20 {
        let size = [1024 * 1024 - 100, 10][number % 2];
        let job = carrying("x".repeat(size));
        ended.insert(0, end(world, &names[number % 3 / 2], job, STATES[number % 3]).await);
        world.advance(MILLISECOND).await;
    }
    let (mut filter, mut ids) = (recent().limit(1000), Vec::new());
    loop {
        let page = world.page(&filter).await;
        let bytes: usize = page.items.iter().map(|job| job.payload.len()).sum();
        assert!(bytes <= queuekit_core::limits::ANSWER_BYTES, "{bytes} bytes on a page");
        ids.extend(page.items.iter().map(|job| job.id));
        if page.next.is_none() {
            break;
        }
        assert!(!page.items.is_empty(), "a page has room for one job");
        filter = filter.after(page.next);
    }
    assert_eq!(ids, ended);
}

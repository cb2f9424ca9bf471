//! R8.5: what runs were like, and listing history.

use std::sync::Arc;
use std::time::Duration;

use queuekit_core::history::{HistoryQuery, Resolution, Runs, RunsAdded, RunsRow, TotalsRow};
use queuekit_core::{Backend, PageSize};

use crate::World;
use crate::kit::{
    DAY, HOUR, MINUTE, all_times, assert_invalid, default_queue, draft, in_parallel, kind, queue,
};

/// R8.5: what workers add is summed by queue and kind, for each resolution.
/// Guard: an add adds to the row that is there, of its queue, kind and time alone.
pub async fn r8_5_runs_add_up(world: &dyn World) {
    let hour = world.on_the_hour().await;
    let mut mail = Runs { completed: 5, failed: 4, dead: 3, ..Runs::default() };
    (mail.released, mail.cancelled, mail.lost) = (2, 1, 7);
    mail.wait.add(Duration::from_millis(3));
    mail.run.add(HOUR);
    world
        .add_runs(&[added("mail", mail), added("sms", completed(1)), added("mail", completed(1))])
        .await;
    world.add_runs(&[]).await;
    let other = RunsAdded { queue: queue("other"), ..added("mail", completed(9)) };
    let none = RunsAdded { kind: None, ..added("mail", completed(8)) };
    world.add_runs(&[other.clone(), none.clone()]).await;
    world.advance(MINUTE).await;
    world.add_runs(&[added("mail", mail)]).await;
    let mut first = mail;
    first.merge(&completed(1));
    let mut both = first;
    both.merge(&mail);
    let row = |of: &RunsAdded, minute: u32, runs| {
        let (queue, kind, at) = (of.queue.clone(), of.kind.clone(), hour + minute * MINUTE);
        RunsRow { queue, kind, at, runs }
    };
    let (mail_of, sms) = (added("mail", mail), added("sms", completed(1)));
    let rows = |mail_runs| {
        vec![
            row(&none, 0, none.runs),
            row(&mail_of, 0, mail_runs),
            row(&sms, 0, sms.runs),
            row(&other, 0, other.runs),
        ]
    };
    let mut minutes = rows(first);
    minutes.push(row(&mail_of, 1, mail));
    assert_eq!(world.runs(Resolution::Minute).await, minutes);
    assert_eq!(world.runs(Resolution::TenMinutes).await, rows(both));
    assert_eq!(world.runs(Resolution::Hour).await, rows(both));
    let query = all_times(Resolution::Hour).queue(queue("other"));
    let of_queue = world.history().list_runs(&query).await.expect("list_runs");
    assert_eq!(of_queue, rows(both)[3..]);
}

/// R8.5: beyond the limit of pairs, runs count as those of no kind, until a pair is forgotten.
/// Guard: a pair is admitted if it is known, or if there is room.
pub async fn r8_5_pairs_beyond_the_limit_are_other(world: &dyn World) {
    world.on_the_hour().await;
    let most = world.limits().history_pairs();
    let pair = |number: usize| added(&format!("kind-{number:04}"), completed(1));
    let all: Vec<_> = (0..most + 2).map(pair).collect();
    for _ in 0..2 {
        for some in all.chunks(7) {
            world.add_runs(some).await;
        }
    }
    let rows = world.runs(Resolution::Hour).await;
    assert_eq!(rows.len(), most + 1, "{rows:?}");
    assert_eq!((&rows[0].kind, rows[0].runs.completed), (&None, 4), "the rest");
    assert!(rows[1..].iter().all(|row| row.runs.completed == 2), "{rows:?}");

    world.advance(59 * DAY).await;
    world.add_runs(&all[..1]).await;
    world.advance(2 * DAY).await;
    world.prune_all().await;
    world.add_runs(&all[most..]).await;
    let kinds = world.runs(Resolution::Minute).await.into_iter().map(|row| row.kind);
    let kinds: Vec<_> = kinds.collect();
    assert_eq!(kinds, [all[most].kind.clone(), all[most + 1].kind.clone()], "there is room");
    for some in all[1..most].chunks(7).chain([&all[..1]]) {
        world.add_runs(some).await;
    }
    let rows = world.runs(Resolution::Minute).await;
    assert!(rows.iter().any(|row| row.kind == all[0].kind), "it was added to, so it is known");
}

/// R8.5: adds at once all count.
/// Guard: the store adds; no handle reads a row and writes it back.
pub async fn r8_5_adds_at_once_all_count(world: &dyn World) {
    world.on_the_hour().await;
    let handles = world.handles().await;
    let most = world.limits().history_pairs();
    in_parallel((0..40).map(|at| {
        let store = Arc::clone(&handles[at % handles.len()]);
        let runs = ["b", "a", "c"].map(|kind| added(kind, completed(1)));
        let own = added(&format!("own-{at:02}"), completed(1));
        async move {
            let history = store.capabilities().history.expect("history");
            history.add_runs(&runs).await.expect("add_runs");
            history.add_runs(&[own]).await.expect("add_runs");
        }
    }))
    .await;
    for resolution in Resolution::ALL {
        let rows = world.runs(*resolution).await;
        assert_eq!(rows.iter().map(|row| row.runs.completed).sum::<u64>(), 160, "{rows:?}");
        assert!(rows.len() <= most + 1, "{rows:?}");
    }
}

/// R8.5: no call that enqueues, leases or ends a job writes into the history.
/// Guard: only the two calls of the history write it.
pub async fn r8_5_no_run_writes_history(world: &dyn World) {
    world.on_the_hour().await;
    world.enqueue(draft()).await;
    assert!(world.record().await);
    world.add_runs(&[added("work", completed(1))]).await;
    let seen = async || {
        let mut rows = Vec::new();
        for resolution in Resolution::ALL {
            rows.push((world.totals(*resolution).await, world.runs(*resolution).await));
        }
        rows
    };
    let before = seen().await;
    world.complete(&world.reserve_one().await).await;
    world.kill(&world.lease(draft()).await).await;
    world.advance(MINUTE).await;
    world.complete(&world.lease(draft()).await).await;
    world.prune_all().await;
    assert_eq!(seen().await, before);
}

/// R8.5: rows are listed in pages by time, queue and kind, within the times that are asked for.
/// Guard: a page begins after the last row of the page before, and the end of a queue's name is
/// part of what is looked for.
pub async fn r8_5_history_is_listed_in_pages(world: &dyn World) {
    let hour = world.on_the_hour().await;
    // One name begins with another.
    let queues = ["b", "a", "ab"].map(queue);
    for _ in 0..3 {
        for of in &queues {
            world.enqueue(draft().queue(of.clone())).await;
            for kind in ["y", "x"] {
                world
                    .add_runs(&[RunsAdded { queue: of.clone(), ..added(kind, completed(1)) }])
                    .await;
            }
        }
        assert!(world.record().await);
        world.advance(MINUTE).await;
    }
    let query = HistoryQuery::new(Resolution::Minute, hour, hour + 3 * MINUTE);
    let totals = world.totals_of(&query).await;
    let is_listed = |row: &&TotalsRow| queues.contains(&row.queue);
    let places: Vec<_> = totals.iter().filter(is_listed).map(TotalsRow::place).collect();
    assert!(places.is_sorted() && places.len() == 9, "{places:?}");
    let runs = world.runs_of(&query).await;
    assert!(runs.is_sorted_by_key(RunsRow::place) && runs.len() == 18, "{runs:?}");
    for limit in [1, 2, 5, 18] {
        let query = query.clone().limit(PageSize::new(limit).expect("a page"));
        assert_eq!(world.totals_of(&query).await, totals, "pages of {limit}");
        assert_eq!(world.runs_of(&query).await, runs, "pages of {limit}");
        let query = query.queue(queue("a"));
        assert_eq!(world.totals_of(&query).await.len(), 3, "pages of {limit}");
        assert_eq!(world.runs_of(&query).await.len(), 6, "pages of {limit}");
    }
    let second = HistoryQuery::new(Resolution::Minute, hour + MINUTE, hour + 2 * MINUTE);
    let totals = world.totals_of(&second).await;
    assert!(totals.iter().all(|row| row.at == hour + MINUTE) && totals.len() == 3, "{totals:?}");
    let runs = world.runs_of(&second).await;
    assert!(runs.iter().all(|row| row.at == hour + MINUTE) && runs.len() == 6, "{runs:?}");
    let of_queue = world.runs_of(&second.queue(queue("a"))).await;
    assert!(of_queue.iter().all(|row| row.at == hour + MINUTE) && of_queue.len() == 2);
    let none = HistoryQuery::new(Resolution::Minute, hour + 3 * MINUTE, hour + HOUR);
    assert_eq!(world.totals_of(&none).await, []);
    assert_eq!(world.runs_of(&none).await, []);
}

/// R8.5: one call adds a bounded number of bounded items, or nothing.
/// Guard: core checks a call before the store writes.
pub async fn r8_5_an_add_is_bounded(world: &dyn World) {
    let many = vec![added("work", completed(1)); 1_001];
    assert_invalid(world.history().add_runs(&many).await, "runs per call");
    let large = [added("work", completed(1)), added("work", completed(1 << 32))];
    assert_invalid(world.history().add_runs(&large).await, "runs");
    assert_eq!(world.runs(Resolution::Hour).await, []);
    world.add_runs(&many[..1_000]).await;
    let full = Runs::from_numbers(&[u64::from(u32::MAX); 54]);
    world.add_runs(&[added("full", full)]).await;
    world.add_runs(&[added("full", full)]).await;
    let rows = world.runs(Resolution::Hour).await;
    let mut twice = full;
    twice.merge(&full);
    assert_eq!(rows.iter().map(|row| row.runs).collect::<Vec<_>>(), [twice, completed(1_000)]);
}

impl<'w> dyn World + 'w {
    /// Every page.
    async fn totals_of(&self, query: &HistoryQuery) -> Vec<TotalsRow> {
        let (mut query, mut rows) = (query.clone(), Vec::<TotalsRow>::new());
        loop {
            let page = self.history().list_totals(&query).await.expect("list_totals");
            rows.extend(page.iter().cloned());
            match page.last() {
                Some(last) if page.len() == query.limit.get() => query.after = Some(last.place()),
                _ => return rows,
            }
        }
    }

    /// Every page.
    async fn runs_of(&self, query: &HistoryQuery) -> Vec<RunsRow> {
        let (mut query, mut rows) = (query.clone(), Vec::<RunsRow>::new());
        loop {
            let page = self.history().list_runs(&query).await.expect("list_runs");
            rows.extend(page.iter().cloned());
            match page.last() {
                Some(last) if page.len() == query.limit.get() => query.after = Some(last.place()),
                _ => return rows,
            }
        }
    }
}

fn added(of: &str, runs: Runs) -> RunsAdded {
    RunsAdded { queue: default_queue(), kind: Some(kind(of)), runs }
}

fn completed(runs: u64) -> Runs {
    Runs { completed: runs, ..Runs::default() }
}

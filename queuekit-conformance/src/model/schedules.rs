//! Operations on schedules.
//!
//! Due times depend on the store's clock, which may run by itself. Nominal times, terms and
//! lateness are of multiples of 10 s, so each operation is in the middle between two of them.

use std::time::Duration;

use queuekit_core::capability::{ScheduleChange, ScheduleChanged, ScheduleQuery, ScheduleRow};
use queuekit_core::{ErrorKind, ScheduleName, Scheduler};

use super::Beside;
use super::events::found;
use super::lockstep::Lockstep;
use super::machine::Round;
use super::sequence::{self, SCHEDULES, ScheduleAction};
use crate::kit::schedule_name;

/// Between two multiples of 10 s; as other times are off by whole seconds, so are they.
const MIDDLE: i64 = 5_300;

impl Lockstep<'_> {
    pub(super) async fn schedule_step(&mut self, action: ScheduleAction) {
        self.go_to_the_middle().await;
        match action {
            ScheduleAction::Put => self.put_schedule().await,
            ScheduleAction::Pause => self.pause_schedule().await,
            ScheduleAction::Delete => self.delete_schedule().await,
            ScheduleAction::RunNow => self.run_now().await,
            ScheduleAction::Tick => self.tick().await,
            ScheduleAction::Upcoming => self.upcoming().await,
        }
    }

    pub(super) async fn go_to_the_middle(&mut self) {
        let ahead = (MIDDLE - self.machine.now).rem_euclid(10_000).unsigned_abs();
        self.advance(Duration::from_millis(ahead)).await;
    }

    async fn put_schedule(&mut self) {
        let new = sequence::schedule(&mut self.rng, self.machine.now);
        self.log.push(format!("put {:?}", new.definition));
        let query = ScheduleQuery::Named(new.definition.name().clone());
        let seen = self.world.schedule_rows(query).await.rows.pop();
        let put = self.scheduler().put(&new.definition).await;
        if new.next_after(self.machine.now).is_none() {
            let error = put.expect_err("a schedule without a next occurrence should be refused");
            assert_eq!(error.kind().as_str(), "invalid", "{error}");
            return;
        }
        let is_new = put.expect("put");
        assert_eq!(is_new, self.machine.put_schedule(new), "put of a schedule");
        if let Some(row) = seen {
            self.change_nothing(row).await;
        }
    }

    /// What a process does that has read the row before it was changed (R15.2).
    async fn change_nothing(&mut self, row: ScheduleRow) {
        let job = sequence::job(&mut self.rng);
        let to = self.rng.bool().then_some((row.next_at, row.body));
        let (name, seen) = (row.name, Some(row.revision));
        let stale = ScheduleChange { name, seen, to, jobs: vec![job] };
        let changed = self.world.change_schedule(&stale).await;
        assert_eq!(changed, ScheduleChanged::Stale, "{stale:?}");
    }

    async fn pause_schedule(&mut self) {
        let name = self.some_schedule();
        let paused = self.rng.u8(..3) == 0;
        self.log.push(format!("schedule {name}, paused {paused}"));
        let done = match paused {
            true => self.scheduler().pause(&name).await,
            false => self.scheduler().resume(&name).await,
        };
        let expected = self.machine.pause_schedule(&name, paused);
        assert_eq!(found(done).is_some(), expected, "pause of {name}");
    }

    async fn delete_schedule(&mut self) {
        let name = self.some_schedule();
        self.log.push(format!("delete schedule {name}"));
        let was_there = self.scheduler().delete(&name).await.expect("delete");
        let expected = self.machine.schedules.remove(&name).is_some();
        assert_eq!(was_there, expected, "delete of {name}");
    }

    async fn run_now(&mut self) {
        let name = self.some_schedule();
        let ran = self.scheduler().run_now(&name).await;
        self.log.push(format!("run {name} now -> {ran:?}"));
        match self.machine.can_run(&name) {
            None => assert_eq!(found(ran), None, "{name} is unknown"),
            Some(true) => self.machine.run_now(&name, ran.expect("run_now")),
            Some(false) => {
                let error = ran.expect_err("its queue is full");
                assert!(matches!(error.kind(), ErrorKind::QueueFull { .. }), "{error}");
                self.machine.coverage.saw(Beside::FoundFull);
            }
        }
    }

    async fn tick(&mut self) {
        if self.rng.bool() {
            let by = sequence::seconds(&mut self.rng, &[10, 60, 130, 700]);
            self.advance(by).await;
            self.go_to_the_middle().await;
        }
        let ticked = Scheduler::of(&*self.store).tick().await.expect("tick");
        self.log.push(format!("tick -> {ticked:?}"));
        let full = |(name, error): &(ScheduleName, queuekit_core::Error)| {
            assert!(matches!(error.kind(), ErrorKind::QueueFull { .. }), "{name}: {error}");
            name.clone()
        };
        let mut failed: Vec<_> = ticked.failed.iter().map(full).collect();
        failed.sort();
        let (enqueued, passed, more) = (ticked.enqueued, ticked.passed, ticked.more);
        let told = Round { enqueued, passed, full: failed, more };
        assert_eq!(told, self.machine.tick(), "tick");
        if told.full.is_empty() {
            let all = self.machine.schedules.values();
            let next = all.filter_map(|schedule| schedule.next_at).min();
            let next =
                next.map(|next| Duration::from_millis((next - self.machine.now).max(0) as u64));
            let slack = self.world.slack();
            let near = |(told, next): (Duration, Duration)| told.abs_diff(next) <= slack;
            let is_near = ticked.next_in.zip(next).is_none_or(near);
            assert!(is_near, "next_in: {:?} is not {next:?}", ticked.next_in);
            assert_eq!(ticked.next_in.is_some(), next.is_some(), "next_in");
        }
    }

    async fn upcoming(&mut self) {
        let name = self.some_schedule();
        let count = self.rng.usize(0..=4);
        self.log.push(format!("upcoming {count} of {name}"));
        let times = found(self.scheduler().upcoming(&name, count).await);
        let (machine, now) = (&self.machine, self.machine.now);
        let expected = machine.schedules.get(&name).map(|stored| stored.upcoming(count, now));
        assert_eq!(times, expected, "upcoming of {name}");
    }

    /// All schedules, in pages of two.
    pub(super) async fn compare_schedules(&self) {
        let mut after = None;
        let mut expected = self.machine.schedules.iter();
        loop {
            let page = self.scheduler().list(after.as_ref(), 2).await.expect("list");
            for entry in &page.schedules {
                let stored = entry.schedule.as_ref().expect("readable");
                let (name, model) = expected.next().expect("a schedule that was put");
                assert_eq!(entry.name, *name, "schedules by name");
                assert_eq!(stored.definition, model.definition, "definition of {name}");
                assert_eq!(stored.paused, model.paused, "pause of {name}");
                let next_at = stored.next_at.map(|next| next.as_millis());
                assert_eq!(next_at, model.next_at, "next_at of {name}");
                // Its nominal time is in the id, but for a run that was asked for.
                let job = stored.last.map(|last| last.job);
                assert_eq!(job, model.last.map(|(_, job)| job), "last of {name}");
                assert_eq!(stored.enqueued, model.enqueued, "enqueued of {name}");
            }
            after = page.after;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(expected.next().map(|(name, _)| name), None, "a schedule is missing");
    }

    fn some_schedule(&mut self) -> ScheduleName {
        schedule_name(sequence::one_of(&mut self.rng, &SCHEDULES).0)
    }

    fn scheduler(&self) -> Scheduler<'_> {
        Scheduler::of(&*self.store)
    }
}

//! R15: which occurrences run, and how their schedule changes.

use queuekit_core::lifecycle::Transition;
use queuekit_core::schedule::Definition;
use queuekit_core::{CatchUp, JobId, NewJob, Overlap, ScheduleName, Timestamp};

use super::{Machine, ModelJob};
use crate::model::Beside;

/// An occurrence that is later than this was missed (R15.4).
const ON_TIME: i64 = 10_000;

#[derive(Clone, Debug)]
pub(in crate::model) struct ModelSchedule {
    pub(in crate::model) definition: Definition,
    /// Its nominal times are the multiples of this, whether it says so or by an expression.
    pub(in crate::model) period: i64,
    /// The draft of its jobs, without the id.
    pub(in crate::model) job: NewJob,
    pub(in crate::model) paused: bool,
    pub(in crate::model) next_at: Option<i64>,
    /// Nominal time and job of the latest occurrence.
    pub(in crate::model) last: Option<(i64, JobId)>,
    pub(in crate::model) enqueued: u64,
}

/// What a tick does.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::model) struct Round {
    pub(in crate::model) enqueued: usize,
    pub(in crate::model) passed: usize,
    pub(in crate::model) full: Vec<ScheduleName>,
    pub(in crate::model) more: bool,
}

impl ModelSchedule {
    pub(in crate::model) fn new(definition: Definition, period: i64, job: NewJob) -> Self {
        let (paused, next_at, last, enqueued) = (false, None, None, 0);
        Self { definition, period, job, paused, next_at, last, enqueued }
    }

    pub(in crate::model) fn next_after(&self, after: i64) -> Option<i64> {
        let term = self.definition.term();
        let after = term.start.map_or(after, |start| after.max(start.as_millis() - 1));
        let next = (after.div_euclid(self.period) + 1) * self.period;
        term.end.is_none_or(|end| next <= end.as_millis()).then_some(next)
    }

    fn next_from(&self, now: i64) -> Option<i64> {
        let last = self.last.map_or(now, |(nominal, _)| nominal);
        if self.paused { None } else { self.next_after(now.max(last)) }
    }

    pub(in crate::model) fn upcoming(&self, count: usize, now: i64) -> Vec<Timestamp> {
        let to_come = |next: i64| if next > now { Some(next) } else { self.next_after(now) };
        let first = self.next_at.and_then(to_come);
        let times = std::iter::successors(first, |last| self.next_after(*last));
        times.take(count).map(Timestamp::from_millis).collect()
    }

    /// The nominal times from `due` on that the catch-up rule runs.
    fn owed(&self, due: i64, now: i64) -> Vec<i64> {
        let times = std::iter::successors(Some(due), |last| self.next_after(*last));
        let past = times.take_while(|time| *time <= now);
        let (missed, on_time): (Vec<i64>, Vec<i64>) = past.partition(|time| now - time > ON_TIME);
        let kept = match self.definition.catch_up() {
            CatchUp::Skip => 0,
            CatchUp::Once => usize::from(on_time.is_empty()),
            CatchUp::All(most) => most as usize,
        };
        let mut run = missed[missed.len().saturating_sub(kept)..].to_vec();
        run.extend(on_time);
        run
    }
}

impl Machine {
    /// True if there was none; what an old one has done, its pause, and its next time if its times
    /// are the same stay.
    pub(in crate::model) fn put_schedule(&mut self, mut new: ModelSchedule) -> bool {
        let name = new.definition.name().clone();
        let old = self.schedules.get(&name);
        if let Some(old) = old {
            (new.paused, new.last, new.enqueued) = (old.paused, old.last, old.enqueued);
        }
        let times = |definition: &Definition| (definition.timing().clone(), definition.term());
        new.next_at = match old {
            Some(old) if times(&old.definition) == times(&new.definition) => old.next_at,
            _ => new.next_from(self.now),
        };
        self.coverage.saw(Beside::Scheduled);
        self.schedules.insert(name, new).is_none()
    }

    /// False if there is none.
    pub(in crate::model) fn pause_schedule(&mut self, name: &ScheduleName, paused: bool) -> bool {
        let now = self.now;
        let Some(schedule) = self.schedules.get_mut(name) else { return false };
        if schedule.paused != paused {
            schedule.paused = paused;
            schedule.next_at = schedule.next_from(now);
        }
        true
    }

    /// Whether the job of a run that is asked for finds room; none if there is no such schedule.
    pub(in crate::model) fn can_run(&self, name: &ScheduleName) -> Option<bool> {
        Some(self.room(self.schedules.get(name)?.job.queue()) > 0)
    }

    pub(in crate::model) fn run_now(&mut self, name: &ScheduleName, id: JobId) {
        let mut schedule = self.schedules[name].clone();
        schedule.last = Some((self.now, id));
        schedule.enqueued += 1;
        self.enqueue_as(id, &schedule.job);
        self.schedules.insert(name.clone(), schedule);
        self.coverage.saw(Beside::RunNow);
    }

    pub(in crate::model) fn tick(&mut self) -> Round {
        let mut round = Round::default();
        for (name, mut schedule) in self.schedules.clone() {
            if let Some(due) = schedule.next_at.filter(|next| *next <= self.now) {
                self.serve(&name, &mut schedule, due, &mut round);
                self.schedules.insert(name, schedule);
            }
        }
        round
    }

    fn serve(
        &mut self,
        name: &ScheduleName,
        schedule: &mut ModelSchedule,
        due: i64,
        round: &mut Round,
    ) {
        let mut run = schedule.owed(due, self.now);
        if schedule.definition.overlap() == Overlap::Skip {
            let last = schedule.last.and_then(|(_, id)| self.job(id));
            let keep = usize::from(last.is_none_or(|job| job.state.is_terminal()));
            run.drain(..run.len().saturating_sub(keep));
        }
        let queue = schedule.job.queue().clone();
        let at = |nominal: i64| Timestamp::from_millis(nominal);
        let id = |nominal: i64| JobId::of_occurrence(&queue, name, at(nominal));
        let room = self.room(&queue);
        let fits = |machine: &Self, count: usize| {
            let is_new = |nominal: &&i64| machine.job(id(**nominal)).is_none();
            run[..count].iter().filter(is_new).count() as u64 <= room
        };
        // All of them, or the first alone, or none.
        let Some(count) = [run.len(), run.len().min(1)].into_iter().find(|n| fits(self, *n)) else {
            round.full.push(name.clone());
            self.coverage.saw(Beside::FoundFull);
            return;
        };
        for nominal in &run[..count] {
            self.enqueue_as(id(*nominal), &schedule.job);
            schedule.last = Some((*nominal, id(*nominal)));
            self.coverage.saw(Beside::Occurred);
        }
        schedule.enqueued += count as u64;
        schedule.next_at = run.get(count).copied().or(schedule.next_after(self.now));
        round.enqueued += count;
        round.more |= count < run.len();
        if count == 0 {
            round.passed += 1;
            self.coverage.saw(Beside::Passed);
        }
    }

    /// Jobs that are stored are left as they are.
    fn enqueue_as(&mut self, id: JobId, job: &NewJob) {
        self.queues.entry(job.queue().clone()).or_default();
        if self.job(id).is_none() {
            let seq = self.count_up();
            self.store(ModelJob { id, ..ModelJob::new(job, seq, self.now) });
            self.coverage.took(Transition::Enqueue);
        }
    }
}

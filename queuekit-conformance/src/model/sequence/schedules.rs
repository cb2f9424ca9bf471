//! Schedules.

use std::time::Duration;

use fastrand::Rng;
use queuekit_core::{CatchUp, JobDraft, Overlap, ScheduleDraft, Timestamp};

use super::{QUEUES, one_of};
use crate::model::machine::ModelSchedule;

/// Each with a queue of its own, so that the order in which a tick serves them decides nothing.
pub(in crate::model) const SCHEDULES: [(&str, &str); 3] =
    [("one", QUEUES[0]), ("three", QUEUES[2]), ("two", QUEUES[1])];

#[derive(Clone, Copy, Debug)]
pub(in crate::model) enum ScheduleAction {
    Put,
    Pause,
    Delete,
    RunNow,
    Tick,
    Upcoming,
}

/// With times, and perhaps a term, of whole minutes.
pub(in crate::model) fn schedule(rng: &mut Rng, now: i64) -> ModelSchedule {
    let (name, queue) = one_of(rng, &SCHEDULES);
    let job = JobDraft::new("scheduled", format!("{}", rng.u8(..3))).queue(queue);
    let minutes = one_of(rng, &[1, 2, 5]);
    let mut draft = match rng.bool() {
        true => ScheduleDraft::every(name, Duration::from_secs(60 * minutes), job.clone()),
        false => ScheduleDraft::cron(name, format!("*/{minutes} * * * *"), job.clone()),
    };
    draft = draft
        .catch_up(one_of(rng, &[CatchUp::Skip, CatchUp::Once, CatchUp::All(1), CatchUp::All(4)]))
        .overlap(one_of(rng, &[Overlap::Allow, Overlap::Skip]));
    let minute = now.div_euclid(60_000);
    let mut at = |from: i64| Timestamp::from_millis((minute + rng.i64(from..from + 5)) * 60_000);
    let (start, end) = (at(-2), at(3));
    if rng.u8(..4) == 0 {
        draft = draft.start(start);
    }
    if rng.u8(..4) == 0 {
        draft = draft.end(end);
    }
    let definition = draft.build().expect("a valid schedule");
    let period = i64::try_from(60_000 * minutes).expect("fits");
    ModelSchedule::new(definition, period, job.build().expect("a valid job"))
}
